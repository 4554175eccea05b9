"""Tails under Google's RPCs and an incast: slowdowns by size under five schemes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers import hop_by_hop

#: Up to so many bytes a flow is short; from so many on it is long.
SHORT, LONG = 10_000, 100_000
#: Edges of the picture's bins.
EDGES = (0, 100, 1_000, 10_000, 100_000, 10**9)


def short_p99(run: Results) -> float | None:
    """Of the slowdown."""
    found = hop_by_hop.flows(run, "google").filter(pl.col("size_bytes") <= SHORT)
    return hop_by_hop.p99(found["slowdown"])


def long_mean(run: Results) -> float | None:
    """Of the FCT, in µs."""
    found = hop_by_hop.flows(run, "google").filter(pl.col("size_bytes") >= LONG)
    return hop_by_hop.mean(found["fct_us"])


def incast(run: Results) -> float | None:
    """When the incast is done, in µs after its start."""
    found = hop_by_hop.whole(hop_by_hop.flows(run, "incast")["fct_us"])
    return None if found is None else max(found)


def metrics(runs: Runs) -> Metrics:
    wide = runs.get("BFC 128")
    return {
        "short_p99_dcqcn_over_bfc": hop_by_hop.ratio(short_p99(runs["DCQCN"]), short_p99(runs["BFC"])),
        "long_mean_dcqcn_over_bfc": hop_by_hop.ratio(long_mean(runs["DCQCN"]), long_mean(runs["BFC"])),
        "short_p99_over_ideal": hop_by_hop.ratio(short_p99(runs["BFC"]), short_p99(runs["dst-PFC"])),
        "short_p99_over_128_queues": hop_by_hop.ratio(
            short_p99(runs["BFC"]), None if wide is None else short_p99(wide)
        ),
    }


def draw(seeds: Seeds, file: Path) -> None:
    words = ("Google's RPCs at 60 %, and an incast", ["≤ 100 B", "≤ 1 KB", "≤ 10 KB", "≤ 100 KB", "> 100 KB"])
    hop_by_hop.by_size(seeds, "google", EDGES, words, file)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for name in seeds[0]:
        runs = [seed[name] for seed in seeds]
        cells = ([short_p99(run) for run in runs], [long_mean(run) for run in runs], [incast(run) for run in runs])
        peaks = [hop_by_hop.peak_bytes(run) / 1000 for run in runs]
        rows.append((name, *(hop_by_hop.over_seeds(one) for one in (*cells, peaks))))
    headings = ("scheme", "short: p99 slowdown", "long: mean FCT [µs]", "incast done after [µs]", "longest queue [KB]")
    return [NumberTable("under each scheme", headings, tuple(rows))]
