"""The report of a reproduction: what it says, what it lacks, and making it again. The simulator is a stand-in here."""

import json
import re
import shutil
from pathlib import Path

import pytest
from backwater.cli import main
from backwater.errors import Exit
from backwater.experiments.executor import run_jobs
from backwater.papers import paper_figure, provenance, report, reproduce
from backwater.papers.report import text
from conftest import FakeCore
from small_paper import CLAIMS, EXPERIMENT


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


def test_a_page_shows_text_from_files_as_text(papers: Path, fake_core: FakeCore) -> None:
    file = papers / "demo" / "fig03" / "claims.toml"
    file.write_text(CLAIMS.replace("P2 holds more than P1", "<b>q & r</b>"))
    main(["reproduce", "demo", "--profile", "authors", "--seeds", "1"])
    page = Path("results/reproduce/demo/authors-1-seeds/report.html").read_text()
    assert "&lt;b&gt;q &amp; r&lt;/b&gt;" in page
    assert fake_core.ran


def test_a_tally_counts_every_verdict(papers: Path, fake_core: FakeCore) -> None:
    figures = paper_figure.discover("demo", [], papers)
    made = reproduce.plan(figures, ["authors"], 2, Path("out"), quick=False)
    found = [reproduce.evaluate(figures[0], "authors", made, Path("out"))]
    assert report.tally(found) == "2 verdicts on results: 2 not run"
    run_jobs(list(made.jobs.values()), 1)
    found = [reproduce.evaluate(figures[0], "authors", made, Path("out"))]
    assert report.tally(found) == "2 verdicts on results: 1 holds, 1 differs"
    assert len(fake_core.ran) == 6


def test_only_claims_that_could_have_failed_are_counted_and_headlines_stand_first(
    papers: Path, fake_core: FakeCore
) -> None:
    file = papers / "demo" / "fig03" / "claims.toml"
    one = '[[claim]]\nid = "X-{}"\ntext = "t"\npaper = "p"\nmetric = "ce"\nbound = ">= 0"\n'
    kinds = ["formula", "own", "mechanism", "setting", "result", "text", "definition"]
    others = "".join(one.format(kind) + f'kind = "{kind}"\n' for kind in kinds)
    chosen = one.format("chosen") + 'chosen.authors = "32 slots"\n'
    file.write_text(CLAIMS + others + chosen + one.format("z-headline") + "headline = true\n")
    assert main(["reproduce", "demo", "--profile", "authors"]) == Exit.OK
    folder = Path("results/reproduce/demo/authors")
    rows = json.loads((folder / "claims.json").read_text())
    assert [row["id"] for row in rows] == [
        "X-z-headline", "X-F3a", "X-F3b", "X-result", "X-mechanism", "X-own",
        "X-chosen", "X-definition", "X-formula", "X-setting", "X-text",
    ]  # fmt: skip
    assert [row["counted"] for row in rows] == [True] * 6 + [False] * 5
    assert json.loads((folder / "counts.json").read_text()) == {
        "result": {"holds": 3, "differs": 1}, "mechanism": {"holds": 1}, "own": {"holds": 1},
        "by construction": {"holds": 1}, "setting": {"holds": 1}, "definition": {"holds": 1},
        "formula": {"holds": 1}, "text": {"holds": 1},
    }  # fmt: skip
    told = (
        "4 verdicts on results: 3 holds, 1 differs; 1 verdict on mechanisms: 1 holds; "
        "1 verdict on own checks: 1 holds; not counted: 1 by construction, 1 setting, 1 definition, 1 formula, 1 text"
    )
    assert told in (folder / "claims.md").read_text()
    assert f"{told}." in (folder / "verdicts.md").read_text()
    assert "by construction (holds): 32 slots |" in (folder / "verdicts.md").read_text()
    page = (folder / "report.html").read_text()
    assert "not counted: 1 by construction, 1 setting" in page
    titles = ["Headline results", "Other results", "Mechanism", "Own checks", "Not counted"]
    places = [page.index(f">{title}</th>") for title in titles]
    assert places == sorted(places)
    assert fake_core.ran


def test_the_literal_profile_stands_first_and_the_others_beside_it(
    papers: Path, fake_core: FakeCore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    profiles = "".join(f'[[profile]]\nname = "{name}"\n' for name in ("authors", "ideal"))
    (papers / "demo" / "paper.toml").write_text('title = "T"\nshort = "DEMO"\n' + profiles + "literal = true\n")
    assert main(["reproduce", "demo"]) == Exit.OK
    said = capsys.readouterr().out
    assert re.search(r"claim +┃ holds if +┃ literal +┃ ours", said)
    assert re.search(r"X-F3a +│ > 1 +│ holds 3\.33 ± 0, ideal +│ holds 3\.33 ± 0, authors", said)
    folder = Path("results/reproduce/demo")
    verdicts = (folder / "verdicts.md").read_text()
    assert "| claim | literal | ours |" in verdicts
    assert "| X-F3b | differs (ideal) | differs (authors) |" in verdicts
    assert [row["profile"] for row in json.loads((folder / "claims.json").read_text())] == ["ideal", "authors"] * 2
    page = (folder / "report.html").read_text()
    assert "<th>literal: ideal</th><th>ours: authors</th>" in page
    assert "ideal (literal)" in page
    assert fake_core.ran


@pytest.mark.usefixtures("papers", "fake_core")
def test_a_report_of_a_changed_tree_or_of_runs_of_several_commits_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def of(commit: str, *, changed: bool) -> None:
        monkeypatch.setattr(provenance, "tree", lambda: provenance.Tree(commit, changed))

    folder = Path("results/reproduce/demo")
    texts = ("claims.md", "verdicts.md", "report.html")
    of("0123456789ab", changed=False)
    assert main(["reproduce", "demo", "--profile", "ideal"]) == Exit.OK
    assert "This report is" not in capsys.readouterr().out
    assert all("This report is" not in (folder / "ideal" / name).read_text() for name in texts)
    of("ba9876543210", changed=True)
    assert main(["reproduce", "demo"]) == Exit.OK
    said = " ".join(capsys.readouterr().out.split())
    for told in (
        "This report is of a tree with changes that are not committed",
        "stitched from runs of several commits: 6 of commit 0123456789ab, 6 of commit ba9876543210 with changes that",
    ):
        assert told in said
        assert all(told in (folder / name).read_text() for name in texts)


@pytest.mark.usefixtures("papers")
def test_runs_of_a_command_that_was_killed_keep_their_commit(
    fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr(provenance, "tree", lambda: provenance.Tree("0123456789ab", changed=False))
    with monkeypatch.context() as once:
        # After the runs nothing is written any more.
        once.setattr("backwater.papers.run_costs.learn", killed)
        with pytest.raises(Killed):
            main(["reproduce", "demo"])
    ran = len(fake_core.ran)
    known = json.loads((Path("results/reproduce/demo") / provenance.FILE).read_text())
    assert ran
    assert list(known.values()) == ["commit 0123456789ab"] * ran
    # Those that another commit takes over keep theirs.
    monkeypatch.setattr(provenance, "tree", lambda: provenance.Tree("ba9876543210", changed=False))
    assert main(["reproduce", "demo"]) == Exit.OK
    assert len(fake_core.ran) == ran
    assert "This report is" not in capsys.readouterr().out


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


@pytest.mark.usefixtures("papers", "fake_core")
def test_a_report_that_was_made_of_a_part_only_is_found_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "demo", "--quick"]) == Exit.OK
    assert main(["report", "results/reproduce/demo"]) == Exit.BAD_INPUT
    part = Path("results/reproduce/demo/quick")
    assert f"what was run is in {part}" in capsys.readouterr().err
    assert main(["report", str(part)]) == Exit.OK


@pytest.mark.parametrize("text", ["", "{}", '{"format": 1}', "[1]"])
@pytest.mark.usefixtures("papers")
def test_a_report_of_a_folder_that_holds_none_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "nowhere"]) == Exit.BAD_INPUT
    assert "is not the folder of a report: it has no runs.json" in capsys.readouterr().err
    Path("runs.json").write_text(text)
    assert main(["report", "."]) == Exit.BAD_INPUT
    assert "runs.json is damaged" in capsys.readouterr().err


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
    assert main(["reproduce", "demo", "--seeds", "2"]) == Exit.OK
    assert sum('profile="infiniband"' in overrides for overrides, _ in fake_core.ran) == 6
    page = Path("results/reproduce/demo/2-seeds/report.html").read_text()
    places = re.findall(r'<article class="claim" id="([^"]+)"', page)
    assert places == ["X-F3a", "X-F3b", "X-F3a-fig03-ib", "X-F3b-fig03-ib"]
    assert all(f'<a href="#{place}">' in page for place in places)
    # One row of the overview, with a verdict for each of the three profiles.
    row = next(row for row in page.split("<tr>") if '<th scope="row"><a href="#X-F3a">' in row)
    assert row.count("holds</span>") == 3
    assert '<a href="#X-F3a-fig03-ib">fig03-ib</a>: P2 holds more than P1' in row
    verdicts = json.loads(Path("results/reproduce/demo/2-seeds/claims.json").read_text())
    assert [(v["id"], v["profile"]) for v in verdicts if v["figure"] == "fig03-ib"] == [
        ("X-F3a", "infiniband"),
        ("X-F3b", "infiniband"),
    ]


@pytest.mark.usefixtures("papers", "fake_core")
def test_the_section_of_a_readme_has_each_claim_in_short_and_what_it_says_once() -> None:
    assert main(["reproduce", "demo"]) == Exit.OK
    lines = Path("results/reproduce/demo/verdicts.md").read_text().splitlines()
    lines = [line for line in lines if not line.startswith("**This report")]
    assert lines[0] == "## Every claim"
    assert re.fullmatch(r"`backwater.*`, Backwater version .*, .* UTC; seeds: 2 per figure, from 1 on\.", lines[2])
    assert lines[3] == "4 verdicts on results: 2 holds, 2 differs."
    assert lines[6:9] == [
        "### Other results",
        "",
        "| claim | profile | what | ours (mean ± 95 %) | holds if | seeds | verdict |",
    ]
    rows = [line.strip("| ").split(" | ") for line in lines[10:]]
    assert [row[:2] for row in rows] == [
        ["X-F3a", "authors"],
        ["X-F3a", "ideal"],
        ["X-F3b", "authors"],
        ["X-F3b", "ideal"],
    ]
    assert [row[2] for row in rows] == ["P2 holds more than P1", "", "nothing is marked CE", ""]
    assert rows[2][4:] == ["= 0", "2", "differs"]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("", "differs"),
        ("there P1 is slow. See P2", "differs: there P1 is slow"),
        ("below 0.5 (of 1). The rest waits.", "differs: below 0.5 (of 1)"),
        ("one sentence of v. 2 alone", "differs: one sentence of v. 2 alone"),
    ],
)
def test_a_verdict_in_short_has_the_first_sentence_of_its_reason(reason: str, told: str) -> None:
    assert text.verdict("differs", reason) == told


@pytest.mark.parametrize(
    ("bound", "printed"), [(">= 500", "≥ 500"), ("1.2..2.5", "1.2 to 2.5"), ("== 0", "= 0"), ("true", "true")]
)
def test_bounds_are_printed_with_the_signs_of_mathematics(bound: str, printed: str) -> None:
    assert text.bound(bound) == printed
