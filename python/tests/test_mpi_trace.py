"""MPI programs as they are recorded: what their calls become, and what is said of records that are not whole.

The programs in tests/mpi say in their heads what they send. The tests that run them need Open MPI
(tests/mpi/install.sh); without it they are skipped, unless MPI=required.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from backwater import Results, validate
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.io import tracing
from backwater.io.importing import mpi, mpi_folding, mpi_records
from backwater.io.importing.mpi_matching import finished
from backwater.io.importing.mpi_records import CANCELLED, RECEIVED, SENT, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROGRAMS = Path(__file__).parent / "mpi"
RANKS = 4
BARRIER, BCAST, ALLREDUCE, ALLTOALL = 0, 1, 3, 7


# Records as the library writes them.


def _number(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def _record(kind: Kind, *numbers: int, gap: int = 0, took: int = 0) -> bytes:
    return b"".join(map(_number, (kind, gap, took, *numbers)))


def _comm(number: int, identity: int, *members: int) -> bytes:
    return _record(Kind.COMM, number, identity, len(members), *members)


END = _record(Kind.END, 0, 0, 0, 0)


def _records(folder: Path, *calls: Iterable[bytes], whole: Sequence[bool] = ()) -> Path:
    """A folder with the records of some ranks; those of `whole` that are False have no end."""
    folder.mkdir()
    for rank, own in enumerate(calls):
        head = f"backwater-mpi 1 rank {rank} of {len(calls)} host a cpus 64 clock-ns 20 limit 1000000\n"
        end = b"\0" * 100 if whole and not whole[rank] else END
        world = _comm(0, 1, *range(len(calls)))
        (folder / f"rank-{rank}.bwmpi").write_bytes(head.encode() + world + b"".join(own) + end)
    return folder


def _send(to: int, size: int = 8, tag: int = 0, comm: int = 0) -> bytes:
    return _record(Kind.SEND, 0, comm, to, tag, size)


def _recv(source: int, size: int = 8, tag: int = 0, comm: int = 0) -> bytes:
    return _record(Kind.RECV, comm, source, tag, size)


def _meet(operation: int = BARRIER, size: int = 0, comm: int = 0) -> bytes:
    return _record(Kind.COLLECTIVE, operation, comm, size, 0)


def _lines(folder: Path, rank: int, *, cut: bool = False, fold: bool = False) -> list[str]:
    """What a rank does in the program of a folder."""
    text = mpi.load(folder, cut=cut, fold=fold)[0].files["app.program"]
    return [line.removeprefix(f"rank {rank} ") for line in text.splitlines() if line.startswith(f"rank {rank} ")]


def _refused(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        mpi.load(folder)
    return str(caught.value)


def test_a_call_keeps_its_place_and_computing_its_time(tmp_path: Path) -> None:
    first = [_record(Kind.SEND, 0, 0, 1, 5, 700, gap=1500), _meet(), _record(Kind.FLUSH, gap=3)]
    second = [_recv(0, 1000, 5), _meet()]
    folder = _records(tmp_path / "r", first, second)
    assert _lines(folder, 0) == ["compute 1500ns", "send to 1 bytes 700 tag 5", "barrier", "compute 3ns", "flush"]
    assert _lines(folder, 1) == ["recv from 0 bytes 1000 tag 5", "barrier"]


@pytest.mark.parametrize(("hosts", "each"), [(2, 2), (3, 2), (4, 1), (9, 1)])
def test_more_ranks_than_hosts_share_hosts(tmp_path: Path, hosts: int, each: int) -> None:
    folder = _records(tmp_path / "r", *[[_meet()] for _ in range(4)])
    words = ["import", "mpi", str(folder), "--topology", f"star hosts={hosts}", "--out", str(tmp_path / "made")]
    assert main(words) == Exit.OK
    (entry,) = validate(tmp_path / "made" / "scenario.toml")["traffic"]
    assert entry["ranks-per-host"] == each


def test_a_profile_of_windows_is_without_control_for_ranks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _records(tmp_path / "r", [_send(1)], [_recv(0)])
    out = tmp_path / "made"
    assert main(["import", "mpi", str(folder), "--profile", "slingshot-like", "--out", str(out)]) == Exit.OK
    assert "cc.kind is none" in capsys.readouterr().err
    assert validate(out / "scenario.toml")["cc"]["kind"] == "none"


def test_any_source_and_any_tag_are_those_of_the_message_that_came(tmp_path: Path) -> None:
    master = [
        _record(Kind.IRECV, 0, 0, 0, 0, 100),
        _record(Kind.IRECV, 1, 0, 0, 0, 100),
        _record(Kind.DONE, 1, 1, RECEIVED, 1, 7),
        _record(Kind.DONE, 1, 0, RECEIVED, 2, 8),
    ]
    folder = _records(tmp_path / "r", master, [_send(0, 50, 7)], [_send(0, 60, 8)])
    assert _lines(folder, 0) == [
        "irecv from 2 bytes 100 tag 8 request 0",
        "irecv from 1 bytes 100 tag 7 request 1",
        "wait request 1",
        "wait request 0",
    ]


def test_a_request_that_was_cancelled_or_never_ended_is_not_received(tmp_path: Path) -> None:
    first = [
        _record(Kind.IRECV, 0, 0, 2, 1, 8),
        _record(Kind.IRECV, 1, 0, 2, 10, 8),
        _record(Kind.ISEND, 2, 0, 0, 1, 4, 8),
        _record(Kind.DONE, 1, 0, CANCELLED),
        _record(Kind.FREE, 2),
    ]
    folder = _records(tmp_path / "r", first, [_recv(0, 8, 4)])
    # The send is waited for at the end, as nobody else waits for it.
    assert _lines(folder, 0) == ["isend to 1 bytes 8 tag 4 request 0", "wait"]


def test_puts_and_gets_that_nothing_completes_are_flushed_at_the_end(tmp_path: Path) -> None:
    put, get = _record(Kind.PUT, 0, 1, 70), _record(Kind.GET, 6, 1, 80)
    folder = _records(
        tmp_path / "r", [put, _record(Kind.FENCE, 0), get, _record(Kind.DONE, 1, 5, SENT), put], [_meet()]
    )
    told = _refused(folder)
    assert "rank 1, call 1: a barrier, but rank 0, call 2 has a fence in its place" in told
    folder = _records(
        tmp_path / "s",
        [put, _record(Kind.FENCE, 0), get, _record(Kind.DONE, 1, 5, SENT), put],
        [_record(Kind.FENCE, 0)],
    )
    lines = ["put to 1 bytes 70", "flush", "barrier", "get from 1 bytes 80", "flush", "put to 1 bytes 70", "flush"]
    assert _lines(folder, 0) == lines
    assert _lines(folder, 1) == ["flush", "barrier"]


def test_more_ops_than_a_program_may_have_are_refused_with_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mpi, "_MOST_OPS", 30)
    folder = _records(tmp_path / "r", [_send(1)] * 16, [_recv(0)] * 16)
    assert "rank 0 has 32 ops, and a program has at most 30 of a rank; make loops of what repeats" in _refused(folder)
    assert _lines(folder, 0, fold=True) == ["loop 16", "send to 1 bytes 8 tag 0", "end"]


def test_communicators_are_groups_and_tags_of_their_own(tmp_path: Path) -> None:
    pair, twin = _comm(1, 77, 1, 0), _comm(2, 78, 0, 1)
    first = [pair, twin, _send(1, 8, 3, comm=2), _send(1, 8, 3, comm=1), _meet(ALLREDUCE, 5000, comm=1)]
    second = [pair, twin, _recv(0, 8, 3, comm=1), _recv(0, 8, 3, comm=2), _meet(ALLREDUCE, 5000, comm=1)]
    folder = _records(tmp_path / "r", first, second)
    tags = [line.split()[-1] for line in _lines(folder, 0)[:2]]
    assert tags == [str(1 << 30), str((1 << 30) + 1)]
    assert [line.split()[-1] for line in _lines(folder, 1)[:2]] == tags[::-1]
    assert _lines(folder, 0)[2] == "allreduce bytes 5000 algorithm halving-doubling group 1"
    assert "group 1 1 0\n" in mpi.load(folder)[0].files["app.program"]


def test_of_more_waits_than_there_are_sets_some_come_later_and_a_note_says_so(tmp_path: Path) -> None:
    many = 70
    posts = [_record(Kind.IRECV, number, 0, 2, number + 1, 8) for number in range(many)]
    waits = [_record(Kind.DONE, 1, number, RECEIVED, 1, number) for number in range(many)]
    folder = _records(tmp_path / "r", [*posts, *waits], [_send(0, 8, number) for number in range(many)])
    imported, _ = mpi.load(folder)
    assert any(note.startswith("8 requests are waited for later") for note in imported.notes)
    lines = _lines(folder, 0)
    assert sum(line.startswith("irecv") for line in lines) == many
    sets = {line.split()[-1] for line in lines if line.startswith("irecv")}
    assert (
        sets == {line.split()[-1] for line in lines if line.startswith("wait")} == {str(number) for number in range(62)}
    )


def test_a_rank_without_an_end_is_refused_with_its_place_and_cut_where_all_have_come(tmp_path: Path) -> None:
    first = [_meet(), _meet(), _record(Kind.COLLECTIVE, BARRIER, 0, 0, 0, gap=1_000_000, took=500_000)]
    folder = _records(tmp_path / "r", first, [_meet(), _meet()], whole=(False, False))
    told = _refused(folder)
    assert "rank-0.bwmpi: rank 0 of 2 ends in the middle, after call 3 (COLLECTIVE), 0.001500 s after MPI_Init" in told
    assert "(others too: 1)" in told
    assert "--cut keeps" in told
    assert _lines(folder, 0, cut=True) == _lines(folder, 1, cut=True) == ["barrier", "barrier"]
    notes = mpi.load(folder, cut=True)[0].notes
    assert any(note.startswith("rank 0 was killed") and note.endswith("2 of 3 calls are kept") for note in notes)


def test_what_depends_on_a_message_that_is_cut_off_is_cut_off_too(tmp_path: Path) -> None:
    # Rank 0 lost its second send. So rank 1 cannot have received it, nor rank 2 what rank 1 sent then.
    second = [_recv(0), _send(2, 8, 1), _recv(0), _send(2, 8, 1)]
    third = [_recv(1, 8, 1), _recv(1, 8, 1), _send(0, 8, 9)]
    folder = _records(tmp_path / "r", [_send(1)], second, third, whole=(False, True, True))
    assert _lines(folder, 0, cut=True) == ["send to 1 bytes 8 tag 0"]
    assert _lines(folder, 1, cut=True) == ["recv from 0 bytes 8 tag 0", "send to 2 bytes 8 tag 1"]
    assert _lines(folder, 2, cut=True) == ["recv from 1 bytes 8 tag 1"]


def test_a_message_under_way_at_the_end_is_left_out(tmp_path: Path) -> None:
    folder = _records(tmp_path / "r", [_send(1), _send(1)], [_recv(0)], whole=(True, False))
    assert _lines(folder, 0, cut=True) == ["send to 1 bytes 8 tag 0"]
    assert "left out, as nobody had received them at the end: 1 message" in mpi.load(folder, cut=True)[0].notes


def test_records_that_do_not_fit_together_are_refused_with_their_place(tmp_path: Path) -> None:
    told = _refused(_records(tmp_path / "a", [], [_recv(0, 8, 3)]))
    assert "rank 1, call 1: it receives a message of rank 0 with tag 3 that no call recorded sends" in told
    told = _refused(_records(tmp_path / "b", [_meet(BCAST, 8)], [_meet(BCAST, 9)]))
    assert "rank 1, call 1: bcast of 9 B with root 0, but rank 0, call 1 has bcast of 8 B with root 0" in told
    told = _refused(_records(tmp_path / "c", [_meet()], []))
    assert "rank 0, call 1: a collective of MPI_COMM_WORLD in which rank 1 takes no part" in told
    assert "outside of MPI_COMM_WORLD" in _refused(_records(tmp_path / "d", [_send(2)], []))
    assert "the record is damaged" in _refused(_records(tmp_path / "e", [_send(1, comm=4)], []))
    assert "has no file rank-N.bwmpi: no rank was recorded" in _refused(tmp_path)
    (tmp_path / "c" / "rank-0.bwmpi").unlink()
    assert "has no file of rank 0, and 2 are needed" in _refused(tmp_path / "c")
    (tmp_path / "b" / "rank-1.bwmpi").write_bytes(b"nothing")
    assert "does not begin as records of this version do" in _refused(tmp_path / "b")


def test_a_file_that_ends_anywhere_is_refused_or_cut_but_never_breaks_the_reader(tmp_path: Path) -> None:
    requests = [_record(Kind.ISEND, 300, 0, 0, 1, 5, 700), _record(Kind.DONE, 1, 300, SENT)]
    uneven = [_record(Kind.UNEVEN, ALLTOALL, 0, 0, 2, 0, 300, 2, 0, 200), _record(Kind.OTHER, 2, 65, 66)]
    other = [_recv(0, 1000, 5), _record(Kind.UNEVEN, ALLTOALL, 0, 0, 2, 200, 0, 2, 300, 0)]
    folder = _records(tmp_path / "r", [*requests, *uneven], other)
    assert _lines(folder, 0)[2:] == [
        f"irecv from 1 bytes 200 tag {1 << 30} request 62",
        f"isend to 1 bytes 300 tag {1 << 30} request 62",
        "wait request 62",
    ]
    file = folder / "rank-0.bwmpi"
    data = file.read_bytes()
    begin = data.index(b"\n") + 1 + len(_comm(0, 1, 0, 1))
    for length in range(begin, len(data)):
        file.write_bytes(data[:length])
        assert "ends in the middle" in _refused(folder), length
        kept = _lines(folder, 0, cut=True)
        assert len(kept) in (0, 2, 5), (length, kept)


def test_repetitions_become_loops_that_compute_for_the_mean_of_their_turns() -> None:
    turns = [(0, "irecv"), (10, "isend"), (20, "wait")]
    lines = [(5000, "bcast"), *turns, (0, "irecv"), (30, "isend"), (20, "wait"), *turns, (0, "barrier")]
    folded = mpi_folding.fold(lines)
    body = ["loop 3", "irecv", "compute 17ns", "isend", "compute 20ns", "wait", "end"]
    assert folded.lines == ["compute 5000ns", "bcast", *body, "barrier"]
    assert folded.spread == pytest.approx((30 - 50 / 3) / (50 / 3))
    # What came before the first turn is no part of the others.
    folded = mpi_folding.fold([(9000, "a"), (0, "b"), *[(10, "a"), (0, "b")] * 4])
    assert folded.lines == ["compute 8990ns", "loop 5", "compute 10ns", "a", "b", "end"]


def test_loops_within_loops_are_found() -> None:
    inner = [(1, "a")] * 4
    folded = mpi_folding.fold([*inner, (2, "b"), *inner, (2, "b"), *inner, (2, "b")])
    # Each turn's first call computes for 1 ns, too.
    assert [line for line in folded.lines if not line.startswith("compute")] == [
        "loop 3", "loop 4", "a", "end", "b", "end",
    ]  # fmt: skip
    total = 3 * (4 * 1 + 2)
    assert _time(folded.lines) == total


def _time(lines: Sequence[str]) -> int:
    """What a program of lines computes in all."""
    stack, times = [0], [1]
    for line in lines:
        word, *rest = line.split()
        if word == "loop":
            stack.append(0)
            times.append(int(rest[0]))
        elif word == "end":
            within = stack.pop() * times.pop()
            stack[-1] += within
        elif word == "compute":
            stack[-1] += int(rest[0].removesuffix("ns"))
    return stack[0]


# Programs that run.


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled programs."""
    if not (shutil.which("mpicc") and shutil.which("mpirun")):
        reason = "mpicc and mpirun are not there: python/tests/mpi/install.sh"
        if os.environ.get("MPI") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("programs")
    for name in ("halo", "grid", "farm", "small", "threads", "rare"):
        _compile(folder / name, PROGRAMS / f"{name}.c")
    return folder


def _compile(program: Path, *sources: Path, flags: Sequence[str] = ()) -> None:
    command = [
        "mpicc",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        *flags,
        "-o",
        str(program),
        *map(str, sources),
        "-pthread",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr


@pytest.fixture(autouse=True)
def _root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers run tests as root, which Open MPI refuses if it is not told twice."""
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")


def _command(program: Path, *arguments: object) -> list[str]:
    return ["mpirun", "--oversubscribe", "-n", str(RANKS), str(program), *map(str, arguments)]


def _traced(out: Path, *command: str, options: Sequence[str] = ()) -> tuple[dict[str, Counter[str]], Path]:
    """A program that was traced: calls and bytes by name, and its scenario."""
    records = out.with_name("records")
    code = main(["trace", "mpi", "--out", str(out), "--records", str(records), *options, "--", *command])
    assert code == Exit.OK
    _, traced = mpi.load(records)
    return {"calls": traced.calls, "bytes": traced.bytes}, out / "scenario.toml"


def _simulated(scenario: Path) -> dict[str, int]:
    """What all ranks have sent and received in a run of the scenario, in which nothing waits for ever."""
    assert main(["run", str(scenario), "--out", str(scenario.parent / "results")]) in (Exit.OK, Exit.CAVEATS)
    results = Results(next((scenario.parent / "results").rglob("run.json")).parent)
    kinds = [f"{way}_{what}" for way in ("sent", "received") for what in ("messages", "bytes")]
    return results.table("ranks").select(kinds).collect().sum().row(0, named=True)


def test_a_stencil_has_the_calls_and_bytes_of_its_arithmetic_and_so_has_its_run(
    tmp_path: Path, programs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    steps, work_us = 5, 2000
    counted, scenario = _traced(tmp_path / "halo", *_command(programs / "halo", steps, work_us))
    told = capfd.readouterr().out
    assert "4 ranks, 320 calls, 70816 B" in told
    both = 2 * RANKS * steps
    assert counted["calls"] == {
        "bcast": RANKS, "irecv": 2 * both, "isend": 2 * both, "wait, test": RANKS * (steps + 4 * steps),
        "sendrecv": RANKS * steps, "allreduce": RANKS * steps, "fence": 2 * RANKS, "put": RANKS, "reduce": RANKS,
    }  # fmt: skip
    sent = {name: size for name, size in counted["bytes"].items() if size}
    assert sent == {
        "bcast": RANKS * 16, "isend": both * (1024 + 256), "sendrecv": (RANKS - 1) * steps * 64,
        "allreduce": RANKS * steps * 8, "put": RANKS * 512, "reduce": RANKS * 4096,
    }  # fmt: skip
    lines = _lines(tmp_path / "records", 0)
    assert [line for line in lines if not line.startswith("compute")][:7] == [
        "bcast bytes 16 root 0",
        f"irecv from 3 bytes 1024 tag {1 << 30} request 0",
        f"irecv from 1 bytes 1024 tag {(1 << 30) + 1} request 0",
        f"isend to 1 bytes 1024 tag {1 << 30} request 0",
        f"isend to 3 bytes 1024 tag {(1 << 30) + 1} request 0",
        "wait request 0",
        "send to 1 bytes 64 tag 3",
    ]
    # Before each wait for all the program looks at the same clock until so much time is over; one look is subtracted.
    waits = [index for index, line in enumerate(lines) if line == "wait request 0"][:steps]
    computed = [int(lines[index - 1].split()[1].removesuffix("ns")) for index in waits]
    assert min(computed) > work_us * 1000 - 5000

    ranks = _simulated(scenario)
    # Messages: those of the program; a broadcast and a reduction of n - 1 each; two rounds of an allreduce and of a
    # barrier; puts.
    expected = 2 * both + (RANKS - 1) * steps + 2 * (RANKS - 1) + 2 * RANKS * (steps + 2) + RANKS
    assert ranks["sent_messages"] == expected
    sizes = both * 1280 + (RANKS - 1) * (steps * 64 + 16 + 4096) + 2 * RANKS * (steps * 8 + 2 * 8) + RANKS * 512
    assert ranks["sent_bytes"] == sizes


def test_collectives_of_sub_communicators_have_the_messages_of_their_algorithms(
    tmp_path: Path, programs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rounds, n = 3, RANKS
    _, scenario = _traced(tmp_path / "grid", *_command(programs / "grid", rounds))
    told = capfd.readouterr()
    assert "left out, as a program has nothing for it: 4 MPI_Scan" in told.err
    program = (tmp_path / "grid" / "app.program").read_text(encoding="utf-8")
    assert {"group 1 0 1", "group 2 3 2 1 0", "group 3 2 3"} <= set(program.splitlines())
    messages = {
        "alltoall": rounds * 4 * 4096, "alltoallv": rounds * (100 + 200 + 300 + 400), "sends": 22 + 11,
        "allgather": n * 3 * 128, "allgatherv": 3 * (32 + 64 + 96 + 128), "gather": 64 + 64 + 2 * 64,
        "scatter": 48 + 48 + 2 * 48, "gatherv": 24 + 16 + 8, "scatterv": 24 + 16 + 8, "sums": 2 * n * 3 * 400,
        "barrier": 4 * 8,
    }  # fmt: skip
    ranks = _simulated(scenario)
    assert ranks["sent_bytes"] == sum(messages.values())
    assert ranks["sent_messages"] == rounds * (4 + 4) + 2 + 12 + 12 + 3 + 3 + 3 + 3 + 2 * 12 + 4


def test_a_master_receives_from_the_workers_in_the_order_in_which_they_came(
    tmp_path: Path, programs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tasks, workers = 12, RANKS - 1
    counted, scenario = _traced(tmp_path / "farm", *_command(programs / "farm", tasks))
    assert "3 synchronous sends became sends" in capfd.readouterr().err
    assert counted["calls"] == {
        "send": 2 * tasks + workers, "recv": tasks + workers, "irecv": tasks, "wait, test": tasks,
    }  # fmt: skip
    assert counted["bytes"]["send"] == tasks * 500
    calls = [[line for line in _lines(tmp_path / "records", rank) if "compute" not in line] for rank in range(RANKS)]
    results = Counter(line.split()[2] for line in calls[0] if line.startswith("irecv"))
    for worker in range(1, RANKS):
        own = results[str(worker)]
        task = ["recv from 0 bytes 100 tag 1", "send to 0 bytes 400 tag 2"]
        assert calls[worker] == [*task * own, "recv from 0 bytes 100 tag 3"]
    # Whoever has sent a result gets the next task, or the end.
    answers = [line.split()[2] for line in calls[0] if line.startswith("send")][workers:]
    assert answers == [line.split()[2] for line in calls[0] if line.startswith("irecv")]

    ranks = _simulated(scenario)
    assert ranks["sent_messages"] == 2 * tasks + workers
    # An empty message travels as one of 1 B.
    assert ranks["sent_bytes"] in (tasks * 500, tasks * 500 + workers)


def test_each_of_several_requests_with_one_handle_ends_once_where_its_own_is_waited_for(
    tmp_path: Path, programs: Path
) -> None:
    counted, scenario = _traced(tmp_path / "small", *_command(programs / "small"))
    assert counted["bytes"]["isend"] == RANKS * 14 * 32
    calls = counted["calls"]
    assert (calls["isend"], calls["irecv"], calls["recv"], calls["free"]) == (14 * RANKS, 5 * RANKS, 10 * RANKS, RANKS)
    for rank in mpi_records.load(tmp_path / "records"):
        posted = [call.numbers[0] for call in rank.calls if call.kind in (Kind.ISEND, Kind.IRECV)]
        ended = [number for call in rank.calls if call.kind == Kind.DONE for number, *_ in finished(call)]
        freed = [call.numbers[0] for call in rank.calls if call.kind == Kind.FREE]
        assert sorted(ended + freed) == posted
    lines = [line for line in _lines(tmp_path / "records", 0) if "compute" not in line]
    assert lines[5:14] == [
        *(f"isend to 1 bytes 32 tag {tag} request {tag - 3}" for tag in (3, 4, 5)),
        *("wait request 2", "recv from 1 bytes 32 tag 5"),
        *("wait request 1", "recv from 1 bytes 32 tag 4"),
        *("wait request 0", "recv from 1 bytes 32 tag 3"),
    ]
    ranks = _simulated(scenario)
    assert ranks["sent_messages"] == ranks["received_messages"] == 14 * RANKS


def test_threads_that_call_one_at_a_time_are_one_order_and_a_note_says_so(
    tmp_path: Path, programs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    counted, scenario = _traced(tmp_path / "threads", *_command(programs / "threads"))
    exchanges = 3 * 200 * RANKS
    assert counted["calls"] == {"irecv": exchanges, "isend": exchanges, "wait, test": exchanges}
    told = capfd.readouterr().err
    assert f"{3 * exchanges} calls came from other threads than the first: a program has them in one order" in told
    assert _simulated(scenario)["sent_bytes"] == exchanges * 64


@pytest.mark.parametrize("how", ["wait", "storm"])
def test_threads_that_call_at_the_same_time_are_refused_and_what_came_before_is_kept(
    tmp_path: Path, programs: Path, capfd: pytest.CaptureFixture[str], how: str
) -> None:
    records, out = tmp_path / "records", tmp_path / "threads"
    command = _command(programs / "threads", how)
    assert main(["trace", "mpi", "--out", str(out), "--records", str(records), "--", *command]) == Exit.BAD_INPUT
    told = capfd.readouterr().err
    assert "it called MPI from a thread while another one was in a call" in told
    assert "run it so that one thread calls at a time (MPI_THREAD_SERIALIZED), or `backwater import mpi` with" in told
    assert main(["import", "mpi", str(records), "--cut", "--out", str(out)]) == Exit.OK
    ranks = _simulated(out / "scenario.toml")
    assert ranks["sent_messages"] == ranks["received_messages"]
    if how == "wait":
        # What the first threads have exchanged. The second one's receive has not come to its end before that.
        assert ranks["sent_messages"] == RANKS


def test_what_a_program_has_nothing_for_is_counted_and_waiting_in_it_is_no_computing(
    tmp_path: Path, programs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    counted, scenario = _traced(tmp_path / "rare", *_command(programs / "rare", tmp_path / "file"))
    neighbours = [f"Neighbor_{name}" for name in ("allgatherv", "alltoallw")]
    neighbours += [f"Ineighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")]
    files = ["File_open", "File_write_at_all", "File_close"]
    rare = {f"MPI_{name}": RANKS for name in ("Ireduce_scatter", "Iexscan", "Ialltoallw", *neighbours, *files)}
    assert counted["calls"] == {**rare, "allreduce": RANKS, "send": 1, "irecv": 1, "wait, test": 1}
    assert "left out, as a program has nothing for it: 4 MPI_File_close, 4 MPI_File_open" in capfd.readouterr().err
    # For 1 s rank 0 asks whether its message is there.
    assert sum(call.gap for call in mpi_records.load(tmp_path / "records")[0].calls) < 500e6
    assert _simulated(scenario)["sent_messages"] == 2 * RANKS + 1


#: By MPI 3.1: what no other rank takes part in, nor waits for, and, of files, what a rank does alone.
_LOCAL = re.compile(
    r"""MPI_(Abort | \w+_errhandler | Errhandler_free | (Add_)?Error_\w+ | Add_error_\w+ | \w+_(c2f|f2c) | T_\w+
    | (Type|Group|Info|Op|Attr|Keyval|Status|Grequest)_\w+ | \w+_keyval | \w+_(get|set|delete)_attr | \w+_(get|set)_name
    | Get_(address|count|elements|elements_x|version|library_version|processor_name) | Cancel | Test_cancelled
    | Alloc_mem | Free_mem | Buffer_attach | (Unp|P)ack\w* | Pcontrol | Wtime | Wtick | Query_thread | Is_thread_main
    | Initialized | Finalized | Register_datarep | Reduce_local | Dims_create | Topo_test | Dist_graph_neighbors\w*
    | Comm_(compare|group|rank|size|test_inter|remote_\w+|get_\w+) | Cart_(coords|get|map|rank|shift) | Cartdim_get
    | Graph_(get|map|neighbors\w*) | Graphdims_get | Win_(attach|detach|get_\w+|shared_query)
    | File_(get_\w+|delete|seek|i?(read|write)(_at|_shared)?))""",
    re.VERBOSE,
)


def _printed(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


def _symbols(which: str, library: Path) -> set[str]:
    return {line.split()[-1] for line in _printed("nm", "-D", f"--{which}-only", library).splitlines()}


def test_no_call_of_mpi_in_which_ranks_meet_is_missing(tmp_path: Path, programs: Path) -> None:
    assert programs
    (tmp_path / "mpi.c").write_text("#include <mpi.h>\n", encoding="utf-8")
    header = _printed("mpicc", "-E", "-P", tmp_path / "mpi.c")
    declared = set(re.findall(r"\b(MPI_[A-Z]\w*)\s*\(", header))
    assert {"MPI_Send", "MPI_Ineighbor_alltoallw", "MPI_File_iread_all", "MPI_Wtime"} <= declared
    if "MPI_Session_init" in declared:
        pytest.skip("this MPI is newer than 3.1, and docs/mpi-traces.md says that what is new is not recorded")
    defined = _symbols("defined", tracing.library("mpicc", tmp_path))
    local = {name for name in declared if _LOCAL.fullmatch(name)}
    assert declared - local - defined == set()
    assert local & defined == set()
    # Of Fortran those are missing that deal with processes that the program starts or finds while it runs.
    meet = {name.lower() for name in declared - local}
    meet -= {f"mpi_{name}" for name in ("comm_spawn", "comm_spawn_multiple", "open_port", "close_port", "lookup_name")}
    meet -= {"mpi_publish_name", "mpi_unpublish_name"}
    assert {f"{name}_" for name in meet} - defined == set()
    # What the module for Fortran 2008 calls is what stands behind: by a name of its own, or else by that of PMPI.
    modules = [Path(folder) / "libmpi_usempif08.so" for folder in _printed("mpicc", "--showme:libdirs").split()]
    for module in filter(Path.exists, modules):
        called = _symbols("undefined", module)
        for name in meet:
            word = name.removeprefix("mpi_")
            if f"ompi_{word}_f" in called:
                assert f"ompi_{word}_f" in defined
            elif f"pmpi_{word}_" in called:
                assert f"mpi_{word}_f08_" in defined


@pytest.mark.parametrize("flags", [(), ("-DMODULE_2008",)], ids=["mpi", "mpi_f08"])
def test_calls_of_fortran_are_recorded_as_those_of_c(
    tmp_path: Path, programs: Path, capfd: pytest.CaptureFixture[str], flags: Sequence[str]
) -> None:
    if not shutil.which("mpif90"):
        pytest.skip("mpif90 is not there: python/tests/mpi/install.sh")
    assert programs
    built = ["mpif90", "-O1", "-cpp", *flags, "-o", str(tmp_path / "ring"), str(PROGRAMS / "ring.f90")]
    subprocess.run(built, check=True, cwd=tmp_path)  # noqa: S603
    counted, scenario = _traced(tmp_path / "traced", *_command(tmp_path / "ring"))
    assert "left out, as a program has nothing for it: 4 MPI_Scan\n" in capfd.readouterr().err
    steps = 3
    assert counted["calls"] == {
        "bcast": RANKS, "irecv": RANKS * (2 * steps + 3), "isend": RANKS * (2 * steps + 2), "allreduce": RANKS * steps,
        "wait, test": RANKS * (steps + 6), "sendrecv": RANKS, "recv": RANKS - 1, "send": RANKS - 1 + RANKS,
        "alltoall": RANKS, "gather": RANKS, "barrier": RANKS, "iallreduce": RANKS, "fence": 2 * RANKS, "put": RANKS,
        "MPI_Scan": RANKS,
    }  # fmt: skip
    received = [line.split() for line in _lines(tmp_path / "records", 0) if line.startswith("recv")]
    assert {(words[2], words[-1]) for words in received} == {("1", "11"), ("2", "12"), ("3", "13")}
    ranks = _simulated(scenario)
    messages = {
        "bcast": (3, 16), "neighbours": (2 * RANKS * steps, 800), "allreduce": (2 * RANKS * steps, 8), "up": (3, 40),
        "any": (3, 24), "barrier": (2 * RANKS, 8), "persistent": (2 * RANKS, 160),
        "tested": (RANKS, 24), "sum": (2 * RANKS, 8), "fences": (2 * 2 * RANKS, 8), "put": (RANKS, 80),
    }  # fmt: skip
    # Of several sizes: 1 to 4 numbers of 8 B among two each; those of ranks 1 to 3.
    assert ranks["sent_messages"] == sum(number for number, _ in messages.values()) + 4 + 3
    assert ranks["sent_bytes"] == sum(number * size for number, size in messages.values()) + 8 * 10 + 8 * 9


def test_a_rank_that_is_killed_is_named_and_what_all_had_done_is_kept_and_runs(
    tmp_path: Path, programs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    records, out = tmp_path / "records", tmp_path / "farm"
    command = _command(programs / "farm", 1000, 2)
    assert main(["trace", "mpi", "--out", str(out), "--records", str(records), "--", *command]) == Exit.BAD_INPUT
    told = capfd.readouterr().err
    assert re.search(r"rank 0 of 4 ends in the middle, after call \d+ \(\w+\), \d\.\d+ s after MPI_Init", told)
    assert not out.exists()
    # Rank 2 has received two tasks and sent two results.
    with pytest.raises(UsageError, match=r"others too: (1, )?2"):
        mpi.load(records)
    assert main(["import", "mpi", str(records), "--cut", "--out", str(out)]) == Exit.OK
    kept = [line for line in _lines(records, 2, cut=True) if "compute" not in line]
    task = ["recv from 0 bytes 100 tag 1", "send to 0 bytes 400 tag 2"]
    assert kept in ([*task, *task], [*task, task[0]])
    ranks = _simulated(out / "scenario.toml")
    assert ranks["sent_messages"] == ranks["received_messages"] > 0


def test_a_limit_ends_the_records_and_says_what_to_do(
    tmp_path: Path, programs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    records, out = tmp_path / "records", tmp_path / "halo"
    options = ["--out", str(out), "--records", str(records), "--limit", "20"]
    assert main(["trace", "mpi", *options, "--", *_command(programs / "halo", 5)]) == Exit.BAD_INPUT
    told = capfd.readouterr().err
    assert "rank 0 of 4 ends in the middle, after call 20" in told
    assert "it reached the limit of 20 calls; record it with a larger --limit" in told
    assert main(["import", "mpi", str(records), "--cut", "--out", str(out), "--json"]) == Exit.OK
    assert json.loads(capfd.readouterr().out)["ranks"] == RANKS
    # A broadcast, then 7 calls a step: 20 calls end in the third step, and its sendrecv is not done by all.
    assert _lines(records, 0, cut=True).count("allreduce bytes 8") == 2


def test_steps_that_repeat_are_folded(tmp_path: Path, programs: Path) -> None:
    _, scenario = _traced(tmp_path / "halo", *_command(programs / "halo", 20), options=["--fold"])
    lines = (scenario.parent / "app.program").read_text(encoding="utf-8").splitlines()
    assert sum(line == "rank 0 loop 20" for line in lines) == 2
    assert _simulated(scenario)["sent_messages"] == 2 * 2 * 80 + 60 + 6 + 8 * 22 + 4


def test_the_library_leaks_nothing_and_reads_nothing_that_is_not_its_own(tmp_path: Path, programs: Path) -> None:
    assert programs
    (tmp_path / "r").mkdir()
    environment = {
        **os.environ,
        "BACKWATER_MPI_FOLDER": str(tmp_path / "r"),
        # Open MPI's own leaks are none of ours.
        "LSAN_OPTIONS": "exitcode=0",
    }
    for name in ("halo", "grid", "farm", "small", "threads", "rare"):
        flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        _compile(tmp_path / name, PROGRAMS / f"{name}.c", tracing.SOURCE, flags=flags)
        done = subprocess.run(  # noqa: S603
            _command(tmp_path / name), capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
        )
        if "LeakSanitizer has encountered a fatal error" in done.stderr:
            pytest.skip("LeakSanitizer cannot look at processes here")
        assert done.returncode == 0, done.stderr[-2000:]
        assert "backwater_mpi.c" not in done.stderr
        mpi.load(tmp_path / "r")


def test_the_lines_of_the_page_work_where_there_is_no_backwater(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "mpi-traces.md").read_text(encoding="utf-8")
    lines = re.findall(r"```\n(mpicc .*?)```", page, re.DOTALL)[0]
    shutil.copy(tracing.SOURCE, tmp_path)
    shutil.copy(programs / "halo", tmp_path / "app")
    monkeypatch.chdir(tmp_path)
    lines = lines.replace("mpirun", "mpirun --oversubscribe")
    subprocess.run(["bash", "-ec", lines], check=True)  # noqa: S603, S607
    assert main(["import", "mpi", "records", "--out", "app-scenario"]) == Exit.OK
    assert mpi.load(Path("records"))[1].calls["isend"] == 80


def test_a_compiler_that_is_not_there_and_a_command_that_cannot_run_are_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "a")]
    assert main(["trace", "mpi", *out, "--mpicc", "no-mpicc", "--", "true"]) == Exit.BAD_INPUT
    assert "no-mpicc is not there; name the compiler of the program's MPI with --mpicc" in capfd.readouterr().err
    assert main(["trace", "mpi", *out]) == Exit.BAD_INPUT
    assert "no command is given; write it after --" in capfd.readouterr().err
    # Before the program runs, which may take hours.
    for wrong, message in (
        (["--profile", "hdrr"], "--profile hdrr: there is none"),
        (["--topology", "no.topo"], "no.topo"),
    ):
        assert main(["trace", "mpi", *out, *wrong, "--", "touch", str(tmp_path / "ran")]) == Exit.BAD_INPUT
        assert message in capfd.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_a_command_without_mpi_records_nothing_and_the_error_says_what_it_takes(
    tmp_path: Path, programs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert programs
    assert main(["trace", "mpi", "--out", str(tmp_path / "a"), "--", "true"]) == Exit.BAD_INPUT
    told = capfd.readouterr().err
    assert "no rank was recorded" in told
    assert "by mpi_f08 with Open MPI only" in told
