"""Throttled senders behind one switch: `python stars.py` prints what they use and get."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from throttle import Throttle, star

if TYPE_CHECKING:
    from collections.abc import Iterator

FLITS = 10  # of a packet
WAY = 40  # cycles on each link
WARM, MEASURED = 40_000, 80_000


def cases() -> dict[str, tuple[Throttle, int]]:
    """By name: settings, senders."""
    interval = Throttle("fixed", "fixed", 0, 6, enter=0, escape=0)
    chance = Throttle("fixed", "random", 20, enter=0, escape=0)
    window = replace(chance, rule="average", enter_window=64, enter_hits=48, escape_window=64, escape_hits=48)
    return {
        "interval_4": (interval, 4),
        "interval_7": (interval, 7),
        "random_4": (chance, 4),
        "random_7": (chance, 7),
        "average_interval": (replace(window, law="fixed", m=0, n=6), 4),
        "average_random": (window, 4),
        "hysteresis": (replace(chance, enter=900, escape=700), 4),
    }


def texts() -> Iterator[tuple[str, str]]:
    """Each by its name: settings, the mean of used credits over senders and time, flits per cycle of each sender."""
    for name, (s, senders) in cases().items():
        seen = star(s, senders, FLITS, WAY, (WARM, MEASURED))
        known = {**asdict(s), "senders": senders, "flits": FLITS, "way": WAY, "warm": WARM, "measured": MEASURED}
        lines = [f"# {key} {value}" for key, value in known.items()]
        lines += [f"used {seen.used:.3f}", f"congested {seen.congested:.4f}"]
        lines += [f"share {share:.5f}" for share in seen.share]
        yield name, "\n".join(lines) + "\n"


if __name__ == "__main__":
    for case, text in texts():
        print(f"== {case}\n{text}", end="")
