"""The critical path: waits known by arithmetic, sums to the picosecond, what is left without a wait."""

import json
from pathlib import Path
from typing import Any

import pytest
from backwater import Results, _core
from backwater.analysis import critical
from backwater.analysis.critical import report
from backwater.cli import main
from backwater.errors import Exit
from plain_star import DELAY, PS_PER_BYTE, scenario

#: Picoseconds of a packet of 1000 B on a wire.
PACKET = 1000 * PS_PER_BYTE

SCENE = scenario(
    '[[traffic]]\nname = "app"\nkind = "trace"\nfile = "app.trace"\nhosts = "h[0-3]"',
    topology='kind = "star"\nhosts = 6',
)
#: From h4 to h1, back to back from the start on: its packet k has come to the switch at (k + 1) · 80 ns + 1 us.
OTHER = """[[traffic]]
name = "storage"
kind = "flow"
from = "h4"
to = "h1"
size = "1MB"
control = "line-rate"
"""


def alone(packets: int) -> int:
    """Picoseconds of a message across the star."""
    return (packets + 1) * PACKET + 2 * DELAY


def run(tmp_path: Path, trace: str, more: str = "", overrides: tuple[str, ...] = ()) -> Results:
    (tmp_path / "app.trace").write_text(f"backwater-trace 1\nranks 4\n{trace}")
    _core.Scenario(SCENE + more, "c.toml", tmp_path, overrides).run(tmp_path / "run")
    return Results(tmp_path / "run")


def only(results: Results, **how: Any) -> critical.Critical:
    (path,) = critical.paths(results, **how)
    return critical.of(results, path, how.get("iteration"))


#: Rank 0 computes, sends to rank 1, which computes and sends on to rank 2.
CHAIN = """message 1 from 0 to 1 bytes 5000 delay 10040ns
message 2 from 1 to 2 bytes 3000 after received 1 delay 500ns
"""


def test_alone_in_the_network_an_application_is_as_long_as_its_path(tmp_path: Path) -> None:
    found = only(run(tmp_path, CHAIN))
    assert found.path.alone_ps == alone(5) + alone(3)
    assert found.time_ps == found.path.ideal_ps == 10_040_000 + alone(5) + 500_000 + alone(3)
    assert (found.path.wait_ps, found.waits, found.places) == (0, [], [])


def test_behind_another_flow_the_packets_of_a_message_wait_one_after_the_other(tmp_path: Path) -> None:
    # The first packet comes to the switch at 11.12 us, in the middle of one of storage's (11.08 to 11.16 us), and waits
    # 40 ns. From then on one of each comes in 80 ns and one can leave: each packet waits 80 ns more than the last.
    found = only(run(tmp_path, CHAIN, OTHER))
    expected = 40_000 + 4 * PACKET
    (wait,) = found.waits
    assert wait.ps == found.path.wait_ps == expected
    assert (wait.number, wait.message["src"], wait.message["dst_rank"]) == (1, "h0", 1)
    ((piece, blamed),) = wait.pieces
    assert (piece.ps, piece.how, piece.place) == (expected, "in the queue", "s->h1")
    assert blamed is not None
    assert blamed.traffic == {"storage": 1.0}
    assert wait.without_ps == found.time_ps - expected == found.path.ideal_ps
    assert (found.kinds, found.whom) == ({"in the queue": expected}, {"storage": expected})
    assert found.places[0]["without_ps"] == found.path.ideal_ps


def test_without_the_wait_another_path_is_the_longest(tmp_path: Path) -> None:
    # Message 3 starts 100 ns before message 1 would be there alone less its own time, and ends 100 ns after that.
    later = 10_040_000 + alone(5) - alone(1) + 100_000
    trace = f"message 1 from 0 to 1 bytes 5000 delay 10040ns\nmessage 3 from 2 to 3 bytes 1000 delay {later}ps\n"
    found = only(run(tmp_path, trace, OTHER))
    (wait,) = found.waits
    assert found.time_ps == 10_040_000 + alone(5) + 40_000 + 4 * PACKET
    assert wait.without_ps == later + alone(1) == found.time_ps - wait.ps + 100_000


def test_a_step_that_waits_for_two_messages_follows_the_later_one(tmp_path: Path) -> None:
    # A barrier of all: who comes last is rank 3, which computes for 7 us.
    trace = "collective 1 barrier algorithm dissemination\njoin 1 rank 3 delay 7us\n"
    found = only(run(tmp_path, trace))
    # dissemination: two rounds of messages of 1 B
    one = 2 * 80 + 2 * DELAY
    assert found.path.graph.messages.row(found.path.rows[0], named=True)["src_rank"] == 3
    assert (found.time_ps, found.path.ideal_ps - found.path.alone_ps) == (7_000_000 + 2 * one, 7_000_000)


def test_the_next_message_of_a_host_waits_behind_the_one_before(tmp_path: Path) -> None:
    # Both are ready at the start, and the NIC serves queue pairs in turn: the last packets leave after 9 and 10.
    found = only(run(tmp_path, "message 1 from 0 to 1 bytes 5000\nmessage 2 from 0 to 2 bytes 5000\n"))
    (wait,) = found.waits
    assert wait.ps == found.path.wait_ps == 5 * PACKET
    ((piece, blamed),) = wait.pieces
    assert (piece.how, piece.place) == ("behind other frames of its NIC", "h0")
    assert blamed is not None
    assert blamed.traffic == {"app": 1.0}


def test_that_a_message_has_left_counts_only_what_its_source_waited(tmp_path: Path) -> None:
    trace = "message 1 from 0 to 1 bytes 5000 delay 10040ns\nmessage 2 from 0 to 2 bytes 30000 after sent 1\n"
    found = only(run(tmp_path, trace, OTHER))
    first = found.path.graph.messages.row(found.path.rows[0], named=True)
    assert (first["what"], first["alone_ps"], first["wait_ps"]) == ("sent", 5 * PACKET, 0)
    assert found.time_ps == found.path.ideal_ps == 10_040_000 + 5 * PACKET + alone(30)


def test_an_acknowledgement_is_on_its_way_back_as_long_as_its_bytes_take(tmp_path: Path) -> None:
    trace = "message 1 from 0 to 1 bytes 5000\nmessage 2 from 0 to 2 bytes 1000 after acked 1\n"
    found = only(run(tmp_path, trace, overrides=("ack.every=1", "ack.size=100B")))
    first = found.path.graph.messages.row(found.path.rows[0], named=True)
    assert (first["what"], first["alone_ps"]) == ("acked", alone(5) + 2 * 100 * 80 + 2 * DELAY)
    assert (first["wait_ps"], found.path.wait_ps) == (0, 0)


COLLECTIVE = """profile = "hpcc-ns3"
[topology]
kind = "star"
hosts = 9
rate = "100Gbps"
delay = "1us"
[[traffic]]
name = "ring"
kind = "collective"
op = "all-reduce"
size = "800KB"
hosts = "h[0-7]"
iterations = 3
compute = "3us"
[[traffic]]
name = "storage"
kind = "flow"
from = "h8"
to = "h3"
size = "2MB"
start = "40us"
"""


def collective(folder: Path, *overrides: str) -> Results:
    _core.Scenario(COLLECTIVE, "c.toml", folder, overrides).run(folder / "run")
    return Results(folder / "run")


def test_iterations_of_a_collective_add_up_and_threads_change_nothing(tmp_path: Path) -> None:
    results = collective(tmp_path)
    whole = only(results)
    assert whole.path.wait_ps > 0
    each = [only(results, iteration=number) for number in range(3)]
    for one in [whole, *each]:
        pieces = [piece for wait in one.waits for piece, _ in wait.pieces]
        assert sum(piece.ps for piece in pieces) == one.path.wait_ps == sum(wait.ps for wait in one.waits)
        assert one.path.ideal_ps + one.path.wait_ps == one.time_ps
        assert sum(one.kinds.values()) == sum(one.whom.values()) == one.path.wait_ps
        assert all(piece.how not in ("not explained", "in the network") for piece in pieces)
    other = tmp_path / "two"
    other.mkdir()
    two = collective(other, "run.threads=2")
    assert results.dependencies.collect().equals(two.dependencies.collect())
    assert each[0].path.start_ps == 0
    # a ring of 8 has 14 messages after each other, and a rank computes after each but the last
    assert len(each[0].path.rows) == 14


def test_recording_dependencies_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "without").mkdir()
    without = collective(tmp_path / "without", "probe.dependencies=false")
    assert without.digest == collective(tmp_path).digest
    assert not without.has("dependencies")


def test_without_blame_the_wait_in_the_network_is_one_piece(tmp_path: Path) -> None:
    results = run(tmp_path, CHAIN, OTHER, ("probe.blame=false",))
    found = only(results)
    assert [(piece.how, piece.ps) for piece, _ in found.waits[0].pieces] == [("in the network", 40_000 + 4 * PACKET)]
    assert "probe.blame=true" in found.notes[0]


def test_the_command_says_the_path_in_words_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, CHAIN, OTHER)
    assert main(["critical", str(tmp_path / "run")]) == Exit.OK
    said = capsys.readouterr().out
    assert "rank 1 (h1)" in said
    assert "storage 100 %" in said
    alone_ps, wait_ps = alone(5) + alone(3), 40_000 + 4 * PACKET
    total = alone_ps + wait_ps + 10_540_000
    assert f"{alone_ps:,} messages alone + 10 540 000 hosts + 360 000 waits = {total:,} ps".replace(",", " ") in said
    assert main(["critical", str(tmp_path / "run"), "--json"]) == Exit.OK
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["traffic"], told["wait_ps"], told["time_ps"]) == ("app", wait_ps, total)
    assert sum(message["wait_ps"] for message in told["path"]) == wait_ps


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--job", "ap"], "--job ap: no application of that name; there is app"),
        (["--iteration", "3"], "--iteration 3: app has none of that number"),
    ],
)
def test_what_is_not_there_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    run(tmp_path, CHAIN)
    assert main(["critical", str(tmp_path / "run"), *arguments]) == Exit.BAD_INPUT
    assert told in capsys.readouterr().err


#: Of 100 packets of the application the last one waits 40 ns + 99 · 80 ns, behind storage's and its own.
LONG = "message 1 from 0 to 1 bytes 100000 delay 10040ns\nmessage 2 from 1 to 2 bytes 3000 after received 1\n"


@pytest.mark.parametrize(
    ("by", "group", "senders"),
    [
        ("traffic", "app", {"app", "storage"}),
        ("rank", "app, rank 1", {"app, h0", "storage, h4"}),
        ("step", "app", {"app", "storage"}),
    ],
)
def test_blame_sums_up_who_held_whom_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str, group: str, senders: set[str]
) -> None:
    run(tmp_path, LONG, OTHER, ('probe.blame-threshold="2KB"',))
    assert main(["blame", str(tmp_path / "run"), "--by", by, "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    (lost,) = (row for row in told["lost"] if row["group"] == group)
    laid = [row for row in told["because_of"] if row["group"] == group]
    assert lost["lost_ps"] == lost["queue_ps"] == 40_000 + 99 * PACKET
    assert {row["whom"] for row in laid} == senders
    assert sum(row["ps"] for row in laid) == lost["lost_ps"]
    assert main(["blame", str(tmp_path / "run"), "--by", by]) == Exit.OK
    assert group in capsys.readouterr().out


def test_a_step_waits_for_the_last_bit_of_what_it_sent_though_something_came_in_meanwhile(tmp_path: Path) -> None:
    # The last packet of message 1 leaves from 3120 to 3200 ns. Message 2 is complete at rank 0 at 3160 ns.
    trace = """message 1 from 0 to 1 bytes 40000
message 2 from 2 to 0 bytes 1000 delay 1000ns
task 1 rank 0 after sent 1 received 2
message 3 from 0 to 3 bytes 1000 after task 1
"""
    found = run(tmp_path, trace).flows.select("flow", "start_ps", "fct_ps").collect().sort("flow")
    assert found["start_ps"][1] + found["fct_ps"][1] == 1_000_000 + 2 * 80_000 + 2 * 1_000_000
    assert found["start_ps"][2] == 40 * 80_000


def test_what_is_left_without_a_wait_is_said_with_why_it_is_no_less() -> None:
    ms = 10**9
    assert report.left(15 * ms, 20 * ms, 6 * ms) == "15.0 ms (-5.00 ms)"
    # 2.25 µs less without 2.15 ms: messages beside the path waited, too.
    assert report.left(4 * ms - 2_250_000, 4 * ms, 2_150_000_000) == "4.00 ms (-2.25 µs; another path is as late)"
    assert report.left(20 * ms, 20 * ms, ms) == "20.0 ms (no less; another path is as late)"


def test_what_is_taken_off_is_no_negative_wait() -> None:
    told = report.kinds({"held back": 7_000_000_000, "in the queue": 2_000_000_000, "less alone": -81_600_000})
    assert told == ("7.00 ms held back, 2.00 ms in the queue; 81.6 µs of these in an empty network, too, are taken off")
