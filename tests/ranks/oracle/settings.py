"""What a run needs: the network around one switch, and what messages cost."""

from __future__ import annotations

from dataclasses import dataclass

ANY = -1
FOREVER = -1
INTERNAL = 1 << 31  # tags from here on are those of collective calls: no receive of any tag takes them


@dataclass
class Settings:
    """Sizes in bytes, times in picoseconds, rates in bit/s."""

    link: int = 100_000_000_000
    delay: int = 100_000  # of the link of host 0
    skew: int = 1_009  # by which the link of a host is longer than that of the host before
    payload: int = 2048
    header: int = 32
    cut: int = 0  # bytes of a packet that a switch must have to forward it; 0: all
    credits: int = 0  # bytes of buffer behind each link; 0: no credits, and buffers without an end
    unit: int = 16
    full: int = 0  # 1: a packet starts only with credits for one of full size
    update: int = 16  # bytes of an update of credits
    send: int = 300_000
    receive: int = 300_000
    eager: int = 16_384
    control: int = 16
    local: int = 500_000

    def way(self, host: int) -> int:
        """How long the link of a host is."""
        return self.delay + host * self.skew

    def span(self, size: int) -> int:
        """Time on a wire, a started picosecond counted."""
        return -(-size * 8 * 10**12 // self.link)

    def units(self, size: int) -> int:
        """Credits that a packet takes."""
        return -(-size // self.unit)
