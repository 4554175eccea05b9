"""What is done to congesting and to innocent flows: the table, all marks, tails of congesting flows, swings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from backwater.papers import Family, Measurements, Runs, Seeds
from backwater.results import Results
from matplotlib.axes import Axes

from papers.ici import panels
from papers.ici.measured import (
    BIN_PS,
    ISOLATING,
    NOTIFYING,
    SCHEMES,
    entries_for_others,
    gbps,
    marks,
    of,
    offered,
    over,
    slots,
    switch_total,
)
from papers.ici.times import latency

#: The workloads, and how they are called in the picture.
WORKLOADS = {"w1": "one tree", "w2": "four trees"}
#: A number of a run.
Value = Callable[[Results], float]
#: Traffic whose throughput may swing.
PARTS = {"all traffic": None, "trees": True}


def mean_slots(run: Results) -> float:
    """Slots in use at the switch that uses most: the peaks of periods, in the mean, while the tree is offered."""
    start, end = offered(run)
    found = slots(run)
    return float(found.value[(found.time_ps >= start) & (found.time_ps < end)].mean())


def entries(run: Results) -> int:
    """Entries that switches made, as often as they did."""
    return switch_total(run, "allocations")


def hot_p99_us(run: Results) -> float:
    """The 99th percentile of the latency of packets that head for a root."""
    return latency(run, tree=True).percentiles["p99"]


def swing(run: Results, *, tree: bool | None) -> float:
    """The standard deviation of the throughput over its mean, by period, from one period after the tree's start."""
    start, end = offered(run)
    found = gbps(run, tree=tree)
    within = found.value[(found.time_ps >= start + BIN_PS) & (found.time_ps + BIN_PS <= end)]
    return float(np.std(within, ddof=1) / np.mean(within))


def ratio(runs: Runs, value: Value, above: str, below: str) -> Family:
    """A scheme's number over another's, by workload; where neither has any they are equal."""
    found: Family = {}
    for workload in WORKLOADS:
        own, theirs = (value(runs[f"{workload} {scheme}"]) for scheme in (above, below))
        found[workload] = own / theirs if theirs else 1.0 + own
    return found


#: What is measured of which schemes.
MEASURED: dict[str, tuple[Value, tuple[str, ...]]] = {
    "slots": (mean_slots, ISOLATING),
    "entries": (entries, ISOLATING),
    "innocent_entries": (entries_for_others, ISOLATING),
    "marks": (marks, NOTIFYING),
    "hot_p99": (hot_p99_us, SCHEMES),
    "swing": (lambda run: swing(run, tree=True), SCHEMES),
}


def metrics(runs: Runs) -> Measurements:
    found: Measurements = {
        f"{scheme}_{name}": {workload: value(runs[f"{workload} {scheme}"]) for workload in WORKLOADS}
        for name, (value, schemes) in MEASURED.items()
        for scheme in schemes
    }
    for above, below in (("ici", "ci"), ("ici+", "ci+dcqcn")):
        found[f"{above}_slots_over_{below}"] = ratio(runs, mean_slots, above, below)
    found["ici_entries_over_ci"] = ratio(runs, entries, "ici", "ci")
    for scheme in ("ici", "ici+"):
        found[f"{scheme}_innocent_over_ci"] = ratio(runs, entries_for_others, scheme, "ci")
    for other in ("dcqcn", "ci+dcqcn"):
        found[f"ici+_marks_over_{other}"] = ratio(runs, marks, "ici+", other)
    for other in ("none", "dcqcn", "ci", "ci+dcqcn"):
        found[f"ici+_hot_p99_over_{other}"] = ratio(runs, hot_p99_us, "ici+", other)
    four = of(runs, "w2")
    found["ici+_swing_over_dcqcn"] = {
        part: over(swing(four["ici+"], tree=tree), swing(four["dcqcn"], tree=tree)) for part, tree in PARTS.items()
    }
    return found


def draw(seeds: Seeds, file: Path) -> None:
    titles = {
        "slots": ("slots in use at the busiest switch", "slots"),
        "entries": ("entries made", "entries"),
        "innocent_entries": ("of them, for innocent flows", "entries"),
        "marks": ("packets marked", "packets"),
        "hot_p99": ("99th percentile, congesting flows", "µs"),
        "swing": ("swing of the trees' throughput", "% of its mean"),
    }
    found = [_panel(name, *words) for name, words in titles.items()]
    title = "Congesting and innocent flows: one tree, and four trees (hatched), 0.2 to 1.2 ms"
    panels.draw_grid([found[:3], found[3:]], seeds, file, title=title)


def _panel(name: str, title: str, unit: str) -> panels.Panel:
    """A number per scheme and workload."""
    value, schemes = MEASURED[name]

    def panel(axes: Axes, seeds: Seeds) -> None:
        every: list[float] = []
        for place, scheme in enumerate(schemes):
            for side, workload, hatch in ((-0.2, "w1", ""), (0.2, "w2", "////")):
                values = [float(value(runs[f"{workload} {scheme}"])) for runs in seeds]
                if unit.startswith("%"):
                    values = [round(100 * one, 1) for one in values]
                panels.bar(axes, place + side, values, panels.colour(scheme), width=0.38, hatch=hatch)
                every += values
        panels.scaled(axes, every, "counts" if unit in ("entries", "packets") else "linear")
        axes.set_xticks(range(len(schemes)), [panels.LABELS[scheme] for scheme in schemes], fontsize=7)
        axes.set_title(title)
        axes.set_ylabel(unit)

    return panel
