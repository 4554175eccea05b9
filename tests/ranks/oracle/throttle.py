"""Proactive flow throttling as hardware does it: one look per cycle, one flit per cycle. No event, no closed form.

Used credits alone decide: `Machine` whether the NIC holds back, `Law` whether a flit may go in this cycle.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass


@dataclass
class Throttle:
    """Thresholds in credits, windows and hits in cycles; f(c) = (c << m >> n) + k."""

    rule: str = "average"  # or fixed
    law: str = "random"  # or fixed
    m: int = 18
    n: int = 0
    k: int = 0
    bits: int = 30
    enter: int = 592
    escape: int = 672
    enter_window: int = 1024
    enter_hits: int = 768
    escape_window: int = 1024
    escape_hits: int = 768
    credits: str = "used"  # or available
    capacity: int = 4096

    def f(self, used: int) -> int:
        """The interval between flits, or what a random number must reach."""
        return max(0, (used << self.m >> self.n) + self.k)


class Machine:
    """Normal or congested."""

    def __init__(self, s: Throttle) -> None:
        self.s = s
        self.congested = False
        self.cycles = self.hits = 0

    def above(self, used: int) -> bool:
        """Whether a sample speaks for congestion."""
        if self.s.credits == "available":
            return self.s.capacity - used < self.s.enter
        return used > self.s.enter

    def below(self, used: int) -> bool:
        """Whether a sample speaks against it."""
        if self.s.credits == "available":
            return self.s.capacity - used > self.s.escape
        return used < self.s.escape

    def cycle(self, used: int) -> bool:
        """One cycle; returns whether the state changes."""
        hit = self.below(used) if self.congested else self.above(used)
        if self.s.rule == "fixed":
            self.congested ^= hit
            return hit
        s = self.s
        window, hits = (s.escape_window, s.escape_hits) if self.congested else (s.enter_window, s.enter_hits)
        self.hits += hit
        self.cycles += 1
        if self.hits == hits:
            self.congested = not self.congested
            self.cycles = self.hits = 0
            return True
        if self.cycles == window:
            self.cycles = self.hits = 0
        return False


class Law:
    """Whether a flit may go in this cycle."""

    def __init__(self, s: Throttle, seed: int) -> None:
        self.s = s
        self.idle = 1 << 62  # cycles since the last flit
        self.dice = random.Random(seed)  # noqa: S311

    def cycle(self, used: int, congested: bool) -> bool:
        """Asked once in each cycle in which the link is free and a flit waits."""
        if not congested:
            return True
        if self.s.law == "fixed":
            return self.idle >= self.s.f(used)
        return self.dice.getrandbits(self.s.bits) >= self.s.f(used)

    def after(self, sent: bool) -> None:
        """What this cycle was used for."""
        self.idle = 0 if sent else self.idle + 1


class Sender:
    """A NIC that always has packets of `flits` for the one receiver."""

    def __init__(self, s: Throttle, flits: int, seed: int) -> None:
        self.s, self.machine, self.law, self.flits = s, Machine(s), Law(s, seed), flits
        self.used = 0  # credits
        self.left = 0  # flits of the packet that it is sending
        self.sent = 0
        self.coming: deque[int] = deque()  # cycles at which a packet is in at the switch
        self.returning: deque[int] = deque()  # cycles at which its credits are back


@dataclass
class Seen:
    """Sums over the cycles after the warm-up."""

    used: float  # mean over time and senders
    share: list[float]  # flits per cycle of each sender
    congested: float  # share of the time, over senders


def star(s: Throttle, senders: int, flits: int, way: int, cycles: tuple[int, int], seed: int = 1) -> Seen:
    """Senders that share one link of one flit per cycle behind a switch; a flit or credit needs `way` cycles."""
    nics = [Sender(s, flits, seed * 100 + i) for i in range(senders)]
    busy, turn = 0, 0
    used = congested = 0
    begun = [0] * senders
    warm, measured = cycles
    for now in range(warm + measured):
        for nic in nics:
            while nic.returning and nic.returning[0] <= now:
                nic.returning.popleft()
                nic.used -= flits
            nic.machine.cycle(nic.used)
            one_flit(nic, now, way)
        if now >= busy:
            for i in range(senders):
                nic = nics[(turn + 1 + i) % senders]
                if nic.coming and nic.coming[0] <= now:
                    nic.coming.popleft()
                    turn, busy = (turn + 1 + i) % senders, now + flits
                    nic.returning.append(busy + way)
                    break
        if now == warm:
            begun = [nic.sent for nic in nics]
        if now >= warm:
            used += sum(nic.used for nic in nics)
            congested += sum(nic.machine.congested for nic in nics)
    share = [(nic.sent - before) / measured for nic, before in zip(nics, begun, strict=True)]
    return Seen(used / measured / senders, share, congested / measured / senders)


def one_flit(nic: Sender, now: int, way: int) -> None:
    """A flit goes in this cycle, or none. A packet begins only with credits for all of it."""
    goes = False
    if nic.left or nic.used + nic.flits <= nic.s.capacity:
        goes = nic.law.cycle(nic.used, nic.machine.congested)
    if goes:
        if not nic.left:
            nic.left = nic.flits
        nic.left -= 1
        nic.used += 1
        nic.sent += 1
        if not nic.left:
            nic.coming.append(now + way)
    nic.law.after(goes)
