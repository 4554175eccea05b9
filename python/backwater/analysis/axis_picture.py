"""How a measure is drawn over what was varied: lines over numbers, bars of names, a map of two axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from backwater.analysis import pictures, plot
from backwater.common import quantities
from backwater.common.statistics import Estimate
from backwater.results.catalogue import Measure

#: Values that spread over more than this factor are drawn on a logarithmic axis.
_WIDE = 12.0
#: So many values of an axis have a tick each.
_FEW_TICKS = 8
#: How high a row of a map is, in inches.
_TALL = 0.28
#: As many panels stand beside each other.
_ACROSS = 3


@dataclass(frozen=True)
class Axis:
    """What was varied: its name, its values as they are written, and as numbers of a unit where they are such."""

    name: str
    words: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    unit: str = ""

    @property
    def label(self) -> str:
        """The name with its unit: on paper its last word."""
        name = self.name.rpartition(".")[2].replace("-", " ") if pictures.paper().width else self.name
        return f"{name} [{self.unit}]" if self.unit else name


@dataclass(frozen=True)
class Panel:
    """A measure of a traffic entry, of a scheme, or of the run (an empty name): means by line and place on the axes."""

    measure: Measure
    of: str
    lines: Mapping[str, Mapping[tuple[int, ...], Estimate]]

    @property
    def heading(self) -> str:
        """What it shows."""
        return f"{self.of}: {self.measure.words}" if self.of else self.measure.words


def overview(grid: Sequence[Sequence[Panel]], axes: Sequence[Axis], file: Path, *, title: str) -> Path:
    """All panels in one picture: a row for each measure, and those that are alone beside each other."""
    alone = [panel for row in grid if len(row) == 1 for panel in row]
    across = max(min(_ACROSS, len(alone)), *map(len, grid))
    grid = [row for row in grid if len(row) > 1] + [alone[at : at + across] for at in range(0, len(alone), across)]
    tall = 0.6 + _TALL * len(axes[0].words) if len(axes) > 1 else 1.6
    with plot.picture(
        file, title, 3.4 * across + 0.4, 0.9 + (tall + 0.35) * len(grid), x=0.01, ha="left", fontsize=10
    ) as made:
        panels: Any = made.subplots(len(grid), across, squeeze=False)
        for row, cells in zip(grid, panels, strict=True):
            for place, cell in enumerate(cells):
                if place >= len(row):
                    cell.set_axis_off()
                    continue
                _draw(cell, row[place], axes)
                cell.set_title(row[place].heading)
        _legend(made, panels[0][0])
    return file


def single(panel: Panel, axes: Sequence[Axis], file: Path) -> Path:
    """One panel, as wide as the paper."""
    width = plot.wide(3.4)
    height = 0.55 + _TALL * len(axes[0].words) if len(axes) > 1 else 0.62 * min(width, 4.5)
    with plot.picture(file, panel.heading, width, height + 0.25) as made:
        cell = made.subplots()
        _draw(cell, panel, axes)
        _legend(made, cell)
    return file


def _legend(made: Figure, cell: Axes) -> None:
    handles, labels = cell.get_legend_handles_labels()
    if len(labels) > 1:
        # A title stands above.
        place: Any = "outside lower center" if pictures.paper().width is None else "outside upper center"
        made.legend(handles, labels, loc=place, ncols=plot.legend_columns(made, labels))


def _draw(cell: Axes, panel: Panel, axes: Sequence[Axis]) -> None:
    if len(axes) > 1:
        _map(cell, panel, axes)
    elif axes[0].numbers:
        _lines(cell, panel, axes[0])
    else:
        _bars(cell, panel, axes[0])


def _scale(panel: Panel) -> tuple[float, str]:
    """What values are divided by, and the unit that they are in then: that of the largest one."""
    most = max((one.mean for line in panel.lines.values() for one in line.values()), default=0.0)
    unit = quantities.parted(panel.measure.show(most))[1]
    return quantities.UNITS[unit], unit


def _lines(cell: Axes, panel: Panel, axis: Axis) -> None:
    size, unit = _scale(panel)
    colours, markers = plot.scheme_colours(list(panel.lines)), plot.scheme_markers(list(panel.lines))
    logarithmic = is_geometric(axis.numbers)
    span = axis.numbers[-1] / axis.numbers[0] if logarithmic else max(axis.numbers) - min(axis.numbers)
    for number, (name, line) in enumerate(panel.lines.items()):
        # A little apart, so that intervals do not cover each other.
        aside = (number - (len(panel.lines) - 1) / 2) * 0.012
        places = sorted(line, key=lambda place: axis.numbers[place[0]])
        xs = [
            axis.numbers[place] * span**aside if logarithmic else axis.numbers[place] + aside * span
            for (place,) in places
        ]
        found = [line[place] for place in places]
        means = [one.mean / size for one in found]
        below = [(one.mean - one.low) / size for one in found]
        above = [(one.high - one.mean) / size for one in found]
        cell.errorbar(
            xs, means, yerr=(below, above), label=plot.label(name), color=colours[name], ls=plot.dashes(name),
            marker=markers[name], ms=4 if pictures.paper().width is None else 3, capsize=2, elinewidth=0.8,
        )  # fmt: skip
    if logarithmic:
        cell.set_xscale("log")
    if len(axis.numbers) <= _FEW_TICKS:
        cell.xaxis.set_major_locator(FixedLocator(sorted(axis.numbers)))
        cell.xaxis.set_minor_locator(NullLocator())
    cell.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    cell.set_xlabel(axis.label)
    _of_values(cell, panel, size, unit)


def _label(panel: Panel, unit: str) -> str:
    """What stands beside the axis of the measure; what needs more words has them in a second line."""
    words, aside = panel.measure.words, panel.measure.aside
    return (f"{words} [{unit}]" if unit else words) + (f"\n({aside})" if aside else "")


def is_geometric(numbers: Sequence[float]) -> bool:
    """Whether values rise by about equal ratios rather than by equal steps.

    >>> is_geometric([1, 2, 3]), is_geometric([1, 10, 100]), is_geometric([50, 100, 200]), is_geometric([0, 1, 10])
    (False, True, False, False)
    """
    found = sorted(numbers)
    if len(found) < 3 or found[0] <= 0 or found[-1] / found[0] < 8:
        return False
    steps = [later - earlier for earlier, later in pairwise(found)]
    ratios = [math.log(later / earlier) for earlier, later in pairwise(found)]
    return max(ratios) / min(ratios) < max(steps) / min(steps)


def _of_values(cell: Axes, panel: Panel, size: float, unit: str) -> None:
    """The axis of the measure: from 0, or of slowdowns from 1; where values spread widely logarithmic, around them."""
    cell.set_ylabel(_label(panel, unit))
    ends = [
        end / size for line in panel.lines.values() for one in line.values() for end in (one.low, one.high, one.mean)
    ]
    slowdown = "slowdown" in panel.measure.name and min(ends, default=1.0) >= 1
    positive = [end for end in ends if end > 0]
    means = [one.mean / size for line in panel.lines.values() for one in line.values()]
    least, most = min(means, default=0.0), max(means, default=0.0)
    # By the means, so that one seed and several are drawn alike.
    if (slowdown and most > _WIDE) or (least > 0 and most / least > 3 * _WIDE):
        cell.set_yscale("log")
        cell.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if max(positive) / min(positive) < 200 else (1,)))
        cell.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        cell.yaxis.set_minor_formatter(NullFormatter())
        cell.set_ylim(bottom=max(0.8 * min(least, *positive), 1 if slowdown else 0))
    else:
        bottom = 1 if slowdown else 0
        cell.set_ylim(bottom, bottom + 1.08 * (max(ends, default=0.0) - bottom) or 1)


def _bars(cell: Axes, panel: Panel, axis: Axis) -> None:
    """A group of bars for each name, one for each line, from 0, with intervals as whiskers."""
    size, unit = _scale(panel)
    names = list(panel.lines)
    alone = len(names) == 1
    colours = plot.scheme_colours(axis.words if alone else names)
    width = 0.8 / len(names)
    for number, name in enumerate(names):
        for (place,), one in panel.lines[name].items():
            x = place + (number - (len(names) - 1) / 2) * width
            cell.bar(
                x, one.mean / size, 0.9 * width, color=colours[axis.words[place] if alone else name], lw=0,
                label=plot.label(name) if place == min(panel.lines[name])[0] and not alone else None,
                hatch="////" if plot.is_combined(axis.words[place] if alone else name) else "", edgecolor="white",
            )  # fmt: skip
            if one.half_width:
                ends = ([(one.mean - one.low) / size], [(one.high - one.mean) / size])
                cell.errorbar(x, one.mean / size, yerr=ends, color=plot.GREY, capsize=2, lw=1)
    tilted = sum(map(len, axis.words)) > 8 * cell.get_figure().get_figwidth()  # type: ignore[union-attr]
    labels = [plot.label(word, 24) for word in axis.words]
    cell.set_xticks(range(len(labels)), labels, rotation=30 if tilted else 0, ha="right" if tilted else "center")
    cell.tick_params(axis="x", length=0)
    if axis.name:
        cell.set_xlabel(axis.label)
    cell.set_ylabel(_label(panel, unit))
    cell.set_ylim(bottom=0)


def _map(cell: Axes, panel: Panel, axes: Sequence[Axis]) -> None:
    """A colour and a number for each pair of values: the first axis upwards, the second to the right."""
    size, unit = _scale(panel)
    ((_, line),) = panel.lines.items()
    rows, across = axes
    order = [_rising(axis) for axis in axes]
    found = [[line.get((up, right)) for right in order[1]] for up in order[0]]
    values = [[math.nan if one is None else one.mean / size for one in row] for row in found]
    drawn = cell.pcolormesh(values, cmap="cividis", edgecolor="white", lw=0.5)
    for up, row in enumerate(values):
        for right, value in enumerate(row):
            if not math.isnan(value):
                red, green, blue, _ = drawn.to_rgba(np.array(value))
                dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5
                cell.text(right + 0.5, up + 0.5, _cell(found[up][right], size, few=len(row) <= _FEW_ACROSS),
                          ha="center", va="center", color="white" if dark else "black", fontsize=7)  # fmt: skip
    for axis, places, set_ticks in ((rows, order[0], cell.set_yticks), (across, order[1], cell.set_xticks)):
        words = [f"{axis.numbers[place]:g}" if axis.numbers else plot.label(axis.words[place], 24) for place in places]
        set_ticks([place + 0.5 for place in range(len(words))], words)
    cell.tick_params(length=0)
    cell.grid(visible=False)
    for side in cell.spines.values():
        side.set_visible(False)
    cell.set_ylabel(rows.label)
    cell.set_xlabel(across.label)
    bar = cell.figure.colorbar(drawn, ax=cell, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(_label(panel, unit))


#: So many cells of a map beside each other have room for intervals.
_FEW_ACROSS = 6


def _cell(one: Estimate | None, size: float, *, few: bool) -> str:
    """A mean, with half of its interval where there is room."""
    if one is None:
        return ""
    mean = quantities.three_digits(one.mean / size)
    return f"{mean}\n±{quantities.three_digits(one.half_width / size)}" if few and one.half_width else mean


def _rising(axis: Axis) -> list[int]:
    """The places of its values, smallest first; names stay as they are."""
    places = range(len(axis.words))
    return sorted(places, key=axis.numbers.__getitem__) if axis.numbers else list(places)
