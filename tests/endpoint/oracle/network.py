"""Hosts around one switch, and the order of events: (time, kind, order of their making)."""

from __future__ import annotations

import heapq
import random
from collections import deque
from typing import TYPE_CHECKING

from initiator import OPEN, Sender
from settings import Frame, Settings, span
from targets import Target

if TYPE_CHECKING:
    from collections.abc import Callable

WAKE, DRAIN, ARRIVAL, TIMER = 0, 1, 2, 3

# (time, what, source and target of the stream, number, value)
Event = tuple[int, str, int, int, int, int | None]


class Host:
    """A NIC with the streams it sends, and the target behind it."""

    def __init__(self, world: World, name: int) -> None:
        self.w, self.s, self.name = world, world.s, name
        self.out: dict[int, Sender] = {}
        self.turn: deque[int] = deque()  # round robin over the streams
        self.replays: deque[int] = deque()  # in the order of their NACKs
        self.free_at = self.next_new = 0
        self.wakes: set[int] = set()
        self.target = Target(world.s)

    def stream(self, peer: int) -> Sender:
        """The stream to a peer; it is made at the first question."""
        if peer not in self.out:
            self.out[peer] = Sender(peer, self.s)
            self.turn.append(peer)
        return self.out[peer]

    def pump(self) -> None:
        """Sends what may leave now: overdue ACKs, replays, new packets, other ACKs."""
        now, inward = self.w.now, self.target.streams
        if now < self.free_at:
            self.wake(self.free_at)
            return
        overdue = next((p for p in self.target.due if now - inward[p].since >= self.s.after), None)
        if overdue is not None:
            self.answer(overdue)
            return
        for _ in range(len(self.replays)):
            if self.out[self.replays[0]].may_send(True):
                self.send(self.out[self.replays[0]])
                return
            self.replays.rotate(-1)
        ready = next((p for p in self.turn if self.out[p].has_new()), None)
        if ready is not None and now >= self.next_new:
            self.turn.remove(ready)
            self.turn.append(ready)
            self.next_new = now + self.s.overhead
            self.send(self.out[ready])
            return
        if ready is not None:
            self.wake(self.next_new)
        for peer in self.target.due:
            if self.target.ready(inward[peer], now):
                self.answer(peer)
                return
            self.wake(inward[peer].since + self.s.after)

    def wake(self, at: int) -> None:
        """Looks again at a time."""

        def woken() -> None:
            self.wakes.discard(at)
            self.pump()

        if at not in self.wakes:
            self.wakes.add(at)
            self.w.at(at, WAKE, woken)

    def send(self, f: Sender) -> None:
        """A PUT goes, with the ACK of the opposite stream aboard."""
        w, now = self.w, self.w.now
        seq, again = f.sent(now)
        self.sort_replays(f)
        window = {"opt": None, "aimd": f.cwnd, "dack": f.allowance}[self.s.policy]
        w.note("resent" if again else "sent", self.name, f.peer, seq, window)
        w.at(now + self.s.retry, TIMER, lambda: self.expire(f, seq, now))
        frame = Frame("put", self.name, f.peer, self.s.wire, seq)
        if f.peer in self.target.streams:
            frame.ack, frame.marked = self.target.compose(self.target.streams[f.peer])
        self.launch(frame)

    def launch(self, frame: Frame) -> None:
        """A frame takes its time on the link to the switch."""
        self.free_at = self.w.now + span(frame.size, self.s.link)
        self.w.at(self.free_at + self.s.way(self.name), ARRIVAL, lambda: self.w.switch(frame))
        self.wake(self.free_at)

    def sort_replays(self, f: Sender) -> None:
        """Keeps the list of streams that send again true."""
        if f.replay and f.peer not in self.replays:
            self.replays.append(f.peer)
        if not f.replay and f.peer in self.replays:
            self.replays.remove(f.peer)

    def expire(self, f: Sender, seq: int, sent: int) -> None:
        """The timer of one transmission."""
        if f.sent_at.get(seq) == sent and not f.replay:
            self.w.note("timeout", self.name, f.peer, seq)
            f.recovering, f.replay = True, f.acked + 1
            self.sort_replays(f)
            self.pump()

    def on_ack(self, frame: Frame, seq: int, alone: bool) -> None:
        """An ACK takes effect."""
        f = self.stream(frame.src)
        closed = f.state != OPEN
        name = f.on_ack(seq, frame.marked, alone, self.w.now)
        if name:
            self.w.note(name, self.name, f.peer, seq)
            self.changed(f, closed)

    def on_nack(self, frame: Frame) -> None:
        """A NACK takes effect."""
        f = self.stream(frame.src)
        closed = f.state != OPEN
        if f.on_nack(frame.seq, self.w.now):
            self.w.note("nack", self.name, f.peer, frame.seq)
            self.changed(f, closed)

    def changed(self, f: Sender, closed: bool) -> None:
        """After an ACK or NACK: the clock of the way out of a halt may begin."""
        self.sort_replays(f)
        if f.state != OPEN and not closed:
            self.w.at(self.w.now + self.s.escape, TIMER, lambda: self.escape(f))
        self.pump()

    def escape(self, f: Sender) -> None:
        """No ACK for long: the gate opens."""
        if f.state == OPEN:
            return
        if self.w.now < f.last + self.s.escape:
            self.w.at(f.last + self.s.escape, TIMER, lambda: self.escape(f))
            return
        f.open()
        self.pump()

    def on_put(self, frame: Frame) -> None:
        """A PUT has come in."""
        t, idle = self.target, not self.target.queue
        fate = t.on_put(frame, self.w.now)
        self.w.note(fate, frame.src, self.name, frame.seq, t.occ)
        if idle and t.queue:
            self.w.at(t.done_at(), DRAIN, self.processed)
        self.pump()

    def processed(self) -> None:
        """The first packet of the queue has been drained."""
        frame = self.target.processed(self.w.now)
        self.w.note("processed", frame.src, self.name, frame.seq, self.target.occ)
        if self.target.queue:
            self.w.at(self.target.done_at(), DRAIN, self.processed)
        self.pump()

    def answer(self, peer: int) -> None:
        """An ACK or NACK goes alone."""
        before = self.target.streams[peer].told
        frame = self.target.answer(self.name, peer, self.w.now)
        if frame.kind == "nack":
            what = "nack_sent"
        elif frame.seq == before:
            what = "dack_sent"
        else:
            what = "marked_sent" if frame.marked else "iack_sent"
        self.w.note(what, peer, self.name, frame.seq, self.target.occ)
        self.launch(frame)

    def sample(self) -> None:
        """Periods of fairness."""
        self.target.sample()
        self.w.at(self.w.now + self.s.period, TIMER, self.sample)


class World:
    """All hosts, the ports of the switch, and the events to come."""

    def __init__(self, settings: Settings, hosts: int) -> None:
        self.s, self.now, self.made = settings, 0, 0
        self.events: list[tuple[int, int, int, Callable[[], None]]] = []
        self.ports = [0] * hosts
        self.trace: list[Event] = []
        self.hosts = [Host(self, name) for name in range(hosts)]
        if settings.fairness != "none":
            for host in self.hosts:
                self.at(settings.period, TIMER, host.sample)

    def at(self, time: int, kind: int, what: Callable[[], None]) -> None:
        """An event to come."""
        self.made += 1
        heapq.heappush(self.events, (time, kind, self.made, what))

    def note(self, what: str, src: int, dst: int, seq: int, value: int | None = None) -> None:
        """One line of the trace; `src` and `dst` are those of the stream."""
        self.trace.append((self.now, what, src, dst, seq, value))

    def switch(self, frame: Frame) -> None:
        """A frame is in the switch: it leaves in turn, one queue per port, no loss."""
        start = max(self.now, self.ports[frame.dst])
        self.ports[frame.dst] = start + span(frame.size, self.s.link)
        self.at(self.ports[frame.dst] + self.s.way(frame.dst), ARRIVAL, lambda: self.arrive(frame))

    def arrive(self, frame: Frame) -> None:
        """A frame is in at its host; what it acknowledges takes effect later."""
        host, late = self.hosts[frame.dst], self.now + self.s.processing + self.s.staging
        if frame.kind == "nack":
            self.at(late, TIMER, lambda: host.on_nack(frame))
        elif frame.kind == "ack":
            self.at(late, TIMER, lambda: host.on_ack(frame, frame.seq, True))
        else:
            if frame.ack:
                self.at(late, TIMER, lambda: host.on_ack(frame, frame.ack, False))
            host.on_put(frame)

    def greedy(self, src: int, dst: int, start: int = 0, packets: float = float("inf")) -> None:
        """A stream that always has something to send, or `packets` PUTs, from `start` on."""
        f = self.hosts[src].stream(dst)

        def begin() -> None:
            f.backlog += packets
            self.hosts[src].pump()

        self.at(start + self.s.staging, TIMER, begin)

    def poisson(self, src: int, dst: int, load: float, seed: int) -> None:
        """PUTs one by one with exponential gaps: payload of `load` of a link, through a backlog of few packets."""
        host, f, draw = self.hosts[src], self.hosts[src].stream(dst), random.Random(seed)  # noqa: S311
        gap = self.s.payload * 8e12 / self.s.link / load
        waiting = False

        def later() -> None:
            self.at(self.now + round(draw.expovariate(1 / gap)), TIMER, put)

        def put() -> None:
            nonlocal waiting
            if f.backlog < self.s.backlog:
                f.backlog += 1
                later()
                self.at(self.now + self.s.staging, TIMER, host.pump)
            elif self.s.full == "wait":
                waiting = True
            else:
                later()

        def made() -> None:
            nonlocal waiting
            if waiting:
                waiting = False
                f.backlog += 1
                later()

        f.made = made
        later()

    def run(self, until: int) -> None:
        """All events up to a time."""
        while self.events and self.events[0][0] <= until:
            self.now, _, _, what = heapq.heappop(self.events)
            what()
