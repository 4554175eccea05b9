"""How Figures 16 and 19 are drawn: slowdown over flow size, a panel per workload; and the gains of the headline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from backwater.analysis import plot, slowdown
from backwater.common.statistics import estimate
from backwater.papers import Runs, Seeds
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from papers.tcd.slowdowns import CUTS, PERCENTILES, SCHEMES, WORKLOADS, gains, name, parts

#: Line style and marker of each percentile.
STYLES = {"median": ("-", "o"), "p95": ("--", "s"), "p99": (":", "^")}
LABELS = {"median": "median", "p95": "95th percentile", "p99": "99th percentile"}
#: Where the flow sizes of each table begin to be many, in bytes; the axes start there.
FROM_BYTES = {"hadoop": 200, "web-search": 3_000}


@dataclass(frozen=True)
class Printed:
    """A slowdown that the paper's text prints for all flows of a workload smaller than a size."""

    workload: str
    scheme: str
    percentile: str
    below_bytes: int
    value: float


def draw_slowdowns(
    seeds: Seeds, controller: str, printed: Sequence[Printed], shown: Sequence[Part], file: Path, *, title: str
) -> None:
    """Percentiles of the slowdown over flow size, without TCD and with it, and what the difference is due to."""
    with plot.picture(file, title, 9.6, 8.2) as made:
        above, below = made.subfigures(2, 1, height_ratios=[1.3, 1])
        top(above, seeds, controller, printed)
        axes = below.subplots()
        parts_panel(axes, seeds, controller, shown)
        axes.legend()


def top(made: SubFigure, seeds: Seeds, controller: str, printed: Sequence[Printed]) -> None:
    """The paper's two panels, with their legend."""
    panels = made.subplots(1, len(WORKLOADS))
    slowdown_panels(panels, seeds, controller, printed)
    made.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", handlelength=3.2, ncols=2)


def slowdown_panels(panels: Iterable[Axes], seeds: Seeds, controller: str, printed: Sequence[Printed]) -> None:
    """A panel for each workload.

    The mean over the seeds, with its 95 % confidence interval as a band around the median and the 99th percentile.
    """
    for axes, (workload, label) in zip(panels, WORKLOADS.items(), strict=True):
        for scheme in (controller, f"{controller}+tcd"):
            _lines(axes, seeds, workload, scheme)
        for text in printed:
            if text.workload == workload:
                _level(axes, text)
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_numbers(axes)
        axes.set_title(label)
        axes.set_xlabel("flow size [bytes]")
        axes.set_ylabel("FCT slowdown, authors' base")


@dataclass(frozen=True)
class Part:
    """A gain that is shown for TCD and for each of its two changes alone."""

    workload: str
    percentile: str
    side: str
    cut: str

    @property
    def label(self) -> str:
        """Its name under a bar."""
        sign = "<" if self.side == "under" else "≥"
        return f"{WORKLOADS[self.workload]}\n{self.percentile}, {sign} {self.cut[:-2]} {self.cut[-2:]}"


def parts_panel(axes: Axes, seeds: Seeds, controller: str, shown: Sequence[Part]) -> None:
    """What each of the two changes of TCD does by itself; bars from 1, with the 95 % confidence interval."""
    tcd = SCHEMES[f"{controller}+tcd"]
    schemes = {"TCD": f"{controller}+tcd"} | parts(controller)
    names = {
        "TCD": tcd,
        "cut_alone": f"its cut alone, with {SCHEMES[controller]}",
        "detector_alone": "its detector alone",
    }
    colours = {"TCD": plot.SCHEME_COLOURS[tcd], "cut_alone": plot.VERMILLION, "detector_alone": plot.SKY}
    for index, (part, scheme) in enumerate(schemes.items()):
        for place, what in enumerate(shown):
            found = estimate([_gain_of(runs, controller, scheme, what) for runs in seeds])
            at = place + (index - 1) * 0.27
            label = names[part] if place == 0 else None
            axes.bar(at, found.mean - 1, 0.25, bottom=1, color=colours[part], label=label)
            axes.plot([at, at], [found.low, found.high], color=plot.BLACK, lw=0.9)
    axes.axhline(1, color=plot.GREY, lw=0.8)
    axes.set_xticks(range(len(shown)), [what.label for what in shown], fontsize=7)
    axes.set_ylabel(f"slowdown with {SCHEMES[controller]} / with this")
    axes.set_title("What it is due to")


def _gain_of(runs: Runs, controller: str, scheme: str, what: Part) -> float:
    frames = [slowdown.flows(runs[name(what.workload, of)], base="analytic") for of in (controller, scheme)]
    found = gains(frames[0], frames[1], {what.cut: CUTS[what.workload][what.cut]})
    value = found[f"{what.percentile}_gain_{what.side}_{what.cut}"]
    return math.nan if value is None else value


def draw_gains(seeds: Seeds, controllers: Sequence[str], paper: Mapping[str, float], file: Path, *, title: str) -> None:
    """How many times better a percentile is with TCD, over flow size; a panel for each percentile of `paper`."""
    with plot.picture(file, title, 9.6, 4.2) as made:
        panels = made.subplots(1, len(paper), sharey=True)
        for axes, (percentile, value) in zip(panels, paper.items(), strict=True):
            for controller in controllers:
                for workload in WORKLOADS:
                    _gain(axes, seeds, workload, controller, percentile)
            axes.axhline(1, color=plot.GREY, lw=0.8)
            axes.set_yscale("log")
            plain_numbers(axes)
            axes.axhline(value, color=plot.VERMILLION, ls="--", lw=1)
            axes.text(
                1, value, f"paper: {value}", transform=axes.get_yaxis_transform(), ha="right", va="bottom", size=8
            )
            axes.set_xscale("log")
            axes.set_title(LABELS[percentile])
            axes.set_xlabel("flow size [bytes]")
            axes.set_ylabel("slowdown without TCD / with TCD")
            axes.tick_params(labelleft=True)
        made.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", handlelength=3, ncols=4)


def _lines(axes: Axes, seeds: Seeds, workload: str, scheme: str) -> None:
    frames = [slowdown.flows(runs[name(workload, scheme)], base="analytic") for runs in seeds]
    edges = slowdown.EDGES[workload]
    table = slowdown.by_size(frames, edges).join(sizes(frames, edges), on="low_bytes", maintain_order="left")
    at = table["median_size"]
    colour = plot.SCHEME_COLOURS[SCHEMES[scheme]]
    for percentile in PERCENTILES:
        style, marker = STYLES[percentile]
        label = f"{SCHEMES[scheme]}, {LABELS[percentile]}"
        axes.plot(at, table[percentile], ls=style, marker=marker, ms=3, color=colour, label=label)
        if percentile != "p95":
            low = table[f"{percentile}_low"].clip(lower_bound=1)
            axes.fill_between(at, low, table[f"{percentile}_high"], color=colour, alpha=0.12, lw=0)


def sizes(frames: Sequence[pl.DataFrame], edges: Sequence[int]) -> pl.DataFrame:
    """By bin (``low_bytes``) that has flows, where it stands on the axis: ``median_size``, that of its flows."""
    above = [pl.when(pl.col("size_bytes") >= cut).then(cut) for cut in edges]
    low = pl.max_horizontal(pl.lit(0), *above).cast(pl.Int64)
    by_bin = pl.concat(frames).group_by(low_bytes=low)
    return by_bin.agg(median_size=pl.col("size_bytes").median()).sort("low_bytes")


def _level(axes: Axes, text: Printed) -> None:
    """What the paper prints, as a bar over the sizes that it speaks of."""
    colour = plot.SCHEME_COLOURS[SCHEMES[text.scheme]]
    axes.hlines(text.value, FROM_BYTES[text.workload], text.below_bytes, color=colour, lw=5, alpha=0.3)
    axes.annotate(
        f"paper: {text.percentile} of all these, {text.value}",
        (FROM_BYTES[text.workload], text.value),
        (0, 4),
        textcoords="offset points",
        fontsize=7,
        color=colour,
    )


def _gain(axes: Axes, seeds: Seeds, workload: str, controller: str, percentile: str) -> None:
    edges = slowdown.EDGES[workload]
    plain, tcd = (
        [slowdown.flows(runs[name(workload, scheme)], base="analytic") for runs in seeds]
        for scheme in (controller, f"{controller}+tcd")
    )
    ratios = slowdown.ratios(tcd, plain, edges).drop_nulls(f"{percentile}_ratio")
    table = ratios.join(sizes(plain, edges), on="low_bytes", maintain_order="left")
    style, marker = ("-", "o") if workload == "hadoop" else ("--", "s")
    scheme = SCHEMES[f"{controller}+tcd"]
    label = f"{scheme}, {WORKLOADS[workload]}"
    colour = plot.SCHEME_COLOURS[scheme]
    at = table["median_size"]
    axes.plot(at, table[f"{percentile}_ratio"], ls=style, marker=marker, ms=3, color=colour, label=label)
    low, high = table[f"{percentile}_ratio_low"], table[f"{percentile}_ratio_high"]
    axes.fill_between(at, low, high, color=colour, alpha=0.1, lw=0)


def plain_numbers(axes: Axes) -> None:
    """Slowdowns as 2, 5, 10 and not as powers of ten."""
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
