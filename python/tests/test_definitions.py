"""Definitions of a paper: the report names the tests that hold us to them, and looks whether the checkout has them."""

import json
from pathlib import Path

import pytest
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.papers import paper, paper_figure
from backwater.papers.claims import Verdict
from backwater.papers.definitions import Definition, exists, look_up
from conftest import FakeCore

ROOT = Path(__file__).parents[2]
ONE = """
title = "One"
short = "ONE"
[[definition]]
id = "X-F1"
text = "what a port is"
paper = "Figure 1"
tests = ["tests/golden/one.rs::a_port_is_a_port"]
"""
EXPERIMENT = """
title = "t"
paper = "p"
about = "a"
[[run]]
name = "tcd"
scenario = "one.toml"
"""
CLAIMS = """
kind = "result"
[[claim]]
id = "X-F3"
text = "t"
paper = "p"
metric = "m"
bound = "== 1"
"""
FIGURE = """
def metrics(runs):
    return {"m": 1}

def draw(seeds, file):
    file.write_bytes(b"picture")
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for place, text in {
        "Cargo.toml": "",
        "tests/golden/one.rs": "#[test]\n#[ignore]\n// Long.\nfn a_port_is_a_port() {}\nfn helper() {}\n",
        "python/tests/test_one.py": "def test_it(one: int) -> None: ...\ndef helper() -> None: ...\n",
        "papers/demo/paper.toml": ONE,
        "papers/demo/fig03/experiment.toml": EXPERIMENT,
        "papers/demo/fig03/claims.toml": CLAIMS,
        "papers/demo/fig03/figure.py": FIGURE,
        "papers/demo/fig03/one.toml": "",
        "papers/demo/fig04/experiment.toml": EXPERIMENT,
        "papers/demo/fig04/claims.toml": CLAIMS.replace("F3", "F4"),
        "papers/demo/fig04/figure.py": FIGURE,
        "papers/demo/fig04/one.toml": "",
    }.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    monkeypatch.setattr(paper_figure, "papers", lambda: tmp_path / "papers")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_test_that_a_definition_of_a_paper_names_exists() -> None:
    papers = [paper.load(file.parent) for file in (ROOT / "papers").glob("*/paper.toml")]
    held = look_up([definition for one in papers for definition in one.definition], ROOT)
    assert {item.definition.id: item.lacking for item in held if item.lacking} == {}
    assert {item.definition.id for item in held} >= {f"TCD-{name}" for name in ("F1", "F5", "F6", "F9", "F10", "T1")}


def test_a_test_is_known_by_its_attribute_or_its_name_and_a_helper_is_none(checkout: Path) -> None:
    assert exists("tests/golden/one.rs::a_port_is_a_port", checkout)
    assert exists("python/tests/test_one.py::test_it", checkout)
    assert not exists("tests/golden/one.rs::a_port_is_a", checkout)
    assert not exists("tests/golden/one.rs::helper", checkout)
    assert not exists("python/tests/test_one.py::helper", checkout)
    assert not exists("tests/golden/two.rs::a_port_is_a_port", checkout)


def test_outside_a_checkout_a_definition_is_not_checked_and_without_its_test_it_does_not_hold(checkout: Path) -> None:
    definition = Definition(id="X-F1", text="t", paper="p", tests=("tests/golden/gone.rs::it",))
    (item,) = look_up([definition], checkout)
    assert (item.verdict, item.reason) == (Verdict.NOT_RUN, "this checkout has no tests/golden/gone.rs::it")
    (item,) = look_up([definition], checkout / "papers")
    assert item.verdict is Verdict.NOT_CHECKED


def test_a_report_on_all_figures_has_the_definitions_and_one_on_some_has_not(
    checkout: Path, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "demo", "--seeds", "1"]) == Exit.OK
    assert "1 of 1 definitions are held by tests" in " ".join(capsys.readouterr().out.split())
    folder = checkout / "results/reproduce/demo/1-seeds"
    row = json.loads((folder / "claims.json").read_text())[-1]
    assert (row["id"], row["profile"], row["verdict"]) == ("X-F1", "tests", "holds")
    assert row["tests"] == ["tests/golden/one.rs::a_port_is_a_port"]
    page = (folder / "report.html").read_text()
    assert "<code>tests/golden/one.rs::a_port_is_a_port</code>" in page
    assert "decided by 1 test, which make test runs" in page
    assert "| X-F1 | what a port is |" in (folder / "claims.md").read_text()
    assert main(["reproduce", "demo", "--figure", "fig03"]) == Exit.OK
    assert "X-F1" not in (checkout / "results/reproduce/demo/fig03/claims.json").read_text()
    assert fake_core.ran


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("tests/golden/one.rs::a_port_is_a_port", "one.rs"), "tests.0"),
        (('["tests/golden/one.rs::a_port_is_a_port"]', "[]"), "at least 1 item"),
    ],
)
def test_a_definition_without_a_test_or_with_a_malformed_one_is_refused(
    checkout: Path, change: tuple[str, str], complaint: str
) -> None:
    (checkout / "papers/demo/paper.toml").write_text(ONE.replace(*change))
    with pytest.raises(UsageError, match=complaint):
        paper.load(checkout / "papers/demo")


def test_a_definition_that_is_there_twice_is_refused(checkout: Path) -> None:
    (checkout / "papers/demo/paper.toml").write_text(ONE + ONE[ONE.index("[[") :])
    with pytest.raises(UsageError, match="definition X-F1 is there twice"):
        paper.load(checkout / "papers/demo")
