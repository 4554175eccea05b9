"""What hosts got over time and how long it took: throughput and BECNs by traffic entry, latencies, FCTs, fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from backwater.common.quantities import parse_time
from backwater.errors import UsageError
from backwater.results import Results
from backwater.results.measures import Series, end_ps

#: The percentiles of latencies and FCTs that tables show, by name.
PERCENTILES: Mapping[str, float] = {"p50": 50, "p95": 95, "p99": 99, "p999": 99.9}


def period_ps(results: Results) -> int:
    """The period of the series: `probe.sample` of the scenario, or the whole run."""
    sample = results.meta["scenario"].get("probe", {}).get("sample")
    return parse_time(sample) if sample else max(end_ps(results), 1)


def per_period(results: Results, column: str, traffic: Sequence[str] | None = None) -> Series:
    """A column of the delivered table per period, summed over hosts: of some traffic entries, or of all.

    Times are the starts of the periods, from the start of the run to its end; empty periods are 0.
    """
    table = results.delivered
    if traffic is not None:
        table = table.filter(_of(traffic))
    found = table.group_by("time_ps").agg(pl.col(column).sum()).collect()
    period = period_ps(results)
    values = np.zeros(max(-(-end_ps(results) // period), 1))
    values[found["time_ps"].to_numpy().astype(np.int64) // period] = found[column].to_numpy()
    return Series(np.arange(len(values), dtype=np.int64) * period, values)


def throughput(results: Results, traffic: Sequence[str] | None = None, *, wire: bool = False) -> Series:
    """Bit/s that hosts got, per period: payload, or what was on the wire with headers and padding.

    The last period counts as long as the run was in it.
    """
    found = per_period(results, "wire_bytes" if wire else "received_bytes", traffic)
    length = np.minimum(found.time_ps + period_ps(results), max(end_ps(results), 1)) - found.time_ps
    return Series(found.time_ps, found.value * 8e12 / length)


def becns(results: Results, traffic: Sequence[str] | None = None) -> Series:
    """BECNs (CNPs) that hosts sent, per period."""
    return per_period(results, "cnps", traffic)


def latencies(results: Results, traffic: Sequence[str] | None = None, *, since: str = "sent") -> NDArray[np.int64]:
    """Times of packets from one instant to their arrival, in picoseconds and ascending.

    `since` is ``sent`` (on the source's wire) or ``made`` (by the application, where that is known). Packets that had
    not arrived when the run ended are left out. Of the entries in `probe.packets`; `traffic` picks some of them.
    """
    if since not in ("sent", "made"):
        raise UsageError(f"latencies count since sent or made, not {since}")
    begin = pl.col(f"{since}_ps")
    found = results.packets.filter(pl.col("arrived_ps").is_not_null() & begin.is_not_null())
    if traffic is not None:
        found = found.filter(_of(traffic))
    taken = found.select(ps=(pl.col("arrived_ps") - begin).cast(pl.Int64).sort())
    return taken.collect()["ps"].to_numpy()


def fcts(
    results: Results, traffic: Sequence[str] | None = None, *, low: int = 0, high: int | None = None
) -> NDArray[np.int64]:
    """FCTs of the flows that finished, in picoseconds and ascending.

    `low` and `high` choose sizes: from `low` bytes up to, not including, `high`.
    """
    table = results.flows.filter(pl.col("fct_ps").is_not_null(), pl.col("size_bytes") >= low)
    if high is not None:
        table = table.filter(pl.col("size_bytes") < high)
    if traffic is not None:
        table = table.filter(_of(traffic))
    return table.select(pl.col("fct_ps").cast(pl.Int64).sort()).collect()["fct_ps"].to_numpy()


def percentile(ascending: NDArray[np.int64], percent: float) -> float | None:
    """The smallest value that at least `percent` % of them do not exceed, as in run.json; None of none."""
    count = len(ascending)
    return float(ascending[max(-int(-count * percent // 100), 1) - 1]) if count else None


def jain(results: Results, traffic: Sequence[str]) -> float | None:
    """Jain's index of what the sources of some traffic entries got across: 1 if all got the same, 1/n if one got all.

    None if nothing arrived.
    """
    got = (
        results.flows.filter(_of(traffic))
        .group_by("src_index")
        .agg(pl.col("received_bytes").sum())
        .collect()["received_bytes"]
        .to_numpy()
        .astype(np.float64)
    )
    return float(got.sum() ** 2 / (len(got) * np.square(got).sum())) if got.any() else None


def _of(traffic: Sequence[str]) -> pl.Expr:
    return pl.col("traffic").cast(pl.String).is_in(list(traffic))
