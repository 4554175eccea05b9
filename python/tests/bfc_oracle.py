"""BFC on one switch, event by event, as its rules read: hosts, each with a flow to the last one, and whole nanoseconds.

Written from the rules of Pyrrha-NS3's BFC in words, apart from the simulator: no class, queue or table of it is used.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Setup:
    """One switch and its links: bits per second, bytes, nanoseconds."""

    rate: int = 100_000_000_000
    delay: int = 1000
    payload: int = 1000
    header: int = 76
    ack: int = 84
    hold: int = 64
    queues: int = 7
    sticky: int = 2
    lowest_first: bool = True

    def wire(self, size: int) -> int:
        """Whole nanoseconds that a frame takes."""
        return size * 8 * 1_000_000_000 // self.rate

    def limit(self, active: int) -> int:
        """Bytes beyond which a queue holds what comes."""
        return self.rate * 2 * self.delay // (8_000_000_000 * max(active, 1))


@dataclass
class _Packet:
    flow: int
    size: int
    last: bool
    marked: bool = False


@dataclass
class _Link:
    """A port that sends what it is given by `pick`."""

    pick: Callable[[], tuple[int, Callable[[], None]] | None]
    busy: bool = False


@dataclass
class Answers:
    """By flow when the receiver had all, and the sender its last ACK; each Hold frame as a host got it."""

    received: dict[int, int] = field(default_factory=dict)
    acked: dict[int, int] = field(default_factory=dict)
    holds: list[tuple[int, int, bool]] = field(default_factory=list)
    longest: int = 0


class _Switch:
    def __init__(self, setup: Setup, flows: list[tuple[int, int]]) -> None:
        self.setup, self.flows, self.answers = setup, flows, Answers()
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.order, self.now = count(), 0
        packets = [-(-size // setup.payload) for size, _ in flows]
        self.left, self.sizes = packets, [size for size, _ in flows]
        self.held = [False] * len(flows)
        self.began = [False] * len(flows)
        self.queues: list[list[_Packet]] = [[] for _ in range(setup.queues)]
        self.turn = setup.queues - 1
        #: By flow: queue, packets here, when one last came or left; packets that hold it.
        self.table: dict[int, tuple[int, int, int]] = {}
        self.counters = [0] * len(flows)
        self.hosts = [_Link(self._of_host(flow)) for flow in range(len(flows))]
        self.egress = _Link(self._of_egress)
        self.back: list[list[Callable[[], None]]] = [[] for _ in flows]
        self.first: list[list[Callable[[], None]]] = [[] for _ in flows]
        self.down = [_Link(self._of_down(flow)) for flow in range(len(flows))]
        self.acks: list[_Packet] = []
        self.receiver = _Link(self._of_receiver)

    def at(self, time: int, event: Callable[[], None]) -> None:
        heapq.heappush(self.events, (time, next(self.order), event))

    def run(self) -> Answers:
        for flow, (_, start) in enumerate(self.flows):
            self.at(start, lambda flow=flow: self._start(flow))  # type: ignore[misc]
        while self.events:
            self.now, _, event = heapq.heappop(self.events)
            event()
        return self.answers

    def _start(self, flow: int) -> None:
        self.began[flow] = True
        self._send(self.hosts[flow])

    def _send(self, link: _Link) -> None:
        """An idle port sends its next frame: it is free again when that is on the wire, which ends a delay later."""
        frame = None if link.busy else link.pick()
        if frame is not None:
            link.busy = True
            wire, arrives = self.setup.wire(frame[0]), frame[1]
            self.at(self.now + wire, lambda: self._free(link))
            self.at(self.now + wire + self.setup.delay, arrives)

    def _free(self, link: _Link) -> None:
        link.busy = False
        self._send(link)

    def _of_host(self, flow: int) -> Callable[[], tuple[int, Callable[[], None]] | None]:
        def pick() -> tuple[int, Callable[[], None]] | None:
            if not self.began[flow] or self.held[flow] or self.left[flow] == 0:
                return None
            self.left[flow] -= 1
            last = self.left[flow] == 0
            payload = self.sizes[flow] - (-(-self.sizes[flow] // self.setup.payload) - 1) * self.setup.payload
            size = self.setup.header + (payload if last else self.setup.payload)
            return size, lambda: self._arrive(_Packet(flow, size, last))

        return pick

    def _arrive(self, packet: _Packet) -> None:
        flow = packet.flow
        queue, here, last = self.table.get(flow, (-1, 0, 0))
        sticky = self.setup.sticky * 2 * self.setup.delay
        if queue < 0 or (here == 0 and self.now - last > sticky):
            taken = {entry[0] for entry in self.table.values() if entry[1] > 0}
            queue = next(number for number in range(self.setup.queues) if number not in taken)
        self.table[flow] = (queue, here + 1, self.now)
        self.queues[queue].append(packet)
        active = sum(1 for packets in self.queues if packets)
        waiting = sum(other.size for other in self.queues[queue])
        self.answers.longest = max(self.answers.longest, sum(one.size for all_ in self.queues for one in all_))
        if waiting > self.setup.limit(active):
            packet.marked = True
            self.counters[flow] += 1
            if self.counters[flow] == 1:
                self._tell(flow, holds=True)
        self._send(self.egress)

    def _of_egress(self) -> tuple[int, Callable[[], None]] | None:
        ready = [number for number, packets in enumerate(self.queues) if packets]
        if not ready:
            return None
        later = [number for number in ready if number > self.turn]
        queue = ready[0] if self.setup.lowest_first or not later else later[0]
        self.turn = queue
        packet = self.queues[queue].pop(0)
        number, here, _ = self.table[packet.flow]
        self.table[packet.flow] = (number, here - 1, self.now)
        if packet.marked:
            self.counters[packet.flow] -= 1
            if self.counters[packet.flow] == 0:
                self._tell(packet.flow, holds=False)
        return packet.size, lambda: self._received(packet)

    def _received(self, packet: _Packet) -> None:
        if packet.last:
            self.answers.received[packet.flow] = self.now
        self.acks.append(packet)
        self._send(self.receiver)

    def _of_receiver(self) -> tuple[int, Callable[[], None]] | None:
        if not self.acks:
            return None
        packet = self.acks.pop(0)

        def forward() -> None:
            self.back[packet.flow].append(lambda: self._acked(packet))
            self._send(self.down[packet.flow])

        return self.setup.ack, forward

    def _acked(self, packet: _Packet) -> None:
        if packet.last:
            self.answers.acked[packet.flow] = self.now

    def _tell(self, flow: int, *, holds: bool) -> None:
        def obeyed() -> None:
            self.answers.holds.append((self.now, flow, holds))
            self.held[flow] = holds
            self._send(self.hosts[flow])

        self.first[flow].append(obeyed)
        self._send(self.down[flow])

    def _of_down(self, flow: int) -> Callable[[], tuple[int, Callable[[], None]] | None]:
        def pick() -> tuple[int, Callable[[], None]] | None:
            if self.first[flow]:
                return self.setup.hold, self.first[flow].pop(0)
            return (self.setup.ack, self.back[flow].pop(0)) if self.back[flow] else None

        return pick


def answers(setup: Setup, flows: list[tuple[int, int]]) -> Answers:
    """Of flows of so many bytes that begin then, each from a host of its own."""
    return _Switch(setup, flows).run()
