"""What the README shows works as it is written there."""

import re
import shlex
from pathlib import Path

import pytest
from backwater import claims, cli
from backwater.running import Scenario

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCENARIOS = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"`(backwater [^`]*)`", README)


def test_the_readme_shows_scenarios_and_commands() -> None:
    assert len(SCENARIOS) == 4
    assert len(COMMANDS) > 5


@pytest.mark.parametrize("text", SCENARIOS)
def test_every_scenario_of_the_readme_is_valid(text: str) -> None:
    # One of them reads files in the HPCC format, of which scenarios/hpcc has an example.
    assert Scenario(text, "README.md", ROOT / "scenarios" / "hpcc").resolve()["traffic"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_readme_parses(command: str) -> None:
    words = shlex.split(command.split(">")[0])[1:]
    called, bound, _ = cli.app.parse_args(words, exit_on_error=False)
    assert called is not None
    assert bound is not None


@pytest.mark.parametrize("name", re.findall(r"scenarios/[\w-]+\.toml", README))
def test_every_scenario_file_that_the_readme_names_is_valid(name: str) -> None:
    assert Scenario.load(ROOT / name).resolve()["traffic"]


@pytest.mark.parametrize("target", re.findall(r"\]\((?!http)([^)]+)\)", README))
def test_every_link_of_the_readme_leads_somewhere(target: str) -> None:
    assert (ROOT / target).exists()


def test_the_report_is_linked_with_its_own_version_and_date() -> None:
    link = re.search(r"\[report\]\(([^)]+)\), version ([\d.]+), (\d{4}-\d\d-\d\d)\)", README)
    assert link is not None
    page = (ROOT / link[1]).read_text(encoding="utf-8")
    assert f"<dd>version {link[2]}" in page
    assert f"<dt>date</dt><dd>{link[3]}" in page
    assert len(page) < 3_000_000, "a report in the repository is small"


def test_the_committed_report_has_every_claim_of_the_paper() -> None:
    page = (ROOT / "docs" / "reports" / "tcd.html").read_text(encoding="utf-8")
    files = sorted((ROOT / "papers" / "tcd").glob("*/claims.toml"))
    wanted = [claim.id for file in files for claim in claims.load(file)]
    assert wanted
    assert [name for name in wanted if f'<article class="claim" id="{name}">' not in page] == []
