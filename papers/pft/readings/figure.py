"""Where the paper contradicts itself: what follows from each reading, by its formulas and Algorithm 2."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable

from papers.pft.laws import CAPACITY, ENTER, ESCAPE, Printed, fixed, interval, random

#: A full buffer, and credits between the two thresholds.
FULL, BAND = CAPACITY, (ENTER + ESCAPE) // 2
CYCLES = 20_000
CYCLE_US = 1 / 700
#: How each reading takes the inconsistencies one after the other.
MACHINES: dict[str, dict[str, bool]] = {
    "as read here": {},
    "counters reset in every cycle (I4)": {"reset_once": False},
    "counters not cleared by a change (I5)": {"clear": False},
    "not cleared, and states not asked for (I5, I6)": {"clear": False, "guarded": False},
    "last sample of a window dropped (I7)": {"last_counts": False},
    "every line as printed": {"reset_once": False, "clear": False, "guarded": False, "last_counts": False},
}


def shares(c: int) -> dict[str, float]:
    """By reading: the share of cycles in Congested with c credits used all the time."""
    return {name: Printed(**switches).share(c, CYCLES) for name, switches in MACHINES.items()}


def available_changes(c: int) -> int:
    """Changes of state at a constant c, with thresholds of the credits that are left, from Normal on (FT for short)."""
    left, congested, changes = CAPACITY - c, False, 0
    for _ in range(10):
        wanted = left < ENTER if not congested else not left > ESCAPE
        changes += wanted != congested
        congested = wanted
    return changes


def dropped_per_thousand() -> float:
    """Samples that the printed windows do not count."""
    machine = Printed(last_counts=False, needed=CYCLES * 2)
    for _ in range(10 * 1025):
        machine.step(FULL)
    return 1000 * (1 - machine.counted / (10 * 1025))


def metrics(runs: Runs) -> Metrics:
    del runs  # nothing is run
    full = list(shares(FULL).values())
    half = CAPACITY // 2
    f = interval(1024, 22, 0)
    fi = [fixed(c, 8) for c in (0, half, CAPACITY)]
    ri = [random(c, 18) for c in (0, half, CAPACITY)]
    return {
        "enter_over_escape": ENTER / ESCAPE,
        "band_congested_share": Printed().share(BAND, 1536 * 10),
        "available_changes_most": max(map(available_changes, range(CAPACITY + 1))),
        "enter_as_window_us": ENTER * CYCLE_US,
        "read_congested_share": full[0],
        "literal_reset_congested_share": full[1],
        "not_cleared_congested_share": full[2],
        "not_guarded_congested_share": full[3],
        "dropped_samples_per_thousand": dropped_per_thousand(),
        "rate_n12_over_n8_at_1024": fixed(1024, 12) / fixed(1024, 8),
        "fi_second_half_over_first": (fi[1] - fi[2]) / (fi[0] - fi[1]),
        "ri_second_half_over_first": (ri[1] - ri[2]) / (ri[0] - ri[1]),
        "f_bits_at_1024_m22": f.bit_length(),
        "wrapped_rate_at_1024_m22": 1 - (f % 2**32) / 2**30,
    }


def draw(seeds: Seeds, file: Path) -> None:
    del seeds
    with plot.picture(
        file, "Algorithm 2 with a constant c: in above 592, out below 672, 768 of 1024 cycles", 10.5, 3.4
    ) as made:
        axes = made.subplots()
        columns = {f"a full buffer (c = {FULL})": shares(FULL), f"between the thresholds (c = {BAND})": shares(BAND)}
        for number, (label, found) in enumerate(columns.items()):
            at = [place + 0.2 - 0.4 * number for place in range(len(found))]
            axes.barh(at, list(found.values()), 0.36, color=plot.CYCLE[number], label=label)
            for y, share in zip(at, found.values(), strict=True):
                axes.annotate(f"{share:.3f}", (share, y), (3, 0), textcoords="offset points", va="center", fontsize=7)
        axes.set_yticks(range(len(MACHINES)), list(MACHINES))
        axes.invert_yaxis()
        axes.set(xlabel="share of cycles in Congested", xlim=(0, 1.1))
        axes.grid(visible=True, axis="x")
        axes.legend(loc="lower right")


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    del seeds
    with (Path(__file__).parent / "readings.csv").open(encoding="utf-8", newline="") as file:
        headings, *rows = csv.reader(file)
    found = tuple((id_, paper, here) for id_, paper, here in rows)
    return [NumberTable("what the paper says, and how it is read here", ("", headings[1], headings[2]), found, words=3)]
