"""Table 3: the share of victims that get a CE mark, under ECN and under TCD."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from backwater import plot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from backwater.results import Results
    from matplotlib.axes import Axes

#: What the paper prints, in percent.
PAPER = {"ecn": 26.6, "tcd": 0.0}
#: Loads of A0 to A14 beside the calibrated one.
LOADS = (0.6, 0.8, 1.0, 1.2)


def marked_percent(run: Results, traffic: str = "victims") -> float:
    """The share of an entry's flows that got at least one packet with CE, in percent."""
    named = run.flows.filter(pl.col("traffic").cast(pl.String) == traffic)
    return 100 * float(named.select((pl.col("ce_packets") > 0).mean()).collect().item())


def metrics(runs: Mapping[str, Results]) -> dict[str, float | bool | None]:
    names = {scheme: f"{scheme}_percent" for scheme in PAPER}
    names |= {"tcd rise": "tcd_rise_percent", "ecn common": "ecn_common_percent", "tcd common": "tcd_common_percent"}
    names |= {f"{scheme} at {load}": f"{scheme}_percent_at_{load}" for scheme in PAPER for load in LOADS}
    return {metric: marked_percent(runs[name]) for name, metric in names.items() if name in runs}


def load_of(run: Results) -> float:
    """The load of A0 to A14, over R1's link."""
    return next(float(entry["load"]) for entry in run.meta["scenario"]["traffic"] if entry["name"] == "A")


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    found = [metrics(runs) for runs in seeds]
    load = load_of(seeds[0]["ecn"])
    with plot.style():
        made = plot.figure(9.6, 3.9)
        rows, loads = made.subplots(1, 2, width_ratios=[1.15, 1])
        draw_rows(rows, found)
        draw_loads(loads, found, load)
        made.suptitle(
            "Table 3: flows of S0, which meet no congested port, with a CE mark (a dot per seed)",
            fontsize=11,
            fontweight="bold",
        )
        plot.save(made, file)


def draw_rows(axes: Axes, found: Sequence[Mapping[str, float | bool | None]]) -> None:
    """The table's rows and their variants, with the paper's numbers."""
    bars = {
        "ecn_percent": "ECN",
        "tcd_percent": "TCD",
        "tcd_rise_percent": "TCD,\nflowchart",
        "ecn_common_percent": "ECN,\ncommon\nsizes",
        "tcd_common_percent": "TCD,\ncommon\nsizes",
    }
    for position, (metric, label) in enumerate(bars.items()):
        values = [float(seed[metric] or 0) for seed in found]
        mean = sum(values) / len(values)
        colour = plot.SCHEME_COLOURS[label[:3]]
        axes.bar(position, mean, width=0.6, color=colour, alpha=0.6 if position < 2 else 0.3)
        axes.plot([position] * len(values), values, "o", ms=3.5, color=colour, clip_on=False)
        axes.text(position + 0.06, max(values), f"  {mean:.2g} %", ha="left", va="bottom", fontsize=8)
    for position, percent in enumerate(PAPER.values()):
        label = "paper" if position == 0 else None
        axes.plot([position - 0.42, position + 0.42], [percent] * 2, color=plot.VERMILLION, ls="--", label=label)
    axes.set_xticks(range(len(bars)), list(bars.values()))
    axes.set_ylabel("flows of S0 with CE [%]")
    axes.legend()


def draw_loads(axes: Axes, found: Sequence[Mapping[str, float | bool | None]], load: float) -> None:
    """Both rows over the load of A0 to A14, which the paper does not give."""
    for scheme in PAPER:
        points = {at: f"{scheme}_percent_at_{at}" for at in LOADS} | {load: f"{scheme}_percent"}
        values = {at: [float(seed[metric] or 0) for seed in found] for at, metric in sorted(points.items())}
        colour = plot.SCHEME_COLOURS[scheme.upper()]
        axes.plot(list(values), [sum(row) / len(row) for row in values.values()], color=colour, label=scheme.upper())
        for at, row in values.items():
            axes.plot([at] * len(row), row, "o", ms=3, color=colour, clip_on=False)
    axes.axvline(load, color=plot.GREY, ls=":", lw=1)
    axes.text(load, 1.0, " calibrated", transform=axes.get_xaxis_transform(), va="top", color=plot.GREY, fontsize=8)
    axes.set_xlabel("load of A0 to A14, over R1's link")
    axes.set_ylim(0)
    axes.legend()
