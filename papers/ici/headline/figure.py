"""The abstract's numbers, by workload: 99th percentile of FCT and peak of BECNs against DCQCN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from matplotlib.axes import Axes

from papers.ici.measured import becn_peak
from papers.ici.panels import bar, colour, draw_grid
from papers.ici.times import fct

#: The workloads in which ICI+ sends BECNs at all, and how they are called in the picture.
WORKLOADS = {"w2": "four trees", "w3": "Google, tree", "w4": "Google, burst", "w5": "Google, 4 bursts"}
#: What the paper prints.
PAPER = {"fct": 31, "peak": 32}


def gains(runs: Runs, workload: str) -> tuple[float, float]:
    """By how many percent the 99th percentile of FCT is lower than DCQCN's, and how many times the peak of BECNs is."""
    plain, plus = runs[f"{workload} dcqcn"], runs[f"{workload} ici+"]
    reduction = 100 * (1 - fct(plus).percentiles["p99"] / fct(plain).percentiles["p99"])
    return reduction, becn_peak(plain) / max(becn_peak(plus), 1)


def metrics(runs: Runs) -> Metrics:
    found = {workload: gains(runs, workload) for workload in WORKLOADS}
    told: Metrics = {}
    for workload, (reduction, gain) in found.items():
        told |= {f"{workload}_p99_fct_reduction": reduction, f"{workload}_becn_peak_gain": gain}
    return told


def draw(seeds: Seeds, file: Path) -> None:
    found = [{workload: gains(runs, workload) for workload in WORKLOADS} for runs in seeds]
    title = "Headline: ICI+ against DCQCN"
    rows = [[lambda axes, _: draw_gains(axes, found, 0), lambda axes, _: draw_gains(axes, found, 1)]]
    draw_grid(rows, seeds, file, title=title, schemes=("ici+",))


def draw_gains(axes: Axes, found: Sequence[Mapping[str, tuple[float, float]]], which: int) -> None:
    """A gain by workload, with the paper's number as a line."""
    for place, workload in enumerate(WORKLOADS):
        values = [one[workload][which] for one in found]
        bar(axes, place, values, colour("ici+"))
    axes.axhline(list(PAPER.values())[which], color=plot.GREY, ls="--", lw=1)
    axes.set_xticks(range(len(WORKLOADS)), [name.replace(", ", ",\n") for name in WORKLOADS.values()], fontsize=7)
    axes.set_title(("99th percentile of FCT (line: paper)", "peak of BECNs (line: paper)")[which])
    axes.set_ylabel(("lower by [%]", "times lower")[which])
