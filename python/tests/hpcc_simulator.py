"""The HPCC simulator's rules under HPCC, read in its source, as a program that shares no line with the crates.

Of each host one flow, no PAUSE, no mark. The rules in which Backwater differs can be taken out by their names.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Bytes around a payload, those of five hops of telemetry among them, and an ACK with them.
HEADERS, ACK = 48 + 42, 88
PAYLOAD, INCREASE, LEAST, TARGET, STAGES = 1010, 50_000_000, 100_000_000, 0.95, 5

#: What can be taken out: events of one instant in the order in which they were made, times cut to nanoseconds, a change
#: of the rate that moves the packet which is due, telemetry in units, rates of whole bits.
RULES = frozenset({"order", "cut", "move", "units", "whole"})


class Clock:
    """Events in the order of time; of one instant in the order in which they were made, or arrivals last."""

    def __init__(self, *, made: bool) -> None:
        self.now = 0
        self._made = made
        self._count = 0
        self._events: list[list[Any]] = []

    def at(self, time: int, what: Callable[[], None], *, arrival: bool = False) -> list[Any]:
        self._count += 1
        event = [time, arrival and not self._made, self._count, what]
        heapq.heappush(self._events, event)
        return event

    def run(self) -> None:
        while self._events:
            self.now, _, _, what = heapq.heappop(self._events)
            if what is not None:
                what()


@dataclass
class Packet:
    """Data (with its payload) or an ACK (which has none)."""

    flow: Flow
    size: int
    payload: int
    #: Of data its first byte, of an ACK the byte that is expected next.
    number: int
    #: When it left each switch, what the port had sent before, what waited behind it, the rate.
    hops: list[tuple[int, int, int, int]] = field(default_factory=list)


@dataclass
class Port:
    """One direction of a link: the queue at its beginning, and who takes what comes out."""

    net: Net
    rate: int
    delay: int
    at_switch: bool
    to: Callable[[Packet], None]
    queue: list[Packet] = field(default_factory=list)
    waiting: int = 0
    sent: int = 0
    busy: bool = False
    source: Flow | None = None

    def put(self, packet: Packet) -> None:
        self.queue.append(packet)
        self.waiting += packet.size
        self.go()

    def go(self) -> None:
        if self.busy:
            return
        if not self.queue:
            if self.source:
                self.source.offer()
            return
        packet = self.queue.pop(0)
        self.waiting -= packet.size
        if self.at_switch:
            if packet.payload:
                packet.hops.append((self.net.clock.now, self.sent, self.waiting, self.rate))
            self.sent += packet.size
        self.start(packet)

    def start(self, packet: Packet) -> None:
        self.busy = True
        ended = self.net.clock.now + self.net.takes(packet.size, self.rate)
        self.net.clock.at(ended, self.end)
        self.net.clock.at(ended + self.delay, lambda: self.to(packet), arrival=True)

    def end(self) -> None:
        self.busy = False
        self.go()


class Flow:
    """A queue pair, and at its other end the receiver."""

    def __init__(self, net: Net, source: int, to: int, size: int, start: int) -> None:
        self.net, self.clock, self.source, self.to, self.size, self.start = net, net.clock, source, to, size, start
        self.next = self.acked = self.expected = self.updated = self.stage = self.last = 0
        self.port = net.port[source, net.way(source, to)]
        self.line = self.port.rate
        self.rate: float = self.line
        self.reference: float = self.line
        self.load = 1.0
        self.due = start
        self.wake: list[Any] | None = None
        self.hops: list[tuple[int, int, int, int]] = []
        self.fct = 0

    def begin(self) -> None:
        self.port.source = self
        self.port.go()

    def offer(self) -> None:
        """Send the next packet, or wait until it is due."""
        left, now = self.size - self.next, self.clock.now
        window = self.net.window * self.rate / self.line
        if "whole" in self.net.rules:
            window = max(1, self.net.window * int(self.rate) // self.line)
        if left and self.due <= now and self.next - self.acked < window:
            payload = min(PAYLOAD, left)
            packet = Packet(self, payload + HEADERS, payload, self.next)
            self.next += payload
            self.last = packet.size
            self.port.start(packet)
            self.due = now + self.net.takes(self.last, self.rate)
        elif left and self.due > now and self.wake is None:
            self.sleep(self.due)

    def sleep(self, until: int) -> None:
        def wake() -> None:
            self.wake = None
            self.port.go()

        self.wake = self.clock.at(until, wake)

    def receive(self, packet: Packet) -> None:
        if packet.payload:
            assert packet.number == self.expected
            self.expected += packet.payload
            self.net.port[self.to, self.net.way(self.to, self.source)].put(
                Packet(self, ACK, 0, self.expected, packet.hops)
            )
            return
        self.acked = packet.number
        if self.acked == self.size:
            self.fct = self.clock.now - self.start
        self.react(packet)
        self.port.go()

    def react(self, ack: Packet) -> None:
        """The update of HPCC; the first ACK only leaves its telemetry."""
        full, before, self.hops = ack.number > self.updated, self.hops, ack.hops
        if self.updated == 0:
            self.updated = self.next
            return
        units, base = "units" in self.net.rules, self.net.round_trip
        most, elapsed = 0.0, 0
        for (at, sent, queue, rate), (at0, sent0, queue0, _) in zip(ack.hops, before, strict=True):
            took = at - at0
            moved = (sent // 128 - sent0 // 128) * 128 if units else sent - sent0
            least = min(queue, queue0) // 80 * 80 if units else min(queue, queue0)
            load = moved * 8 / (took / self.net.second) / rate + least * self.line / rate / self.net.window
            if load > most:
                most, elapsed = load, min(took, base)
        self.load = (self.load * (base - elapsed) + most * elapsed) / base
        over = self.load / TARGET
        multiply = over >= 1 or self.stage >= STAGES
        rate_: float = self.reference / over if multiply else self.reference
        if "whole" in self.net.rules:
            rate_ = int(rate_)
        rate_ = min(max(rate_ + INCREASE, LEAST), self.line)
        if "move" in self.net.rules:
            self.due += self.net.takes(self.last, rate_) - self.net.takes(self.last, self.rate)
            if self.wake is not None and self.due < self.wake[0]:
                self.wake[-1] = None
                self.sleep(max(self.due, self.clock.now))
        self.rate = rate_
        if full:
            self.reference, self.stage, self.updated = rate_, 0 if multiply else self.stage + 1, self.next


class Net:
    """A case: its files are read and its flows are run; `fcts` are in nanoseconds, by sender."""

    def __init__(self, case: Path, rules: frozenset[str] = RULES) -> None:
        self.rules = rules
        self.clock = Clock(made="order" in rules)
        #: A second in the unit of the clock.
        self.second = 10**9 if "cut" in rules else 10**12
        lines = [line.split() for line in (case / "topology.txt").read_text().splitlines()]
        switches = set(map(int, lines[1]))
        self.port: dict[tuple[int, int], Port] = {}
        self.near: dict[int, list[int]] = {}
        for a, b, rate, delay, _ in lines[2:]:
            bps, wait = int(rate.removesuffix("Gbps")) * 10**9, int(delay.removesuffix("ns")) * self.second // 10**9
            for x, y in ((int(a), int(b)), (int(b), int(a))):
                self.port[x, y] = Port(self, bps, wait, x in switches, self._receiver(y, y in switches))
                self.near.setdefault(x, []).append(y)
        hosts = [node for node in self.near if node not in switches]
        paths = [self._path(a, b) for a in hosts for b in hosts if a != b]
        trips = [[self.port[link] for link in pairwise(path)] for path in paths]
        #: The longest round trip without load, and what the fastest link sends in it.
        nanoseconds = max(
            sum(2 * port.delay * 10**9 // self.second + PAYLOAD * 8 * 10**9 // port.rate for port in trip)
            for trip in trips
        )
        self.round_trip = nanoseconds * self.second // 10**9
        self.window = nanoseconds * min(port.rate for port in self.port.values()) // 10**9 // 8
        flows = []
        for line in (case / "flow.txt").read_text().splitlines()[1:]:
            source, to, _, _, size, at = line.split()
            start = int(float(at) * 2**64) * self.second >> 64 if "cut" in rules else round(float(at) * self.second)
            flow = Flow(self, int(source), int(to), int(size), start)
            flows.append(flow)
            self.clock.at(start, flow.begin)
        self.clock.run()
        self.fcts = {flow.source: flow.fct * 10**9 / self.second for flow in flows}

    def takes(self, size: int, rate: float) -> int:
        """How long bytes take: there seconds in fixed point, cut to nanoseconds."""
        if "cut" in self.rules:
            return int(size * 8 / int(rate) * 2**64) * 10**9 >> 64
        return -(-size * 8 * self.second // int(rate))

    def way(self, at: int, to: int) -> int:
        return self._path(at, to)[1]

    def _path(self, at: int, to: int, seen: tuple[int, ...] = ()) -> list[int]:
        if at == to:
            return [at]
        found = [self._path(near, to, (*seen, at)) for near in self.near[at] if near not in seen]
        whole = [path for path in found if path]
        return [at, *min(whole, key=len)] if whole else []

    def _receiver(self, node: int, switch: bool) -> Callable[[Packet], None]:
        def forward(packet: Packet) -> None:
            to = packet.flow.to if packet.payload else packet.flow.source
            self.port[node, self.way(node, to)].put(packet)

        return forward if switch else lambda packet: packet.flow.receive(packet)
