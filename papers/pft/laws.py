"""The paper's formulas, written down once more: f(c), the rate laws, Algorithm 2 as printed and as read here.

Nothing here comes from the simulator, so that it can be compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The buffer behind the NIC's link in flits (credits), and the range of the random number as a power of two: inferred.
CAPACITY = 4096
BITS = 30
#: A flit of 16 B on a link of 100 Gbps, and a cycle of the core clock of 700 MHz, which f(c) counts.
FLIT_PS, CYCLE_PS = 1280, 1e6 / 700
#: What Figures 1 and 5 vary.
FI_SHIFTS = (8, 9, 10, 11, 12)
RI_SHIFTS = (15, 16, 17, 18, 19, 20, 21, 22)
#: The setting of section IV-C.
ENTER, ESCAPE = 0x250, 0x2A0
#: Windows of AT and hits in them, in cycles: inferred.
WINDOW, HITS = 1024, 768


def interval(c: float, m: int, n: int, k: int = 0) -> int:
    """f(c) = 2^m / 2^n c + k (equation 1), by shifts of whole numbers."""
    return max(((int(c) << m) >> n) + k, 0)


def fixed(c: float, n: int) -> float:
    """The rate of FI as a share of the link, with m = k = 0: f(c) idle cycles after each flit."""
    return _share(interval(c, 0, n))


def random(c: float, m: int, bits: int = BITS) -> float:
    """The rate of RI as a share of the link, with n = k = 0: a flit goes if a number below 2^bits is not below f(c)."""
    chance = 1 - interval(c, m, 0) / (1 << bits)
    return _share(1 / chance - 1) if chance > 0 else 0.0


def _share(idle: float) -> float:
    """What a flit and so many idle cycles leave of the link."""
    return FLIT_PS / (FLIT_PS + idle * CYCLE_PS)


def law(strategy: str, c: float, shift: int) -> float:
    """The rate of ``FI`` (by n) or ``RI`` (by m)."""
    return fixed(c, shift) if strategy == "FI" else random(c, shift)


@dataclass
class Printed:
    """Algorithm 2, line by line. Each switch repairs what one inconsistency says; all of them: as it is read here.

    Thresholds and windows are two numbers each in every case, since one number cannot be both (I2, I3).
    """

    #: Lines 1 and 2 are done once, not in every cycle (I4).
    reset_once: bool = True
    #: A change of state clears both counters (I5).
    clear: bool = True
    #: Each test of a count asks for the state, and a cycle changes the state once at most (I6).
    guarded: bool = True
    #: The last sample of a window counts (I7).
    last_counts: bool = True
    #: Hits that change the state.
    needed: int = HITS
    congested: bool = False
    cycles: int = 0
    hits: int = 0
    #: Samples that were hits and counted.
    counted: int = 0

    def step(self, c: int) -> None:
        """One cycle with c credits used."""
        if not self.reset_once:
            self.cycles = self.hits = 0
        before = self.congested
        if not before:
            self._count(hit=c > ENTER)
        if self.hits == self.needed and (not before or not self.guarded):
            self._change(congested=True)
        if self.congested and (before or not self.guarded):
            self._count(hit=c < ESCAPE)
        if self.hits == self.needed and (before or not self.guarded):
            self._change(congested=False)

    def _count(self, *, hit: bool) -> None:
        if self.last_counts:
            over = self.cycles == WINDOW
            self.cycles, self.hits = (0, 0) if over else (self.cycles, self.hits)
            self.cycles += 1
        else:
            self.cycles = 0 if self.cycles == WINDOW else self.cycles + 1
            over = self.cycles == WINDOW
            self.hits = 0 if over else self.hits
        if hit and (self.last_counts or not over):
            self.hits, self.counted = self.hits + 1, self.counted + 1

    def _change(self, *, congested: bool) -> None:
        if self.congested != congested:
            self.congested = congested
            if self.clear:
                self.cycles = self.hits = 0

    def share(self, c: int, cycles: int) -> float:
        """In which share of so many cycles with c credits used the state is Congested at their ends."""
        found = 0
        for _ in range(cycles):
            self.step(c)
            found += self.congested
        return found / cycles
