"""The heat map of a grid of thresholds: how long the jobs take, and how many PAUSEs there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Rectangle

from backwater.analysis import pictures, plot
from backwater.analysis.advice import CLIFF, Grid, Place, Point, shown
from backwater.common import quantities


def draw(grid: Grid, file: Path, title: str) -> Path:
    """Two maps beside each other; with one axis they have one row."""
    across = len(grid.axes[0].labels)
    up = len(grid.axes[1].labels) if len(grid.axes) > 1 else 1
    width, height = plot.wide(max(8.0, 1.9 * across)), 2.2 + 0.55 * up
    # Beside each other, or in a column of a journal below each other.
    below = pictures.paper().narrow
    with plot.picture(file, title, width, height * (1.7 if below else 1), fontsize=11, fontweight="bold") as made:
        left, right = made.subplots(2 if below else 1, 1 if below else 2, sharey=True, squeeze=False).flat
        _map(left, grid, lambda point: point.mean, lambda value: shown(grid, value), _title(grid))
        _map(right, grid, lambda point: point.mean_pauses, _count, "PAUSEs a run")
        left.set_ylabel(grid.axes[1].name if len(grid.axes) > 1 else "")
        frames = "frame: as it is now" if grid.advised is None else "frame: as it is now · bold frame: advised"
        if grid.advised == grid.now:
            frames = "bold frame: as it is now, and advised"
        refused = any(point.refused for point in grid.points.values())
        signs = frames, "dot: plateau · —: cannot be run" if refused else "dot: plateau"
        made.supxlabel(("\n" if below else " · ").join(signs), fontsize=8, color=plot.GREY)
    return file


def _title(grid: Grid) -> str:
    if len(grid.jobs) > 1:
        what = grid.counted[0] if len(grid.counted) == 1 else "geometric mean of the jobs"
        return f"time: {what}, mean over seeds"
    return "time, mean over seeds" if grid.objective == "time" else f"{grid.objective}, mean over seeds"


def _count(value: float) -> str:
    return quantities.three_digits(value) if 0 < value < 10 else quantities.count(value)


def _map(axes: Axes, grid: Grid, value: Callable[[Point], float], text: Callable[[float], str], title: str) -> None:
    wide = len(grid.axes[0].labels)
    high = len(grid.axes[1].labels) if len(grid.axes) > 1 else 1
    cells = np.full((high, wide), math.nan)
    for place, point in grid.points.items():
        number = value(point)
        cells[_row(place), place[0]] = math.nan if point.refused or math.isinf(number) else number
    known = cells[np.isfinite(cells)]
    # Dark is bad in both maps, also in grey. Numbers that differ a lot are told apart by their logarithm.
    apart = known.size and known.min() > 0 and known.max() / known.min() > 20
    norm: Normalize = LogNorm() if apart else Normalize(vmin=0)
    if not (apart or title.startswith("PAUSE")) and known.size:
        # What is less than a cliff above the best is not dark.
        norm = Normalize(vmin=known.min(), vmax=max(known.max(), CLIFF * known.min()))
    image = axes.imshow(cells, cmap="cividis_r", norm=norm, origin="lower", aspect="auto")
    axes.set_facecolor("#F2F2F2")
    for place, point in grid.points.items():
        number = value(point)
        shade = (
            float(np.ma.filled(image.norm(np.array([number])), 0.0)[0])
            if math.isfinite(number) and not point.refused
            else 0.0
        )
        told = "—" if point.refused else "no end" if math.isinf(number) else text(number)
        dots = "\n·" if place in grid.plateau else ""
        colour = "white" if shade > 0.55 else plot.BLACK
        axes.text(place[0], _row(place), told + dots, ha="center", va="center", fontsize=8, color=colour)
    _frame(axes, grid.now, 1.2)
    if grid.advised is not None:
        _frame(axes, grid.advised, 3.0)
    axes.set_xticks(
        range(wide), grid.axes[0].labels, rotation=30 if wide > 4 else 0, ha="right" if wide > 4 else "center"
    )
    axes.set_yticks(range(high), grid.axes[1].labels if len(grid.axes) > 1 else [""])
    axes.set_xlabel(grid.axes[0].name)
    axes.set_title(title, fontweight="normal", fontsize=9)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)


def _row(place: Place) -> int:
    return place[1] if len(place) > 1 else 0


def _frame(axes: Axes, place: Place, width: float) -> None:
    corner = (place[0] - 0.47, _row(place) - 0.47)
    axes.add_patch(Rectangle(corner, 0.94, 0.94, fill=False, edgecolor=plot.VERMILLION, linewidth=width))
