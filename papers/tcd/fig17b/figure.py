"""Figure 17 (b): mean MCT by message size in a fat tree of 1024 hosts, IB CC with FECN against IB CC with TCD."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.common.statistics import estimate
from backwater.papers import Measurements, Runs, Seeds
from backwater.results import Results

from papers.tcd.messages import LABELS, SIZES, all_finished, mean_mct_us
from papers.tcd.victims_panels import draw_grouped

FECN, TCD, ORACLE = plot.SCHEME_COLOURS["IB CC"], plot.SCHEME_COLOURS["IB CC+TCD"], plot.ORANGE
#: Label and colour of each run.
SCHEMES = {
    "fecn": ("IB CC", FECN),
    "tcd": ("IB CC+TCD", TCD),
    "fecn harsher": ("IB CC, the step of TCD", FECN),
    "tcd gentler": ("IB CC+TCD, the step of IB CC", TCD),
    "oracle": ("oracle, the step of TCD", ORACLE),
    "oracle gentler": ("oracle, the step of IB CC", plot.BLUE),
}
#: The bins of the picture: those of size, then all.
BINS = SIZES | {"all": (0.0, float("inf"))}


def metrics(runs: Runs) -> Measurements:
    found: Measurements = {}
    for name, run in runs.items():
        word = name.replace(" ", "_")
        found |= {f"{word}_{size}_us": mean_mct_us(run, *ends) for size, ends in BINS.items()}
        found |= {f"{word}_{what}": value for what, value in counted(run).items()}
    return found | gains(runs)


def gains(runs: Runs) -> Measurements:
    """How many times shorter the mean MCT is than with FECN, by bin; with the oracle also by the step of IB CC."""
    found: Measurements = {}
    for size, ends in BINS.items():
        plain = mean_mct_us(runs["fecn"], *ends)
        times = {name: plain / mean_mct_us(run, *ends) for name, run in runs.items() if name != "fecn"}
        found[f"gain_{size}"] = times["tcd"]
        if "oracle" in times:
            steps = {"the step of TCD": times["oracle"], "the step of IB CC": times["oracle gentler"]}
            found[f"oracle_gain_by_step_{size}"] = steps
    return found


def counted(run: Results) -> dict[str, float]:
    """Messages, those that did not arrive, and shares with marks in percent."""
    ce, ue = pl.col("ce_packets") > 0, pl.col("ue_packets") > 0
    shares = run.flows.select(
        messages=pl.len(),
        unfinished=pl.col("fct_ps").is_null().sum(),
        ce_percent=100 * ce.mean(),
        ue_percent=100 * (~ce & ue).mean(),
    ).collect()
    return {name: float(value) for name, value in shares.row(0, named=True).items()}


def draw(seeds: Seeds, file: Path) -> None:
    draw_titled(seeds, file, "Figure 17(b): MCT by size in a fat tree, IB CC")


def draw_titled(seeds: Seeds, file: Path, title: str) -> None:
    shown = {name: label for name, label in SCHEMES.items() if name in seeds[0]}
    means = {
        name: [estimate([mean_mct_us(runs[name], *ends) for runs in seeds]) for ends in BINS.values()] for name in shown
    }
    count = len(all_finished(seeds[0]["fecn"]))
    with plot.picture(file, f"{title} ({count} messages)", 10.4, 4.2) as made:
        axes = made.add_subplot()
        draw_grouped(axes, means, shown, (*LABELS, "all"))
        axes.set_xlabel("message size")
        axes.set_ylabel("mean MCT [µs]")
