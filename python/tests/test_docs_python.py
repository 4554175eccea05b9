"""Every example of docs/python.md and docs/extend.md runs as it stands there."""

import re
from pathlib import Path

import backwater as bw
import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[2]
PYTHON = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
EXTEND = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")


README = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/scenarios.md"))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    return tmp_path


def test_the_page_on_python_runs_from_top_to_bottom(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # As a file: numba and the hash of a function want to know where it stands.
    file = checkout / "page.py"
    file.write_text("\n".join(blocks(PYTHON, "python")))
    names: dict[str, object] = {"__name__": "page"}
    exec(compile(file.read_text(), str(file), "exec"), names)  # noqa: S102
    said = capsys.readouterr().out
    assert "12 runs" in said
    assert (checkout / "queue.png").stat().st_size > 10_000
    assert float(said.split(" us")[0].split("\n")[-1]) > 100


def test_the_page_on_extensions_runs(checkout: Path) -> None:
    controller, detector = blocks(EXTEND, "python")
    (checkout / "my_cc.py").write_text(controller)
    (checkout / "my_red.py").write_text(detector)
    (checkout / "my.toml").write_text(blocks(EXTEND, "toml")[0])
    mine = bw.run("my.toml", out="mine")
    assert mine.meta["functions"][0]["state"] == {"gain": 0.25, "marks": 0}
    red = ["switch.detector.kind=custom", "switch.detector.custom.function=my_red.py:red"]
    marked = bw.run("my.toml", out="red", overrides=red)
    assert marked.flows.collect()["ce_packets"].sum() > 0


def test_the_numbers_of_the_page_are_those_of_the_interface() -> None:
    from backwater.extend import abi

    for interface, name in ((abi.CONTROLLER, "flow"), (abi.DETECTOR, "queue")):
        table = EXTEND.split(f"| `{name}.` |")[1].split("\n\n")[0]
        for field, _ in interface.head:
            assert f"`{field}`" in table
        assert f"at most {interface.words} floats" in table
    for field, _ in (*abi.CONTROLLER.event, *abi.DETECTOR.event):
        assert field in EXTEND


def test_the_readmes_python_runs(checkout: Path) -> None:
    file = checkout / "readme.py"
    file.write_text("\n".join(block for block in blocks(README, "python") if "backwater" in block or "bw." in block))
    exec(compile(file.read_text(), str(file), "exec"), {"__name__": "readme"})  # noqa: S102
    runs = list(bw.Results.find("results"))
    assert len(runs) == 2
    assert all(run.complete for run in runs)
