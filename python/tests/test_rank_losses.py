"""Collectives and ranks over links that lose packets: times by arithmetic, and what is said of pairs that fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backwater import Results, _core
from backwater.analysis import critical
from backwater.cli import main
from backwater.errors import Exit
from plain_star import DELAY, LATENCY, PACKET, PS_PER_BYTE, message, scenario

#: An ACK on both links of its way, and the first packet of a message until it is there.
BACK = 2 * (64 * PS_PER_BYTE + DELAY)
WIRE = PACKET * PS_PER_BYTE
WAY = 2 * (WIRE + DELAY)
KINDS = ["go-back-n", "selective-repeat"]
#: Messages of ten packets leave before anything can come back.
PART, PACKETS = 10_000, 10


def head(kind: str, more: str = "") -> str:
    times = 'timeout = "50us"' if kind == "go-back-n" else 'rto-low = "50us"\nrto-high = "50us"\nbdp = "1MB"'
    return f"""profile = "ideal"
[transport]
reliability = "{kind}"
[transport.{kind}]
{times}
{more}
[ack]
every = 1
size = "64B"
[switch.detector]
kind = "none"
"""


def run(folder: Path, kind: str, entries: str, more: str = "", *, retries: int = 7) -> Results:
    folder.mkdir(exist_ok=True)
    text = scenario(entries + more, head=head(kind, f"retries = {retries}"))
    _core.Scenario(text, "c.toml", folder, ()).run(folder / "run")
    return Results(folder / "run")


def gray(source: str, target: str, at: int, until: int) -> str:
    ends = f'from = "{source}"\nto = "{target}"\nat = "{at}ps"\nuntil = "{until}ps"\n'
    return f'[[fault]]\nkind = "gray"\nswitch = "s"\n{ends}'


RING = f'[[traffic]]\nname = "sum"\nkind = "collective"\nop = "all-reduce"\nranks = 4\nsize = "{4 * PART}B"\n'
#: A rank goes on when it has its message and knows that its own has arrived.
ROUND = message(PART) + BACK + LATENCY


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_of_a_ring_wait_for_the_acks_of_their_messages(tmp_path: Path, kind: str) -> None:
    (row,) = run(tmp_path, kind, RING).collectives.collect().to_dicts()
    assert row["elapsed_ps"] == 5 * ROUND + message(PART)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("round_", "lost"), [(5, 0), (5, 3), (5, 8), (5, 9), (0, 0), (2, 3), (3, 9)])
def test_one_lost_packet_makes_a_ring_later_by_what_its_message_is_later(
    tmp_path: Path, kind: str, round_: int, lost: int
) -> None:
    begins = round_ * ROUND
    at_switch = begins + (lost + 1) * WIRE + DELAY
    fault = gray("h0", "h1", at_switch - WIRE // 2, at_switch + WIRE // 2)
    results = run(tmp_path, kind, RING, fault)
    if lost == PACKETS - 1:
        # Nothing behind it tells that it is lost: the timer runs since the ACK of the packet before it.
        there = (PACKETS - 1) * WIRE - WIRE + WAY + BACK + 50_000_000 + WAY
    else:
        # The next packet is there, and its NACK back; then all from the lost one on, or that one alone.
        asked = (lost + 1) * WIRE + WAY + BACK
        there = asked + WAY + ((PACKETS - lost - 1) * WIRE if kind == "go-back-n" else 0)
    (row,) = results.collectives.collect().to_dicts()
    # Ranks that are later than others send data when ACKs leave, of which each host makes ten in a round.
    acks = (5 - round_) * PACKETS * 64 * PS_PER_BYTE
    assert 0 <= row["elapsed_ps"] - (5 * ROUND + there) <= acks
    assert results.flows.select("resent_packets").sum().collect().item() == (
        PACKETS - lost if kind == "go-back-n" else 1
    )
    # The path goes through that message, of which every part is known.
    (path,) = critical.paths(results)
    found = critical.of(results, path)
    assert sum(wait.message["wait_ps"] for wait in found.waits) == row["elapsed_ps"] - 5 * ROUND - message(PART)
    assert not any("sent packets again" in note for note in found.notes)
    assert found.kinds.get("not explained", 0) == 0
    blame = results.blame()
    assert blame.flows["rest_ps"].to_list() == [0] * blame.flows.height
    assert blame.notes == []
    # Until the copy of the last packet leaves that counts; of selective repeat only where that is the lost one.
    later = blame.flows.filter(pl.col("recovery_ps") > 0)
    assert later.height == (0 if kind == "selective-repeat" and lost < PACKETS - 1 else 1)


def test_a_collective_that_a_queue_pair_gives_up_does_not_count_and_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = gray("h1", "h2", ROUND, 1_000_000_000_000)
    text = scenario(RING + fault, head=head("go-back-n", "retries = 2"))
    (tmp_path / "c.toml").write_text(text)
    assert main(["run", str(tmp_path / "c.toml"), "--out", str(tmp_path / "run")]) == Exit.OK
    said = capsys.readouterr().out
    assert "1 queue pair is in error, and its flow never ends" in said
    assert "sum, rank 1 (h1) to rank 2 (h2), 10.0 KB" in said
    assert "no iteration came to its end" in said


PROGRAM = "backwater-program 1\nranks 2\nrank 0 send to 1 bytes 3000\nrank 1 recv from 0 bytes 3000\n"
ENTRY = '[[traffic]]\nname = "app"\nkind = "program"\nfile = "app.program"\nhosts = "h[0-1]"\n'


def test_a_program_that_a_queue_pair_gives_up_ends_with_the_ranks_and_the_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "app.program").write_text(PROGRAM)
    text = scenario(ENTRY + gray("h0", "h1", 0, 1_000_000_000_000), head=head("selective-repeat", "retries = 2"))
    (tmp_path / "c.toml").write_text(text)
    command = ["run", str(tmp_path / "c.toml"), "--out", str(tmp_path / "run"), "--json"]
    assert main(command) == Exit.INVARIANT_BROKEN
    said = json.loads(capsys.readouterr().out)
    told = json.dumps(said)
    assert "the queue pair from rank 0 (h0) to rank 1 (h1) is in error" in told
    assert "3KB of rank 0 (h0), line 3, are not acknowledged" in told
    assert "rank 0 (h0) waits in line 3 for its sends to be acknowledged" in told
    assert "rank 1 (h1) waits in line 4 for a message from rank 0" in told


@pytest.mark.parametrize("kind", KINDS)
def test_the_path_of_a_program_goes_through_acknowledgements(tmp_path: Path, kind: str) -> None:
    """Rank 0 sends twice: its second send waits for the ACK of the first one, which takes as long as alone."""
    (tmp_path / "app.program").write_text(
        "backwater-program 1\nranks 2\nrank 0 send to 1 bytes 3000\nrank 0 send to 1 bytes 1000\n"
        "rank 1 recv from 0 bytes 3000\nrank 1 recv from 0 bytes 1000\n"
    )
    mpi = 'mpi = { eager = "10000B", send = "300ns", receive = "200ns", control = "16B", local = "500ns" }\n'
    results = run(tmp_path, kind, ENTRY + mpi)
    ends = results.ranks.sort("number").collect()["finished_ps"].to_list()
    first = 300_000 + message(3000) + BACK
    assert ends == [first + 300_000 + WAY + BACK, first + 300_000 + WAY + 200_000]
    (path,) = critical.paths(results)
    found: Any = critical.of(results, path)
    kinds = [found.path.graph.messages.row(row, named=True)["what"] for row in found.path.rows]
    # Rank 0 ends last: both of its sends are acknowledged.
    assert kinds == ["acked", "acked"]
    assert sum(wait.message["wait_ps"] for wait in found.waits) == 0


def test_a_run_with_an_endless_flow_ends_when_all_that_ends_waits_for_a_failed_queue_pair(tmp_path: Path) -> None:
    endless = '[[traffic]]\nname = "on"\nkind = "long-lived"\nfrom = "h6"\nto = "h7"\n'
    job = '[[job]]\nname = "train"\nranks = 4\nstep = [{ collective = "all-reduce", size = "40KB" }]\n'
    after = job.replace("train", "later") + 'after = "train"\n'
    results = run(tmp_path, "go-back-n", job + after + endless, gray("h1", "h2", 0, 1_000_000_000_000), retries=1)
    assert results.complete
    rows = results.flows.collect().to_dicts()
    assert [(row["src"], row["dst"]) for row in rows if row["failed"]] == [("h1", "h2")]
    assert not any(row["start_ps"] is not None for row in rows if row["traffic"] == "later")
