"""What hosts got over time: goodput, throughput and BECNs by traffic entry, and how evenly."""

from __future__ import annotations

from collections.abc import Sequence

from backwater.common.late import np, pl
from backwater.common.quantities import parse_time
from backwater.results import Results
from backwater.results.measures import Series, end_ps


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


def goodput(results: Results, traffic: Sequence[str] | None = None) -> Series:
    """Bit/s of payload that hosts got, per period; the last one counts as long as the run was in it."""
    return _rate(results, "received_bytes", traffic)


def throughput(results: Results, traffic: Sequence[str] | None = None) -> Series:
    """The same of what was on the wire, with headers and padding."""
    return _rate(results, "wire_bytes", traffic)


def _rate(results: Results, column: str, traffic: Sequence[str] | None) -> Series:
    found = per_period(results, column, traffic)
    length = np.minimum(found.time_ps + period_ps(results), max(end_ps(results), 1)) - found.time_ps
    return Series(found.time_ps, found.value * 8e12 / length)


def becns(results: Results, traffic: Sequence[str] | None = None) -> Series:
    """BECNs (CNPs) that hosts sent, per period."""
    return per_period(results, "cnps", traffic)


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
