"""PUT streams in numbers: goodput, what is sent again and dropped, ACKs, fairness, and the receive queues of hosts.

Goodput is payload that targets accepted, over the time. A rate "of the link" is divided by the rate of the link to its
target; of several targets, by all of their links together. A window counts the sampling periods that begin within it.
"""

from __future__ import annotations

from typing import Any

from backwater.common import quantities
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.results import Results
from backwater.results.measures import drops, end_ps, has_puts
from backwater.scenario import senders

#: From when until when, in picoseconds.
Window = tuple[int, int]
#: What was measured, by name; None where there is nothing to measure.
Values = dict[str, float | None]

#: What identifies a stream in the table of streams.
STREAM = ("src", "dst", "priority", "kind")
#: What is counted of each stream.
COUNTS = (
    "sent_packets", "sent_bytes", "resent_packets", "resent_bytes", "accepted_packets", "accepted_bytes",
    "processed_bytes", "dropped_packets", "out_of_order_packets", "duplicate_packets", "timeouts",
)  # fmt: skip
#: What both ends count; of these it is the initiator's that a stream is shown with: what took effect.
_ACKS = ("iacks", "marked_iacks", "dacks", "nacks")


def entries(results: Results) -> list[str]:
    """The traffic entries and jobs whose flows are PUTs."""
    every = senders.of(results.meta["scenario"])
    return [str(entry["name"]) for entry in every if entry.get("transport") == "put"]


def applies(results: Results) -> bool:
    """Whether there are PUTs to tell of."""
    return has_puts(results.meta["scenario"])


def check_window(results: Results, window: Window) -> None:
    """Raise UsageError for a window in which tables of sampling periods cannot be summed up."""
    start, end = window
    if end > end_ps(results):
        raise UsageError(f"--window ends after the runs do, at {quantities.time(end_ps(results))}")
    period = results.meta["scenario"].get("probe", {}).get("sample")
    step = quantities.parse_time(period) if period else 0
    if not step or start % step or (end % step and end != end_ps(results)):
        raise UsageError(f"--window must begin and end at multiples of probe.sample, {period}")


def _within(table: pl.LazyFrame, window: Window | None) -> pl.LazyFrame:
    return table if window is None else table.filter(pl.col("start_ps").is_between(*window, closed="left"))


def links(results: Results) -> dict[str, int]:
    """The rate of the link to each host, in bit/s, by the host's name."""
    rates = results.ports.select(pl.col("peer").cast(pl.String), "rate_bps").unique("peer").collect()
    return {str(host): int(rate) for host, rate in rates.rows()}


def _streams(results: Results) -> pl.LazyFrame:
    return results.streams.with_columns(pl.col("src", "dst", "side").cast(pl.String))


def by_stream(results: Results, window: Window | None = None) -> pl.DataFrame:
    """One row per stream that did something in the whole run: what its two ends did within the window.

    ``iacks``, ``marked_iacks``, ``dacks`` and ``nacks`` are those that took effect at the initiator. ``goodput_bps``;
    ``goodput`` and ``resent`` (bytes on the wire that were sent again) as shares of the link to the target.
    """
    start, end = window or (0, end_ps(results))
    span = max(end - start, 1)
    at_initiator = pl.col("side") == "initiator"
    sums = [pl.col(name).sum() for name in COUNTS]
    sums += [pl.when(at_initiator).then(pl.col(name)).otherwise(0).sum() for name in _ACKS]
    every = _streams(results).select(STREAM).unique()
    found = every.join(_within(_streams(results), window).group_by(STREAM).agg(sums), on=STREAM, how="left")
    rate = pl.col("dst").replace_strict(links(results), return_dtype=pl.Float64)
    return (
        found.with_columns(pl.col([*COUNTS, *_ACKS]).fill_null(0))
        .with_columns(goodput_bps=pl.col("accepted_bytes") * 8e12 / span)
        .with_columns(goodput=pl.col("goodput_bps") / rate, resent=pl.col("resent_bytes") * 8e12 / span / rate)
        .sort(STREAM)
        .collect()
    )


def by_pair(results: Results, window: Window | None = None) -> pl.DataFrame:
    """One row per initiator and target: ``src``, ``dst``, ``goodput_bps`` and ``goodput`` (share of the link).

    Every two hosts that PUTs were to go between have one, also those that got nothing across.
    """
    of_puts = pl.col("traffic").cast(pl.String).is_in(entries(results))
    pairs = results.flows.filter(of_puts).select(pl.col("src", "dst").cast(pl.String)).unique().collect()
    sums = by_stream(results, window).group_by("src", "dst").agg(pl.col("goodput_bps", "goodput").sum())
    joined = pairs.join(sums, on=("src", "dst"), how="full", coalesce=True)
    return joined.with_columns(pl.col("goodput_bps", "goodput").fill_null(0.0)).sort("src", "dst")


def goodput(results: Results, window: Window | None = None) -> float:
    """Payload that all targets accepted, as a share of their links."""
    return _of_the_links(by_stream(results, window), "goodput")


def resent(results: Results, window: Window | None = None) -> float:
    """Bytes on the wire that initiators sent again, as a share of the links to their targets."""
    return _of_the_links(by_stream(results, window), "resent")


def _of_the_links(streams: pl.DataFrame, column: str) -> float:
    targets = streams["dst"].n_unique()
    return float(streams[column].sum()) / targets if targets else 0.0


def largest_difference(results: Results, window: Window | None = None) -> float | None:
    """The largest difference of accepted payload between two initiators of one target, as a share of its link.

    None if no target has two initiators.
    """
    per_target = _shared(by_pair(results, window)).agg(difference=pl.col("goodput").max() - pl.col("goodput").min())
    return _number(per_target["difference"].max())


def jain(results: Results, window: Window | None = None) -> float | None:
    """Jain's index of what the initiators of a target got across; of several targets that of the worst.

    1 if all got the same, 1/n if one of n got all. None if no target with two initiators accepted anything.
    """
    got = pl.col("goodput")
    index = got.sum().pow(2) / (pl.len() * got.pow(2).sum())
    found = _shared(by_pair(results, window)).agg(index=pl.when(got.sum() > 0).then(index))
    return _number(found["index"].min())


def _shared(pairs: pl.DataFrame) -> Any:
    """Pairs by target, of targets with several initiators."""
    return pairs.filter(pl.len().over("dst") > 1).group_by("dst", maintain_order=True)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def numbers(results: Results, window: Window | None = None) -> Values:
    """What tables of several runs show of one; see :mod:`.scheme_measures`. Without PUTs and receive queues: nothing.

    Without the table of streams only what flows and ports know of the whole run; a window then leaves nothing of it.
    """
    found: Values = {}
    if applies(results):
        found |= _of_streams(results, window) if results.has("streams") else {}
        if window is None:
            found |= _of_flows(results) | found
            found["switch_drops"] = drops(results)
        elif results.has("drops"):
            inside = pl.col("time_ps").is_between(*window, closed="left") & (
                pl.col("reason").cast(pl.String) != "not-taken"
            )
            found["switch_drops"] = _number(results.drops.filter(inside).select(pl.len()).collect().item())
    if results.has("endpoints"):
        queue = _within(results.endpoints, window).select(pl.col("peak_bytes").max(), pl.col("holding_ps").sum())
        peak, holding = queue.collect().row(0)
        found["receive_peak_bytes"] = float(peak or 0)
        if results.meta["scenario"].get("switch", {}).get("flow-control") != "none":
            found["holding_ps"] = float(holding)
    return found


def _of_flows(results: Results) -> Values:
    of_puts = pl.col("traffic").cast(pl.String).is_in(entries(results))
    columns = pl.col("resent_packets", "dropped_packets").sum()
    resent_packets, dropped = results.flows.filter(of_puts).select(columns).collect().row(0)
    return {"resent_packets": float(resent_packets), "target_drops": float(dropped)}


def _of_streams(results: Results, window: Window | None) -> Values:
    streams = by_stream(results, window)
    sums = streams.select(pl.col([*COUNTS, *_ACKS]).sum()).row(0, named=True)
    sent = sums["sent_packets"] + sums["resent_packets"]
    difference = largest_difference(results, window)
    return {
        "goodput_bps": float(streams["goodput_bps"].sum()),
        "goodput_percent": 100 * goodput(results, window),
        "resent_packets": float(sums["resent_packets"]),
        "resent_percent": 100 * sums["resent_packets"] / sent if sent else None,
        "target_drops": float(sums["dropped_packets"] + sums["out_of_order_packets"]),
        "nacks": float(sums["nacks"]),
        "dacks": float(sums["dacks"]),
        "marked_iacks": float(sums["marked_iacks"]),
        "timeouts": float(sums["timeouts"]),
        "difference_percent": None if difference is None else 100 * difference,
        "jain": jain(results, window),
    }
