"""Traces that the tests compare with the fabric's, event by event: `python cases.py` prints them.

One line per event: picoseconds, what, the stream's source and target (numbers of hosts), number, and a value: of `sent`
and `resent` the allowance or the congestion window after it, of what happens at the target the bytes in its queue after
it.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from network import Event, World
from settings import LINK, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL = Settings(
    payload=936,
    link=40_000_000_000,
    drain=10_000_000_000,
    delay=500_000,
    queue=3_000,
    threshold=1_000,
    packets=8,
    bytes=8_000,
    overhead=250_000,
    staging=20_000,
    processing=130_000,
    ack=50,
    mss=1_000,
    ssthresh=4_000,
)

# (source, target, start in ps, packets)
Stream = tuple[int, int, int, float]
ENDLESS = float("inf")
# Starts and ways (`SKEW`) that share no divisor with anything else: no two frames come to the switch at the same time.
SKEW = 1_009
INCAST: list[Stream] = [(i, 0, 37_013 * i * i, ENDLESS) for i in range(1, 5)]
LATE: list[Stream] = [(1, 0, 0, ENDLESS), (2, 0, 100_037_013, ENDLESS), (3, 0, 200_148_052, ENDLESS)]
BOTH_WAYS: list[Stream] = [(0, 1, 0, ENDLESS), (1, 0, 400_037, ENDLESS)]


def cases() -> dict[str, tuple[Settings, list[Stream], int]]:
    """By name: settings, streams, and how many events are written."""
    found: dict[str, tuple[Settings, list[Stream], int]] = {}
    for policy in ("opt", "aimd", "dack"):
        lone: list[Stream] = [(1, 0, 0, ENDLESS)]
        found[f"small_{policy}"] = (replace(SMALL, policy=policy), lone, 300)
        found[f"half_{policy}"] = (Settings(policy), lone, 800)
        found[f"fifth_{policy}"] = (Settings(policy, drain=LINK // 5), lone, 800)
        found[f"incast_{policy}"] = (Settings(policy, drain=LINK * 7 // 10, skew=SKEW), INCAST, 1500)
        found[f"both_{policy}"] = (Settings(policy), BOTH_WAYS, 1000)
        found[f"short_{policy}"] = (replace(SMALL, policy=policy), [(1, 0, 0, 20)], 400)
    found["ordered"] = (Settings(fairness="ordered", period=20_000_000, skew=SKEW), INCAST, 1500)
    late = Settings(fairness="ordered", period=20_000_000, skew=SKEW)
    found["ordered_late"] = (late, LATE, 5000)
    found["processed"] = (Settings(iack="processed"), [(1, 0, 0, ENDLESS)], 800)
    found["processed_incast"] = (Settings(iack="processed", drain=LINK * 7 // 10, skew=SKEW), INCAST, 1500)
    kept = replace(Settings(), skew=SKEW, queue=20_000, reservation=8_992, reserved_counts=True)
    found["kept_counted"] = (kept, INCAST, 1500)
    found["kept_one_packet"] = (replace(kept, reservation=-1, reserved_counts=False), INCAST, 1500)
    return found


def texts() -> Iterator[tuple[str, str]]:
    """All of them: name, lines."""
    for name, (settings, streams, events) in cases().items():
        world = World(settings, 1 + max(max(src, dst) for src, dst, _, _ in streams))
        for src, dst, start, packets in streams:
            world.greedy(src, dst, start, packets)
        while world.events and len(world.trace) < events + 50:
            world.run(world.events[0][0])
        last = world.trace[:events][-1][0]
        lines = [line(event) for event in world.trace if event[0] < last or not world.events]
        header = [f"# {key} {value}" for key, value in asdict(settings).items()]
        header += [f"# stream {src} {dst} {start} {packets}" for src, dst, start, packets in streams]
        yield name, "\n".join(header + lines) + "\n"


def line(event: Event) -> str:
    """One event in words."""
    return " ".join("-" if field is None else str(field) for field in event)


if __name__ == "__main__":
    for case, text in texts():
        print(f"== {case}\n{text}", end="")
