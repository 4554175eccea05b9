"""What a run needs, and what is on a wire."""

from __future__ import annotations

from dataclasses import dataclass

LINK = 102_400_000_000


@dataclass
class Settings:
    """Sizes in bytes, times in picoseconds, rates in bit/s."""

    policy: str = "dack"  # or opt, aimd
    payload: int = 2048
    header: int = 64
    link: int = LINK
    drain: int = LINK // 2
    delay: int = 1_866_250  # of each of the two links of a path
    skew: int = 0  # by which the links of a host are longer than those of the host before
    queue: int = 80_992
    threshold: int = 8_992
    packets: int = 256
    bytes: int = 128_000
    overhead: int = 95_000
    staging: int = 95_000  # from a decision to the wire: what decisions wait for comes so much later
    processing: int = 430_000
    ack: int = 32
    every: int = 1
    after: int = 780_000
    retry: int = 1_000_000_000
    mss: int = 8_992
    ssthresh: int = 128_000
    count: int = 6
    escape: int = 40_000_000
    grants: str = "packet"  # or "ack": what an ACK of several packets allows
    iack: str = "accepted"  # or "processed": when a target that is not congested acknowledges
    reservation: int = 0  # bytes kept for a sender that got a NACK; -1: one packet
    reserved_counts: bool = False
    fairness: str = "none"  # or verbs, ordered
    period: int = 250_000_000
    difference: float = 0.025
    backlog: int = 16
    full: str = "wait"  # or "skip": a PUT that finds the backlog full is never made

    def way(self, host: int) -> int:
        """How long the link of a host is."""
        return self.delay + host * self.skew

    @property
    def wire(self) -> int:
        """Bytes of a PUT on the wire."""
        return self.payload + self.header


@dataclass
class Frame:
    """A PUT, or an ACK or NACK that goes alone. `ack` and `marked` are what a PUT carries for the opposite stream."""

    kind: str
    src: int
    dst: int
    size: int
    seq: int = 0
    ack: int = 0
    marked: bool = False


def span(size: int, rate: int) -> int:
    """Picoseconds that `size` bytes take at `rate`, rounded up."""
    return -(-size * 8 * 10**12 // rate)
