"""What ranks of an MPI program have recorded (io/tracing/backwater_mpi.c): one file each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from backwater.common.late import np
from backwater.errors import UsageError
from backwater.io.importing import read_bytes


class Kind(IntEnum):
    """What a record is; the numbers are those of the library."""

    END = 1
    COMM = 2
    LIMIT = 3
    SEND = 4
    RECV = 5
    ISEND = 6
    IRECV = 7
    SENDRECV = 8
    DONE = 9
    FREE = 10
    COLLECTIVE = 11
    UNEVEN = 12
    ICOLLECTIVE = 13
    PUT = 14
    GET = 15
    FLUSH = 16
    FENCE = 17
    OTHER = 18
    THREADS = 19


#: How many numbers a record has; what is missing says so itself.
_LENGTHS = {
    Kind.END: 4,
    Kind.LIMIT: 0,
    Kind.SEND: 5,
    Kind.RECV: 4,
    Kind.ISEND: 6,
    Kind.IRECV: 5,
    Kind.SENDRECV: 7,
    Kind.FREE: 1,
    Kind.COLLECTIVE: 4,
    Kind.ICOLLECTIVE: 5,
    Kind.PUT: 3,
    Kind.GET: 3,
    Kind.FLUSH: 0,
    Kind.FENCE: 1,
    Kind.THREADS: 0,
}
#: Operations of collectives as the library numbers them, in the words of programs.
OPERATIONS = ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce-scatter")
#: How a request ended.
SENT, RECEIVED, CANCELLED = range(3)
#: How a send was sent.
STANDARD, SYNCHRONOUS, BUFFERED, READY = range(4)

_HEAD = re.compile(rb"backwater-mpi 1 rank (\d+) of (\d+) host (\S+) cpus (-?\d+) clock-ns (\d+) limit (\d+)\n")
_NAME = re.compile(r"rank-(\d+)\.bwmpi")


class Call(NamedTuple):
    """A call: how long the rank computed before it and how long it took, in nanoseconds, and its numbers."""

    kind: int
    gap: int
    took: int
    numbers: tuple[int, ...]


@dataclass
class Recorded:
    """What a rank has recorded."""

    file: Path
    rank: int
    ranks: int
    host: str
    cpus: int
    clock_ns: int
    limit: int
    calls: list[Call] = field(default_factory=list)
    #: Of each communicator what all its members call it, and its members.
    communicators: dict[int, tuple[object, tuple[int, ...]]] = field(default_factory=dict)
    #: Why there is no more; empty: the rank came to MPI_Finalize.
    broken: str = ""
    #: What helps against it, if there is something.
    fix: str = ""
    #: In nanoseconds: recording, and calls that are no records. Calls of other threads than the first.
    recording: int = 0
    quiet: int = 0
    foreign: int = 0

    def place(self) -> str:
        """Where it ends, in words."""
        if not self.calls:
            return "before its first call"
        time = sum(call.gap + call.took for call in self.calls) / 1e9
        return f"after call {len(self.calls)} ({Kind(self.calls[-1].kind).name}), {time:.6f} s after MPI_Init"


def load(folder: Path) -> list[Recorded]:
    """The records of all ranks, in the order of their numbers."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder; name the one that BACKWATER_MPI_FOLDER named")
    found = {int(name[1]): file for file in folder.iterdir() if (name := _NAME.fullmatch(file.name))}
    if not found:
        raise UsageError(
            f"{folder} has no file rank-N.bwmpi: no rank was recorded. The program must be linked with the MPI of "
            "mpicc, dynamically, and call MPI_Init from C, C++ or Fortran (by mpi_f08 with Open MPI only)"
        )
    ranks = [_read(found[rank]) for rank in sorted(found)]
    size = ranks[0].ranks
    if other := next((rank for rank in ranks if rank.ranks != size), None):
        raise UsageError(
            f"{other.file} is of {other.ranks} ranks, {ranks[0].file} of {size}; record each run in a folder of its own"
        )
    if missing := sorted(set(range(size)) - found.keys()):
        raise UsageError(
            f"{folder} has no file of rank {missing[0]}, and {size} are needed, rank-0.bwmpi to rank-{size - 1}.bwmpi; "
            "copy those of all machines together"
        )
    return ranks


def _read(file: Path) -> Recorded:
    data = read_bytes(file, "records of a rank")
    head = _HEAD.match(data)
    if head is None:
        raise UsageError(f"{file} does not begin as records of this version do; record the program again")
    rank, ranks, cpus, clock, limit = (int(head[group]) for group in (1, 2, 4, 5, 6))
    if str(rank) != _NAME.fullmatch(file.name)[1] or rank >= ranks:  # type: ignore[index]
        raise UsageError(f"{file} holds rank {rank} of {ranks}; give it its own name back")
    made = Recorded(file, rank, ranks, head[3].decode("utf-8", "replace"), cpus, clock, limit)
    _fill(made, _numbers(data[head.end() :]))
    return made


def _numbers(data: bytes) -> list[int]:
    """The numbers of a file: seven bits a byte, the lowest first."""
    raw = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(raw < 128)
    if not len(ends):
        return []
    raw = raw[: ends[-1] + 1]
    begins = np.concatenate(([0], ends[:-1] + 1))
    within = np.arange(len(raw)) - np.repeat(begins, ends - begins + 1)
    parts = (raw & 127).astype(np.uint64) << (7 * within).astype(np.uint64)
    numbers: list[int] = np.add.reduceat(parts, begins).tolist()
    return numbers


def _fill(made: Recorded, numbers: list[int]) -> None:
    """The calls among the numbers; what ends them."""
    at, end = 0, len(numbers)
    while at < end and numbers[at]:
        kind, first = numbers[at], at + 3
        length = _length(kind, numbers, first)
        if length is None:
            break
        body = tuple(numbers[first : first + length])
        at = first + length
        if kind == Kind.COMM:
            members = body[3:]
            made.communicators[body[0]] = (body[1] or members, members)
        elif kind == Kind.LIMIT:
            made.broken = f"reached the limit of {made.limit} calls"
            made.fix = "record it with a larger --limit (BACKWATER_MPI_LIMIT)"
            return
        elif kind == Kind.THREADS:
            made.broken = "called MPI from a thread while another one was in a call; a program has one after another"
            made.fix = "run it so that one thread calls at a time (MPI_THREAD_SERIALIZED)"
            return
        elif kind == Kind.END:
            made.calls.append(Call(kind, numbers[first - 2], 0, ()))
            _, made.recording, made.quiet, made.foreign = body
            return
        else:
            made.calls.append(Call(kind, numbers[first - 2], numbers[first - 1], body))
    made.broken = "was killed, called MPI_Abort, or could not write any further"


def _length(kind: int, numbers: list[int], first: int) -> int | None:
    """How many numbers a record has; None: it is not whole."""
    try:
        if kind == Kind.COMM:
            length = 3 + numbers[first + 2]
        elif kind == Kind.OTHER:
            length = 1 + numbers[first]
        elif kind == Kind.UNEVEN:
            length = 4 + numbers[first + 3]
            length += 1 + numbers[first + length]
        elif kind == Kind.DONE:
            length = 1
            for _ in range(numbers[first]):
                length += 4 if numbers[first + length + 1] == RECEIVED else 2
        else:
            length = _LENGTHS[Kind(kind)]
    except (IndexError, ValueError):
        return None
    return length if first + length <= len(numbers) else None
