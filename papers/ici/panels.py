"""How the figures of the ICI paper are drawn: a grid of panels, each with the six schemes in their colours.

Lines over time and distributions are those of the first seed; bars are means over the seeds, with a dot for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from backwater.analysis import plot
from backwater.common import quantities
from backwater.papers import Seeds
from backwater.results import Results
from backwater.results.measures import Series, end_ps
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from papers.ici import measured
from papers.ici.measured import BIN_PS, ISOLATING, NOTIFYING, SCHEMES
from papers.ici.times import Times

Panel = Callable[[Axes, Seeds], None]

Scale = Literal["linear", "log", "counts"]

LABELS = {"none": "none"} | {scheme: scheme.upper() for scheme in SCHEMES[1:]}


def colour(scheme: str) -> str:
    """A scheme's colour, the same in every picture."""
    return plot.SCHEME_COLOURS[scheme]


def draw_grid(
    rows: Sequence[Sequence[Panel]], seeds: Seeds, file: Path, *, title: str, schemes: Sequence[str] = SCHEMES
) -> None:
    """One picture of panels, with the schemes in one legend below."""
    columns = max(len(row) for row in rows)
    with plot.picture(file, title, 3.9 * columns, 2.75 * len(rows) + 0.8) as made:
        grid = made.subplots(len(rows), columns, squeeze=False)
        for row, panels in zip(grid, rows, strict=True):
            for axes, panel in zip(row, panels, strict=False):
                panel(axes, seeds)
            for axes in row[len(panels) :]:
                axes.set_axis_off()
        handles = [Line2D([], [], color=colour(one), ls=plot.dashes(one), label=LABELS[one]) for one in schemes]
        made.legend(handles=handles, loc="outside lower center", ncols=len(handles), handlelength=3)


def over_time(
    values: Callable[[Results], Series],
    title: str,
    unit: str,
    schemes: Sequence[str] = SCHEMES,
    scale: Scale = "linear",
    *,
    periods: int = 1,
) -> Panel:
    """A series per scheme, as steps of the mean over so many periods, until a little after the shortest run's end."""

    def panel(axes: Axes, seeds: Seeds) -> None:
        every: list[float] = []
        for scheme in schemes:
            found = values(seeds[0][scheme])
            starts = range(0, len(found.value), periods)
            means = [float(found.value[start : start + periods].mean()) for start in starts]
            edges = np.append(found.time_ps[::periods], found.time_ps[-1:] + BIN_PS) / 1e9
            axes.stairs(means, edges, color=colour(scheme), ls=plot.dashes(scheme), lw=1.2, baseline=None)
            every += means
        ends = [end_ps(run) / 1e9 for run in seeds[0].values()]
        axes.set_xlim(0, min(max(ends), 1.25 * min(ends)))
        scaled(axes, every, scale)
        axes.set_title(title)
        axes.set_xlabel("time [ms]")
        axes.set_ylabel(unit)

    return panel


def distribution(times: Callable[[Results], Times], title: str, unit: str, *, tail: bool = False) -> Panel:
    """The share of values up to x; with `tail` the share above, on a logarithmic scale."""

    def panel(axes: Axes, seeds: Seeds) -> None:
        for scheme in SCHEMES:
            found = times(seeds[0][scheme])
            # The largest value has nothing above it, which a logarithmic scale cannot show.
            share = 1 - found.upto[:-1] if tail else found.upto
            axes.plot(found.values[: len(share)], share, color=colour(scheme), ls=plot.dashes(scheme), lw=1.2)
        axes.set_xscale("log")
        if tail:
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, 1.02)
        axes.set_title(title)
        axes.set_xlabel(unit)
        axes.set_ylabel("share above" if tail else "share up to")

    return panel


def bars(
    value: Callable[[Results], float | None],
    title: str,
    unit: str,
    schemes: Sequence[str] = SCHEMES,
    *,
    scale: Scale = "linear",
) -> Panel:
    """A number per scheme; a scheme without it has no bar."""

    def panel(axes: Axes, seeds: Seeds) -> None:
        every: list[float] = []
        for place, scheme in enumerate(schemes):
            values = [found for runs in seeds if (found := value(runs[scheme])) is not None]
            if not values:
                axes.text(place, 0, "not done", rotation=90, ha="center", va="bottom", fontsize=7)
                continue
            every += values
            bar(axes, place, values, colour(scheme))
        _named(axes, schemes)
        scaled(axes, every, scale)
        axes.set_title(title)
        axes.set_ylabel(unit)

    return panel


def bar(axes: Axes, at: float, values: Sequence[float], of_colour: str, *, width: float = 0.7, hatch: str = "") -> None:
    """A bar as high as the mean over the seeds, which stands above it, with a dot for each."""
    mean = sum(values) / len(values)
    axes.bar(at, mean, width, color=of_colour, alpha=0.7, hatch=hatch)
    axes.plot([at] * len(values), values, "o", ms=2.5, color=plot.BLACK, clip_on=False, alpha=0.6)
    axes.annotate(shown(mean), (at, max(values)), (0, 2), textcoords="offset points", ha="center", size=7)


def shown(value: float) -> str:
    """A number above a bar."""
    return f"{value:.3g}" if value < 1000 else quantities.count(value)


def scaled(axes: Axes, values: Sequence[float], scale: Scale) -> None:
    """The scale of bars, with room for the numbers above them: `counts` is logarithmic, but begins with 0."""
    top = max(values, default=0) or 1
    if scale == "linear":
        axes.set_ylim(0, 1.15 * top)
    elif scale == "counts":
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(0, max(2.2 * top, 2))
    else:
        axes.set_yscale("log")
        axes.set_ylim(min(values) / 2, 1.8 * top)


def _named(axes: Axes, schemes: Sequence[str]) -> None:
    axes.set_xticks(range(len(schemes)), [LABELS[scheme] for scheme in schemes], fontsize=6.5)
    axes.tick_params(axis="x", length=0)


def pauses_by_lane(axes: Axes, seeds: Seeds) -> None:
    """PAUSEs per virtual lane: where flows are isolated those of normal flows below, of isolated flows above."""
    every: list[float] = []
    for place, scheme in enumerate(SCHEMES):
        found = [measured.pauses_by_class(runs[scheme]) for runs in seeds]
        bottom = 0.0
        for number, priority in enumerate(sorted({key for one in found for key in one}, reverse=True)):
            mean = sum(one.get(priority, 0) for one in found) / len(found)
            isolated = scheme in ISOLATING and priority != _monitored(seeds[0][scheme])
            hatch = "////" if isolated else ""
            axes.bar(place, mean, 0.7, bottom=bottom, color=colour(scheme), alpha=0.7 - 0.25 * number, hatch=hatch)
            bottom += mean
        totals = [sum(one.values()) for one in found]
        every += totals
        axes.plot([place] * len(totals), totals, "o", ms=2.5, color=plot.BLACK, clip_on=False, alpha=0.6)
        axes.annotate(shown(bottom), (place, max(totals)), (0, 2), textcoords="offset points", ha="center", size=7)
    _named(axes, SCHEMES)
    scaled(axes, every, "linear")
    axes.set_title("PAUSEs sent (hatched: isolated flows' lane)")
    axes.set_ylabel("PAUSEs")


def _monitored(run: Results) -> int:
    """The priority of the flows, which isolation watches."""
    priority = run.meta["scenario"]["switch"]["isolation"].get("priority")
    return int(priority) if priority is not None else 3


def becns_and_peaks(axes: Axes, seeds: Seeds) -> None:
    """BECNs in all, and the most of any period, hatched."""
    every: list[float] = []
    for place, scheme in enumerate(NOTIFYING):
        for side, count, hatch in ((-1, measured.becns, ""), (1, measured.becn_peak, "////")):
            values = [count(runs[scheme]) for runs in seeds]
            every += values
            bar(axes, place + side * 0.2, values, colour(scheme), width=0.38, hatch=hatch)
    _named(axes, NOTIFYING)
    scaled(axes, every, "counts")
    axes.set_title("BECNs (hatched: most in 50 µs)")
    axes.set_ylabel("BECNs")


def background(periods: int = 1) -> Panel:
    """What the background gets over time."""
    return over_time(
        lambda run: measured.gbps(run, tree=False), "background (victims)", "throughput [Gbps]", periods=periods
    )


def hot(periods: int = 1) -> Panel:
    """What the hot flows get over time."""
    return over_time(lambda run: measured.gbps(run, tree=True), "hot flows", "throughput [Gbps]", periods=periods)


#: Panels that several figures have.
BECNS = over_time(lambda run: measured.series(run, "cnps"), "BECNs", "BECNs per 50 µs", NOTIFYING, "counts")
MARKS = over_time(
    lambda run: measured.series(run, "ce_packets"),
    "ECN marks, as they arrive",
    "packets per 50 µs",
    NOTIFYING,
    "counts",
)
SLOTS = over_time(measured.slots, "slots in use at the fullest switch", "slots", ISOLATING)
REFUSALS = bars(measured.refusals, "flows that found no slot", "refusals", ISOLATING, scale="counts")
JAIN = bars(measured.jain, "fairness among hot sources", "Jain's index")
VICTIMS = bars(measured.victim_marks, "marks on the background's packets", "packets", NOTIFYING, scale="counts")
