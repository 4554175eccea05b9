"""Which calls of ranks belong together: messages with their receives, collectives of all members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from backwater.errors import UsageError
from backwater.io.importing.mpi_records import CANCELLED, OPERATIONS, RECEIVED, Call, Kind, Recorded


class Channel(NamedTuple):
    """Messages with these are received in the order in which they were sent."""

    source: int
    target: int
    comm: object
    tag: int


@dataclass(frozen=True)
class Receive:
    """A receive: where it is posted, the call that completes it, from whom, communicator, tag."""

    posted: int
    done: int | None
    source: int | None
    comm: object
    tag: int


@dataclass
class Requests:
    """What a rank's requests are: by number the call that completes them, and what receives have got."""

    done: dict[int, int] = field(default_factory=dict)
    got: dict[int, tuple[int, int]] = field(default_factory=dict)
    cancelled: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, calls: Sequence[Call]) -> Requests:
        """Those of a rank's calls."""
        made = cls()
        for index, call in enumerate(calls):
            if call.kind != Kind.DONE:
                continue
            for number, how, *what in finished(call):
                made.done[number] = index
                if how == RECEIVED:
                    made.got[number] = (what[0], what[1])
                elif how == CANCELLED:
                    made.cancelled.add(number)
        return made


def finished(call: Call) -> list[tuple[int, ...]]:
    """The requests that a call completes: number, how, and of receives from whom and with which tag."""
    found, at = [], 1
    while at < len(call.numbers):
        length = 4 if call.numbers[at + 1] == RECEIVED else 2
        found.append(call.numbers[at : at + length])
        at += length
    return found


@dataclass
class Matched:
    """How many calls of each rank count, and by rank those whose message, or receive, has no other end in them."""

    until: list[int]
    unreceived: list[set[int]]
    unsent: list[set[int]]


def match(ranks: Sequence[Recorded], requests: Sequence[Requests], *, cut: bool) -> Matched:
    """The calls that belong together. Raises UsageError for what has no other end, unless `cut` leaves it out.

    What is left is the most for which each receive that has completed has its message, and each collective all members.
    """
    sends, receives = _messages(ranks, requests)
    meetings = _meetings(ranks, requests)
    until = [len(rank.calls) for rank in ranks]
    changed = True
    while changed:
        changed = False
        for key, wanted in receives.items():
            source, target, there = key.source, key.target, sends.get(key, [])
            for number, receive in enumerate(wanted):
                if receive.done is None or receive.done >= until[target]:
                    continue
                if number >= len(there) or there[number] >= until[source]:
                    if not cut:
                        raise UsageError(_without_message(ranks[target], receive, key))
                    until[target], changed = receive.done, True
        for comm, by_rank in meetings.items():
            common = min(sum(1 for place in places if place < until[rank]) for rank, places in by_rank.items())
            for rank, places in by_rank.items():
                if len(places) > common and places[common] < until[rank]:
                    if not cut:
                        raise UsageError(_without_members(ranks, rank, places[common], comm, by_rank, until))
                    until[rank], changed = places[common], True
    return _matched(sends, receives, until)


def _messages(
    ranks: Sequence[Recorded], requests: Sequence[Requests]
) -> tuple[dict[Channel, list[int]], dict[Channel, list[Receive]]]:
    """By source, target, communicator and tag: the calls that send, and the receives, in their order."""
    sends: dict[Channel, list[int]] = defaultdict(list)
    receives: dict[Channel, list[Receive]] = defaultdict(list)
    for rank, own in zip(ranks, requests, strict=True):
        me = rank.rank
        for index, call in enumerate(rank.calls):
            for to, comm, tag in sent(call):
                sends[Channel(me, to, rank.communicators[comm][0], tag)].append(index)
            receive = received(rank, own, index, call)
            if receive is not None and receive.source is not None:
                receives[Channel(receive.source, me, receive.comm, receive.tag)].append(receive)
    return sends, receives


def sent(call: Call) -> list[tuple[int, int, int]]:
    """The message of a call, if it sends one: to whom, communicator, tag."""
    if call.kind == Kind.SEND:
        _, comm, to, tag, _ = call.numbers
        return [(to, comm, tag)]
    if call.kind == Kind.ISEND:
        _, _, comm, to, tag, _ = call.numbers
        return [(to, comm, tag)]
    if call.kind == Kind.SENDRECV and call.numbers[1]:
        return [(call.numbers[1] - 1, call.numbers[0], call.numbers[2])]
    return []


def received(rank: Recorded, own: Requests, index: int, call: Call) -> Receive | None:
    """The receive of a call, if it posts one that was not cancelled."""
    if call.kind == Kind.RECV:
        comm, source, tag, _ = call.numbers
        return Receive(index, index, source, rank.communicators[comm][0], tag)
    if call.kind == Kind.SENDRECV and call.numbers[4]:
        comm, source, tag = call.numbers[0], call.numbers[4] - 1, call.numbers[5]
        return Receive(index, index, source, rank.communicators[comm][0], tag)
    if call.kind == Kind.IRECV and call.numbers[0] not in own.cancelled:
        number, comm, source, tag, _ = call.numbers
        identity = rank.communicators[comm][0]
        if number in own.got:
            return Receive(index, own.done[number], own.got[number][0], identity, own.got[number][1])
        if source and tag:
            return Receive(index, None, source - 1, identity, tag - 1)
        return Receive(index, None, None, identity, 0)
    return None


def _meetings(ranks: Sequence[Recorded], requests: Sequence[Requests]) -> dict[object, dict[int, list[int]]]:
    """By communicator and rank the calls at which it takes part in a collective; one that does not block: its end."""
    found: dict[object, dict[int, list[int]]] = {}
    shapes: dict[tuple[object, int], tuple[tuple[int, ...], str]] = {}
    for rank, own in zip(ranks, requests, strict=True):
        for index, call in enumerate(rank.calls):
            shape = _shape(call)
            if shape is None:
                continue
            comm, what = shape
            identity, members = rank.communicators[comm]
            by_rank = found.setdefault(identity, {member: [] for member in members})
            places = by_rank.setdefault(rank.rank, [])
            where = f"rank {rank.rank}, call {index + 1}"
            before = shapes.setdefault((identity, len(places)), (what, where))
            if before[0] != what:
                raise UsageError(
                    f"{rank.file}: {where}: {_told(what)}, but {before[1]} has {_told(before[0])} in its place; "
                    "the members of a communicator must call the same collectives"
                )
            done = own.done.get(call.numbers[0], len(rank.calls)) if call.kind == Kind.ICOLLECTIVE else index
            places.append(done)
    for by_rank in found.values():
        for places in by_rank.values():
            places.sort()
    return found


def _shape(call: Call) -> tuple[int, tuple[int, ...]] | None:
    """The communicator of a collective, and what all its members must say alike: operation, bytes, root."""
    numbers = call.numbers
    if call.kind == Kind.COLLECTIVE:
        return numbers[1], (numbers[0], *numbers[2:])
    if call.kind == Kind.ICOLLECTIVE:
        return numbers[2], (numbers[1], *numbers[3:])
    if call.kind == Kind.UNEVEN:
        return numbers[1], (numbers[0], numbers[2])
    if call.kind == Kind.FENCE:
        return numbers[0], ()
    return None


def _told(shape: tuple[int, ...]) -> str:
    match shape:
        case (0, *_):
            return "a barrier"
        case (operation, size, root):
            return f"{OPERATIONS[operation]} of {size} B with root {root}"
        case (operation, _):
            return f"{OPERATIONS[operation]} of several sizes"
    return "a fence"


def _matched(sends: dict[Channel, list[int]], receives: dict[Channel, list[Receive]], until: list[int]) -> Matched:
    made = Matched(until, [set() for _ in until], [set() for _ in until])
    for key in sends.keys() | receives.keys():
        there = [index for index in sends.get(key, []) if index < until[key.source]]
        wanted = [receive.posted for receive in receives.get(key, []) if receive.posted < until[key.target]]
        made.unreceived[key.source].update(there[len(wanted) :])
        made.unsent[key.target].update(wanted[len(there) :])
    return made


_CUT = "--cut keeps what all ranks have done before"


def _without_message(rank: Recorded, receive: Receive, key: Channel) -> str:
    return (
        f"{rank.file}: rank {rank.rank}, call {receive.posted + 1}: it receives a message of rank {key.source} with "
        f"tag {key.tag} that no call recorded sends; {_CUT}"
    )


def _without_members(
    ranks: Sequence[Recorded],
    rank: int,
    index: int,
    comm: object,
    by_rank: dict[int, list[int]],
    until: list[int],
) -> str:
    least = min(by_rank, key=lambda member: sum(1 for place in by_rank[member] if place < until[member]))
    name = "MPI_COMM_WORLD" if comm == 1 else "its communicator"
    return (
        f"{ranks[rank].file}: rank {rank}, call {index + 1}: a collective of {name} in which rank {least} takes no "
        f"part; {_CUT}"
    )
