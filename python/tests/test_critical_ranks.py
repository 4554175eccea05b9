"""The critical path of programs of ranks and of GPCNeT: times known by arithmetic, sums to the picosecond."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backwater import Results, _core
from backwater.analysis import critical
from backwater.cli import main
from backwater.errors import Exit
from plain_star import DELAY, PS_PER_BYTE, scenario

#: What calls cost; a message within a host.
SEND, RECEIVE, LOCAL = 300_000, 200_000, 500_000
US = 1_000_000
MPI = 'mpi = { eager = "10000B", send = "300ns", receive = "200ns", control = "16B", local = "500ns" }\n'
#: From h7 to h1, back to back from the start on: its packet k has come to the switch at (k + 1) · 80 ns + 1 us.
OTHER = """[[traffic]]
name = "storage"
kind = "flow"
from = "h7"
to = "h1"
size = "1MB"
control = "line-rate"
"""


def alone(size: int) -> int:
    """Picoseconds of a message across the star: its packets leave, the last one crosses the switch."""
    return (size + min(size, 1000)) * PS_PER_BYTE + 2 * DELAY


#: RTS, CTS, the answer to a put.
CONTROL = alone(16)


def run(
    folder: Path, program: str, more: str = "", *overrides: str, entry: str = "", hosts: int = 4, mpi: str = MPI
) -> Results:
    folder.mkdir(exist_ok=True)
    (folder / "app.program").write_text(f"backwater-program 1\n{program}")
    text = (
        f'[[traffic]]\nname = "app"\nkind = "program"\nfile = "app.program"\nhosts = "h[0-{hosts - 1}]"\n{mpi}{entry}'
    )
    text = scenario(text + more)
    _core.Scenario(text, "c.toml", folder, overrides).run(folder / "run")
    return Results(folder / "run")


def only(results: Results, **how: Any) -> critical.Critical:
    (path,) = critical.paths(results, **how)
    return critical.of(results, path)


def messages(found: critical.Critical) -> list[dict[str, Any]]:
    return [found.path.graph.messages.row(row, named=True) for row in found.path.rows]


def adds_up(found: critical.Critical, most_early: int = 0) -> None:
    """The sums of a path, and every step and message: each is the latest of what it comes after."""
    assert found.path.ideal_ps + found.path.wait_ps == found.time_ps == found.path.end_ps - found.path.start_ps
    for wait in found.waits:
        assert sum(piece.ps for piece, _ in wait.pieces) == wait.ps
    assert sum(found.kinds.values()) == sum(found.whom.values()) == found.path.wait_ps
    whole = found.path.graph
    assert (whole.messages["wait_ps"] >= most_early).all()
    assert (whole.least_ps >= 0).all()
    arrives = whole.time_ps[whole.before] + whole.least_ps + whole.wait_ps
    counts = np.diff(whole.first)
    after = np.repeat(np.arange(len(counts)), counts)
    latest = np.full(len(counts), -1)
    np.maximum.at(latest, after, arrives)
    known = counts > 0
    assert (latest[known] == whole.time_ps[known]).all()
    assert known.sum() == len(counts) - 1 - len(whole.cuts)


PING_PONG = """ranks 2
rank 0 send to 1 bytes 5000
rank 0 recv from 1 bytes 3000
rank 1 recv from 0 bytes 5000
rank 1 send to 0 bytes 3000
"""


def test_a_ping_pong_takes_two_messages_and_what_their_calls_cost(tmp_path: Path) -> None:
    found = only(run(tmp_path, PING_PONG))
    hosts = 2 * (SEND + RECEIVE)
    assert found.time_ps == found.path.ideal_ps == hosts + alone(5000) + alone(3000)
    assert found.path.alone_ps == alone(5000) + alone(3000)
    assert [(one["src_rank"], one["dst_rank"], one["size_bytes"]) for one in messages(found)] == [
        (0, 1, 5000),
        (1, 0, 3000),
    ]
    adds_up(found)


def test_behind_another_flow_the_packets_of_a_message_wait_one_after_the_other(tmp_path: Path) -> None:
    # The first packet comes to the switch at 11.12 us, in the middle of one of storage's (11.08 to 11.16 us), and waits
    # 40 ns. From then on one of each comes in 80 ns and one can leave: each packet waits 80 ns more than the last.
    results = run(tmp_path, PING_PONG.replace("rank 0 send", "rank 0 compute 9740ns\nrank 0 send"), OTHER)
    found = only(results, traffic="app")
    expected = 40_000 + 4 * 1000 * PS_PER_BYTE
    (wait,) = found.waits
    assert wait.ps == found.path.wait_ps == expected
    ((piece, blamed),) = wait.pieces
    assert (piece.ps, piece.how, piece.place) == (expected, "in the queue", "s->h1")
    assert blamed is not None
    assert blamed.traffic == {"storage": 1.0}
    assert wait.without_ps == found.path.ideal_ps == 9_740_000 + 2 * (SEND + RECEIVE) + alone(5000) + alone(3000)
    assert found.whom == {"storage": expected}
    adds_up(found)


@pytest.mark.parametrize(
    ("size", "path", "on_the_way"),
    [(5000, [5000], alone(5000)), (20_000, [16, 16, 20_000], 2 * CONTROL + alone(20_000))],
)
def test_a_receive_that_waits_for_a_late_sender_leads_to_its_rank(
    tmp_path: Path, size: int, path: list[int], on_the_way: int
) -> None:
    # Up to 10 000 B at once; beyond, RTS and CTS go first.
    late = f"ranks 2\nrank 0 compute 50us\nrank 0 send to 1 bytes {size}\nrank 1 recv from 0 bytes {size}\n"
    found = only(run(tmp_path, late))
    assert found.time_ps == found.path.ideal_ps == 50 * US + SEND + on_the_way + RECEIVE
    assert [one["size_bytes"] for one in messages(found)] == path
    assert messages(found)[0]["src_rank"] == 0
    assert found.path.ideal_ps - found.path.alone_ps == 50 * US + SEND + RECEIVE
    adds_up(found)


def test_a_long_message_waits_for_a_late_receiver_and_a_short_one_does_not(tmp_path: Path) -> None:
    late = "ranks 2\nrank 0 send to 1 bytes {0}\nrank 1 compute 50us\nrank 1 recv from 0 bytes {0}\n"
    found = only(run(tmp_path / "long", late.format(20_000)))
    assert found.time_ps == found.path.ideal_ps == 50 * US + CONTROL + alone(20_000) + RECEIVE
    assert [(one["src_rank"], one["size_bytes"]) for one in messages(found)] == [(1, 16), (0, 20_000)]
    adds_up(found)
    found = only(run(tmp_path / "short", late.format(5000)))
    assert (found.time_ps, messages(found)) == (50 * US + RECEIVE, [])
    adds_up(found)


@pytest.mark.parametrize("call", ["barrier", "allreduce bytes 8"])
def test_all_wait_for_the_last_rank(tmp_path: Path, call: str) -> None:
    # Two rounds of messages of 8 B among four ranks; rank 3 comes 7 us late.
    found = only(run(tmp_path, f"ranks 4\nrank 3 compute 7us\nrank * {call}\n"))
    assert found.time_ps == found.path.ideal_ps == 7 * US + 2 * (SEND + alone(8) + RECEIVE)
    assert messages(found)[0]["src_rank"] == 3
    adds_up(found)


def test_a_send_is_done_when_its_last_bit_has_left(tmp_path: Path) -> None:
    program = """ranks 3
rank 0 isend to 1 bytes 10000
rank 0 wait
rank 0 send to 2 bytes 9000
rank 1 recv from 0 bytes 10000
rank 2 recv from 0 bytes 9000
"""
    found = only(run(tmp_path, program))
    first, second = messages(found)
    assert (first["what"], first["alone_ps"], first["wait_ps"]) == ("sent", 10_000 * PS_PER_BYTE, 0)
    assert second["dst_rank"] == 2
    assert found.time_ps == found.path.ideal_ps == SEND + 10_000 * PS_PER_BYTE + SEND + alone(9000) + RECEIVE
    adds_up(found)


def test_a_message_waits_behind_the_one_before_it_on_its_queue_pair(tmp_path: Path) -> None:
    # Given at 300 and 600 ns; the first leaves from 300 to 1100 ns, its last packet comes at 3180 ns and costs nothing.
    program = "ranks 2\nrank 0 isend to 1 bytes 10000\nrank 0 isend to 1 bytes 1000\nrank 0 wait\n"
    program += "rank 1 recv from 0 bytes 10000\nrank 1 recv from 0 bytes 1000\n"
    found = only(run(tmp_path, program, mpi=MPI.replace('receive = "200ns"', 'receive = "0s"')))
    expected = SEND + 10_000 * PS_PER_BYTE - 2 * SEND
    (wait,) = found.waits
    ((piece, blamed),) = wait.pieces
    assert (piece.how, piece.place, piece.ps, wait.ps) == ("at its source", "h0", expected, expected)
    assert blamed is not None
    assert blamed.traffic == {"app": 1.0}
    # Without that wait the first one would come last.
    assert found.time_ps == 2 * SEND + expected + alone(1000)
    assert wait.without_ps == SEND + alone(10_000)
    adds_up(found)


@pytest.mark.parametrize(("call", "path"), [("put to 1 bytes 5000", [5000, 16]), ("get from 1 bytes 5000", [16, 5000])])
def test_puts_and_gets_take_a_way_there_and_one_back(tmp_path: Path, call: str, path: list[int]) -> None:
    found = only(run(tmp_path, f"ranks 2\nrank 0 {call}\nrank 0 flush\n"))
    assert found.time_ps == found.path.ideal_ps == SEND + alone(5000) + CONTROL
    assert [one["size_bytes"] for one in messages(found)] == path
    assert [one["src_rank"] for one in messages(found)] == [0, 1]
    adds_up(found)


def test_within_a_host_a_message_is_time_of_the_host(tmp_path: Path) -> None:
    found = only(run(tmp_path, PING_PONG, entry="ranks-per-host = 2\n", hosts=1))
    assert found.time_ps == found.path.ideal_ps == 2 * (SEND + LOCAL + RECEIVE)
    assert (found.path.alone_ps, messages(found)) == (0, [])
    adds_up(found)


def test_of_two_messages_that_are_late_alike_the_other_is_left(tmp_path: Path) -> None:
    # Both come to rank 1 behind storage. It takes that of rank 0 while that of rank 2 comes: without the wait of the
    # first, the second is still there when it was.
    program = "ranks 3\nrank 0 send to 1 bytes 5000\nrank 2 compute 20ns\nrank 2 send to 1 bytes 5000\n"
    program += "rank 1 irecv from 0 bytes 5000\nrank 1 irecv from 2 bytes 5000\nrank 1 wait\n"
    results = run(tmp_path, program, OTHER)
    found = only(results, traffic="app")
    came = {one["src_rank"]: one for one in found.path.graph.messages.to_dicts() if one["what"] == "received"}
    later = max(came.values(), key=lambda one: one["time_ps"])
    assert 0 < abs(came[0]["time_ps"] - came[2]["time_ps"]) < RECEIVE
    for wait in found.waits:
        if wait.message["flow"] != later["flow"]:
            assert wait.without_ps == later["time_ps"] + RECEIVE
    adds_up(found)


def test_a_rank_that_goes_on_for_ever_is_not_followed_and_the_path_begins_with_what_it_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = """ranks 2
rank 0 send to 1 bytes 5000
rank 0 recv from 1 bytes 3000
rank 0 compute 4us
rank 1 loop forever
rank 1 recv from 0 bytes 5000
rank 1 send to 0 bytes 3000
rank 1 end
"""
    results = run(tmp_path, program)
    found = only(results)
    came = SEND + alone(5000) + RECEIVE + SEND + alone(3000)
    assert (found.path.start_ps, found.path.end_ps, found.path.cut) == (came, came + RECEIVE + 4 * US, "h1")
    assert found.time_ps == found.path.ideal_ps
    adds_up(found)
    assert main(["critical", str(results.folder)]) == Exit.OK
    assert "the path begins with what a rank at h1 did" in " ".join(capsys.readouterr().out.split())


def test_of_a_run_that_ends_before_the_program_the_path_is_to_what_had_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = "ranks 2\nrank 0 send to 1 bytes 5000\nrank 0 compute 1ms\nrank 1 recv from 0 bytes 5000\n"
    results = run(tmp_path, program, "", 'run.until="100us"')
    found = only(results)
    assert (found.time_ps, found.path.graph.done) == (SEND + alone(5000) + RECEIVE, False)
    assert main(["critical", str(results.folder)]) == Exit.OK
    assert "1 of 2 ranks of app came to their end" in " ".join(capsys.readouterr().out.split())


JOB = f"""[[job]]
name = "solver"
program = "app.program"
ranks = 2
placement = ["h0", "h1"]
start = "3us"
{MPI}"""


def test_a_job_with_a_program_has_a_path_from_its_own_start(tmp_path: Path) -> None:
    (tmp_path / "app.program").write_text(f"backwater-program 1\n{PING_PONG}")
    _core.Scenario(scenario(JOB, topology='kind = "star"\nhosts = 4'), "c.toml", tmp_path, ()).run(tmp_path / "run")
    found = only(Results(tmp_path / "run"))
    assert found.path.start_ps == 3 * US
    assert found.time_ps == found.path.ideal_ps == 2 * (SEND + RECEIVE) + alone(5000) + alone(3000)
    adds_up(found)


def drawn(seed: int, ranks: int) -> str:
    """A program of exchanges, collectives, puts and computations, with messages on both sides of rendezvous."""
    draw = random.Random(seed)  # noqa: S311
    lines = [f"ranks {ranks}"]
    for tag in range(3, 3 + draw.randint(4, 8)):
        size = draw.choice([0, 8, 999, 5000, 10_000, 10_001, 30_000])
        lines += [f"rank {rank} compute {draw.randint(0, 3000)}ns" for rank in range(ranks) if draw.random() < 0.5]
        step = draw.randint(1, ranks - 1)
        match draw.randint(0, 6):
            case 0:
                lines.append(f"rank * sendrecv to +{step} bytes {size} from -{step}")
            case 1:
                lines.append(f"rank * allreduce bytes {size}")
            case 2:
                lines.append("rank * barrier")
            case 3:
                lines += [f"rank * put to +{step} bytes {size}", f"rank * get from +{step} bytes 2000", "rank * flush"]
            case 4:
                senders = [rank for rank in range(1, ranks) if draw.random() < 0.7]
                lines += [f"rank 0 irecv from any bytes {size} tag {tag}" for _ in senders]
                lines += [f"rank {rank} isend to 0 bytes {size} tag {tag}" for rank in senders]
                lines.append("rank * wait")
            case 5:
                lines += [f"rank * irecv from -{step} bytes 30000 tag 1 request 1", "rank * loop 3"]
                lines += [
                    f"rank * irecv from -{step} bytes {size} tag 2",
                    f"rank * isend to +{step} bytes {size} tag 2",
                ]
                lines += ["rank * wait request 0", "rank * end", f"rank * isend to +{step} bytes 30000 tag 1 request 2"]
                lines.append("rank * wait")
            case _:
                lines.append(f"rank * alltoall bytes {size}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(12))
def test_paths_of_random_programs_add_up_and_threads_change_nothing(tmp_path: Path, seed: int) -> None:
    draw = random.Random(-seed)  # noqa: S311
    hosts, each = draw.randint(2, 5), draw.randint(1, 3)
    program, entry = drawn(seed, hosts * each), f"ranks-per-host = {each}\n"
    results = run(tmp_path / "one", program, OTHER, entry=entry, hosts=hosts)
    found = only(results, traffic="app")
    adds_up(found)
    assert found.path.end_ps == results.ranks.collect()["finished_ps"].max()
    assert "not explained" not in found.kinds
    three = run(tmp_path / "three", program, OTHER, "run.threads=3", entry=entry, hosts=hosts)
    assert results.dependencies.collect().equals(three.dependencies.collect())
    without = run(tmp_path / "without", program, OTHER, "probe.dependencies=false", entry=entry, hosts=hosts)
    assert without.digest == results.digest == three.digest
    assert not without.has("dependencies")


@pytest.mark.parametrize("seed", range(3))
def test_paths_add_up_where_packets_take_several_ways_under_pauses(tmp_path: Path, seed: int) -> None:
    (tmp_path / "app.program").write_text(f"backwater-program 1\n{drawn(100 + seed, 8)}")
    entry = f'[[traffic]]\nname = "app"\nkind = "program"\nfile = "app.program"\nhosts = "h[0-7]"\n{MPI}'
    tree = '[topology]\nkind = "fat-tree"\nk = 4\nrate = "100Gbps"\ndelay = "1us"\n[switch]\nload-balancing = "spray"\n'
    incast = '[[traffic]]\nname = "storage"\nkind = "incast"\nto = "h1"\nfrom = "h[8-12]"\nsize = "500KB"\n'
    _core.Scenario(f'profile = "roce"\n{tree}{entry}{incast}', "c.toml", tmp_path, ()).run(tmp_path / "run")
    results = Results(tmp_path / "run")
    found = only(results, traffic="app")
    # On ways of their own packets may be faster than one after the other on one.
    adds_up(found, most_early=-1 * US)
    assert found.path.end_ps == results.ranks.collect()["finished_ps"].max()
    assert "not explained" not in found.kinds


GPCNET = """ranks-per-host = 2
rings = 2
latency = { size = "8B", warm-up = 1, timed = 2 }
bandwidth = { size = "16KiB", messages = 2, warm-up = 1, timed = 1 }
allreduce = { size = "8B", warm-up = 1, timed = 3 }
"""


@pytest.mark.parametrize(
    "entry",
    [
        f'[[traffic]]\nname = "net"\nkind = "gpcnet"\n{GPCNET}',
        f'[[job]]\nname = "net"\nranks = 20\n[job.gpcnet]\n{GPCNET}',
    ],
)
def test_gpcnet_has_a_path_of_the_tests_and_congestors_are_not_followed(tmp_path: Path, entry: str) -> None:
    text = f'profile = "hpc"\n[topology]\nkind = "star"\nhosts = 10\nrate = "100Gbps"\ndelay = "100ns"\n{entry}'
    _core.Scenario(text, "c.toml", tmp_path, ()).run(tmp_path / "run")
    results = Results(tmp_path / "run")
    (path,) = critical.paths(results)
    found = critical.of(results, path)
    ranks = results.ranks.collect()
    assert path.end_ps == ranks["finished_ps"].max()
    assert path.cut is None
    assert path.wait_ps > 0
    adds_up(found)
    # Most congestors never end; those that test all do.
    tests = ranks.filter(ranks["role"] == "test")["finished_ps"]
    assert tests.null_count() == 0 < ranks["finished_ps"].null_count()
    assert found.path.graph.ended == (ranks["finished_ps"].count(), ranks.height)


def test_the_command_says_the_path_of_a_program_in_words_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = run(tmp_path, PING_PONG, OTHER)
    assert main(["critical", str(results.folder), "--job", "app"]) == Exit.OK
    said = capsys.readouterr().out
    alone_ps, hosts = alone(5000) + alone(3000), 2 * (SEND + RECEIVE)
    total = alone_ps + hosts + 340_000
    assert f"{alone_ps:,} messages alone + {hosts:,} hosts + 340 000 waits = {total:,} ps".replace(",", " ") in said
    assert "line 3" in said
    assert main(["critical", str(results.folder), "--json"]) == Exit.OK
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["traffic"], told["wait_ps"], told["time_ps"], told["done"]) == ("app", 340_000, total, True)
    assert [(one["message"], one["line"]) for one in told["path"]] == [(0, 3), (0, 6)]


@pytest.mark.parametrize(
    ("by", "group", "whom"),
    [("traffic", "app", "storage"), ("rank", "app, rank 1", "storage, h7"), ("step", "app", "storage")],
)
def test_blame_sums_up_what_messages_between_ranks_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str, group: str, whom: str
) -> None:
    # 100 packets beside storage's: the last one waits 20 ns + 99 · 80 ns.
    program = "ranks 2\nrank 0 send to 1 bytes 100000\nrank 1 recv from 0 bytes 100000\n"
    mpi = MPI.replace("10000B", "1MB")
    results = run(tmp_path, program, OTHER, 'probe.blame-threshold="2KB"', mpi=mpi)
    assert main(["blame", str(results.folder), "--by", by, "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    (lost,) = (row for row in told["lost"] if row["group"] == group)
    assert lost["queue_ps"] == 20_000 + 99 * 1000 * PS_PER_BYTE
    laid = {row["whom"]: row["ps"] for row in told["because_of"] if row["group"] == group}
    assert sum(laid.values()) == lost["queue_ps"]
    assert whom in laid


def test_a_table_that_the_budget_cut_is_no_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["ranks 2", "rank * loop 20000", "rank * sendrecv to +1 bytes 8 from -1", "rank * end"]
    off = [f"probe.{name}=false" for name in ("blame", "marks", "pauses", "states")]
    results = run(tmp_path, "\n".join(lines) + "\n", "", *off, 'probe.budget="600KB"')
    assert any(caveat["place"] == "dependencies" for caveat in results.meta["caveats"])
    assert main(["critical", str(results.folder)]) == Exit.BAD_INPUT
    assert "has only a part of what the applications waited for" in " ".join(capsys.readouterr().err.split())
