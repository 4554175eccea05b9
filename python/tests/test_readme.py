"""What the README, and the pages that it leads to first, show works as it is written there."""

import re
import shlex
from pathlib import Path

import pytest
from backwater import cli
from backwater.errors import Exit
from backwater.papers import claims
from backwater.papers.report import order
from backwater.scenario.scenario import Scenario

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
#: It, and the pages for what a user does first.
NAMES = [
    "README.md",
    *(f"docs/{name}.md" for name in ("scenarios", "commands", "page", "infiniband", "isolation", "slow-hosts")),
]
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
SHOWN = "\n".join(PAGES.values())
SCENARIOS = re.findall(r"```toml\n(.*?)```", SHOWN, re.DOTALL)
COMMANDS = re.findall(r"`(backwater [^`]*)`", SHOWN)
#: Blocks of commands with what they print.
SESSIONS = re.findall(r"```\n(\$ backwater .*?)```", SHOWN, re.DOTALL)
#: The papers that are judged; the rows of uec are judged by who runs them.
PAPERS = sorted(file.parent.name for file in (ROOT / "papers").glob("*/paper.toml") if file.parent.name != "uec")

#: A row of a paper's table: claim, verdict, and the kind before it of those that are not counted.
ROW = re.compile(r"^\| ([A-Z]+-\S+) \|.*\| \d+ \| ([a-z ]+)(?: \(([a-z ]+)\))?(?:: .*)? \|$", re.MULTILINE)
#: The columns of README.md, by the parts of a paper's table.
COLUMNS = (("Headline results", "Other results"), ("Mechanism", "Own checks"))


def section(paper: str) -> str:
    """What a paper's page says of every claim, as `make report` writes it."""
    return (ROOT / "papers" / paper / "README.md").read_text(encoding="utf-8").partition("\n## Every claim\n")[2]


def verdicts(paper: str) -> list[tuple[str, str]]:
    """Claim and verdict of each row."""
    return [(claim, (inner or word).strip()) for claim, word, inner in ROW.findall(section(paper))]


def part(paper: str, title: str) -> list[str]:
    """The verdicts of a part of that table."""
    text = section(paper).partition(f"\n### {title}\n")[2].partition("\n### ")[0]
    return [(inner or word).strip() for _, word, inner in ROW.findall(text)]


def test_the_readme_shows_scenarios_and_commands() -> None:
    assert len(SCENARIOS) == 5
    assert len(COMMANDS) > 5
    assert len(SESSIONS) == 2
    assert PAPERS == ["bfc", "ec", "floodgate", "ici", "pcn", "pft", "pyrrha", "tcd"]


def test_the_readme_is_read_in_two_minutes() -> None:
    assert len(README.splitlines()) <= 120
    # Three doors, each with at most six lines of its own.
    for door in ("My network", "My algorithm", "My MPI job"):
        block = re.search(rf"## {door}\n\n```\w*\n(.*?)```", README, re.DOTALL)
        assert block is not None
        assert len([line for line in block[1].splitlines() if line]) <= 6


@pytest.mark.parametrize("paper", PAPERS)
def test_the_readme_counts_the_verdicts_that_the_papers_pages_have(paper: str) -> None:
    row = re.search(rf"\| `backwater reproduce {paper}` \| (.*) \| (.*) \| (\d+) \|", README)
    assert row is not None
    counts = []
    for titles in COLUMNS:
        words = [word for title in titles for word in part(paper, title)]
        counts.append(", ".join(f"{words.count(word)} {word}" for word in claims.Verdict if word in words))
    assert [*row.groups()] == [*counts, str(len(part(paper, "Not counted")))]
    assert sum(map(len, (part(paper, title) for title in order.TITLES))) == len(verdicts(paper))


@pytest.mark.parametrize("paper", PAPERS)
def test_a_papers_table_shows_each_claim_in_the_part_of_its_kind(paper: str) -> None:
    places: dict[str, set[str]] = {}
    for file in (ROOT / "papers" / paper).glob("*/claims.toml"):
        for claim in claims.load(file):
            kinds = {claim.kind_in(profile) for profile in claim.chosen} | {claim.kind}
            places.setdefault(claim.id, set()).update(order.place(kind, headline=claim.headline) for kind in kinds)
    for title in order.TITLES:
        text = section(paper).partition(f"\n### {title}\n")[2].partition("\n### ")[0]
        assert [claim for claim, *_ in ROW.findall(text) if title not in places[claim]] == []


@pytest.mark.parametrize("text", SCENARIOS)
def test_every_scenario_of_the_readme_is_valid(text: str) -> None:
    # One of them reads files in the HPCC format, of which scenarios/hpcc has an example.
    assert Scenario(text, "README.md", ROOT / "scenarios" / "hpcc").resolve()["traffic"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_readme_parses(command: str) -> None:
    words = shlex.split(command.split(">")[0])[1:]
    called, bound, _ = cli.app().parse_args(words, exit_on_error=False)
    assert called is not None
    assert bound is not None


def test_two_lines_make_the_first_scenario_an_infiniband_fabric() -> None:
    diff = re.search(r"```diff\n(.*?)```", SHOWN, re.DOTALL)
    assert diff is not None
    text = (ROOT / "scenarios" / "single-congestion-point.toml").read_text(encoding="utf-8")
    lines = diff[1].splitlines()
    for old, new in zip(lines[::2], lines[1::2], strict=True):
        assert (old[0], new[0], text.count(f"\n{old[1:]}\n")) == ("-", "+", 1)
        text = text.replace(f"\n{old[1:]}\n", f"\n{new[1:]}\n")
    assert Scenario(text, "README.md", ROOT / "scenarios").resolve()["switch"]["flow-control"] == "credits"


@pytest.mark.parametrize("session", SESSIONS)
def test_the_commands_print_what_the_readme_says_they_do(
    session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    for step in session.split("$ ")[1:]:
        command, *lines = step.splitlines()
        assert cli.main(shlex.split(command)[1:]) == Exit.OK
        said = capsys.readouterr().out
        missing = [line for line in lines if line.removesuffix("...").rstrip() not in said]
        assert missing == [], f"{command} does not print this any more: change README.md"


def test_the_four_commands_lead_to_ones_own_congestion_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    block = re.search(r"```\n(make build\n.*?)```", README, re.DOTALL)
    assert block is not None
    build, *commands = [line.split("#")[0].strip() for line in block[1].splitlines()]
    assert build == "make build"  # this test needs what it makes
    assert len(commands) == 3
    for name in ("topology.txt", "flow.txt"):
        (tmp_path / name).write_bytes((ROOT / "scenarios" / "hpcc" / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    for command in commands:
        words = shlex.split(command)
        assert words.pop(0) == ".venv/bin/backwater"
        # What it serves it also writes, and then it ends.
        assert cli.main([*words, "--out", "seen.html"] if words[0] == "view" else words) == Exit.OK
    capsys.readouterr()
    for page in (tmp_path / "results" / "mine-s1" / "view.html", tmp_path / "seen.html"):
        assert page.stat().st_size > 50_000


@pytest.mark.parametrize("name", re.findall(r"(?:papers/\w+/)?scenarios/[\w-]+\.toml", SHOWN))
def test_every_scenario_file_that_the_readme_names_is_valid(name: str) -> None:
    resolved = Scenario.load(ROOT / name).resolve()
    assert resolved.get("traffic") or resolved["job"]


@pytest.mark.parametrize("name", NAMES)
def test_every_link_of_these_pages_leads_somewhere(name: str) -> None:
    for target in re.findall(r"\]\((?!http)([^)]+)\)", PAGES[name]):
        assert ((ROOT / name).parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("paper", PAPERS)
def test_a_papers_page_says_of_which_version_and_date_its_verdicts_are(paper: str) -> None:
    version = r"Backwater version [\d.]+, commit [0-9a-f]{12}[^,]*"
    date = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"
    assert re.match(rf"\n`backwater reproduce {paper}`, {version}, {date}; seeds: \d", section(paper))


@pytest.mark.parametrize("paper", PAPERS)
def test_a_papers_page_has_a_verdict_of_every_claim(paper: str) -> None:
    files = (ROOT / "papers" / paper).glob("*/claims.toml")
    wanted = {claim.id for file in files for claim in claims.load(file)}
    assert wanted
    assert {claim for claim, _ in verdicts(paper)} == wanted


@pytest.mark.parametrize("paper", PAPERS)
def test_a_papers_page_shows_a_handful_of_small_pictures(paper: str) -> None:
    home = ROOT / "papers" / paper
    shown = re.findall(r"!\[[^\]]+\]\((pictures/[^)]+\.png)\)", (home / "README.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(file.relative_to(home).as_posix() for file in (home / "pictures").iterdir())
    assert 2 <= len(shown) <= 5
    assert max((home / name).stat().st_size for name in shown) < 150_000
