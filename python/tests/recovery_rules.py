"""Go-back-N by InfiniBand and selective repeat by the IRN paper, as a program that shares no line with the crates.

IRN: Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018, sections 3.1 and 3.2. Go-back-N: InfiniBand
Architecture, volume 1, sections 9.7.5, 9.7.6.1.3 and 9.9.2. What they leave open is decided here as in the crates: the
timer is that of the oldest packet as it was sent last, and whether few packets are under way is asked when it ends. The
packet of the cumulative ACK is sent again once, when recovery begins; others only below one that has arrived. Only
timeouts count as tries; something new ends the count, and at most ten of them double the time. Packets have numbers
from 0; times are of the network's unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lossy_network import Packet

if TYPE_CHECKING:
    from lossy_network import Star


@dataclass(frozen=True)
class Settings:
    """Sizes of frames and how a queue pair recovers."""

    payload: int
    header: int
    reply: int
    selective: bool
    #: Of go-back-N the one timeout; of selective repeat the one with more than `few` packets under way.
    timeout: int
    low: int = 0
    few: int = 3
    #: Packets that may be under way: BDP-FC. None for go-back-N.
    cap: int | None = None
    #: Timeouts in a row after which one more is an error, and whether each doubles the time.
    retries: int = 1000
    backoff: bool = False


@dataclass(frozen=True)
class Reply:
    """All before `expected` has come, and of a NACK of selective repeat packet `also`."""

    expected: int
    nack: bool = False
    also: int | None = None


class Flow:
    """A queue pair, and at its other end the receiver. Of its messages `depth` are posted at a time."""

    def __init__(
        self,
        star: Star,
        settings: Settings,
        source: int,
        to: int,
        sizes: int | list[int],
        start: int,
        number: int = 0,
        depth: int | None = None,
        gap: int = 0,
    ) -> None:
        self.number = number
        self.star, self.settings, self.source, self.to, self.start, self.gap = star, settings, source, to, start, gap
        self.clock = star.clock
        #: The payload of each packet, and where each message ends.
        self.payloads: list[int] = []
        self.ends_at: list[int] = []
        for size in [sizes] if isinstance(sizes, int) else sizes:
            whole, rest = divmod(size, settings.payload)
            self.payloads += [settings.payload] * whole + [rest] * (rest > 0)
            self.ends_at.append(len(self.payloads))
        self.packets = len(self.payloads)
        self.depth = depth or len(self.ends_at)
        self.posted = min(self.depth, len(self.ends_at))
        self.oldest = self.next = self.newest = 0
        self.due = start
        self.acked: set[int] = set()
        #: Packets that were sent again in this recovery, its first one, and where it ends.
        self.again: set[int] = set()
        self.first = 0
        self.ends: int | None = None
        self.sent = self.nacks = self.timeouts = self.discarded = self.duplicates = 0
        #: By message when all had come, and when the sender knew; the latter of all messages.
        self.finished: list[int] = []
        self.acknowledged: list[int] = []
        self.done: int | None = None
        #: Timeouts since something new was heard, and the messages that were open when they were too many.
        self.tries = 0
        self.failed: int | None = None
        self.timer: list[Any] = []
        self.since = start
        # The receiver's side.
        self.expected = 0
        self.kept: set[int] = set()
        self.nacked = False
        self.clock.at(start, self._begin)

    def _post(self) -> None:
        self.posted += 1
        self.star.up[self.source].go()

    def _begin(self) -> None:
        self.star.up[self.source].sources.append(self)
        self.star.up[self.source].go()

    # The requester.

    def _lost(self) -> int | None:
        """The next packet to send again: the first one of this recovery, then those below an acknowledged one."""
        if self.ends is None:
            return None
        missing = range(self.oldest, max([self.first + 1, *self.acked]))
        return next((number for number in missing if number not in self.acked and number not in self.again), None)

    def can_send(self) -> bool:
        if self.done is not None or self.failed is not None:
            return False
        posted = self.ends_at[self.posted - 1]
        if not self.settings.selective:
            return self.next < posted
        if self._lost() is not None:
            return True
        cap = self.settings.cap
        return self.newest < posted and (cap is None or self.newest - self.oldest < cap)

    def send(self) -> Packet:
        if self.settings.selective:
            lost = self._lost()
            number = self.newest if lost is None else lost
            if lost is not None:
                self.again.add(lost)
        else:
            number = self.next
            self.next += 1
        self.newest = max(self.newest, number + 1)
        self.sent += 1
        if not self.timer:
            self._arm()
        payload = self.payloads[number]
        return Packet(self, payload + self.settings.header, number, payload)

    def _patience(self) -> int:
        few = self.settings.selective and self.newest - self.oldest <= self.settings.few
        doubled = min(self.tries, 10) if self.settings.backoff else 0
        return (self.settings.low if few else self.settings.timeout) << doubled

    def _arm(self) -> None:
        self.timer.clear()
        self.since = self.clock.now
        self.timer = self.clock.after(self._patience(), self._expired)

    def _expired(self) -> None:
        if self.failed is not None:
            return
        # The short time is over, but more packets are under way by now: the long time is to be over.
        if self.since + self._patience() > self.clock.now:
            self.timer = self.clock.at(self.since + self._patience(), self._expired)
            return
        self.timeouts += 1
        self.tries += 1
        self.timer = []
        if self.tries > self.settings.retries:
            self.failed = len(self.ends_at) - len(self.acknowledged)
            return
        self._recover()
        self._arm()
        self.star.up[self.source].go()

    def _recover(self) -> None:
        if self.settings.selective:
            self.again.clear()
            self.first, self.ends = self.oldest, self.newest
        else:
            self.next = self.oldest

    def answered(self, reply: Reply) -> None:
        if self.done is not None:
            return
        self.nacks += reply.nack
        fresh = reply.expected > self.oldest
        self.tries = 0 if fresh else self.tries
        self.oldest = max(self.oldest, reply.expected)
        self.next = max(self.next, self.oldest)
        self.acked = {number for number in self.acked if number >= self.oldest}
        if self.ends is not None and self.oldest >= self.ends:
            self.ends = None
        if reply.also is not None and reply.also >= self.oldest:
            self.acked.add(reply.also)
        begins = reply.nack and (not self.settings.selective or self.ends is None)
        if begins:
            self._recover()
        while len(self.acknowledged) < len(self.ends_at) and self.oldest >= self.ends_at[len(self.acknowledged)]:
            self.acknowledged.append(self.clock.now)
            if self.depth + len(self.acknowledged) <= len(self.ends_at):
                self.clock.after(self.gap, self._post)
        if self.oldest == self.packets:
            self.done = self.clock.now
        # The timer is that of the oldest packet, as it was sent last.
        if fresh or begins:
            self.timer.clear()
            self.timer = []
            if self.oldest < self.newest:
                self._arm()
        self.star.up[self.source].go()

    # The responder.

    def receive(self, packet: Packet) -> None:
        reply = self._taken(packet.seq)
        if reply:
            self.star.up[self.to].put(Packet(self, self.settings.reply, reply=reply))

    def _taken(self, number: int) -> Reply | None:
        if number == self.expected:
            self.nacked = False
            self.expected += 1
            while self.expected in self.kept:
                self.kept.remove(self.expected)
                self.expected += 1
            while len(self.finished) < len(self.ends_at) and self.expected >= self.ends_at[len(self.finished)]:
                self.finished.append(self.clock.now)
            return Reply(self.expected)
        if number < self.expected:
            self.duplicates += 1
            return Reply(self.expected)
        if self.settings.selective:
            self.duplicates += number in self.kept
            self.kept.add(number)
            return Reply(self.expected, nack=True, also=number)
        self.discarded += 1
        if self.nacked:
            return None
        self.nacked = True
        return Reply(self.expected, nack=True)
