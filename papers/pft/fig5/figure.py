"""Figure 5: F_C of every strategy at every setting, as a heat map and a table, from averages and from 99 % values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from papers.pft.laws import FI_SHIFTS, RI_SHIFTS
from papers.pft.measured import AVAILABLE, NONE, STRATEGIES, beside, factors, geometric, strategy
from papers.pft.panels import mean, spread

BEST = "AT-RI 18"
PAPER = 2.58
#: FI with n = 12 is no throttling: f(c) is 0 below 4096, and 31 packets of 130 flits are 4030.
DEAD = "-FI 12"


def metrics(runs: Runs) -> Metrics:
    found = factors(runs)
    cells = {name: value for name, value in found.items() if strategy(name)[0] in STRATEGIES}
    rank = 1 + sum(value > cells[BEST] for value in cells.values())
    other = {"AT-RI available 18": found.get("AT-RI available 18")}
    return (
        {f"99 % {name}": value for name, value in factors(runs, at_99=True).items()}
        | found
        | other
        | {
            "cells": len(cells),
            "cells_above_one_share": above_one(cells),
            "live_cells_above_one_share": above_one(
                {name: one for name, one in cells.items() if not name.endswith(DEAD)}
            ),
            "AT-RI_18_rank_share": rank / len(cells),
            "at_over_ft": at_over_ft(cells, ""),
            "at_over_ft_FI": at_over_ft(cells, "FI"),
            "at_over_ft_RI": at_over_ft(cells, "RI"),
        }
    )


def above_one(cells: Mapping[str, float]) -> float:
    """The share of the cells above 1."""
    return sum(value > 1 for value in cells.values()) / len(cells)


def at_over_ft(cells: Mapping[str, float], law: str) -> float | None:
    """The geometric mean over settings of F_C of AT over that of FT; of one rate law, or of both."""
    pairs = ((name, f"FT{name.removeprefix('AT')}") for name in cells if name.startswith(f"AT-{law}"))
    return geometric(cells[at] / cells[ft] for at, ft in pairs if ft in cells)


def draw(seeds: Seeds, file: Path) -> None:
    rows = {at_99: _mean(seeds, at_99=at_99) for at_99 in (False, True)}
    every = [value for found in rows.values() for value in found.values()]
    top = max(abs(np.log2(value)) for value in every) or 1
    with plot.picture(file, f"Figure 5: control factor (paper: {PAPER} for AT-RI, m = 18, framed)", 10.5, 6) as made:
        grid: Any = made.subplots(2, 2, gridspec_kw={"width_ratios": (len(FI_SHIFTS), len(RI_SHIFTS))})
        for (at_99, found), line in zip(rows.items(), grid, strict=True):
            what = "99 % values" if at_99 else "averages"
            for axes, law, shifts in zip(line, ("FI", "RI"), (FI_SHIFTS, RI_SHIFTS), strict=True):
                image = _heat(axes, found, law, shifts, top)
                axes.set_title(f"{law}, {what}")
        bar = made.colorbar(image, ax=grid, shrink=0.8, label="F_C (above 1: throttling helps)")
        near = (0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.3)
        wanted = near if top < 0.6 else (0.125, 0.25, 0.5, 0.7, 1, 1.4, 2, 4, 8)
        ticks = [tick for tick in wanted if abs(np.log2(tick)) <= top]
        bar.set_ticks([float(np.log2(tick)) for tick in ticks], labels=[f"{tick:g}" for tick in ticks])


def _mean(seeds: Seeds, *, at_99: bool) -> dict[str, float]:
    found = [factors(runs, at_99=at_99) for runs in seeds]
    return {name: mean([one[name] for one in found]) for name in found[0]}


def _heat(axes: Axes, found: Mapping[str, float], law: str, shifts: Sequence[int], top: float) -> Any:
    """One strategy per row, one value of n or m per column."""
    rows = (*STRATEGIES, *AVAILABLE)
    names = [name for name in rows if f"-{law}" in name and any(f"{name} {shift}" in found for shift in shifts)]
    values = np.array([[found.get(f"{name} {shift}", np.nan) for shift in shifts] for name in names])
    image = axes.imshow(np.log2(values), cmap="PuOr_r", vmin=-top, vmax=top, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            dark = abs(np.log2(value)) > 0.65 * top
            axes.text(
                column, row, f"{value:.2f}", ha="center", va="center", size=7.5, color="white" if dark else "black"
            )
    axes.set_xticks(range(len(shifts)), [str(shift) for shift in shifts])
    axes.set_yticks(range(len(names)), [name.replace(" ", "\n") for name in names])
    axes.set_xlabel("n (m = 0)" if law == "FI" else "m (n = 0)")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    if law == "RI" and 18 in shifts:
        place = (shifts.index(18) - 0.5, names.index("AT-RI") - 0.5)
        axes.add_patch(Rectangle(place, 1, 1, fill=False, edgecolor=plot.BLACK, lw=2))
    return image


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    found = [factors(runs) for runs in seeds]
    found_99 = [factors(runs, at_99=True) for runs in seeds]
    rows = [_row("no throttling", NONE, seeds, "1", "1")]
    for name in found[0]:
        told = spread([one[name] for one in found])
        rows.append(_row(name, name, seeds, told, spread([one[name] for one in found_99])))
    headings = ("strategy, n or m", "F_C", "F_C of 99 %", "latency [µs]", "99 %", "bandwidth [MiB/s]", "99 %")
    title = "control factor, mean over seeds (least to most), and what it is made of, per process"
    return [NumberTable(title, headings, tuple(rows))]


def _row(label: str, name: str, seeds: Seeds, *factor: str) -> tuple[str, ...]:
    found = [beside(runs[name]) for runs in seeds]
    numbers = (
        [one.latency for one in found],
        [one.latency_99 for one in found],
        [one.bandwidth for one in found],
        [one.bandwidth_99 for one in found],
    )
    return (label, *factor, *(f"{mean(values):.4g}" for values in numbers))
