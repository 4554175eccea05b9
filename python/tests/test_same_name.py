"""Files of the same name in two folders: neither takes the other's results, one after the other or at once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from backwater import Results, run
from backwater.cli import main
from backwater.errors import Exit

SCENE = """profile = "authors"
[topology]
kind = "star"
hosts = 3
rate = "40Gbps"
delay = "1us"
[[traffic]]
name = "incast"
kind = "incast"
from = ["h1", "h2"]
to = "h0"
size = "{size}"
[[scheme]]
name = "dcqcn"
set = ["cc.kind=dcqcn"]
[[scheme]]
name = "none"
set = ["cc.kind=none"]
"""


@pytest.fixture(autouse=True)
def _two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, size in (("a", "10KB"), ("b", "20KB")):
        Path(folder).mkdir()
        Path(folder, "x.toml").write_text(SCENE.format(size=size), encoding="utf-8")


def sizes(folder: str | Path) -> list[int]:
    """What the flows of a run carried."""
    return sorted(set(Results(Path(folder)).flows.collect()["size_bytes"]))


def other() -> Path:
    """The folder that has a hash at its end."""
    (found,) = Path("results").glob("x-none-s1-????????")
    return found


def test_each_file_keeps_its_results_and_the_user_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "a/x.toml", "--scheme", "none"]) == Exit.OK
    assert "note: results" not in capsys.readouterr().err
    assert main(["run", "b/x.toml", "--scheme", "none"]) == Exit.OK
    shown = capsys.readouterr()
    assert "note: results/x-none-s1 has the results of another scenario file of this name" in shown.err
    assert str(other()) in shown.err
    assert (sizes("results/x-none-s1"), sizes(other())) == ([10_000], [20_000])
    # Again: each in its own.
    for folder in "ab":
        file = Path(folder, "x.toml")
        file.write_text(file.read_text().replace("0KB", "1KB"), encoding="utf-8")
        assert main(["run", str(file), "--scheme", "none"]) == Exit.OK
    assert (sizes("results/x-none-s1"), sizes(other())) == ([11_000], [21_000])
    # A file that was moved takes its results along.
    Path("a").rename("c")
    Path("results", other().name).rename(Path("results") / "gone")
    assert main(["run", "c/x.toml", "--scheme", "none", "--json"]) == Exit.OK
    assert not list(Path("results").glob("x-none-s1-*"))


def test_what_python_is_handed_is_of_the_file_that_was_run() -> None:
    first, second = run("a/x.toml", scheme="none"), run("b/x.toml", scheme="none")
    assert isinstance(first, Results)
    assert isinstance(second, Results)
    assert [set(one.flows.collect()["size_bytes"]) for one in (first, second)] == [{10_000}, {20_000}]


def test_two_commands_at_once_print_their_own_results() -> None:
    command = [sys.executable, "-m", "backwater", "run", "--scheme", "none"]
    for _ in range(3):
        both = [subprocess.Popen([*command, f"{one}/x.toml"], stdout=-1, text=True) for one in "ab"]  # noqa: S603
        for size, process in zip((10_000, 20_000), both, strict=True):
            told = process.communicate(timeout=60)[0]
            assert process.returncode == Exit.OK
            (folder,) = re.findall(r"results/x-none-s1\S*", told)
            assert sizes(folder) == [size]


def test_comparisons_of_two_files_of_one_name_have_two_folders(capsys: pytest.CaptureFixture[str]) -> None:
    for folder in "aba":
        assert main(["compare", f"{folder}/x.toml", "--seeds", "1"]) in (Exit.OK, Exit.CAVEATS)
        told = "note: results/compare/x is that of another file" in capsys.readouterr().err
        assert told == (folder == "b")
    assert len(list(Path("results/compare").glob("x*"))) == 2
