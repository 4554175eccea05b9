"""A workload: Hadoop flows and an incast under PFC, DCQCN and PCN."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers import hop_by_hop

EDGES = (0, 1_000, 10_000, 100_000, 10**12)


def mean(run: Results) -> float | None:
    """Of the FCT of the Hadoop flows, in µs."""
    return hop_by_hop.mean(hop_by_hop.flows(run, "hadoop")["fct_us"])


def pauses(run: Results) -> float:
    """PAUSEs that switches sent."""
    return float(run.ports.select(pl.col("pauses_sent").sum()).collect().item())


def metrics(runs: Runs) -> Measurements:
    return {
        "pauses_over_pcn": {
            name: hop_by_hop.ratio(pauses(runs[name]), pauses(runs["PCN"])) for name in ("PFC", "DCQCN")
        },
        "mean_fct_over_pcn": {name: hop_by_hop.ratio(mean(runs[name]), mean(runs["PCN"])) for name in ("PFC", "DCQCN")},
    }


def draw(seeds: Seeds, file: Path) -> None:
    words = ("Hadoop flows and an incast", ["≤ 1 KB", "≤ 10 KB", "≤ 100 KB", "> 100 KB"])
    hop_by_hop.by_size(seeds, "hadoop", EDGES, words, file)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for name in seeds[0]:
        runs = [seed[name] for seed in seeds]
        tails = [hop_by_hop.p99(hop_by_hop.flows(run, "hadoop")["slowdown"]) for run in runs]
        columns = ([mean(run) for run in runs], tails, [pauses(run) for run in runs])
        rows.append((name, *(hop_by_hop.over_seeds(values) for values in columns)))
    return [NumberTable("under each scheme", ("scheme", "mean FCT [µs]", "p99 slowdown", "PAUSEs"), tuple(rows))]
