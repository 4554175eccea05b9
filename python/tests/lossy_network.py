"""Hosts and one switch that loses packets, event by event: a program that shares no line with the crates.

What switches admit and how queue pairs recover is given to it (conweave_rules.py, recovery_rules.py). Times are whole
numbers of the unit in which `takes` answers.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


#: Classes of events.
END, ARRIVAL, TIMER = range(3)


class Clock:
    """Events in the order of time; those of one instant in the order in which they were made.

    A clock in order of classes has first what ends, then what arrives, then timers.
    """

    def __init__(self, *, classes: bool = False) -> None:
        self.now = 0
        self._classes = classes
        self._made = count()
        self._events: list[tuple[int, int, int, list[Callable[[], None]]]] = []

    def at(self, time: int, what: Callable[[], None], rank: int = TIMER) -> list[Callable[[], None]]:
        """An event, which is taken back by emptying the list that this returns."""
        event = [what]
        heapq.heappush(self._events, (time, rank if self._classes else 0, next(self._made), event))
        return event

    def after(self, span: int, what: Callable[[], None], rank: int = TIMER) -> list[Callable[[], None]]:
        return self.at(self.now + span, what, rank)

    def run(self, until: int | None = None, stop: Callable[[], bool] = lambda: False) -> None:
        while self._events and (until is None or self._events[0][0] <= until) and not stop():
            self.now, _, _, event = heapq.heappop(self._events)
            for what in event:
                what()


@dataclass
class Packet:
    """Data, a reply, or a PAUSE (without a flow)."""

    flow: Any
    size: int
    #: Of data its first byte.
    seq: int = 0
    payload: int = 0
    #: Of a reply what the rules put into it; of a PAUSE for how long the port is to be silent.
    reply: Any = None
    pause: int | None = None
    #: The port of the switch by which it came.
    ingress: int = 0
    marked: bool = False

    @property
    def is_data(self) -> bool:
        return self.payload > 0


class Source(Protocol):
    """A queue pair at its sender."""

    due: int

    def can_send(self) -> bool: ...
    def send(self) -> Packet: ...


@dataclass
class Port:
    """One direction of a link: replies and PAUSEs strictly first, then data unless they are paused."""

    clock: Clock
    takes: Callable[[int], int]
    delay: int
    to: Callable[[Packet], None]
    #: Who is told of data that leave (a switch), and who has data to offer (a host).
    left: Callable[[Packet], None] = lambda _packet: None
    sources: list[Source] = field(default_factory=list)
    control: deque[Packet] = field(default_factory=deque)
    data: deque[Packet] = field(default_factory=deque)
    busy: bool = False
    paused: bool = False
    _expiry: list[Any] = field(default_factory=list)
    _last: int = 0
    _wake: list[Any] = field(default_factory=list)

    def put(self, packet: Packet) -> None:
        (self.data if packet.is_data else self.control).append(packet)
        self.go()

    def pause(self, span: int) -> None:
        """A PAUSE of `span`; one of 0 is a RESUME."""
        self._expiry.clear()
        self.paused = span > 0
        if self.paused:
            self._expiry = self.clock.after(span, self._resume)
        else:
            self.go()

    def _resume(self) -> None:
        self.paused = False
        self.go()

    def go(self) -> None:
        if self.busy:
            return
        if self.control:
            self._start(self.control.popleft())
        elif self.data and not self.paused:
            packet = self.data.popleft()
            self.left(packet)
            self._start(packet)
        elif self.sources and not self.paused:
            self._offer()

    def _offer(self) -> None:
        number = len(self.sources)
        later = []
        for step in range(1, number + 1):
            index = (self._last + step) % number
            source = self.sources[index]
            if not source.can_send():
                continue
            if source.due <= self.clock.now:
                self._last = index
                self._start(source.send())
                return
            later.append(source.due)
        if later:
            self._wake.clear()
            self._wake = self.clock.at(min(later), self.go)

    def _start(self, packet: Packet) -> None:
        self.busy = True
        takes = self.takes(packet.size)
        self.clock.after(takes, self._end, END)
        self.clock.after(takes + self.delay, lambda: self.to(packet), ARRIVAL)

    def _end(self) -> None:
        self.busy = False
        self.go()


class Admission(Protocol):
    """What a switch lets in: answers why not, and is told of what leaves."""

    def enter(self, packet: Packet, egress: int) -> str | None: ...
    def leave(self, packet: Packet, egress: int) -> None: ...


@dataclass(frozen=True)
class Drop:
    time: int
    ingress: int
    egress: int
    why: str
    source: int
    seq: int


class Star:
    """Hosts around one switch: each link has a time on the wire for a size, and a delay."""

    def __init__(self, takes: Callable[[int], int], delays: list[int], *, classes: bool = False) -> None:
        self.clock = Clock(classes=classes)
        self.drops: list[Drop] = []
        self.admission: Admission | None = None
        #: Whether a fault takes what comes to the switch, replies included.
        self.faulty: Callable[[Packet], bool] | None = None
        #: PAUSEs and RESUMEs that hosts received.
        self.pauses = self.resumes = 0
        self.up = [Port(self.clock, takes, delay, partial(self._switch, host)) for host, delay in enumerate(delays)]
        self.down = [
            Port(self.clock, takes, delay, partial(self._host, host), partial(self._left, host))
            for host, delay in enumerate(delays)
        ]

    def _left(self, egress: int, packet: Packet) -> None:
        if self.admission:
            self.admission.leave(packet, egress)

    def _switch(self, ingress: int, packet: Packet) -> None:
        packet.ingress = ingress
        egress = packet.flow.to if packet.is_data else packet.flow.source
        if self.faulty and self.faulty(packet):
            return
        if packet.is_data and self.admission:
            why = self.admission.enter(packet, egress)
            if why:
                self.drops.append(Drop(self.clock.now, ingress, egress, why, packet.flow.source, packet.seq))
                return
        self.down[egress].put(packet)

    def _host(self, host: int, packet: Packet) -> None:
        if packet.pause is not None:
            if packet.pause:
                self.pauses += 1
            else:
                self.resumes += 1
            self.up[host].pause(packet.pause)
        elif packet.is_data:
            packet.flow.receive(packet)
        else:
            packet.flow.answered(packet.reply)
