"""Reproducing a paper: what is run, what is kept, what is judged. The simulator is a stand-in here."""

import json
import re
import shutil
from pathlib import Path

import pytest
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.papers import paper, paper_figure
from conftest import FakeCore
from small_paper import CLAIMS, EXPERIMENT, FIGURE, FIRST, SETTLE


def test_a_sweep_is_one_run_for_each_combination(papers: Path) -> None:
    figure = paper_figure.load(papers / "demo" / "fig03")
    runs = dict(figure.experiment.run[1].expand())
    assert runs == {
        "ecn red 0.5": ('switch.detector.kind="red"', "cc.dcqcn.alpha-initial=0.5"),
        "ecn red 1.2": ('switch.detector.kind="red"', "cc.dcqcn.alpha-initial=1.2"),
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
        paper_figure.load(file.parent)


def test_a_quick_look_may_skip_runs_and_have_its_own_number_of_seeds(
    papers: Path, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    file = papers / "demo" / "fig03" / "experiment.toml"
    file.write_text(EXPERIMENT + '[quick]\nseeds = 3\nskip = ["ecn * 1.2"]\n')
    assert main(["reproduce", "demo", "--quick", "--profile", "ideal"]) == Exit.OK
    assert len(fake_core.ran) == 2 * 3
    # Beside the counts, in the terminal and in claims.md.
    said = re.compile(
        r"verdicts on results: .*\n(?:.*\n)*?quick: 3 seeds, \d+ hosts. A few seeds on a small network is no verdict"
    )
    assert said.search(capsys.readouterr().out)
    assert said.search(Path("results/reproduce/demo/ideal-quick/claims.md").read_text())
    page = Path("results/reproduce/demo/ideal-quick/report.html").read_text()
    assert "The runs are shrunk (--quick):</strong> without the runs <code>ecn * 1.2</code>, 3 seeds" in page
    file.write_text(EXPERIMENT + '[quick]\nskip = ["red"]\n')
    with pytest.raises(UsageError, match=r"quick.skip names no run with 'red'; the runs are tcd, ecn red 0.5"):
        paper_figure.load(file.parent)


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
        paper_figure.discover("demo", ["fig04"], papers)
    with pytest.raises(UsageError, match=r"no paper 'other'; there are: demo"):
        paper_figure.discover("other", [], papers)


def test_an_unknown_key_in_experiment_toml_is_an_error_that_names_it(papers: Path) -> None:
    file = papers / "demo" / "fig03" / "experiment.toml"
    file.write_text("runs = 3\n" + EXPERIMENT)
    with pytest.raises(UsageError, match=r"experiment\.toml.*\n.*runs"):
        paper_figure.load(file.parent)


def test_what_figures_share_comes_before_their_own(papers: Path) -> None:
    folder = papers / "demo" / "fig03"
    shared = '[profile.ideal]\nset = ["switch.buffer=12MB"]\n[[assumption]]\nparameter = "p"\nvalue = "v"\nwhy = "w"\n'
    (folder.parent / "scene.toml").write_text(shared)
    (folder / "experiment.toml").write_text('shared = "../scene.toml"\n' + EXPERIMENT)
    figure = paper_figure.load(folder)
    assert figure.overrides("ideal", "tcd", quick=False) == (
        'profile="ideal"',
        "switch.buffer=12MB",
        "switch.buffer=9MB",
    )
    assert [assumption.parameter for assumption in figure.experiment.assumption] == ["p", "start of F0"]


PROFILES = """
title = "A paper of its own"
short = "Demo"
[[profile]]
name = "plain"
base = "ideal"
[[profile]]
name = "quick-timers"
base = "ideal"
set = ["cc.dcqcn.rate-timer=5us"]
runs = ["ecn*"]
default = false
"""


def test_a_paper_may_have_profiles_of_its_own_that_change_some_runs(papers: Path, fake_core: FakeCore) -> None:
    (papers / "demo" / "paper.toml").write_text(PROFILES)
    file = papers / "demo" / "fig03" / "experiment.toml"
    own = EXPERIMENT.replace("[profile.ideal]", "[profile.plain]")
    file.write_text(own)
    assert paper_figure.load(file.parent).profiles(["plain", "quick-timers"]) == ("plain",)
    file.write_text('profiles = ["plain", "quick-timers"]\n' + own)
    assert main(["reproduce", "demo", "--seeds", "1"]) == Exit.OK
    assert all(overrides[0] == 'profile="ideal"' for overrides, _ in fake_core.ran)
    # The run that no profile changes is done once for each of the two settings that differ by the figure's own line.
    changed = [overrides for overrides, _ in fake_core.ran if "cc.dcqcn.rate-timer=5us" in overrides]
    assert len(changed) == 2
    assert all("switch.buffer=9MB" not in overrides for overrides in changed)
    with pytest.raises(UsageError, match="Demo has no profile 'ideal'; there are: plain, quick-timers, all"):
        paper.load(papers / "demo").chosen("ideal")


def test_figures_may_share_runs_and_what_makes_each_smaller(papers: Path, fake_core: FakeCore) -> None:
    folder = papers / "demo" / "fig03"
    run = '[[run]]\nname = "{}"\nscenario = "one.toml"\nset = ["cc.kind=none"]\nquick = ["run.until=1us"]\n'
    (folder.parent / "first.toml").write_text(run.format("plain"))
    (folder.parent / "second.toml").write_text(run.format("other").replace("none", "dcqcn"))
    shared = 'shared = ["../first.toml", "../second.toml"]\n'
    (folder / "experiment.toml").write_text(shared + EXPERIMENT + '[quick]\nskip = ["ecn *"]\n')
    figure = paper_figure.load(folder)
    assert [spec.name for spec in figure.experiment.run] == ["plain", "other", "tcd", "ecn"]
    assert main(["reproduce", "demo", "--profile", "authors", "--quick"]) == Exit.CAVEATS
    quick = [overrides for overrides, _ in fake_core.ran if "run.until=1us" in overrides]
    # Workers take runs side by side, so the order in which they begin is not a promise.
    assert sorted(overrides[1] for overrides in quick) == ["cc.kind=dcqcn", "cc.kind=none"]
    page = Path("results/reproduce/demo/authors-quick/report.html").read_text()
    assert "<code>run.until=1us</code>" in page


@pytest.mark.usefixtures("fake_core")
def test_a_quick_look_has_no_verdict_on_a_claim_that_it_cannot_decide(papers: Path) -> None:
    file = papers / "demo" / "fig03" / "claims.toml"
    file.write_text(CLAIMS.replace('bound = "> 1"', 'bound = "> 1"\nquick = "P2 has no time to fill"'))
    for words, verdict, reason in (([], "holds", ""), (["--quick"], "not decidable", "P2 has no time to fill")):
        assert main(["reproduce", "demo", "--profile", "authors", "--seeds", "2", *words]) == Exit.OK
        part = "-".join(["authors", "2-seeds", *(["quick"] if words else [])])
        verdicts = json.loads(Path(f"results/reproduce/demo/{part}/claims.json").read_text())
        assert [(one["verdict"], one["reason"]) for one in verdicts if one["id"] == "X-F3a"] == [(verdict, reason)]


def test_a_shared_file_that_is_not_there_is_named(papers: Path) -> None:
    file = papers / "demo" / "fig03" / "experiment.toml"
    file.write_text('shared = "../scene.toml"\n' + EXPERIMENT)
    with pytest.raises(UsageError, match=r"there is no file .*scene\.toml"):
        paper_figure.load(file.parent)


def test_a_figure_that_fails_loses_neither_the_others_nor_the_report(
    papers: Path, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:

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


@pytest.mark.usefixtures("papers", "fake_core")
def test_a_figure_is_drawn_for_print_beside_the_picture_of_the_report() -> None:
    assert main(["reproduce", "demo", "--profile", "authors", "--format", "pdf", "--width", "7in"]) == Exit.OK
    drawn = {file.name for file in Path("results/reproduce/demo/authors").iterdir()}
    assert {"fig03-authors.png", "fig03-authors-printed.pdf"} <= drawn
