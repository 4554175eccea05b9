"""A victim of concurrent bursts: whom PCN tells that they are congested, and what the victim waits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers import hop_by_hop

PLAIN = "PCN that marks what was paused"


def told(run: Results, entry: str) -> float:
    """How many CNPs told flows of an entry that they are congested."""
    own = pl.col("traffic").cast(pl.String) == entry
    return float(run.flows.filter(own).select(pl.col("cnps_ce").sum()).collect().item())


def slowdown(run: Results) -> float | None:
    """Of the victim."""
    return hop_by_hop.mean(hop_by_hop.flows(run, "F0")["slowdown"])


def paused(run: Results) -> float:
    """For how long ports were paused, all together, in µs."""
    return float(run.ports.select(pl.col("paused_ps").sum()).collect().item()) / hop_by_hop.US


def metrics(runs: Runs) -> Measurements:
    pcn = runs["PCN"]
    others = [name for name in ("DCQCN", "PFC") if name in runs]
    return {
        "victim_told": told(pcn, "F0"),
        "culprit_told": told(pcn, "F1"),
        "victim_dcqcn_over_pcn": hop_by_hop.ratio(slowdown(runs["DCQCN"]), slowdown(pcn)),
        "victim_marked_over_pcn": hop_by_hop.ratio(slowdown(runs[PLAIN]), slowdown(pcn)),
        "paused_over_pcn": {name: hop_by_hop.ratio(paused(runs[name]), paused(pcn)) for name in others},
    }


def draw(seeds: Seeds, file: Path) -> None:
    names = [*seeds[0]]
    with plot.picture(file, "A victim of concurrent bursts", 8.0, 3.2) as made:
        left, right = made.subplots(1, 2)
        for axes, of, words in ((left, slowdown, "slowdown of the victim"), (right, paused, "ports paused [µs]")):
            for place, name in enumerate(names):
                values = hop_by_hop.known([of(runs[name]) for runs in seeds])
                axes.plot([place] * len(values), values, "o", color=plot.CYCLE[place], ms=4)
            axes.set_xticks(range(len(names)), [name.replace(" that ", "\nthat ") for name in names], fontsize=6)
            axes.set_ylabel(words)
            axes.set_yscale("log")


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for name in seeds[0]:
        runs = [seed[name] for seed in seeds]
        columns = (
            [slowdown(run) for run in runs],
            [told(run, "F0") for run in runs],
            [told(run, "F1") for run in runs],
            [paused(run) / 1000 for run in runs],
        )
        rows.append((name, *(hop_by_hop.over_seeds(values) for values in columns)))
    headings = ("scheme", "victim's slowdown", "CNPs with CE to it", "to F1, which congests", "ports paused [ms]")
    return [NumberTable("under each scheme", headings, tuple(rows))]
