"""What Figures 3 to 6 measure: messages of Google_All, with a congestion tree or with bursts."""

from __future__ import annotations

import polars as pl
from backwater.papers import Metrics, Runs
from backwater.results import Results
from backwater.results.measures import end_ps

from papers.ici.measured import MS, common, half, least, makespan_ms, offered, throughput, told, unfinished
from papers.ici.times import PERCENTILES, fct


def times(run: Results) -> Metrics:
    """Percentiles of FCT over all messages, in µs."""
    return {f"{name}_fct_us": value for name, value in fct(run).percentiles.items()}


def network(run: Results) -> Metrics:
    """How long the run and the bursts take, and what happened in the network."""
    return {
        "run_ms": end_ps(run) / MS,
        "unfinished": unfinished(run),
        "makespan_ms": makespan_ms(run),
    } | common(run)


def span(runs: Runs, *, bursts: bool) -> tuple[int, int]:
    """From the start of the tree until the first scheme has delivered its messages; of bursts, until they are over.

    They are over when `none` has delivered them; if it never does, the messages count for them, too.
    """
    start, _ = offered(runs["none"])
    length = makespan_ms(runs["none"]) if bursts else None
    if length is not None:
        return start, start + int(length * MS)
    ends = [_last_message(run) for run in runs.values()]
    return start, max(int(least(ends) or 0), start + 1)


def _last_message(run: Results) -> float:
    table = run.flows.filter(half(tree=False))
    last = table.select(pl.col("finish_ps").max()).collect().item()
    return float(last if last is not None else end_ps(run))


def shares(runs: Runs, *, bursts: bool) -> Metrics:
    """Throughput by scheme over one span for all: of messages, of the tree or the bursts, and of both."""
    start, end = span(runs, bursts=bursts)
    found: dict[str, Metrics] = {}
    for scheme, run in runs.items():
        background, hot = (throughput(run, start, end, tree=tree) for tree in (False, True))
        found[scheme] = {
            "background_gbps": background,
            "hot_gbps": hot,
            "throughput_gbps": background + hot,
        }
    return told(found) | {"span_ms": (end - start) / MS}


def becn_gain(found: Metrics, scheme: str) -> float:
    """How many times more BECNs there are than with ICI+; none counts as 1."""
    return float(found[f"{scheme}_becns"] or 0) / max(float(found["ici+_becns"] or 0), 1.0)


def compare(runs: Runs) -> Metrics:
    """FCTs of every scheme, and ICI+ against the others; `runs` by scheme."""
    by_scheme = {scheme: times(run) for scheme, run in runs.items()}
    found = told(by_scheme)
    for scheme, measured in by_scheme.items():
        if scheme == "ici+":
            continue
        for name in PERCENTILES:
            other, own = float(measured[f"{name}_fct_us"] or 0), float(by_scheme["ici+"][f"{name}_fct_us"] or 0)
            found[f"{scheme}_{name}_fct_over_ici+"] = other / own
            found[f"{name}_fct_reduction_against_{scheme}"] = 100 * (1 - own / other)
    return found
