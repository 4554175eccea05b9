"""How the slowdown of schemes by flow size is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from backwater.analysis import pictures, plot, scheme_slowdown
from backwater.analysis.slowdown import Base
from backwater.common import percentiles


def draw(table: pl.DataFrame, file: Path, *, title: str, base: Base = "alone") -> Path:
    """Median and 99th percentile of the slowdown over the flow size, one line per scheme, 95 % intervals as bars.

    Flows of one size have no line: there it is a point per scheme, one below the other.
    """
    bins = table.filter(pl.col("bin") != "all sizes")
    labels = bins["bin"].unique(maintain_order=True).to_list()
    if len(labels) == 1:
        return _draw_one_size(bins, file, title=title, base=base)
    across = plot.columns(2)
    width = plot.wide(max(7.0, 0.62 * len(labels) * 2))
    with plot.picture(file, title, width, 3.6 if across > 1 else 4.6, x=0.01, ha="left", fontsize=10) as made:
        panels: Any = made.subplots(2 // across, across, sharex=across == 1)
        for axes, (name, heading) in zip(panels, _panels(bins), strict=True):
            _panel(axes, bins, labels, name)
            axes.set_title(textwrap.fill(heading, _TITLE))
            axes.set_ylabel(_slowdown(base))
        for axes in panels[2 - across :]:
            axes.set_xlabel("flow size")
        handles, names = panels[0].get_legend_handles_labels()
        if across == 1:
            made.legend(handles, names, loc="outside upper center", ncols=plot.legend_columns(made, names))
        elif len(names) > scheme_slowdown.FEW:
            made.legend(handles, names, loc="outside right center")
        else:
            panels[0].legend()
    return file


def _draw_one_size(bins: pl.DataFrame, file: Path, *, title: str, base: Base) -> Path:
    names = bins["scheme"].unique(maintain_order=True).to_list()
    colours, markers = plot.scheme_colours(names), plot.scheme_markers(names)
    flows = "all flows" if bins["bin"][0] == _WHOLE else f"flows of {bins['bin'][0]}"
    across = plot.columns(2)
    headings = {name: textwrap.fill(f"{heading}, {flows}", _TITLE) for name, heading in _panels(bins)}
    lines = max(heading.count("\n") for heading in headings.values())
    height = (1.5 if across > 1 else 2.0) + 0.28 * len(names) * 2 / across + 0.2 * lines
    with plot.picture(file, title, plot.wide(7.4), height, x=0.01, ha="left", fontsize=10) as made:
        panels: Any = made.subplots(2 // across, across, sharey=True)
        for axes, (name, heading) in zip(panels, headings.items(), strict=True):
            for row in bins.filter(pl.col(name).is_not_null()).to_dicts():
                mean, scheme = row[name], row["scheme"]
                width = ([mean - row[f"{name}_low"]], [row[f"{name}_high"] - mean])
                place = names.index(scheme)
                axes.errorbar(mean, place, xerr=width, color=colours[scheme], marker=markers[scheme], capsize=2)
            axes.set_title(heading)
            axes.set_xlabel(_slowdown(base))
            axes.set_xscale("log")
            axes.set_xlim(left=_LEAST)
            _plain_numbers(axes.xaxis, axes.get_xlim()[1])
            axes.set_yticks(range(len(names)), [plot.label(name) for name in names])
            axes.set_ylim(len(names) - 0.5, -0.5)
    return file


#: So many letters of a title fit over a panel.
_TITLE = 44
#: The one bin that has every flow.
_WHOLE = "≥ 0 B"
#: Where a logarithmic axis of slowdowns begins: nothing is below 1.
_LEAST = 0.95


#: Up to this slowdown an axis has finer ticks.
_CLOSE = 3.5


def _panels(bins: pl.DataFrame) -> list[tuple[str, str]]:
    """The column and the title of each panel: of a percentile of too few flows the slowest flow takes its place."""
    whole = f"99th percentile, of {percentiles.least(99)} flows or more"
    if not scheme_slowdown.too_few(bins, "p99"):
        return [("median", "median"), ("p99", "99th percentile")]
    if bins["p99"].null_count() < bins.height:
        return [("median", "median"), ("p99", whole)]
    counts = bins.select(pl.col("least_flows").min(), pl.col("most_flows").max()).row(0)
    of = " to ".join(map(str, dict.fromkeys(counts)))
    return [("median", "median"), ("max", f"slowest of {of} flows of a run")]


def _slowdown(base: Base) -> str:
    of = "FCT alone" if base == "alone" else "analytic base"
    return f"slowdown ({of} = 1)" if pictures.paper().narrow else f"FCT slowdown ({of} = 1)"


def _plain_numbers(axis: Any, most: float) -> None:
    """Numbers such as 0.5 and 20 on a logarithmic axis, also if it spans less than a decade."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if most > _CLOSE else (1, 1.2, 1.5, 2, 3)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _panel(axes: Axes, bins: pl.DataFrame, labels: Sequence[str], name: str) -> None:
    names = bins["scheme"].unique(maintain_order=True).to_list()
    colours, markers = plot.scheme_colours(names), plot.scheme_markers(names)
    for number, scheme in enumerate(names):
        rows = bins.filter(pl.col("scheme") == scheme, pl.col(name).is_not_null())
        # A little apart, so that intervals do not cover each other.
        place = [labels.index(word) + (number - (len(names) - 1) / 2) * 0.08 for word in rows["bin"]]
        mean, low, high = (rows[f"{name}{end}"].to_numpy() for end in ("", "_low", "_high"))
        colour = colours[scheme]
        axes.errorbar(
            place,
            mean,
            yerr=(mean - low, high - mean),
            label=plot.label(scheme),
            color=colour,
            ls="",
            marker=markers[scheme],
            ms=4,
            capsize=2,
        )
        for (left, right), (one, other) in zip(pairwise(range(rows.height)), pairwise(rows["entries"]), strict=True):
            # What has no traffic in common is no curve.
            if set(one.split(", ")) & set(other.split(", ")):
                axes.plot([place[left], place[right]], [mean[left], mean[right]], color=colour, ls=plot.dashes(scheme))
    axes.set_yscale("log")
    axes.set_ylim(bottom=_LEAST)
    _plain_numbers(axes.yaxis, axes.get_ylim()[1])
    axes.set_xticks(range(len(labels)), labels, rotation=40, ha="right")
