"""docs/promises.md is kept: each of its commands has the exit code and says the words that stand beside it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from backwater import Results
from backwater.cli import main
from backwater.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def _sections() -> Iterator[tuple[str, list[tuple[str, int, str]]]]:
    """The rows of each section that have a command: command, exit code, words."""
    for part in PAGE.split("\n## ")[1:]:
        rows = re.findall(r"^\| .* \| `(backwater [^`]*)` \| (\d) \| `(.*)` \|$", part, re.MULTILINE)
        if rows:
            yield part.splitlines()[0], [(command, int(code), words) for command, code, words in rows]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the commands run; a later section uses results of an earlier one."""
    made = tmp_path_factory.mktemp("promises")
    (made / "scenarios").symlink_to(ROOT / "scenarios")
    return made


@pytest.mark.parametrize(("title", "rows"), list(_sections()))
def test_every_promise_is_kept(
    title: str,
    rows: list[tuple[str, int, str]],
    room: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(room)
    monkeypatch.setenv("BACKWATER_CACHE", str(room / "cache"))
    if title != "The same bits":
        assert main(["run", "scenarios/incast.toml", "--out", "results/one"]) == Exit.OK
    for command, code, words in rows:
        assert main(shlex.split(command)[1:]) == code, command
        shown = capsys.readouterr()
        assert words in shown.out + shown.err, f"{command}: {shown.out}{shown.err}"
    if title == "The same bits":
        folders = ("one/incast-s1", "two/incast-s1")
        digests = {Results(room / "results" / folder).digest for folder in folders}
        digests |= {Results(folder).digest for folder in (room / "results" / "plain").iterdir()}
        assert len(digests) == 1


def test_every_row_is_run() -> None:
    assert sum(len(rows) for _, rows in _sections()) == len(
        re.findall(r"^\| .*`backwater .* \| \d \| ", PAGE, re.MULTILINE)
    )
    assert sum(len(rows) for _, rows in _sections()) >= 28


def test_what_a_promise_rests_on_is_there() -> None:
    part = PAGE[PAGE.index("## Shown by tests") : PAGE.index("## Not promised")]
    named = re.findall(r"`([^`]+)`", "\n".join(row.rsplit("|", 2)[1] for row in part.splitlines() if "|" in row))
    targets = (ROOT / "Makefile").read_text("utf-8")
    assert len(named) >= 8
    for name in named:
        if name.startswith("make "):
            assert f"\n{name.split()[1]}:" in targets, name
        elif not name.startswith("backwater "):
            assert (ROOT / name).exists(), name
