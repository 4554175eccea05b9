"""Figures 3 and 4: how many processes have which latency or bandwidth, one curve per strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from matplotlib.ticker import LogLocator
from numpy.typing import NDArray

from papers.pft.measured import NONE, STRATEGIES, median, processes
from papers.pft.panels import COLOURS, LABELS

#: Intervals of an axis.
INTERVALS = 40


@dataclass(frozen=True)
class Quantity:
    """What is counted: GPCNeT's test, its name and unit, and whether it is a latency."""

    key: str
    name: str
    unit: str
    title: str

    def metrics(self, runs: Runs) -> Metrics:
        """Medians over processes, each over that without throttling: by name, and all together."""
        found = {name: median(processes(runs[name], self.key)) for name in (NONE, *STRATEGIES)}
        ratios = {name: found[name] / found[NONE] for name in STRATEGIES}
        return {f"{name}_median_over_none": one for name, one in ratios.items()} | {"median_over_none": ratios}

    def draw(self, seeds: Seeds, file: Path) -> None:
        """The processes of all seeds together, by interval."""
        found = {
            name: np.array([value for runs in seeds for value in processes(runs[name], self.key)]) for name in COLOURS
        }
        edges = self._edges(list(found.values()))
        middles = np.sqrt(edges[1:] * edges[:-1])
        with plot.picture(file, f"{self.title} (dotted: medians)", 8.5, 4.2) as made:
            axes = made.subplots()
            for place, (name, values) in enumerate(found.items()):
                counts, _ = np.histogram(values, edges)
                axes.plot(middles, counts, color=COLOURS[name], marker=plot.marker(place), ms=3.2, label=LABELS[name],
                          lw=2 if name == NONE else 1.3)  # fmt: skip
                axes.axvline(float(np.median(values)), color=COLOURS[name], lw=0.9, ls=":")
            axes.set(
                xscale="log",
                xlabel=f"{self.name} of a process [{self.unit}]",
                ylabel="processes per interval",
                ylim=(0, None),
            )
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_locator(LogLocator(subs=(2, 3, 5)))
            axes.xaxis.set_minor_formatter("{x:g}")
            axes.tick_params(axis="x", which="both", labelsize=7)
            made.legend(loc="outside lower center", ncols=len(found))

    @staticmethod
    def _edges(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        every = np.concatenate(values)
        return np.geomspace(every.min() * 0.999, every.max() * 1.001, INTERVALS + 1)

    def tables(self, seeds: Seeds) -> Sequence[NumberTable]:
        """The distribution in numbers."""
        rows = []
        for name in (NONE, *STRATEGIES):
            values = np.array([value for runs in seeds for value in processes(runs[name], self.key)])
            marks = [float(np.quantile(values, share)) for share in (0.05, 0.5, 0.95)]
            numbers = (float(values.mean()), *marks, float(values.max()))
            rows.append((LABELS[name], str(len(values)), *(f"{number:.4g}" for number in numbers)))
        headings = ("strategy", "processes", "mean", "5 %", "median", "95 %", "most")
        return [NumberTable(f"{self.name} of processes [{self.unit}], all seeds", headings, tuple(rows))]
