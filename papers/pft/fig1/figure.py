"""Figure 1: the rate of a throttled NIC by the credits that it has used: formulas, and a simulated NIC."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results
from matplotlib.axes import Axes

from papers.pft.laws import CAPACITY, FI_SHIFTS, FLIT_PS, RI_SHIFTS, law
from papers.pft.panels import ramp

SHIFTS = {"FI": FI_SHIFTS, "RI": RI_SHIFTS}
#: Flits of a packet, and of the buffer in these runs.
PACKET, BUFFER = 16, 8192


class Mark(NamedTuple):
    """What one NIC did in the second half of its run: law, n or m, mean of c, share of the link."""

    law: str
    shift: int
    used: float
    rate: float
    starved: bool

    @property
    def off(self) -> float:
        """How far the rate is outside of what the formula gives for one packet more, and one less."""
        low = law(self.law, self.used + PACKET, self.shift)
        high = law(self.law, max(self.used - PACKET, 0), self.shift)
        return max(low - self.rate, self.rate - high, 0.0)


def marks(runs: Runs) -> list[Mark]:
    """One of each run, without those that ran out of credits."""
    found = [mark(name, run) for name, run in runs.items()]
    return [one for one in found if not one.starved]


def mark(name: str, run: Results) -> Mark:
    """Of one run, such as ``RI 18 2us``."""
    which, shift, _ = name.split()
    table = run.table("throttle").filter(pl.col("node").cast(pl.String) == "h0").sort("start_ps").collect()
    table = table.filter(pl.col("start_ps") >= table["end_ps"].max() // 2)  # type: ignore[operator]
    span = float((table["end_ps"] - table["start_ps"]).sum())
    return Mark(
        which,
        int(shift),
        float(table["used_mean"].mean() or 0),  # type: ignore[arg-type]
        float(table["sent_flits"].sum()) * FLIT_PS / span,
        int(table["used_max"].max() or 0) > BUFFER - 2 * PACKET,  # type: ignore[call-overload]
    )


def metrics(runs: Runs) -> Metrics:
    found = marks(runs)
    values: Metrics = {}
    for which, shifts in SHIFTS.items():
        own = [one for one in found if one.law == which]
        lowest = [law(which, CAPACITY, shift) for shift in shifts]
        rates = [{law(which, c, shift) for c in range(CAPACITY + 1)} for shift in shifts]
        values |= {
            f"{which}_points": len(own),
            f"{which}_off_most": max(one.off for one in own),
            f"{which}_rises": sum(_rises(own, shift) for shift in shifts),
            f"{which}_lowest_rate_most": max(lowest),
            f"{which}_lowest_rate_least": min(lowest),
            f"{which}_change_least": 1 - max(lowest),
            f"{which}_steps_least": min(map(len, rates)),
        }
    return values


def _rises(found: Sequence[Mark], shift: int) -> int:
    """How often more credits used go with a higher rate, by more than 1 % of the link."""
    line = sorted((one.used, one.rate) for one in found if one.shift == shift)
    return sum(after[1] > before[1] + 0.01 for before, after in itertools.pairwise(line))


def draw(seeds: Seeds, file: Path) -> None:
    found = marks(seeds[0])
    with plot.picture(
        file, "Figure 1: rate by credits used (lines: formulas; marks: a simulated NIC)", 10.5, 4.8
    ) as made:
        for axes, (which, shifts) in zip(made.subplots(1, 2, sharey=True), SHIFTS.items(), strict=True):
            _panel(axes, which, shifts, [one for one in found if one.law == which])
        made.axes[0].set_ylabel("rate in Congested, share of the link")


def _panel(axes: Axes, which: str, shifts: Sequence[int], found: Sequence[Mark]) -> None:
    c = np.arange(0, 6001, 4)
    name = "n" if which == "FI" else "m"
    for place, (shift, colour) in enumerate(zip(shifts, ramp(len(shifts)), strict=True)):
        axes.plot(c, [law(which, int(one), shift) for one in c], color=colour, lw=1.2)
        own = [one for one in found if one.shift == shift]
        axes.plot([one.used for one in own], [one.rate for one in own], ls="none", marker=plot.marker(place), ms=5,
                  color=colour, mec=plot.BLACK, mew=0.5, label=f"{name} = {shift}")  # fmt: skip
    axes.axvline(CAPACITY, color=plot.GREY, ls=":", lw=1)
    axes.annotate(
        "C = 4096 (inferred)", (CAPACITY, 1.02), (3, 0), textcoords="offset points", fontsize=7, color=plot.GREY
    )
    title = (
        "FI: f idle cycles a flit, m = 0, k = 0"
        if which == "FI"
        else "RI: a flit with p = 1 - f / R, n = 0, k = 0, R = 2³⁰ (inferred)"
    )
    axes.set(title=title, xlabel="credits used, c [flits of 16 B]", xlim=(0, 6000), ylim=(0, 1.08))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4 if which == "RI" else 5)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = tuple(
        (f"{one.law} {one.shift}", f"{one.used:.1f}", f"{one.rate:.4f}", f"{law(one.law, one.used, one.shift):.4f}",
         f"{one.off:.4f}")
        for one in sorted(marks(seeds[0]), key=lambda one: (one.law, one.shift, one.used))
    )  # fmt: skip
    headings = (
        "law, n or m",
        "credits used, mean",
        "rate, measured",
        "rate, formula at that mean",
        "off by more than a packet",
    )
    return [NumberTable("a simulated NIC against the formulas, shares of the link", headings, rows)]
