"""NICs with channels, one switch, credits returned with every packet that has left; and the order of events."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from settings import Settings

# What comes first at the same picosecond at one node.
WAKE, FEED, ARRIVAL, TIMER = 0, 1, 2, 3


@dataclass
class Message:
    """What a channel carries. `number` is what the receiver of an answer knows it by."""

    kind: str  # eager, rts, cts, data, put, put_ack, get, got
    src: int  # ranks
    dst: int
    size: int
    tag: int = 0
    number: int = 0
    left: Callable[[], None] | None = None  # when it has left its NIC

    @property
    def ends(self) -> tuple[int, int, bool]:
        """Its channel: what NICs answer by themselves has one of its own."""
        return self.src, self.dst, self.kind in {"cts", "put_ack", "got"}


@dataclass
class Packet:
    """One packet of a message, for a host."""

    host: int
    size: int
    message: Message
    last: bool


@dataclass
class Channel:
    """A queue pair of two ranks: messages in the order in which they were given."""

    due: int = 0  # when its next packet may leave, if it has one
    free: int = 0  # when what it sent last has left
    waiting: deque[tuple[Message, int]] = field(default_factory=deque)  # with the bytes still to send


class Wire:
    """One direction of a link: when it is free, credits at its far end, updates that it has to carry."""

    def __init__(self, w: World, host: int, into: Callable[[Packet], None], fed: Callable[[int], None]) -> None:
        self.w, self.s, self.host = w, w.s, host
        self.into, self.fed = into, fed  # what packets and updates do at the far end
        self.free_at = 0
        self.taken = self.told = 0  # credits taken in all, freed in all as far as this end has been told
        self.owes = False  # an update for the opposite direction
        self.freed: Callable[[], int] = lambda: 0  # what that update says, when it leaves
        self.wakes: set[int] = set()

    def fits(self, size: int) -> bool:
        """Whether the credits do for a packet."""
        needed = self.s.units(self.s.payload + self.s.header if self.s.full else size)
        return not self.s.credits or self.taken - self.told + needed <= self.s.credits // self.s.unit

    def send(self, packet: Packet, whole: bool) -> int:
        """A packet takes the wire; returns when it has left."""
        took = self.s.span(packet.size)
        self.taken += self.s.units(packet.size)
        self.free_at = self.w.now + took
        there = took if whole or not self.s.cut else min(took, self.s.span(self.s.cut))
        self.w.at(self.w.now + there + self.s.way(self.host), ARRIVAL, lambda: self.into(packet))
        return self.free_at

    def update(self) -> None:
        """An update takes the wire: it counts what is free now."""
        self.owes = False
        self.free_at = self.w.now + self.s.span(self.s.update)
        freed = self.freed()
        self.w.at(self.free_at + self.s.way(self.host), FEED, lambda: self.fed(freed))

    def wake(self, pump: Callable[[], None], at: int) -> None:
        """Looks again at a time."""

        def woken() -> None:
            self.wakes.discard(at)
            pump()

        if at not in self.wakes:
            self.wakes.add(at)
            self.w.at(at, WAKE, woken)


class Host:
    """A NIC."""

    def __init__(self, w: World, name: int) -> None:
        self.w, self.s, self.name = w, w.s, name
        self.channels: dict[tuple[int, int, bool], Channel] = {}
        self.up = Wire(w, name, lambda packet: w.ports[name].arrive(packet), lambda f: w.ports[name].feed(f))
        self.received = 0  # credits' worth of what has come
        self.up.freed = lambda: self.received
        self.deliver: Callable[[Message], None] = lambda _: None

    def give(self, message: Message) -> None:
        """A message joins its channel."""
        channel = self.channels.setdefault(message.ends, Channel())
        if not channel.waiting:
            channel.due = max(self.w.now, channel.free)
        channel.waiting.append((message, max(message.size, 1)))
        self.w.given.add(self.name)

    def pump(self) -> None:
        """Sends what may leave now: an update, or a packet of the channel that has been due for longest."""
        now = self.w.now
        if now < self.up.free_at:
            self.up.wake(self.pump, self.up.free_at)
            return
        if self.up.owes:
            self.up.update()
            self.up.wake(self.pump, self.up.free_at)
            return
        ready = [(channel.due, ends) for ends, channel in self.channels.items() if channel.waiting]
        if not ready:
            return
        channel = self.channels[min(ready)[1]]  # of those due at one instant the first by their ranks
        if channel.due > now:
            self.up.wake(self.pump, channel.due)
            return
        message, rest = channel.waiting[0]
        size = min(rest, self.s.payload)
        if not self.up.fits(size + self.s.header):
            return  # an update comes
        packet = Packet(self.w.host_of[message.dst], size + self.s.header, message, rest == size)
        channel.free = channel.due = self.up.send(packet, whole=False)
        if packet.last:
            channel.waiting.popleft()
            if message.left:
                self.w.at(channel.free, TIMER, message.left)
        else:
            channel.waiting[0] = (message, rest - size)
        self.up.wake(self.pump, self.up.free_at)

    def arrive(self, packet: Packet) -> None:
        """A packet is in."""
        self.received += self.s.units(packet.size)
        if packet.last:
            self.deliver(packet.message)
        if self.s.credits:
            self.w.at(self.w.now, TIMER, self.owe)

    def owe(self) -> None:
        """What has come is to be told."""
        self.up.owes = True
        self.pump()

    def feed(self, freed: int) -> None:
        """An update is in."""
        self.up.told = freed
        self.pump()


class Port:
    """A port of the switch: queues for its link by where packets came from, and the buffer of what came in here."""

    def __init__(self, w: World, name: int) -> None:
        self.w, self.s, self.name = w, w.s, name
        host = w.hosts[name]
        self.down = Wire(w, name, host.arrive, host.feed)
        self.down.freed = lambda: self.gone
        self.gone = 0  # credits' worth of what came in here and has left
        self.queues: dict[int, deque[Packet]] = {}
        self.order: deque[int] = deque()  # without credits: first in, first out
        self.turn = 0

    def arrive(self, packet: Packet) -> None:
        """A packet is in, or enough of it."""
        out = self.w.ports[packet.host]
        out.queues.setdefault(self.name, deque()).append(packet)
        out.order.append(self.name)
        out.pump()

    def pump(self) -> None:
        """The next packet whose credits do, of one port after the other."""
        if self.w.now < self.down.free_at:
            self.down.wake(self.pump, self.down.free_at)
            return
        if self.down.owes:
            self.down.update()
            self.down.wake(self.pump, self.down.free_at)
            return
        source = self.choose()
        if source is None:
            return
        packet = self.queues[source].popleft()
        self.order.remove(source)
        self.turn = source
        until = self.down.send(packet, whole=True)
        self.w.at(until, TIMER, lambda: self.w.ports[source].left(packet))
        self.down.wake(self.pump, self.down.free_at)

    def choose(self) -> int | None:
        """The port whose packet leaves next."""
        if not self.s.credits:
            return self.order[0] if self.order else None
        hosts = len(self.w.hosts)
        turns = [(self.turn + 1 + i) % hosts for i in range(hosts)]
        fitting = (p for p in turns if self.queues.get(p) and self.down.fits(self.queues[p][0].size))
        return next(fitting, None)

    def left(self, packet: Packet) -> None:
        """A packet that came in here has left."""
        self.gone += self.s.units(packet.size)
        if self.s.credits:
            self.down.owes = True
            self.pump()

    def feed(self, freed: int) -> None:
        """An update is in."""
        self.down.told = freed
        self.pump()


class World:
    """All hosts, the ports of the switch, and the events to come: (time, kind, order of their making)."""

    def __init__(self, settings: Settings, host_of: list[int]) -> None:
        self.s, self.now, self.made, self.host_of = settings, 0, 0, host_of
        self.events: list[tuple[int, int, int, Callable[[], None]]] = []
        self.given: set[int] = set()  # NICs that got messages in this event: they look when it is over
        names = range(max(host_of) + 1)
        self.hosts = [Host(self, name) for name in names]
        self.ports = [Port(self, name) for name in names]

    def at(self, time: int, kind: int, what: Callable[[], None]) -> None:
        """An event to come."""
        self.made += 1
        heapq.heappush(self.events, (time, kind, self.made, what))

    def run(self) -> None:
        """All events."""
        while self.events:
            self.now, _, _, what = heapq.heappop(self.events)
            what()
            while self.given:
                self.hosts[self.given.pop()].pump()
