"""The pictures of GPCNeT: how many processes have which latency and bandwidth, and how much worse tests get."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from backwater.analysis import gpcnet, gpcnet_tables, plot
from backwater.analysis.gpcnet import Measured, Phase, Test
from backwater.results import Results

#: The value of every process, by scheme.
Values = Mapping[str, NDArray[np.float64]]

#: Intervals of a histogram.
_BINS = 32
#: Values that spread over more than this factor are drawn on a logarithmic axis.
_WIDE = 12.0
_AXES = {"lat": "latency of a process [µs]", "bw": "bandwidth of a process [MiB/s]"}
_TITLES = {"lat": "Random-ring latency", "bw": "Random-ring bandwidth"}
_SHORT = {"lat": "latency", "bw": "bandwidth", "allreduce": "allreduce"}


def draw(runs: Mapping[str, Sequence[Results]], measured: Mapping[str, Sequence[Measured]], file: Path) -> Path:
    """A row per scheme: histograms of latency and bandwidth beside congestors, and the impact factors.

    All seeds of a scheme are in one histogram. The ending of `file` chooses the format.
    """
    first = next(iter(measured.values()))[0]
    tests = [test for test in first.tests if test.key in _AXES]
    names = list(runs)
    colours = plot.scheme_colours(names)
    factors = {name: _factors(seeds) for name, seeds in measured.items()}
    with_factors = any(factors.values())
    columns = len(tests) + with_factors
    seeds = len(next(iter(runs.values())))
    title = f"GPCNeT: processes by their latency and bandwidth{f', {seeds} seeds together' if seeds > 1 else ''}"
    below = plot.columns(1, columns)
    height = 1.05 * len(names) + 1.3 if below == 1 else (0.62 * len(names) + 0.45) * len(tests) + 0.6
    tall = 0.85 * len(names) + 0.45 if with_factors else 0.0
    height += tall if below > 1 else 0.0
    with plot.picture(file, title, plot.wide(3.3 * columns + 0.6), height, x=0.01, ha="left", fontsize=11) as made:
        ratios = [0.62 * len(names) + 0.45] * len(tests) + [tall] * with_factors
        # In a column of a journal the columns stand below each other.
        parts: Any = [made] if below == 1 else [*made.subfigures(below, 1, squeeze=False, height_ratios=ratios)[:, 0]]
        blocks = [
            part.subplots(len(names), columns // below, squeeze=False, sharex="col", sharey="col") for part in parts
        ]
        grid: Any = np.concatenate(blocks, axis=1)
        for column, test in enumerate(tests):
            _column(grid[:, column], test, runs, colours)
        if with_factors:
            _impacts(grid[:, -1], factors, colours)
        for row, name in zip(grid, names, strict=True):
            for axes in row[: below - with_factors if below > 1 else 1]:
                axes.set_ylabel(f"{name}\n\nprocesses" if below == 1 else plot.label(name, 12))
        for part in parts:
            part.align_ylabels()
        _legend(parts[-1], first)
    return file


def processes(runs: Sequence[Results], phase: Phase, test: Test) -> NDArray[np.float64]:
    """The average of every process in a test, over the runs of one scheme; none of a phase that was not run."""
    found = [gpcnet.per_rank(test, gpcnet.timings(run, phase, test.key))["value"].to_numpy() for run in runs]
    return np.concatenate(found) if found else np.empty(0)


def bins(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Edges of intervals that hold all values: equal ones, or equal factors where the values spread widely."""
    every = np.concatenate([np.asarray(part) for part in values])
    low, high = float(every.min()), float(every.max())
    if low > 0 and high / low > _WIDE:
        return np.geomspace(low, high * 1.0001, _BINS + 1)
    room = (high - low) or max(high, 1.0)
    return np.linspace(max(0.0, low - 0.02 * room), high + 0.02 * room, _BINS + 1)


def _column(panels: Any, test: Test, runs: Mapping[str, Sequence[Results]], colours: Mapping[str, str]) -> None:
    beside, alone = ({name: processes(seeds, phase, test) for name, seeds in runs.items()} for phase in _ORDER)
    every = [values for found in (beside, alone) for values in found.values() if len(values)]
    if not every:
        return
    edges = bins(every)
    wide = edges[-1] - edges[-2] > 1.5 * (edges[1] - edges[0])
    for axes, name in zip(panels, runs, strict=True):
        histogram(axes, beside[name], edges, colours[name])
        if len(alone[name]):
            axes.axvline(float(alone[name].mean()), color=plot.GREY, lw=1.4)
        if wide:
            _logarithmic(axes)

    panels[0].yaxis.set_major_locator(MaxNLocator(4, integer=True))
    panels[0].set_title(_TITLES[test.key])
    panels[-1].set_xlabel(_AXES[test.key] + (", logarithmic" if wide else ""))


_ORDER: tuple[Phase, Phase] = ("congested", "isolated")


def histogram(axes: Axes, values: NDArray[np.float64], edges: NDArray[np.float64], colour: str) -> None:
    """How many processes are in each interval, with their mean as a line."""
    if not len(values):
        return
    axes.hist(values, bins=edges.tolist(), color=colour, lw=0)
    axes.axvline(
        float(values.mean()), color=plot.VERMILLION if colour != plot.VERMILLION else plot.BLACK, lw=1, ls="--"
    )


def _logarithmic(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _factors(seeds: Sequence[Measured]) -> dict[str, float]:
    """By test and what it is of, the mean impact factor; those that have no bound are left out."""
    found: dict[str, float] = {}
    for test in seeds[0].tests:
        both = gpcnet_tables.factors(seeds, test.key)
        for what, value in zip(("Avg", "99 %"), both or (), strict=False):
            if math.isfinite(value):
                found[f"{_SHORT[test.key]} {what}"] = value
    return found


def _impacts(panels: Any, factors: Mapping[str, Mapping[str, float]], colours: Mapping[str, str]) -> None:
    labels = list(dict.fromkeys(label for found in factors.values() for label in found))
    most = max(value for found in factors.values() for value in found.values())
    wide = most > _WIDE
    for axes, (name, found) in zip(panels, factors.items(), strict=True):
        for place, label in enumerate(labels):
            if label in found:
                value = found[label]
                left = min(1.0, value)
                axes.barh(place, max(value - left, 1e-9), left=left, color=colours[name], height=0.75)
                axes.annotate(f"{value:.1f}", (max(value, 1.0), place), (3, 0), textcoords="offset points", va="center",
                              fontsize=6.5)  # fmt: skip
        axes.axvline(1, color=plot.GREY, lw=0.8)
        axes.set_yticks(range(len(labels)), labels, fontsize=6.5)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.grid(visible=False)
        if wide:
            _logarithmic(axes)
        axes.set_xlim(
            min(0.9, *(value for one in factors.values() for value in one.values())) * 0.98,
            most**1.12 if wide else most * 1.12,
        )
    panels[0].set_title("Congestion impact factor")
    panels[-1].set_xlabel("times worse than alone (1: no harm)" + (", log." if wide else ""))


def _legend(made: Any, measured: Measured) -> None:
    handles: list[Any] = [
        Patch(facecolor=plot.SKY, label="beside congestors (in the colour of the scheme)"),
        Line2D([], [], color=plot.VERMILLION, ls="--", lw=1, label="its mean"),
    ]
    if measured.metrics["isolated"]:
        handles.append(Line2D([], [], color=plot.GREY, lw=1.4, label="mean alone"))
    made.legend(handles=handles, loc="outside lower center", ncols=plot.columns(len(handles)))
