"""Reproducing a paper: what is run, what is kept, what is judged. The simulator is a stand-in here."""

import json
import re
import shutil
from pathlib import Path

import pytest
from backwater import experiment, report, reproduce
from backwater.cli import main
from backwater.errors import Exit, UsageError
from conftest import FakeCore

EXPERIMENT = """
title = "Queue of P2"
paper = "Figure 3 (a)"
about = "One congestion point."
seeds = 2
[[run]]
name = "tcd"
scenario = "one.toml"
[[run]]
name = "ecn"
scenario = "one.toml"
sweep = { "switch.detector.kind" = ["red"], "cc.alpha-initial" = [0.5, 1.2] }
[profile.ideal]
set = ["switch.buffer=9MB"]
[[assumption]]
parameter = "start of F0"
value = "183 us"
why = "when F1 falls below 15 Gbps"
"""

CLAIMS = """
[[claim]]
id = "X-F3a"
text = "P2 holds more than P1"
paper = "Fig. 3"
metric = "p2_over_p1"
bound = "> 1"
[[claim]]
id = "X-F3b"
text = "nothing is marked CE"
paper = "Fig. 3"
metric = "ce"
bound = "== 0"
unit = "packets"
"""

FIGURE = """
from backwater import measures

def metrics(runs):
    ports = measures.by_port(runs["tcd"], ["P1", "P2"], 3)["peak_queue_bytes"]
    return {"p2_over_p1": ports[1] / ports[0], "ce": len(measures.mark_times(runs["ecn red 0.5"], "P2", 3, "CE"))}

def draw(seeds, file):
    file.write_bytes(b"picture")
"""


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    figure = tmp_path / "papers" / "demo" / "fig03"
    figure.mkdir(parents=True)
    for name, text in (("experiment.toml", EXPERIMENT), ("claims.toml", CLAIMS), ("figure.py", FIGURE)):
        (figure / name).write_text(text)
    (figure / "one.toml").write_text("# a scenario")
    monkeypatch.setattr(experiment, "_papers", lambda: tmp_path / "papers")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "papers"


def test_a_sweep_is_one_run_for_each_combination(papers: Path) -> None:
    figure = experiment.load(papers / "demo" / "fig03")
    runs = dict(figure.experiment.run[1].expand())
    assert runs == {
        "ecn red 0.5": ('switch.detector.kind="red"', "cc.alpha-initial=0.5"),
        "ecn red 1.2": ('switch.detector.kind="red"', "cc.alpha-initial=1.2"),
    }


@pytest.mark.usefixtures("papers")
def test_every_run_is_done_at_every_seed_and_profile(fake_core: FakeCore) -> None:
    assert main(["reproduce", "demo"]) == Exit.OK
    assert len(fake_core.ran) == 3 * 2 * 2
    ideal = [overrides for overrides, _ in fake_core.ran if 'profile="ideal"' in overrides]
    assert all("switch.buffer=9MB" in overrides for overrides in ideal)


@pytest.mark.usefixtures("papers")
def test_what_is_done_stays_done_and_more_seeds_add_only_what_is_new(fake_core: FakeCore) -> None:
    assert main(["reproduce", "demo", "--profile", "authors"]) == Exit.OK
    assert main(["reproduce", "demo", "--profile", "authors"]) == Exit.OK
    assert len(fake_core.ran) == 6
    assert main(["reproduce", "demo", "--profile", "authors", "--seeds", "3"]) == Exit.OK
    assert [seed for _, seed in fake_core.ran[6:]] == [3, 3, 3]


def test_a_figure_runs_only_under_the_profiles_that_it_names(papers: Path, fake_core: FakeCore) -> None:
    file = papers / "demo" / "fig03" / "experiment.toml"
    file.write_text(EXPERIMENT.replace("seeds = 2", 'seeds = 2\nprofiles = ["ideal"]'))
    assert main(["reproduce", "demo"]) == Exit.OK
    assert len(fake_core.ran) == 3 * 2
    assert all('profile="ideal"' in overrides for overrides, _ in fake_core.ran)
    file.write_text(EXPERIMENT.replace("seeds = 2", 'seeds = 2\nprofiles = ["idael"]'))
    with pytest.raises(UsageError, match="no profile 'idael'; the profiles are authors, ideal, infiniband"):
        experiment.load(file.parent)


def test_a_quick_look_may_skip_runs_and_have_its_own_number_of_seeds(papers: Path, fake_core: FakeCore) -> None:
    file = papers / "demo" / "fig03" / "experiment.toml"
    file.write_text(EXPERIMENT + '[quick]\nseeds = 3\nskip = ["ecn * 1.2"]\n')
    assert main(["reproduce", "demo", "--quick", "--profile", "ideal"]) == Exit.OK
    assert len(fake_core.ran) == 2 * 3
    page = Path("results/reproduce/demo/ideal-quick/report.html").read_text()
    assert "The runs are shrunk (--quick):</strong> without the runs <code>ecn * 1.2</code>, 3 seeds" in page
    file.write_text(EXPERIMENT + '[quick]\nskip = ["red"]\n')
    with pytest.raises(UsageError, match=r"quick.skip names no run with 'red'; the runs are tcd, ecn red 0.5"):
        experiment.load(file.parent)


def test_a_changed_scenario_is_run_again(papers: Path, fake_core: FakeCore) -> None:
    main(["reproduce", "demo", "--profile", "authors", "--seeds", "1"])
    (papers / "demo" / "fig03" / "one.toml").write_text("# another scenario")
    main(["reproduce", "demo", "--profile", "authors", "--seeds", "1"])
    assert len(fake_core.ran) == 6


@pytest.mark.usefixtures("papers")
def test_a_run_whose_table_is_cut_off_or_missing_is_run_again(fake_core: FakeCore) -> None:
    assert main(["reproduce", "demo", "--profile", "authors"]) == Exit.OK
    cut, gone = list(Path("results/reproduce/demo/runs").iterdir())[:2]
    flows = cut / "flows.parquet"
    flows.write_bytes(flows.read_bytes()[:-1])
    (gone / "marks.parquet").unlink()
    assert main(["reproduce", "demo", "--profile", "authors"]) == Exit.OK
    assert len(fake_core.ran) == 6 + 2


@pytest.mark.usefixtures("papers", "fake_core")
@pytest.mark.parametrize("damage", ["[1]", "{", '{"runs": 3}'])
def test_a_damaged_timing_is_named_and_the_report_is_made_without_it(
    damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "demo"]) == Exit.OK
    folder = Path("results/reproduce/demo")
    (folder / "timing.json").write_text(damage)
    (folder / "report.html").unlink()
    assert main(["report", str(folder)]) == Exit.CAVEATS
    assert "timing.json is damaged" in capsys.readouterr().err
    assert (folder / "report.html").exists()


@pytest.mark.usefixtures("papers", "fake_core")
def test_runs_that_are_missing_are_named_everywhere_and_leave_no_old_picture(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["reproduce", "demo"]) == Exit.OK
    folder = Path("results/reproduce/demo")
    for cell in json.loads((folder / "runs.json").read_text())["cells"]:
        if cell["profile"] == "ideal" and cell["run"] == "tcd":
            (folder / cell["folder"] / "run.json").unlink(missing_ok=True)
    assert (folder / "fig03-ideal.png").exists()
    capsys.readouterr()
    assert main(["report", str(folder)]) == Exit.OK
    told = "missing runs of fig03 under ideal, seed 2: tcd"
    assert told in capsys.readouterr().out
    assert told in (folder / "claims.md").read_text()
    assert "seed 2: tcd" in (folder / "report.html").read_text()
    assert not (folder / "fig03-ideal.png").exists()
    assert (folder / "fig03-authors.png").exists()


@pytest.mark.usefixtures("papers")
def test_verdicts_come_as_json_markdown_and_one_page(fake_core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "demo", "--profile", "authors", "--json"]) == Exit.OK
    verdicts = json.loads(capsys.readouterr().out)
    assert [(v["id"], v["verdict"]) for v in verdicts] == [("X-F3a", "holds"), ("X-F3b", "differs")]
    assert verdicts[0]["checks"][0]["mean"] == pytest.approx(500 / 150)
    root = Path("results/reproduce/demo/authors")
    page = (root / "report.html").read_text()
    assert "Figure 3 (a): Queue of P2" in page
    assert "data:image/png;base64," in page
    assert "when F1 falls below 15 Gbps" in page
    assert "| X-F3b |" in (root / "claims.md").read_text()
    assert fake_core.ran


@pytest.mark.usefixtures("papers")
def test_an_interrupted_reproduction_keeps_what_was_finished(
    fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_core.fail = lambda _, seed: KeyboardInterrupt() if seed == 2 else None
    assert main(["reproduce", "demo", "--profile", "authors", "--jobs", "1"]) == Exit.CAVEATS
    assert "the same command continues" in capsys.readouterr().err
    verdicts = json.loads(Path("results/reproduce/demo/authors/claims.json").read_text())
    assert {verdict["seeds"] for verdict in verdicts} == {1}
    fake_core.fail = lambda *_: None
    before = len(fake_core.ran)
    assert main(["reproduce", "demo", "--profile", "authors"]) == Exit.OK
    assert len(fake_core.ran) - before == 3


FIRST = """
[[first]]
name = "lone"
scenario = "one.toml"
set = ["traffic.F0.start=1s"]
"""

SETTLE = """
def settle(first):
    return {"start": f"{measures.by_traffic(first['lone'])['ce_packets'][0]}us"}
"""


def test_what_the_first_runs_settle_is_set_in_the_others(papers: Path, fake_core: FakeCore) -> None:
    folder = papers / "demo" / "fig03"
    own = EXPERIMENT.replace('scenario = "one.toml"\n', 'scenario = "one.toml"\nset = ["traffic.F0.start={start}"]\n')
    (folder / "experiment.toml").write_text(own.replace("[profile.ideal]", f"{FIRST}[profile.ideal]"))
    (folder / "figure.py").write_text(FIGURE + SETTLE)
    assert main(["reproduce", "demo", "--profile", "authors", "--seeds", "1"]) == Exit.OK
    starts = [override for overrides, _ in fake_core.ran for override in overrides if "F0.start" in override]
    assert starts == ["traffic.F0.start=1s"] + ["traffic.F0.start=10us"] * 3


def test_without_its_first_runs_a_figure_is_not_run(papers: Path, fake_core: FakeCore) -> None:
    folder = papers / "demo" / "fig03"
    (folder / "experiment.toml").write_text(EXPERIMENT.replace("[profile.ideal]", f"{FIRST}[profile.ideal]"))
    (folder / "figure.py").write_text(FIGURE + SETTLE)
    fake_core.fail = lambda *_: KeyboardInterrupt()
    assert main(["reproduce", "demo", "--profile", "authors", "--seeds", "1"]) == Exit.CAVEATS
    assert len(fake_core.ran) == 1
    verdicts = json.loads(Path("results/reproduce/demo/authors-1-seeds/claims.json").read_text())
    assert {verdict["verdict"] for verdict in verdicts} == {"not run"}


def test_a_figure_that_does_not_exist_is_named_with_those_that_do(papers: Path) -> None:
    with pytest.raises(UsageError, match=r"no figure 'fig04' of demo; there are: fig03"):
        experiment.discover("demo", ["fig04"], papers)
    with pytest.raises(UsageError, match=r"no paper 'other'; there are: demo"):
        experiment.discover("other", [], papers)


def test_an_unknown_key_in_experiment_toml_is_an_error_that_names_it(papers: Path) -> None:
    file = papers / "demo" / "fig03" / "experiment.toml"
    file.write_text("runs = 3\n" + EXPERIMENT)
    with pytest.raises(UsageError, match=r"experiment\.toml.*\n.*runs"):
        experiment.load(file.parent)


def test_a_page_shows_text_from_files_as_text(papers: Path, fake_core: FakeCore) -> None:
    file = papers / "demo" / "fig03" / "claims.toml"
    file.write_text(CLAIMS.replace("P2 holds more than P1", "<b>q & r</b>"))
    main(["reproduce", "demo", "--profile", "authors", "--seeds", "1"])
    page = Path("results/reproduce/demo/authors-1-seeds/report.html").read_text()
    assert "&lt;b&gt;q &amp; r&lt;/b&gt;" in page
    assert fake_core.ran


def test_a_tally_counts_every_verdict(papers: Path, fake_core: FakeCore) -> None:
    figures = experiment.discover("demo", [], papers)
    made = reproduce.plan(figures, ["authors"], 1, Path("out"), quick=False)
    found = [reproduce.evaluate(figures[0], "authors", made, Path("out"))]
    assert report.tally(found) == "2 verdicts: 2 not run"
    reproduce.run(made, 1, None)
    found = [reproduce.evaluate(figures[0], "authors", made, Path("out"))]
    assert report.tally(found) == "2 verdicts: 1 holds, 1 differs"
    assert len(fake_core.ran) == 3


def test_what_figures_share_comes_before_their_own(papers: Path) -> None:
    folder = papers / "demo" / "fig03"
    shared = '[profile.ideal]\nset = ["switch.buffer=12MB"]\n[[assumption]]\nparameter = "p"\nvalue = "v"\nwhy = "w"\n'
    (folder.parent / "scene.toml").write_text(shared)
    (folder / "experiment.toml").write_text('shared = "../scene.toml"\n' + EXPERIMENT)
    figure = experiment.load(folder)
    assert figure.overrides("ideal", quick=False) == ('profile="ideal"', "switch.buffer=12MB", "switch.buffer=9MB")
    assert [assumption.parameter for assumption in figure.experiment.assumption] == ["p", "start of F0"]


def test_a_shared_file_that_is_not_there_is_named(papers: Path) -> None:
    file = papers / "demo" / "fig03" / "experiment.toml"
    file.write_text('shared = "../scene.toml"\n' + EXPERIMENT)
    with pytest.raises(UsageError, match=r"there is no file .*scene\.toml"):
        experiment.load(file.parent)


@pytest.mark.usefixtures("papers", "fake_core")
def test_the_report_on_a_part_leaves_that_on_the_whole_and_says_when_it_is_quick() -> None:
    root = Path("results/reproduce/demo")
    assert main(["reproduce", "demo"]) == Exit.OK
    whole = (root / "claims.json").read_text()
    assert main(["reproduce", "demo", "--figure", "fig03", "--profile", "ideal", "--quick"]) == Exit.OK
    assert (root / "claims.json").read_text() == whole
    assert "--quick" in (root / "fig03-ideal-quick" / "report.html").read_text()
    assert "--quick" in (root / "fig03-ideal-quick" / "claims.md").read_text()
    assert "--quick" not in (root / "claims.md").read_text()


@pytest.mark.usefixtures("papers")
def test_a_report_is_made_again_from_what_there_is_without_running(fake_core: FakeCore) -> None:
    root = Path("results/reproduce/demo")
    assert main(["reproduce", "demo"]) == Exit.OK
    before, page = len(fake_core.ran), (root / "report.html").read_text()
    (root / "report.html").unlink()
    assert main(["report", str(root)]) == Exit.OK
    assert len(fake_core.ran) == before
    again = (root / "report.html").read_text()
    assert again.count("<img") == page.count("<img") == 1
    assert "backwater" in again


def test_a_report_names_the_runs_that_are_missing_and_their_claims_are_not_run(
    papers: Path, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path("results/reproduce/demo")
    fake_core.fail = lambda _, seed: KeyboardInterrupt() if seed == 2 else None
    assert main(["reproduce", "demo", "--jobs", "1"]) == Exit.CAVEATS
    page = (root / "report.html").read_text()
    assert "This report is not complete." in page
    assert "fig03, authors, missing runs of seed 2: tcd, ecn red 0.5, ecn red 1.2" in page
    assert "1 of 2 seeds" in page
    for run in (root / "runs").glob("*-s1-*/run.json"):
        run.unlink()
    assert main(["report", str(root)]) == Exit.OK
    page = (root / "report.html").read_text()
    assert "0 of 2 seeds" in page
    assert page.count("not run</span>") >= 8
    verdicts = json.loads((root / "claims.json").read_text())
    assert {verdict["verdict"] for verdict in verdicts} == {"not run"}
    assert papers.is_dir()
    capsys.readouterr()


def test_a_figure_that_fails_loses_neither_the_others_nor_the_report(
    papers: Path, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    shutil.copytree(papers / "demo" / "fig03", papers / "demo" / "fig04")
    (papers / "demo" / "fig04" / "figure.py").write_text("def metrics(runs):\n    return {}['p2']\n")
    other = papers / "demo" / "fig04" / "claims.toml"
    other.write_text(CLAIMS.replace("X-F3", "X-F4"))
    assert main(["reproduce", "demo", "--profile", "ideal"]) == Exit.CAVEATS
    shown = capsys.readouterr()
    assert "fig04 under ideal could not be measured or drawn: KeyError: 'p2' (figure.py:2)" in shown.err
    verdicts = json.loads(Path("results/reproduce/demo/ideal/claims.json").read_text())
    assert [verdict["verdict"] for verdict in verdicts] == ["holds", "differs", "not run", "not run"]
    assert "KeyError" in Path("results/reproduce/demo/ideal/report.html").read_text()
    assert fake_core.ran


@pytest.mark.usefixtures("papers", "fake_core")
def test_a_report_that_was_made_of_a_part_only_is_found_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "demo", "--quick"]) == Exit.OK
    assert main(["report", "results/reproduce/demo"]) == Exit.BAD_INPUT
    part = Path("results/reproduce/demo/quick")
    assert f"what was reproduced is in {part}" in capsys.readouterr().err
    assert main(["report", str(part)]) == Exit.OK


@pytest.mark.parametrize("text", ["", "{}", '{"format": 1}', "[1]"])
@pytest.mark.usefixtures("papers")
def test_a_report_of_a_folder_that_holds_none_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "nowhere"]) == Exit.BAD_INPUT
    assert "is not the folder of a report: it has no runs.json" in capsys.readouterr().err
    Path("runs.json").write_text(text)
    assert main(["report", "."]) == Exit.BAD_INPUT
    assert "runs.json is damaged" in capsys.readouterr().err


def test_a_part_that_no_figure_runs_is_refused(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = papers / "demo" / "fig03" / "experiment.toml"
    file.write_text(EXPERIMENT.replace("seeds = 2", 'seeds = 2\nprofiles = ["authors"]'))
    assert main(["reproduce", "demo", "--profile", "ideal"]) == Exit.BAD_INPUT
    assert "none of the figures runs under ideal: fig03 (authors)" in capsys.readouterr().err


def test_the_longest_runs_start_first(papers: Path, fake_core: FakeCore) -> None:
    file = papers / "demo" / "fig03" / "experiment.toml"
    file.write_text(EXPERIMENT.replace('name = "ecn"', 'name = "ecn"\ncost = 30'))
    assert main(["reproduce", "demo", "--profile", "authors", "--jobs", "1"]) == Exit.OK
    assert ["red" in " ".join(overrides) for overrides, _ in fake_core.ran] == [True] * 4 + [False] * 2


@pytest.mark.usefixtures("papers", "fake_core")
def test_what_runs_took_is_remembered_and_where_the_time_went_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "demo", "--profile", "authors"]) == Exit.OK
    assert "outside the engine" in " ".join(capsys.readouterr().out.split())
    timing = json.loads(Path("results/reproduce/demo/authors/timing.json").read_text())
    assert timing["runs"] == 6
    assert 0 <= timing["outside_engine"] <= 1
    costs = json.loads(Path("results/reproduce/demo/costs.json").read_text())
    assert set(costs) == {"fig03 authors tcd", "fig03 authors ecn red 0.5", "fig03 authors ecn red 1.2"}


def test_a_page_loads_nothing_from_elsewhere(papers: Path, fake_core: FakeCore) -> None:
    assert papers.is_dir()
    assert main(["reproduce", "demo"]) == Exit.OK
    page = Path("results/reproduce/demo/report.html").read_text()
    assert all(
        target.startswith(("#", "data:", "https://doi")) for target in re.findall(r'(?:src|href)="([^"]*)"', page)
    )
    assert "<script" not in page
    assert "@import" not in page
    assert fake_core.ran


def test_a_claim_of_two_figures_has_a_place_on_the_page_for_each(papers: Path, fake_core: FakeCore) -> None:
    one = papers / "demo" / "fig03"
    other = papers / "demo" / "fig03-ib"
    shutil.copytree(one, other)
    experiment_text = EXPERIMENT.replace("seeds = 2", 'seeds = 2\nprofiles = ["infiniband"]')
    (other / "experiment.toml").write_text(experiment_text)
    assert main(["reproduce", "demo", "--seeds", "1"]) == Exit.OK
    assert sum('profile="infiniband"' in overrides for overrides, _ in fake_core.ran) == 3
    page = Path("results/reproduce/demo/1-seeds/report.html").read_text()
    places = re.findall(r'<article class="claim" id="([^"]+)"', page)
    assert places == ["X-F3a", "X-F3b", "X-F3a-fig03-ib", "X-F3b-fig03-ib"]
    assert all(f'<a href="#{place}">' in page for place in places)
    # One row of the overview, with a verdict for each of the three profiles.
    row = next(row for row in page.split("<tr>") if '<th scope="row"><a href="#X-F3a">' in row)
    assert row.count("holds</span>") == 3
    assert '<a href="#X-F3a-fig03-ib">fig03-ib</a>: P2 holds more than P1' in row
    verdicts = json.loads(Path("results/reproduce/demo/1-seeds/claims.json").read_text())
    assert [(v["id"], v["profile"]) for v in verdicts if v["figure"] == "fig03-ib"] == [
        ("X-F3a", "infiniband"),
        ("X-F3b", "infiniband"),
    ]
