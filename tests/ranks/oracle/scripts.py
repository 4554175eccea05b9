"""Used credits over time, and when a throttled NIC changes its state: `python scripts.py` prints them.

The head gives the settings; `used CYCLE CREDITS` changes the credits before that cycle's look; a line below the head is
a change of state: cycle, and 1 for congested.
"""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from throttle import Machine, Throttle

if TYPE_CHECKING:
    from collections.abc import Iterator

# (cycle, credits)
Script = list[tuple[int, int]]
PAPER = Throttle()
SHORT = Throttle(enter_window=16, enter_hits=12, escape_window=20, escape_hits=5)


def walk(seed: int, steps: int, longest: int, around: tuple[int, int]) -> Script:
    """Credits that jump about two thresholds: often to one above, at, or below."""
    dice = random.Random(seed)  # noqa: S311
    now, script = 0, []
    for _ in range(steps):
        now += dice.randrange(1, longest)
        near = dice.choice(around) + dice.randrange(-1, 2)
        script.append((now, near if dice.random() < 0.6 else dice.randrange(0, 4097)))
    return script


def cases() -> dict[str, tuple[Throttle, Script, int]]:
    """By name: settings, script, cycles."""
    found: dict[str, tuple[Throttle, Script, int]] = {}
    band = [(10, 600), (20_010, 673), (30_010, 592), (40_010, 593), (50_010, 672), (60_010, 671)]
    found["band"] = (PAPER, band, 70_000)
    swapped = replace(PAPER, enter=672, escape=592)
    found["band_swapped"] = (swapped, band, 70_000)
    left = [(10, 591), (20_010, 672), (30_010, 673), (40_010, 592), (50_010, 591), (60_010, 700)]
    found["band_available"] = (replace(PAPER, credits="available"), [(c, 4096 - u) for c, u in left], 70_000)
    hysteresis = replace(PAPER, rule="fixed", enter=672, escape=592)
    found["fixed"] = (hysteresis, walk(1, 400, 50, (672, 592)), 20_000)
    found["fixed_equal"] = (replace(hysteresis, enter=600, escape=600), walk(2, 400, 50, (600, 600)), 20_000)
    other = replace(hysteresis, enter=592, escape=672, credits="available")
    found["fixed_available"] = (other, walk(3, 400, 50, (3504, 3424)), 20_000)
    for seed in range(6):
        found[f"paper_{seed}"] = (PAPER, walk(10 + seed, 300, (300, 1500, 4000)[seed % 3], (592, 672)), 400_000)
        found[f"short_{seed}"] = (SHORT, walk(20 + seed, 600, (8, 25, 60)[seed % 3], (592, 672)), 20_000)
    one = replace(SHORT, enter_hits=1, escape_hits=19, enter_window=2)
    found["one_hit"] = (one, walk(30, 600, 30, (592, 672)), 20_000)
    available = replace(SHORT, credits="available")
    found["short_available"] = (available, walk(31, 600, 30, (3504, 3424)), 20_000)
    return found


def follow(s: Throttle, script: Script, cycles: int) -> list[tuple[int, int]]:
    """Cycle by cycle: when the state changed, and whether it is congested then."""
    machine, used, changes = Machine(s), 0, []
    at = dict(script)
    for cycle in range(cycles):
        used = at.get(cycle, used)
        if machine.cycle(used):
            changes.append((cycle, int(machine.congested)))
    return changes


def texts() -> Iterator[tuple[str, str]]:
    """All of them: name, lines."""
    for name, (s, script, cycles) in cases().items():
        lines = [f"# {key} {value}" for key, value in asdict(s).items()]
        lines += [f"# used {cycle} {used}" for cycle, used in script if cycle < cycles]
        lines += [f"# end {cycles}"]
        lines += [f"{cycle} {state}" for cycle, state in follow(s, script, cycles)]
        yield name, "\n".join(lines) + "\n"


if __name__ == "__main__":
    for case, text in texts():
        print(f"== {case}\n{text}", end="")
