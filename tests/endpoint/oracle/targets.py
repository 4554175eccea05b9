"""The host that receives: its receive queue and drain, what it accepts, and when it acknowledges what."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from settings import Frame, span

if TYPE_CHECKING:
    from settings import Settings


@dataclass
class Receiver:
    """What a target knows about one stream."""

    peer: int
    expected: int = 1
    episode: bool = False  # something is missing, and a NACK has been asked for
    nack: bool = False
    released: int = 0  # may be told
    told: int = 0  # has been told
    owed: int = 0  # reasons for a frame since the last one
    since: int = 0
    urgent: bool = False  # a DACK or a repeat, at once
    reserved: int = 0
    credited: int = 0  # in this period: bytes released (ordered), packets accepted (verbs)
    suppress: bool = False
    skip: bool = False


class Target:
    """All streams that come to one host."""

    def __init__(self, settings: Settings) -> None:
        self.s = settings
        self.streams: dict[int, Receiver] = {}
        self.due: deque[int] = deque()  # peers that are owed a frame, in the order they became so
        self.queue: deque[Frame] = deque()
        self.occ = 0
        self.unacked: list[tuple[int, int, int]] = []  # (peer, number, size), in order of release
        self.lead = 0  # bytes released less bytes processed
        self.base = self.through = 0  # the busy period of the drain: its start, bytes up to the end of the first packet

    def congested(self) -> bool:
        """More in the queue than the threshold."""
        extra = sum(r.reserved for r in self.streams.values()) if self.s.reserved_counts else 0
        return self.occ + extra > self.s.threshold

    def on_put(self, frame: Frame, now: int) -> str:
        """A PUT has come in; what becomes of it."""
        r = self.streams.setdefault(frame.src, Receiver(frame.src))
        room = self.s.queue - self.occ
        kept = sum(x.reserved for x in self.streams.values())
        fits = frame.size <= room - kept or (r.reserved > 0 and frame.size <= room)
        if frame.seq < r.expected:
            self.owe(r, now, urgent=True)
            return "duplicate"
        if frame.seq > r.expected or not fits:
            full = frame.seq == r.expected
            if full or not r.episode:
                r.nack = True
                self.owe(r, now, urgent=True)
            r.episode = True
            return "dropped" if full else "out_of_order"
        r.expected, r.episode, r.nack, r.reserved = frame.seq + 1, False, False, 0
        if not self.queue:
            self.base = now
            self.through = frame.size
        self.queue.append(frame)
        self.occ += frame.size
        self.acknowledge(r, frame, now)
        return "accepted"

    def acknowledge(self, r: Receiver, frame: Frame, now: int) -> None:
        """Baselines acknowledge what they accept; DACK when its place in the queue is below the threshold."""
        if self.s.policy != "dack":
            r.released = frame.seq
            self.owe(r, now)
            return
        if self.s.fairness == "verbs":
            r.credited += 1
        self.unacked.append((frame.src, frame.seq, frame.size))
        self.release(now)
        if self.congested():
            self.owe(r, now, urgent=True)

    def done_at(self) -> int:
        """When the first packet of the queue has been drained: with all before it in this busy period."""
        return self.base + span(self.through, self.s.drain)

    def processed(self, now: int) -> Frame:
        """The first packet of the queue has been drained."""
        frame = self.queue.popleft()
        self.occ -= frame.size
        self.lead -= frame.size
        if self.queue:
            self.through += self.queue[0].size
        if self.s.policy == "dack":
            self.release(now)
        return frame

    def owe(self, r: Receiver, now: int, urgent: bool = False) -> None:
        """A reason to send a frame."""
        if r.peer not in self.due:
            self.due.append(r.peer)
            r.since = now
        r.owed += 1
        r.urgent |= urgent

    def ready(self, r: Receiver, now: int) -> bool:
        """Whether the frame owed to a stream may go alone now."""
        return r.nack or r.urgent or r.owed >= self.s.every or now - r.since >= self.s.after

    def may_release(self) -> bool:
        """Whether the head of the list may be acknowledged."""
        if self.occ > self.s.threshold:
            return self.lead < self.s.threshold
        return self.s.iack == "accepted" or self.lead < 0

    def release(self, now: int) -> None:
        """Releases from the head of the list: acknowledged bytes reach to the threshold, and no further."""
        while self.unacked and self.may_release():
            if self.s.fairness == "ordered":
                self.unacked.sort(key=lambda x: (self.streams[x[0]].credited, x[1], x[0]))
            peer, seq, size = self.unacked.pop(0)
            r = self.streams[peer]
            r.released = max(r.released, seq)
            self.lead += size
            if self.s.fairness == "ordered":
                r.credited += size
            if r.skip:
                r.skip = False
                r.told = seq  # the next one covers it
            else:
                self.owe(r, now)

    def compose(self, r: Receiver) -> tuple[int, bool]:
        """The number to tell now, and its mark. DACK goes on one by one, so that each packet is one IACK."""
        marked = self.s.policy == "dack" and self.congested()
        r.told = r.released if self.s.policy != "dack" else min(r.told + 1, r.released)
        if r.suppress and marked:
            marked = r.suppress = False
        r.urgent, r.owed = False, r.released - r.told
        if not r.owed and not r.nack and r.peer in self.due:
            self.due.remove(r.peer)
        return r.told, marked

    def next_turn(self, r: Receiver, now: int) -> None:
        """After a frame of its own: what is still owed waits behind the others. Aboard a PUT it keeps its turn."""
        if r.peer in self.due:
            self.due.remove(r.peer)
        if r.owed or r.nack:
            self.due.append(r.peer)
            r.since = now

    def answer(self, me: int, peer: int, now: int) -> Frame:
        """The ACK or NACK that is due to a peer, alone."""
        r = self.streams[peer]
        if not r.nack:
            seq, marked = self.compose(r)
            self.next_turn(r, now)
            return Frame("ack", me, peer, self.s.ack, seq, marked=marked)
        r.nack = False
        if self.s.reservation > 0 and not r.reserved:
            r.reserved = self.s.reservation
        elif self.s.reservation and not r.reserved:
            kept = sum(x.reserved for x in self.streams.values())
            r.reserved = max(0, min(self.s.wire, self.s.queue - self.s.threshold - kept))
        if self.s.policy != "dack":
            r.told = r.released
        r.urgent, r.owed = False, r.released - r.told
        self.next_turn(r, now)
        return Frame("nack", me, peer, self.s.ack, r.expected - 1)

    def sample(self) -> None:
        """A period of fairness ends: the paper's two verbs for the poorest and the richest stream, if they differ."""
        streams = [r for r in self.streams.values() if r.expected > 1]
        if self.s.fairness == "verbs" and len(streams) > 1:
            low, high = min(streams, key=lambda r: r.credited), max(streams, key=lambda r: r.credited)
            mean = sum(r.credited for r in streams) / len(streams)
            if high.credited - low.credited > self.s.difference * mean:
                low.suppress = high.skip = True
        for r in streams:
            r.credited = 0
