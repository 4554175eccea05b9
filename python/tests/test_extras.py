"""What may be installed beside Backwater: the command that is named is the one that works, wherever it is needed."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from backwater import extras

ROOT = Path(__file__).parents[2]


def test_every_extra_is_one_of_the_project_and_has_that_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package, _, group in extras.EXTRAS:
        assert [word for word in project["optional-dependencies"][group] if word.startswith(package)]


@pytest.mark.parametrize(
    ("python", "files", "command"),
    [
        (".venv/bin/python", (".venv/bin/pip",), ".venv/bin/pip install 'backwater[jit]'"),
        ("/elsewhere/bin/python3", (), "/elsewhere/bin/python3 -m pip install 'backwater[jit]'"),
        ("my env/bin/python", ("my env/bin/pip",), "'my env/bin/pip' install 'backwater[jit]'"),
    ],
)
def test_the_pip_is_that_of_the_python_which_runs(
    python: str, files: tuple[str, ...], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / python))
    assert extras.install_group("jit") == command


WITHOUT_PYARROW = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] == "pyarrow":
            raise ModuleNotFoundError("No module named 'pyarrow'")

sys.meta_path.insert(0, Hidden())
import backwater as bw
import pandas

flows = pandas.DataFrame({"src": ["h0"], "dst": ["h1"], "size_bytes": [1000], "start_ps": [0]})
star = {"kind": "star", "hosts": 2, "rate": "40Gbps", "delay": "1us"}
try:
    bw.Experiment(topology=star, traffic=flows).validate()
except bw.UsageError as error:
    print(error)
"""


def test_a_frame_of_pandas_without_pyarrow_says_what_to_install() -> None:
    words = [sys.executable, "-c", WITHOUT_PYARROW]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert said.startswith("traffic.flows: the table cannot be read: pyarrow is required")
    assert said.rstrip().endswith(extras.install("pyarrow"))


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/extend.md", "docs/sweeps.md"])
def test_pages_name_the_pip_of_the_checkout(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text.count("pip install") == text.count(".venv/bin/pip install") > 0


def test_what_the_page_on_python_imports_it_says_how_to_get() -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    said = text[: text.index("## Experiments")]
    for package in ("pandas", "pyarrow", "networkx", "backwater[jit]", "backwater[tune]", "backwater[ray]"):
        assert package in said
