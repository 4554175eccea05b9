"""Blame by traffic entry and rank where ranks of programs share a network with flows: nobody is left out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from backwater import Results, _core
from backwater.analysis import run_notes
from backwater.cli import main
from backwater.errors import Exit
from plain_star import DELAY, PACKET, PS_PER_BYTE, message, scenario

if TYPE_CHECKING:
    from pathlib import Path

#: Ranks 0 and 1 send a packet to rank 2 at once: one of them waits for the other at the switch. Nobody meets `aside`.
PROGRAM = """backwater-program 1
ranks 3
rank 0-1 send to 2 bytes 1000
rank 2 recv from 0 bytes 1000
rank 2 recv from 1 bytes 1000
"""
ASIDE = '[[traffic]]\nname = "aside"\nkind = "flow"\nfrom = "h4"\nto = "h5"\nsize = "1000B"\n'
WAIT = PACKET * PS_PER_BYTE


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    entry = '[[traffic]]\nname = "app"\nkind = "program"\nfile = "app.program"\nhosts = "h[0-2]"\n'
    (tmp_path / "app.program").write_text(PROGRAM)
    _core.Scenario(scenario(entry + ASIDE), "c.toml", tmp_path, ()).run(tmp_path / "run")
    return tmp_path / "run"


def summed(folder: Path, by: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    assert main(["blame", str(folder), "--by", by, "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert main(["blame", str(folder), "--by", by]) == Exit.OK
    return {row["group"]: row for row in told["lost"]}, " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("by", "receiver", "aside"), [("traffic", "app", "aside"), ("rank", "app, rank 2", "aside, h5")]
)
def test_who_lost_nothing_and_who_never_finishes_has_a_row_too(
    beside: Path, capsys: pytest.CaptureFixture[str], by: str, receiver: str, aside: str
) -> None:
    rows, told = summed(beside, by, capsys)
    assert rows.keys() == {receiver, aside}
    assert (rows[receiver]["finished"], rows[receiver]["lost_ps"], rows[receiver]["queue_ps"]) == (0, None, WAIT)
    assert (rows[aside]["flows"], rows[aside]["finished"], rows[aside]["lost_ps"]) == (1, 1, 0)
    assert "0 of 2" in told
    assert "their queue pairs never finish" in told


def test_how_long_ranks_waited_is_told_with_their_numbers(beside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A send is done when its packet has left. Rank 2 waits while the first one sends for 300 ns and its packet comes.
    least, most = WAIT, 300_000 + message(PACKET)
    assert (least, most) == (80_000, 300_000 + 2 * 80_000 + 2 * DELAY)
    line = "app: rank 0 waited least for messages and requests, 80.0 ns, and rank 2 most, 2.46 µs"
    _, told = summed(beside, "rank", capsys)
    assert line in told
    assert line in run_notes.of(Results(beside))


def test_a_run_without_flows_says_why_there_is_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = '[[traffic]]\nname = "app"\nkind = "program"\nfile = "app.program"\n'
    (tmp_path / "app.program").write_text("backwater-program 1\nranks 2\nrank * compute 1us\n")
    _core.Scenario(scenario(entry), "c.toml", tmp_path, ()).run(tmp_path / "run")
    rows, told = summed(tmp_path / "run", "rank", capsys)
    assert not rows
    assert told.endswith("no flow was recorded, so there is nothing to sum up by rank")
    rows, _ = summed(tmp_path / "run", "traffic", capsys)
    assert rows["app"]["flows"] == 0


def test_what_is_not_known_of_the_rows_left_out_is_not_summed_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = '[[traffic]]\nname = "app"\nkind = "program"\nfile = "app.program"\n'
    program = "backwater-program 1\nranks 3\nrank * sendrecv to +1 bytes 1000 from -1\n"
    (tmp_path / "app.program").write_text(program)
    _core.Scenario(scenario(entry), "c.toml", tmp_path, ()).run(tmp_path / "run")
    assert main(["blame", str(tmp_path / "run"), "--by", "rank", "--top", "1"]) == Exit.OK
    (row,) = (line for line in capsys.readouterr().out.splitlines() if "2 more" in line)
    # Of flows, what was lost and three parts at the source, nothing is known.
    assert [cell.strip() for cell in row.split("│")[3:8]] == ["0 of 2", "-", "-", "-", "-"]
