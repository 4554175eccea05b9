"""The fat tree of Figures 16 and 19 over the load: the levels that the paper prints over three bases, and gains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from backwater.analysis import plot, slowdown
from backwater.common.statistics import Estimate, estimate
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers.tcd.slowdowns import SCHEMES, name
from papers.tcd.slowdowns_panels import plain_numbers

LOADS = (0.15, 0.2, 0.25, 0.3)
LINE_BPS = 40e9
US = 1_000_000
#: Base times: payload over the line rate, and this for the way. The constants are of the release's scripts.
BASES: Mapping[str, float | None] = {"per path": None, "12 µs": 12.0, "8 µs": 8.0}
STYLES = {"per path": ("-", "o"), "12 µs": ("--", "s"), "8 µs": (":", "^")}


class Printed(NamedTuple):
    """A percentile of the flows below a size, without TCD and with it, as the paper's text prints them."""

    label: str
    workload: str
    controller: str
    percentile: float
    below: int
    plain: float
    tcd: float

    @property
    def gain(self) -> float:
        """How many times better."""
        return self.plain / self.tcd


PRINTED = (
    Printed("Hadoop below 80 KB, median", "hadoop", "dcqcn", 0.5, 80_000, 10.8, 3.6),
    Printed("WebSearch below 500 KB, median", "web-search", "dcqcn", 0.5, 500_000, 4.6, 2.5),
    Printed("Hadoop below 50 KB, 99th percentile", "hadoop", "timely", 0.99, 50_000, 50.3, 36.6),
)
#: How far a level may be off either way, and how much of an improvement must be there: the bounds of Figures 16 and 19.
LEVEL, SHARE = 1.5, 0.5


def level(run: Results, printed: Printed, base_us: float | None) -> float:
    """The percentile of the slowdown over a base."""
    flows = slowdown.flows(run, base="analytic").filter(pl.col("size_bytes") < printed.below)
    if base_us is not None:
        base = pl.col("size_bytes") * 8e12 / LINE_BPS + base_us * US
        flows = flows.with_columns(slowdown=pl.col("fct_ps") / base)
    found = flows["slowdown"].quantile(printed.percentile, "higher")
    return float("nan") if found is None else float(found)


def pair(runs: Runs, printed: Printed, load: float, base_us: float | None) -> tuple[float, float]:
    """The levels without TCD and with it."""
    names = (f"{name(printed.workload, scheme)} at {load}" for scheme in schemes(printed))
    plain, tcd = (level(runs[one], printed, base_us) for one in names)
    return plain, tcd


def schemes(printed: Printed) -> tuple[str, str]:
    """Without TCD and with it."""
    return printed.controller, f"{printed.controller}+tcd"


def loads(runs: Runs) -> tuple[float, ...]:
    """The loads that there are runs of."""
    return tuple(load for load in LOADS if f"hadoop dcqcn at {load}" in runs)


def fits(printed: Printed, plain: float, tcd: float) -> bool:
    """Whether both levels and the gain are the paper's, within the bounds of Figures 16 and 19."""
    near = all(at / LEVEL <= found <= at * LEVEL for found, at in ((plain, printed.plain), (tcd, printed.tcd)))
    return near and plain / tcd >= 1 + SHARE * (printed.gain - 1)


def cells(runs: Runs) -> Iterator[tuple[str, float, set[str]]]:
    """By base and load, which of the printed pairs fit."""
    for base, base_us in BASES.items():
        for load in loads(runs):
            found = {one.label for one in PRINTED if fits(one, *pair(runs, one, load, base_us))}
            yield base, load, found


def metrics(runs: Runs) -> Measurements:
    found: Measurements = {}
    for one in PRINTED:
        for load in loads(runs):
            for base, base_us in BASES.items():
                plain, tcd = pair(runs, one, load, base_us)
                where = f"{one.workload}_{one.controller} at {load} over {base}"
                found |= {f"plain {where}": plain, f"tcd {where}": tcd, f"gain {where}": plain / tcd}
    every = [fit for _, _, fit in cells(runs)]
    for one in PRINTED:
        found[f"cells_{one.workload}_{one.controller}"] = sum(one.label in fit for fit in every)
    dcqcn = {one.label for one in PRINTED if one.controller == "dcqcn"}
    found["cells_figure_16"] = sum(dcqcn <= fit for fit in every)
    found["cells_all"] = sum(len(fit) == len(PRINTED) for fit in every)
    return found


def over_seeds(
    seeds: Seeds, printed: Printed, load: float, base_us: float | None
) -> tuple[Estimate, Estimate, Estimate]:
    """Level without TCD, level with it, and gain."""
    pairs = [pair(runs, printed, load, base_us) for runs in seeds]
    plain, tcd = (estimate([one[side] for one in pairs]) for side in (0, 1))
    return plain, tcd, estimate([one[0] / one[1] for one in pairs])


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Slowdown over the load, over three base times", 11.4, 4.8) as made:
        panels = made.subplots(1, len(PRINTED))
        for axes, one in zip(panels, PRINTED, strict=True):
            for side, scheme in enumerate(schemes(one)):
                colour = plot.SCHEME_COLOURS[SCHEMES[scheme]]
                for base, base_us in BASES.items():
                    at = loads(seeds[0])
                    found = [over_seeds(seeds, one, load, base_us)[side] for load in at]
                    style, marker = STYLES[base]
                    means = [value.mean for value in found]
                    label = f"{SCHEMES[scheme]}, base {base}"
                    axes.plot(at, means, ls=style, marker=marker, ms=3, color=colour, label=label)
                    axes.fill_between(
                        at, [max(v.low, 1) for v in found], [v.high for v in found], color=colour, alpha=0.1, lw=0
                    )
                printed = (one.plain, one.tcd)[side]
                axes.axhline(printed, color=colour, lw=5, alpha=0.25)
                axes.text(1, printed, f"paper: {printed}", transform=axes.get_yaxis_transform(), ha="right", size=7)
            axes.set_yscale("log")
            plain_numbers(axes)
            axes.set_title(one.label, fontsize=9)
            axes.set_xlabel("load, over the hosts' links")
            axes.set_ylabel("FCT slowdown")
            axes.set_xticks(loads(seeds[0]))
        handles = {
            label: line for axes in panels for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        made.legend(list(handles.values()), list(handles), loc="outside lower center", handlelength=3.2, ncols=4)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for one in PRINTED:
        for base, base_us in BASES.items():
            for load in loads(seeds[0]):
                found = over_seeds(seeds, one, load, base_us)
                rows.append((one.label, SCHEMES[one.controller], base, str(load), *(_text(value) for value in found)))
        rows.append((one.label, SCHEMES[one.controller], "paper", "?", str(one.plain), str(one.tcd), f"{one.gain:.2f}"))
    headings = ("flows", "under", "base", "load", "without TCD", "with TCD", "times better")
    title = f"Levels and gains, mean ± 95 % over {len(seeds)} seed{'s' if len(seeds) > 1 else ''}"
    return [NumberTable(title, headings, tuple(rows), words=3)]


def _text(value: Estimate) -> str:
    return f"{value.mean:.2f}" if value.half_width is None else f"{value.mean:.2f} ± {value.half_width:.2f}"
