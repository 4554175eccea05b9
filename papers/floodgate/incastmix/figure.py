"""The incast mix: queues, and what flows beside the incast take, with Floodgate and without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers import hop_by_hop

EDGES = (0, 1_000, 10_000, 100_000, 1_000_000, 10**12)


def mean(run: Results) -> float | None:
    """Of the FCT of flows beside the incast, in µs."""
    return hop_by_hop.mean(hop_by_hop.flows(run, "flows")["fct_us"])


def p99(run: Results) -> float | None:
    """Of their slowdown."""
    return hop_by_hop.p99(hop_by_hop.flows(run, "flows")["slowdown"])


def to_hosts(run: Results) -> float:
    """The longest queue to a host, in bytes: that of the incast's receiver is among them."""
    peer = pl.col("peer").cast(pl.String).str.starts_with("h")
    return float(run.ports.filter(peer).select(pl.col("peak_queue_bytes").max()).collect().item() or 0)


def done(run: Results) -> float | None:
    """When the incast was done, in µs."""
    found = hop_by_hop.whole(hop_by_hop.flows(run, "incast")["done_us"])
    return None if found is None else max(found)


def _reduced(runs: Runs, of: Callable[[Results], float | None]) -> float | None:
    return hop_by_hop.ratio(of(runs["DCQCN"]), of(runs["DCQCN Floodgate"]))


def metrics(runs: Runs) -> Metrics:
    return {
        "queue_to_hosts_reduced": _reduced(runs, to_hosts),
        "mean_fct_reduced": _reduced(runs, mean),
        "p99_reduced": _reduced(runs, p99),
    }


def draw(seeds: Seeds, file: Path) -> None:
    words = ("Flows beside an incast, 160 hosts", ["≤ 1 KB", "≤ 10 KB", "≤ 100 KB", "≤ 1 MB", "> 1 MB"])
    hop_by_hop.by_size(seeds, "flows", EDGES, words, file)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for name in seeds[0]:
        runs = [seed[name] for seed in seeds]
        columns = (
            [mean(run) for run in runs],
            [p99(run) for run in runs],
            [done(run) for run in runs],
            [to_hosts(run) / 1000 for run in runs],
            [hop_by_hop.peak_bytes(run, "spine") / 1000 for run in runs],
        )
        rows.append((name, *(hop_by_hop.over_seeds(values) for values in columns)))
    headings = (
        "scheme",
        "mean FCT [µs]",
        "p99 slowdown",
        "incast done after [µs]",
        "longest queue to a host [KB]",
        "longest queue at a core [KB]",
    )
    return [NumberTable("flows beside the incast", headings, tuple(rows))]
