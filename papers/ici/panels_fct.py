"""How Figures 4 and 6 show FCTs: their distribution, their tail, and percentiles by size of the message."""

from __future__ import annotations

from backwater.common.quantities import round_size
from backwater.papers import Seeds
from backwater.results import Results
from matplotlib.axes import Axes

from papers.ici.measured import SCHEMES
from papers.ici.panels import Panel, bars, colour, distribution
from papers.ici.times import SIZES, fct

NAMES = {"median": "median", "p95": "95th percentile", "p99": "99th percentile", "p999": "99.9th percentile"}
CDF = distribution(fct, "all messages", "FCT [µs]")
TAIL = distribution(fct, "all messages, tail", "FCT [µs]", tail=True)


def all_sizes(name: str) -> Panel:
    """A percentile of all messages as bars."""

    def value(run: Results) -> float:
        return fct(run).percentiles[name]

    return bars(value, f"{NAMES[name]}, all messages", "FCT [µs]", scale="log")


def by_size(name: str) -> Panel:
    """A percentile over the size of the message."""
    labels = [f"≤ {round_size(high)}" if high else f"> {round_size(low)}" for low, high in SIZES]

    def panel(axes: Axes, seeds: Seeds) -> None:
        width = 0.8 / len(SCHEMES)
        for number, scheme in enumerate(SCHEMES):
            for place, (low, high) in enumerate(SIZES):
                values = [fct(runs[scheme], low, high).percentiles[name] for runs in seeds]
                at = place + (number - (len(SCHEMES) - 1) / 2) * width
                axes.bar(at, sum(values) / len(values), width * 0.92, color=colour(scheme), alpha=0.75)
        axes.set_xticks(range(len(SIZES)), labels, fontsize=7)
        axes.set_yscale("log")
        axes.set_title(f"{NAMES[name]} by size")
        axes.set_ylabel("FCT [µs]")
        axes.set_xlabel("size of the message")

    return panel


#: The panels of Figures 4 and 6.
ROWS = (
    (CDF, TAIL, all_sizes("median"), all_sizes("p95")),
    (all_sizes("p99"), all_sizes("p999"), by_size("median"), by_size("p99")),
)
