"""Records of an MPI program become a program of ranks (docs/programs.md); docs/mpi-traces.md says how."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backwater.common.quantities import counted
from backwater.errors import UsageError
from backwater.io.importing import Imported, mpi_folding, mpi_records
from backwater.io.importing.mpi_matching import Matched, Requests, finished, match, received
from backwater.io.importing.mpi_records import BUFFERED, CANCELLED, OPERATIONS, SYNCHRONOUS, Call, Kind, Recorded
from backwater.io.importing.workloads import Place

#: How many sets of requests of a program are given to those of a rank; the next one is of what one call posts and
#: waits for.
_SETS = 62
#: Tags from here on stand for those of other communicators than MPI_COMM_WORLD.
_FIRST_TAG = 1 << 30
#: From how many bytes on an allreduce is by Rabenseifner's algorithm (Thakur, Rabenseifner, Gropp 2005, as in MPICH).
_LONG = 2048
#: The most ops of a rank in a program, and of how many more than one a call consists.
_MOST_OPS, _MORE_OPS = 1 << 20, {"send": 1, "recv": 1, "sendrecv": 2}
_ALLREDUCE, _BARRIER = OPERATIONS.index("allreduce"), OPERATIONS.index("barrier")
_WITH_ROOT = {OPERATIONS.index(name) for name in ("bcast", "reduce", "gather", "scatter")}


@dataclass
class Traced:
    """What the ranks did, in numbers."""

    ranks: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    nanoseconds: Counter[str] = field(default_factory=Counter)
    #: In nanoseconds, of all ranks.
    computing: int = 0
    recording: int = 0
    others: Counter[str] = field(default_factory=Counter)

    def add(self, rank: Recorded, until: int) -> None:
        """Counts the calls of a rank that are kept."""
        self.recording += rank.recording
        self.nanoseconds["other"] += rank.quiet
        for call in rank.calls[:until]:
            name = named(call)
            self.computing += call.gap
            if call.kind == Kind.END:
                continue
            self.calls[name] += 1
            self.nanoseconds[name] += call.took
            self.bytes[name] += _bytes_of(call)
            if call.kind == Kind.OTHER:
                self.others[name] += 1


def named(call: Call) -> str:
    """What a call is called in a table."""
    if call.kind in (Kind.COLLECTIVE, Kind.UNEVEN):
        return OPERATIONS[call.numbers[0]]
    if call.kind == Kind.ICOLLECTIVE:
        return f"i{OPERATIONS[call.numbers[1]]}"
    if call.kind == Kind.OTHER:
        return bytes(number & 255 for number in call.numbers[1:]).decode("utf-8", "replace")
    return "wait, test" if call.kind == Kind.DONE else Kind(call.kind).name.lower()


def _bytes_of(call: Call) -> int:
    """What a rank gives in a call: to others, or into a collective."""
    numbers = call.numbers
    if call.kind == Kind.SENDRECV:
        return numbers[3]
    if call.kind in (Kind.SEND, Kind.ISEND, Kind.PUT, Kind.GET):
        return numbers[-1]
    if call.kind in (Kind.COLLECTIVE, Kind.ICOLLECTIVE):
        return numbers[-2]
    if call.kind == Kind.UNEVEN:
        return sum(numbers[4 : 4 + numbers[3]])
    return 0


def load(
    folder: Path,
    place: Place | None = None,
    *,
    cut: bool = False,
    fold: bool = False,
) -> tuple[Imported, Traced]:
    """The scenario of the records in a folder, and what they hold in numbers."""
    ranks = mpi_records.load(folder)
    broken = [rank for rank in ranks if rank.broken]
    if broken and not cut:
        raise UsageError(_ends_early(broken, len(ranks)))
    requests = [Requests.of(rank.calls) for rank in ranks]
    _check(ranks)
    matched = match(ranks, requests, cut=cut)
    names = _Names()
    written = [_Rank(rank, requests[rank.rank], matched, names).lines() for rank in ranks]
    traced = Traced(len(ranks))
    for rank in ranks:
        traced.add(rank, matched.until[rank.rank])
    folded = [mpi_folding.fold(lines) if fold else mpi_folding.plain(lines) for lines in written]
    for number, own in enumerate(folded):
        _fits(number, own.lines, fold=fold)
    notes = _notes(ranks, matched, names, traced)
    if fold:
        notes += mpi_folding.notes(folded)
    head = ["backwater-program 1", f"ranks {len(ranks)}", *_told(ranks, matched, traced, folder, fold=fold)]
    body = (f"rank {number} {line}" for number, own in enumerate(folded) for line in own.lines)
    text = "\n".join([*head, *names.groups(), *body]) + "\n"
    holds = (
        f"{counted(len(ranks), 'rank')}, {sum(traced.calls.values())} calls, {sum(traced.bytes.values())} B; "
        f"{traced.computing / 1e6 / len(ranks):.3f} ms of computing per rank"
    )
    return (place or Place()).scenario("app.program", text, "program", holds, notes, str(folder)), traced


def _fits(rank: int, lines: Sequence[str], *, fold: bool) -> None:
    """A rank may have so many ops; those of collectives are left to the reader of programs."""
    ops = len(lines) + sum(_MORE_OPS.get(line.split(" ", 1)[0], 0) for line in lines)
    if ops > _MOST_OPS:
        fix = "record fewer calls with --limit, and give --cut"
        raise UsageError(
            f"rank {rank} has {ops} ops, and a program has at most {_MOST_OPS} of a rank; "
            + (fix if fold else f"make loops of what repeats with --fold, or {fix}")
        )


def _ends_early(broken: Sequence[Recorded], ranks: int) -> str:
    rank, others = broken[0], ", ".join(str(rank.rank) for rank in broken[1:9])
    more = f"{rank.fix}, or " if rank.fix else ""
    also = f" (others too: {others}{', ...' if len(broken) > 9 else ''})" if others else ""
    return (
        f"{rank.file}: rank {rank.rank} of {ranks} ends in the middle, {rank.place()}{also}: it {rank.broken}; {more}"
        "`backwater import mpi` with --cut keeps what all ranks have done up to there"
    )


def _check(ranks: Sequence[Recorded]) -> None:
    """Every number must be one of a rank, a communicator, an operation."""
    for rank in ranks:
        for index, call in enumerate(rank.calls):
            wrong = _wrong(rank, call)
            if wrong:
                raise UsageError(f"{rank.file}: rank {rank.rank}, call {index + 1}: {wrong}")


def _wrong(rank: Recorded, call: Call) -> str:
    numbers = call.numbers
    peers: tuple[int, ...] = ()
    comms: tuple[int, ...] = ()
    operation: int | None = None
    match call.kind:
        case Kind.SEND:
            comms, peers = numbers[1:2], numbers[2:3]
        case Kind.RECV:
            comms, peers = numbers[:1], numbers[1:2]
        case Kind.ISEND:
            comms, peers = numbers[2:3], numbers[3:4]
        case Kind.IRECV:
            comms, peers = numbers[1:2], (max(0, numbers[2] - 1),)
        case Kind.SENDRECV:
            comms, peers = numbers[:1], (max(0, numbers[1] - 1), max(0, numbers[4] - 1))
        case Kind.COLLECTIVE:
            operation, comms, peers = numbers[0], numbers[1:2], numbers[3:4]
        case Kind.ICOLLECTIVE:
            operation, comms, peers = numbers[1], numbers[2:3], numbers[4:5]
        case Kind.UNEVEN:
            operation, comms, peers = numbers[0], numbers[1:2], numbers[2:3]
        case Kind.PUT | Kind.GET:
            peers = numbers[1:2]
        case Kind.FENCE:
            comms = numbers[:1]
        case Kind.DONE:
            peers = tuple(what[2] for what in finished(call) if len(what) > 2)
    if (operation or 0) >= len(OPERATIONS) or any(comm not in rank.communicators for comm in comms):
        return _DAMAGED
    if any(peer >= rank.ranks for peer in peers):
        return _SPAWNED
    if any(max(rank.communicators[comm][1], default=0) >= rank.ranks for comm in comms):
        return _SPAWNED
    if operation is None:
        return ""
    members = rank.communicators[comms[0]][1]
    if rank.rank not in members or (call.kind == Kind.UNEVEN and not _has_sizes(numbers, rank.rank, len(members))):
        return _DAMAGED
    return ""


_DAMAGED = "the record is damaged; record the program again"
_SPAWNED = "it deals with a process outside of MPI_COMM_WORLD (MPI_Comm_spawn); trace a program that starts none"


def _has_sizes(numbers: Sequence[int], rank: int, members: int) -> bool:
    """Whether a collective of several sizes says as many as it needs: to others, and from them."""
    operation, _, root, to_others, *sizes = numbers
    given = (to_others, sizes[to_others])
    match OPERATIONS[operation]:
        case "alltoall":
            return given == (members, members)
        case "gather":
            return given == ((0, members) if rank == root else (1, 0))
        case "scatter":
            return given == ((members, 0) if rank == root else (0, 1))
        case "allgather":
            return given == (0, members)
        case "reduce-scatter":
            return given == (members, 0)
    return False


class _Names:
    """What communicators are called in a program: groups for collectives, tags for messages."""

    def __init__(self) -> None:
        self._groups: dict[object, tuple[int, tuple[int, ...]]] = {}
        self._tags: dict[tuple[object, int | str], int] = {}
        #: Requests that are waited for later than they were, and sends that waited for their receives, for notes.
        self.late = 0
        self.synchronous = 0

    def group(self, comm: tuple[object, tuple[int, ...]]) -> str:
        """How a collective names a communicator."""
        identity, members = comm
        if identity == 1:
            return ""
        number, _ = self._groups.setdefault(identity, (len(self._groups) + 1, members))
        return f" group {number}"

    def groups(self) -> list[str]:
        """The lines of the groups."""
        return [f"group {number} {' '.join(map(str, members))}" for number, members in self._groups.values()]

    def tag(self, comm: object, tag: int | str) -> int:
        """The tag of a message on a communicator: its own on MPI_COMM_WORLD."""
        if comm == 1 and isinstance(tag, int) and tag < _FIRST_TAG:
            return tag
        return self._tags.setdefault((comm, tag), _FIRST_TAG + len(self._tags))


class _Rank:
    """The calls of a rank as lines of a program, each after the nanoseconds that it computes before."""

    def __init__(self, rank: Recorded, requests: Requests, matched: Matched, names: _Names) -> None:
        self._rank, self._requests, self._names = rank, requests, names
        self._until = matched.until[rank.rank]
        self._unreceived, self._unsent = matched.unreceived[rank.rank], matched.unsent[rank.rank]
        self._made: list[tuple[int, str]] = []
        self._gap = 0
        #: Whether it has put or got since it flushed.
        self._remote = False
        #: By the call that completes them the set of open requests, and what is done at its end.
        self._sets: dict[int, int] = {}
        self._waits: dict[int, list[str]] = defaultdict(list)

    def lines(self) -> list[tuple[int, str]]:
        """The lines."""
        handlers = {
            Kind.SEND: self._send,
            Kind.RECV: self._receive,
            Kind.ISEND: self._isend,
            Kind.IRECV: self._ireceive,
            Kind.SENDRECV: self._exchange,
            Kind.DONE: self._wait,
            Kind.COLLECTIVE: self._collective,
            Kind.ICOLLECTIVE: self._icollective,
            Kind.UNEVEN: self._uneven,
            Kind.PUT: self._put,
            Kind.GET: self._put,
            Kind.FLUSH: lambda *_: self._say("flush"),
            Kind.FENCE: self._fence,
        }
        for index, call in enumerate(self._rank.calls[: self._until]):
            self._gap += call.gap
            if handler := handlers.get(Kind(call.kind)):
                handler(index, call)
        if self._sets:
            self._say("wait")
        if self._remote:
            self._say("flush")
        if self._gap:
            self._made.append((self._gap, ""))
        return self._made

    def _say(self, line: str) -> None:
        self._remote = line != "flush" and (self._remote or line.startswith(("put", "get")))
        self._made.append((self._gap, line))
        self._gap = 0

    def _comm(self, number: int) -> tuple[object, tuple[int, ...]]:
        return self._rank.communicators[number]

    def _tag(self, comm: int, tag: int) -> int:
        return self._names.tag(self._comm(comm)[0], tag)

    def _set(self, done: int) -> int:
        """The set of a request that this call completes."""
        done = min(done, self._until)
        if done in self._sets:
            return self._sets[done]
        free = set(range(_SETS)) - set(self._sets.values())
        if free:
            self._sets[done] = min(free)
            return self._sets[done]
        # All are taken: what is waited for first is waited for later, which no other rank can miss.
        self._names.late += 1
        later = [end for end in self._sets if end >= done]
        end = min(later) if later else max(self._sets)
        number = self._sets[end]
        if end < done:
            del self._sets[end]
            self._sets[done] = number
        return number

    def _end_of(self, request: int) -> int:
        return self._requests.done.get(request, self._until)

    def _send(self, index: int, call: Call) -> None:
        mode, comm, to, tag, size = call.numbers
        if index in self._unreceived:
            return
        self._names.synchronous += mode == SYNCHRONOUS
        tag = self._tag(comm, tag)
        if mode == BUFFERED:
            self._say(f"isend to {to} bytes {size} tag {tag} request {self._set(self._until)}")
        else:
            self._say(f"send to {to} bytes {size} tag {tag}")

    def _receive(self, _: int, call: Call) -> None:
        comm, source, tag, size = call.numbers
        self._say(f"recv from {source} bytes {size} tag {self._tag(comm, tag)}")

    def _isend(self, index: int, call: Call) -> None:
        request, mode, comm, to, tag, size = call.numbers
        if index in self._unreceived or request in self._requests.cancelled:
            return
        self._names.synchronous += mode == SYNCHRONOUS
        end = self._until if mode == BUFFERED else self._end_of(request)
        self._say(f"isend to {to} bytes {size} tag {self._tag(comm, tag)} request {self._set(end)}")

    def _ireceive(self, index: int, call: Call) -> None:
        receive = received(self._rank, self._requests, index, call)
        if receive is None or receive.source is None or index in self._unsent:
            return
        request, comm, _, _, size = call.numbers
        tag = self._tag(comm, receive.tag)
        self._say(f"irecv from {receive.source} bytes {size} tag {tag} request {self._set(self._end_of(request))}")

    def _exchange(self, index: int, call: Call) -> None:
        comm, to, to_tag, size, source, source_tag, room = call.numbers
        sends, receives = bool(to) and index not in self._unreceived, bool(source)
        to_tag, source_tag = self._tag(comm, to_tag) if to else 0, self._tag(comm, source_tag) if source else 0
        if sends and receives and to_tag == source_tag:
            rooms = "" if room == size else f" room {room}"
            self._say(f"sendrecv to {to - 1} bytes {size} from {source - 1}{rooms} tag {to_tag}")
        elif sends and receives:
            self._together([(to - 1, size)], [(source - 1, room)], to_tag, source_tag)
        elif sends:
            self._say(f"send to {to - 1} bytes {size} tag {to_tag}")
        elif receives:
            self._say(f"recv from {source - 1} bytes {room} tag {source_tag}")

    def _together(
        self, sends: Sequence[tuple[int, int]], receives: Sequence[tuple[int, int]], tag: int, source_tag: int
    ) -> None:
        """Messages that are posted at once, and waited for."""
        for source, size in receives:
            self._say(f"irecv from {source} bytes {size} tag {source_tag} request {_SETS}")
        for to, size in sends:
            self._say(f"isend to {to} bytes {size} tag {tag} request {_SETS}")
        if sends or receives:
            self._say(f"wait request {_SETS}")

    def _wait(self, index: int, call: Call) -> None:
        if index in self._sets:
            self._say(f"wait request {self._sets.pop(index)}")
        for number, how, *_ in finished(call):
            for line in self._waits.pop(number, []) if how != CANCELLED else []:
                self._say(line)

    def _collective(self, _: int, call: Call) -> None:
        for line in self._of(call.numbers):
            self._say(line)

    def _icollective(self, _: int, call: Call) -> None:
        # As the ranks wait for it: at the end of the call that is not to block nobody would have got further.
        self._waits[call.numbers[0]] = self._of(call.numbers[1:])

    def _of(self, numbers: Sequence[int]) -> list[str]:
        """The lines of a collective."""
        operation, comm, size, root = numbers
        _, members = named = self._comm(comm)
        if len(members) < 2:
            return []
        words = OPERATIONS[operation]
        if operation != _BARRIER:
            words += f" bytes {size}"
        if operation in _WITH_ROOT:
            words += f" root {root}"
        if operation == _ALLREDUCE and size > _LONG:
            words += " algorithm halving-doubling"
        return [words + self._names.group(named)]

    def _uneven(self, _: int, call: Call) -> None:
        operation, comm, root, count, *sizes = call.numbers
        to_each, from_each = sizes[:count], sizes[count + 1 :]
        identity, members = self._comm(comm)
        me = self._rank.rank
        tag = self._names.tag(identity, OPERATIONS[operation])

        def with_all(each: Sequence[int]) -> list[tuple[int, int]]:
            # To the next one first, as alltoalls do it.
            mine = members.index(me)
            order = [(mine + distance) % len(members) for distance in range(1, len(members))]
            return [(members[place], each[place]) for place in order if each[place]]

        match OPERATIONS[operation]:
            case "alltoall":
                self._together(with_all(to_each), with_all(from_each), tag, tag)
            case "gather" if me == root:
                self._together([], with_all(from_each), tag, tag)
            case "gather":
                self._together([(root, to_each[0])] if to_each[0] else [], [], tag, tag)
            case "scatter" if me == root:
                self._together(with_all(to_each), [], tag, tag)
            case "scatter":
                self._together([], [(root, from_each[0])] if from_each[0] else [], tag, tag)
            case "allgather":
                self._ring(members, from_each, 0, tag)
            case _:
                self._ring(members, to_each, 1, tag)

    def _ring(self, members: Sequence[int], blocks: Sequence[int], ahead: int, tag: int) -> None:
        """Rounds around a ring: in round r each sends the block of the member r + ahead before it to the next one."""
        n, mine = len(members), members.index(self._rank.rank)
        to, source = members[(mine + 1) % n], members[(mine - 1) % n]
        for turn in range(n - 1):
            sends, receives = blocks[(mine - turn - ahead) % n], blocks[(mine - 1 - turn - ahead) % n]
            self._together([(to, sends)] if sends else [], [(source, receives)] if receives else [], tag, tag)

    def _put(self, _: int, call: Call) -> None:
        request, target, size = call.numbers
        self._say(f"put to {target} bytes {size}" if call.kind == Kind.PUT else f"get from {target} bytes {size}")
        if request:
            self._waits[request - 1] = ["flush"]

    def _fence(self, _: int, call: Call) -> None:
        self._say("flush")
        for line in self._of((_BARRIER, call.numbers[0], 0, 0)):
            self._say(line)


def _told(ranks: Sequence[Recorded], matched: Matched, traced: Traced, folder: Path, *, fold: bool) -> list[str]:
    """What the program file says of itself."""
    clock = max(rank.clock_ns for rank in ranks)
    told = [
        f"# Records of an MPI program: {folder.name}. Between two calls a rank computes for as long as it did then.",
        f"# Left out of that: {traced.recording / 1e6:.3f} ms of recording in all, {clock} ns a call for the clock.",
    ]
    if any(matched.until[rank.rank] < len(rank.calls) or rank.broken for rank in ranks):
        told.append("# Cut: the calls that all ranks had done when the records end.")
    if fold:
        told.append("# Folded: what repeats is a loop, and computes for the mean of its turns.")
    return told


def _notes(ranks: Sequence[Recorded], matched: Matched, names: _Names, traced: Traced) -> list[str]:
    """What the user should know."""
    notes = []
    for rank in ranks:
        kept, had = matched.until[rank.rank], len(rank.calls)
        if rank.broken or kept < had:
            notes.append(f"rank {rank.rank} {rank.broken or 'goes on beyond others'}: {kept} of {had} calls are kept")
    lost = sum(map(len, matched.unreceived))
    if lost:
        notes.append(f"left out, as nobody had received them at the end: {lost} message{'s' * (lost != 1)}")
    if traced.others:
        words = ", ".join(f"{count} {name}" for name, count in sorted(traced.others.items()))
        notes.append(f"left out, as a program has nothing for it: {words}")
    if names.synchronous:
        notes.append(
            f"{names.synchronous} synchronous sends became sends: up to mpi.eager they do not wait for their receives"
        )
    if names.late:
        notes.append(
            f"{names.late} requests are waited for later than they were: a rank had more than {_SETS} waits open"
        )
    busy = Counter(rank.host for rank in ranks)
    for host, count in busy.items():
        cpus = next(rank.cpus for rank in ranks if rank.host == host)
        if count > cpus:
            notes.append(
                f"{count} ranks shared {cpus} processors of {host}: their computing times hold waits for a processor"
            )
    foreign = sum(rank.foreign for rank in ranks)
    if foreign:
        notes.append(f"{foreign} calls came from other threads than the first: a program has them in one order")
    return notes
