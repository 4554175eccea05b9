"""The incast mix of the public configurations: what flows beside an incast wait under each flow control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers import hop_by_hop

#: Those that Pyrrha is held against.
OTHERS = ("PFC", "BFC", "Floodgate")
EDGES = (0, 1_000, 10_000, 100_000, 1_000_000, 10**12)


def mean(run: Results) -> float | None:
    """Of the FCT of flows beside the incast, in µs."""
    return hop_by_hop.mean(hop_by_hop.flows(run, "flows")["fct_us"])


def p99(run: Results) -> float | None:
    """Of their slowdown."""
    return hop_by_hop.p99(hop_by_hop.flows(run, "flows")["slowdown"])


def done(run: Results) -> float | None:
    """When the incast was done, in µs."""
    found = hop_by_hop.whole(hop_by_hop.flows(run, "incast")["done_us"])
    return None if found is None else max(found)


def _over(runs: Runs, of: Callable[[Results], float | None]) -> dict[str, float | None]:
    return {name: hop_by_hop.ratio(of(runs[name]), of(runs["Pyrrha"])) for name in OTHERS}


def metrics(runs: Runs) -> Measurements:
    return {
        "mean_over_pyrrha": _over(runs, mean),
        "p99_over_pyrrha": _over(runs, p99),
        "incast_pyrrha_over_pfc": hop_by_hop.ratio(done(runs["Pyrrha"]), done(runs["PFC"])),
    }


def draw(seeds: Seeds, file: Path) -> None:
    words = ("Flows beside an incast in a fat tree of 128 hosts", ["≤ 1 KB", "≤ 10 KB", "≤ 100 KB", "≤ 1 MB", "> 1 MB"])
    hop_by_hop.by_size(seeds, "flows", EDGES, words, file)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for name in seeds[0]:
        runs = [seed[name] for seed in seeds]
        less = [
            None if of is None or own is None else 100 * (1 - own / of)
            for of, own in ((mean(seed[name]), mean(seed["Pyrrha"])) for seed in seeds)
        ]
        times = [hop_by_hop.ratio(p99(seed[name]), p99(seed["Pyrrha"])) for seed in seeds]
        columns = ([mean(run) for run in runs], less, [p99(run) for run in runs], times, [done(run) for run in runs])
        rows.append((name, *(hop_by_hop.over_seeds(values) for values in columns)))
    headings = (
        "scheme",
        "mean FCT [µs]",
        "Pyrrha has less of it by [%]",
        "p99 slowdown",
        "times that of Pyrrha",
        "incast done after [µs]",
    )
    return [NumberTable("flows beside the incast", headings, tuple(rows))]
