"""What Table 3 measures and how it is drawn, on Ethernet and on InfiniBand: the share of victims that get a CE mark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results
from matplotlib.axes import Axes

from papers.tcd.victims import VICTIMS


@dataclass(frozen=True)
class Rows:
    """The rows of a network in the table, and what is shown beside them."""

    #: What marks packets without TCD, such as `ecn`.
    plain: str
    #: What the paper prints, in percent, by run.
    paper: Mapping[str, float]
    #: Runs and what they are called: the rows of the paper first, then others.
    labels: Mapping[str, str]
    #: Loads of A0 to A14 beside the calibrated one.
    loads: Sequence[float]
    #: What the victims are, such as `flows`.
    things: str

    def metrics(self, runs: Runs) -> Metrics:
        """The share by run, as ``<run>_percent`` or, swept, ``<run>_percent_at_<load>``."""
        names = {name: f"{_word(name)}_percent" for name in self.labels}
        names |= {f"{scheme} at {load}": f"{scheme}_percent_at_{load}" for scheme in self.paper for load in self.loads}
        return {metric: marked_percent(runs[name]) for name, metric in names.items() if name in runs}

    def draw(self, seeds: Seeds, file: Path) -> None:
        """The table's rows with their variants, and both rows over the load."""
        found = [self.metrics(runs) for runs in seeds]
        title = f"Table 3: {self.things} of S0, which meet no congested port, with a CE mark (a dot per seed)"
        with plot.picture(file, title, 9.6, 3.9) as made:
            left, right = made.subplots(1, 2, width_ratios=[1.15, 1])
            draw_rows(left, found, self)
            draw_loads(right, found, self, load_of(seeds[0][self.plain]))


def marked_percent(run: Results, traffic: str = VICTIMS) -> float:
    """The share of flows that got at least one packet with CE, in percent, of the entries that begin with `traffic`."""
    named = run.flows.filter(pl.col("traffic").cast(pl.String).str.starts_with(traffic))
    return 100 * float(named.select((pl.col("ce_packets") > 0).mean()).collect().item())


def _word(name: str) -> str:
    return name.replace(" ", "_")


def load_of(run: Results) -> float:
    """The load of A0 to A14, over R1's link."""
    return next(float(entry["load"]) for entry in run.meta["scenario"]["traffic"] if entry["name"] == "A")


def draw_rows(axes: Axes, found: Sequence[Metrics], rows: Rows) -> None:
    """The table's rows and their variants, with the paper's numbers."""
    for position, name in enumerate(rows.labels):
        values = [float(seed.get(f"{_word(name)}_percent") or 0) for seed in found]
        mean = sum(values) / len(values)
        colour = plot.SCHEME_COLOURS[name.split()[0].upper()]
        axes.bar(position, mean, width=0.6, color=colour, alpha=0.6 if name in rows.paper else 0.3)
        axes.plot([position] * len(values), values, "o", ms=3.5, color=colour, clip_on=False)
        axes.text(position + 0.06, max(values), f"  {mean:.2g} %", ha="left", va="bottom", fontsize=8)
    for position, percent in enumerate(rows.paper.values()):
        label = "paper" if position == 0 else None
        axes.plot([position - 0.42, position + 0.42], [percent] * 2, color=plot.VERMILLION, ls="--", label=label)
    axes.set_xticks(range(len(rows.labels)), list(rows.labels.values()))
    axes.set_ylabel(f"{rows.things} of S0 with CE [%]")
    axes.legend()


def draw_loads(axes: Axes, found: Sequence[Metrics], rows: Rows, load: float) -> None:
    """Both rows over the load of A0 to A14, which the paper does not give."""
    for scheme in rows.paper:
        points = {at: f"{scheme}_percent_at_{at}" for at in rows.loads} | {load: f"{scheme}_percent"}
        shown = {at: metric for at, metric in sorted(points.items()) if metric in found[0]}
        values = {at: [float(seed[metric] or 0) for seed in found] for at, metric in shown.items()}
        colour = plot.SCHEME_COLOURS[scheme.upper()]
        axes.plot(list(values), [sum(row) / len(row) for row in values.values()], color=colour, label=scheme.upper())
        for at, row in values.items():
            axes.plot([at] * len(row), row, "o", ms=3, color=colour, clip_on=False)
    axes.axvline(load, color=plot.GREY, ls=":", lw=1)
    axes.text(load, 1.0, " calibrated", transform=axes.get_xaxis_transform(), va="top", color=plot.GREY, fontsize=8)
    axes.set_xlabel("load of A0 to A14, over R1's link")
    axes.set_ylim(0)
    axes.legend()
