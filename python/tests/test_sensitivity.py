"""What a paper leaves open, varied: which claims flip. The simulator is a stand-in here."""

import json
from pathlib import Path

import polars as pl
import pytest
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.experiments import content_key
from backwater.papers import open_parameters
from conftest import FakeCore
from small_paper import CLAIMS, EXPERIMENT, FIGURE, FIRST, SETTLE

# The stand-in marks CE if any override says red, and UE otherwise: `red` turns the claim that nothing is marked CE.
OPEN = """
seeds = 2
[[parameter]]
id = "Q1"
text = "what marks"
default = "TCD"
figures = ["fig03"]
[[parameter.variant]]
name = "ECN"
runs = ["tcd"]
set = ["switch.detector.kind=red"]
[[parameter.variant]]
name = "TCD again"
profiles = ["ideal"]
set = ["switch.detector.kind=tcd"]
[[parameter]]
id = "Q2"
text = "where the paper was written"
default = "Beijing"
fixed = "no claim is about it"
"""


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from backwater.papers import paper_figure

    home = tmp_path / "papers" / "demo"
    figure = home / "fig03"
    figure.mkdir(parents=True)
    claims = CLAIMS.replace('metric = "ce"', 'metric = "ce_tcd"')
    measures = FIGURE.replace('"ce":', '"ce_tcd": len(measures.mark_times(runs["tcd"], "P2", 3, "CE")), "ce":')
    for name, text in (("experiment.toml", EXPERIMENT), ("claims.toml", claims), ("figure.py", measures)):
        (figure / name).write_text(text)
    (figure / "one.toml").write_text("# a scenario")
    (home / "sensitivity.toml").write_text(OPEN)
    monkeypatch.setattr(paper_figure, "papers", lambda: tmp_path / "papers")
    monkeypatch.chdir(tmp_path)
    return home


def found(folder: str = "sensitivity") -> dict[str, dict[str, object]]:
    whole = json.loads(Path(f"results/reproduce/demo/{folder}/sensitivity.json").read_text())
    return {reading["name"]: reading for entry in whole["parameters"] for reading in entry["variants"]}


@pytest.mark.usefixtures("papers")
def test_a_claim_flips_where_another_reading_turns_its_verdict(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sensitivity", "demo"]) == Exit.OK
    ecn = found()["ECN"]
    assert [(flip["claim"], flip["profile"], flip["before"], flip["after"]) for flip in ecn["flips"]] == [  # type: ignore[attr-defined]
        ("X-F3b", "authors", "holds", "differs"),
        ("X-F3b", "ideal", "holds", "differs"),
    ]
    assert ecn["claims"] == 4
    assert ecn["seeds"] == "2 seeds"
    assert found()["TCD again"]["flips"] == []
    assert found()["TCD again"]["claims"] == 2
    shown = capsys.readouterr().out
    assert "X-F3b (authors): holds → differs" in " ".join(shown.split())
    rows = pl.read_parquet("results/reproduce/demo/sensitivity/sensitivity.parquet")
    assert rows.filter(pl.col("claim") == "X-F3b", pl.col("reading") == "ECN")["before_mean"].to_list() == [0.0, 0.0]
    assert fake_core.ran


@pytest.mark.usefixtures("papers")
def test_a_reading_applies_only_to_the_runs_that_it_names_and_after_all_else(fake_core: FakeCore) -> None:
    assert main(["sensitivity", "demo", "--profile", "ideal", "--seeds", "1"]) == Exit.OK
    varied = [overrides for overrides, _ in fake_core.ran if overrides[-1] == "switch.detector.kind=red"]
    # Only `tcd`; the runs of `ecn` are those of our own readings.
    assert varied == [('profile="ideal"', "switch.buffer=9MB", "switch.detector.kind=red")]


def test_a_figure_may_be_smaller_for_it_under_every_reading_alike(papers: Path, fake_core: FakeCore) -> None:
    file = papers / "fig03" / "experiment.toml"
    file.write_text(EXPERIMENT + '[sensitivity]\nset = ["run.until=1ms"]\nskip = ["ecn * 1.2"]\n')
    assert main(["sensitivity", "demo", "--profile", "authors", "--seeds", "1"]) == Exit.OK
    assert len(fake_core.ran) == 2 + 1
    assert all("run.until=1ms" in overrides for overrides, _ in fake_core.ran)
    assert main(["reproduce", "demo", "--profile", "authors", "--seeds", "1"]) == Exit.OK
    assert not any("run.until=1ms" in overrides for overrides, _ in fake_core.ran[3:])


@pytest.mark.usefixtures("papers")
def test_runs_are_shared_with_the_reproduction(fake_core: FakeCore) -> None:
    assert main(["reproduce", "demo"]) == Exit.OK
    before = len(fake_core.ran)
    assert main(["sensitivity", "demo"]) == Exit.OK
    # ECN: `tcd` under two profiles; TCD again: three runs under one; each at two seeds.
    assert len(fake_core.ran) - before == 2 * (2 + 3)
    assert main(["sensitivity", "demo"]) == Exit.OK
    assert len(fake_core.ran) - before == 2 * (2 + 3)


def test_what_the_first_runs_settle_follows_the_reading(papers: Path, fake_core: FakeCore) -> None:
    own = EXPERIMENT.replace('scenario = "one.toml"\n', 'scenario = "one.toml"\nset = ["traffic.F0.start={start}"]\n')
    (papers / "fig03" / "experiment.toml").write_text(own.replace("[profile.ideal]", f"{FIRST}[profile.ideal]"))
    figure = papers / "fig03" / "figure.py"
    figure.write_text(figure.read_text() + SETTLE)
    assert main(["sensitivity", "demo", "--seeds", "1", "--profile", "authors"]) == Exit.OK
    assert ('profile="authors"', "traffic.F0.start=10us", "switch.detector.kind=red") in [
        ran for ran, _ in fake_core.ran
    ]


@pytest.mark.usefixtures("papers", "fake_core")
def test_one_parameter_leaves_what_was_found_of_others_and_the_report_shows_both() -> None:
    more = Path("papers/demo/sensitivity.toml")
    more.write_text(OPEN + OPEN.split("[[parameter]]")[1].join(["[[parameter]]", ""]).replace("Q1", "Q3"))
    assert main(["reproduce", "demo"]) == Exit.OK
    assert main(["sensitivity", "demo", "--parameter", "Q3"]) == Exit.OK
    assert main(["sensitivity", "demo", "--parameter", "Q1"]) == Exit.OK
    whole = json.loads(Path("results/reproduce/demo/sensitivity/sensitivity.json").read_text())
    assert [entry["id"] for entry in whole["parameters"]] == ["Q1", "Q3"]
    assert [entry["id"] for entry in whole["fixed"]] == ["Q2"]
    assert main(["report", "results/reproduce/demo"]) == Exit.OK
    page = Path("results/reproduce/demo/report.html").read_text()
    assert "no claim is about it" in page
    assert "holds → differs" in page


@pytest.mark.usefixtures("papers", "fake_core")
def test_one_profile_leaves_what_was_found_under_the_other() -> None:
    assert main(["sensitivity", "demo", "--profile", "authors"]) == Exit.OK
    assert main(["sensitivity", "demo", "--profile", "ideal", "--seeds", "1"]) == Exit.OK
    ecn = found()["ECN"]
    # One seed decides nothing, so that nothing flips with it.
    assert [flip["profile"] for flip in ecn["flips"]] == ["authors"]  # type: ignore[attr-defined]
    assert (ecn["claims"], ecn["seeds"]) == (4, "1 or 2 seeds")
    whole = json.loads(Path("results/reproduce/demo/sensitivity/sensitivity.json").read_text())
    assert [(one["profile"], one["seeds"]) for one in whole["findings"] if one["reading"] == "ECN"] == [
        ("authors", 2),
        ("ideal", 1),
    ]


@pytest.mark.usefixtures("papers", "fake_core")
def test_what_another_build_found_is_kept_and_said_to_be_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(content_key, "build", lambda: "0123456789abcdef")
    assert main(["sensitivity", "demo", "--profile", "authors"]) == Exit.OK
    monkeypatch.setattr(content_key, "build", lambda: "fedcba9876543210")
    assert main(["reproduce", "demo"]) == Exit.OK
    capsys.readouterr()
    assert main(["sensitivity", "demo", "--profile", "ideal"]) == Exit.OK
    assert "build 0123456789ab, not this one" in " ".join(capsys.readouterr().out.split())
    assert found()["ECN"]["profiles"] == ["authors", "ideal"]
    assert found()["TCD again"]["other_builds"] == []
    assert main(["report", "results/reproduce/demo"]) == Exit.OK
    assert "by another build than this report: version" in Path("results/reproduce/demo/report.html").read_text()


@pytest.mark.usefixtures("papers", "fake_core")
def test_the_command_that_is_printed_makes_a_report_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sensitivity", "demo"]) == Exit.OK
    assert "`backwater reproduce demo` makes one" in capsys.readouterr().out
    assert main(["reproduce", "demo", "--figure", "fig03"]) == Exit.OK
    assert main(["sensitivity", "demo"]) == Exit.OK
    assert "`backwater report results/reproduce/demo/fig03` puts it into report.html" in capsys.readouterr().out
    assert main(["sensitivity", "demo", "--quick"]) == Exit.OK
    assert "`backwater reproduce demo --quick` makes one" in capsys.readouterr().out
    assert main(["report", "results/reproduce/demo/fig03"]) == Exit.OK
    assert "holds → differs" in Path("results/reproduce/demo/fig03/report.html").read_text()


@pytest.mark.usefixtures("papers", "fake_core")
@pytest.mark.parametrize("damage", ["[1]", "{", '{"parameters": [{"id": "Q1"}]}', '{"format": 2, "findings": [{}]}'])
def test_a_damaged_file_is_named_and_the_report_is_made_without_it(
    damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "demo"]) == Exit.OK
    assert main(["sensitivity", "demo"]) == Exit.OK
    file = Path("results/reproduce/demo/sensitivity/sensitivity.json")
    file.write_text(damage)
    Path("results/reproduce/demo/report.html").unlink()
    assert main(["report", "results/reproduce/demo"]) == Exit.CAVEATS
    assert "sensitivity.json is damaged" in capsys.readouterr().err
    assert "X-F3b" in Path("results/reproduce/demo/report.html").read_text()
    assert main(["sensitivity", "demo"]) == Exit.OK
    assert "what it held is left out" in capsys.readouterr().err
    assert main(["report", "results/reproduce/demo"]) == Exit.OK


@pytest.mark.usefixtures("papers")
def test_a_reading_under_which_a_figure_cannot_be_measured_is_said_and_the_others_are_kept(fake_core: FakeCore) -> None:
    figure = Path("papers/demo/fig03/figure.py")
    figure.write_text(figure.read_text().replace("ports[1] / ports[0]", '1 / (runs["tcd"].meta["seed"] - 1)'))
    assert main(["sensitivity", "demo", "--seeds", "1"]) == Exit.BAD_INPUT
    text = figure.read_text().replace('1 / (runs["tcd"].meta["seed"] - 1)', "2 if not marked(runs) else 1 / 0")
    figure.write_text(text + '\ndef marked(runs):\n    return len(measures.mark_times(runs["tcd"], "P2", 3, "CE"))\n')
    assert main(["sensitivity", "demo", "--seeds", "1"]) == Exit.OK
    missing = str(found()["ECN"]["missing"])
    assert "fig03 authors could not be measured: ZeroDivisionError" in missing
    assert found()["TCD again"]["missing"] == []
    assert fake_core.ran


@pytest.mark.usefixtures("papers")
def test_an_interrupted_call_says_what_is_not_run_and_the_same_command_continues(fake_core: FakeCore) -> None:
    fake_core.fail = lambda overrides, _: KeyboardInterrupt() if "switch.detector.kind=red" in overrides else None
    assert main(["sensitivity", "demo", "--jobs", "1", "--profile", "authors"]) == Exit.CAVEATS
    assert found()["ECN"]["missing"] == ["fig03 authors is not run"]
    fake_core.fail = lambda *_: None
    assert main(["sensitivity", "demo", "--profile", "authors"]) == Exit.OK
    assert found()["ECN"]["missing"] == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('fixed = "no claim is about it"', ""), r"parameter Q2 needs either"),
        (('figures = ["fig03"]\n', ""), r"parameter Q1, ECN: which figures\?"),
        (('id = "Q2"', 'id = "Q1"'), r"parameter Q1 is there twice"),
        (("seeds = 2", "seed = 2"), r"sensitivity.toml"),
    ],
)
def test_what_is_wrong_in_sensitivity_toml_is_named(papers: Path, change: tuple[str, str], said: str) -> None:
    (papers / "sensitivity.toml").write_text(OPEN.replace(*change))
    with pytest.raises(UsageError, match=said):
        open_parameters.load("demo")


@pytest.mark.usefixtures("papers")
def test_a_parameter_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(UsageError, match="no parameter 'Q9' of demo; there are: Q1, Q2"):
        open_parameters.load("demo", ["Q9"])
