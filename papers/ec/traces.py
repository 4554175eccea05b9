"""What the trace of a PUT stream tells: when the sign of congestion leaves and acts, what is lost and sent again."""

from __future__ import annotations

import polars as pl
from backwater.analysis.put_trace import Trace

from papers.ec.measured import US

#: IACKs, and DACKs, the signs of congestion, as they leave the target. A mark in an IACK stands for a DACK before it.
IACKS, DACKS = ("iack-sent", "marked-sent"), ("dack-sent", "marked-sent")
OPEN = "open"


def only(trace: Trace, *events: str) -> pl.DataFrame:
    """The events of these kinds."""
    return trace.events.filter(pl.col("event").is_in(events))


def count(trace: Trace, *events: str) -> int:
    """How many there are."""
    return only(trace, *events).height


def _first_us(found: pl.DataFrame) -> float | None:
    first = found["time_ps"].min()
    return None if first is None else float(first) / US  # type: ignore[arg-type]


def first_us(trace: Trace, *events: str) -> float | None:
    """When the first of them was, in µs."""
    return _first_us(only(trace, *events))


def halted_us(trace: Trace) -> float | None:
    """When the stream was first throttled."""
    return _first_us(only(trace, "state").filter(pl.col("state") != OPEN))


def sent_between(trace: Trace, start_us: float, end_us: float) -> int:
    """New packets that left in a stretch of time."""
    return only(trace, "sent").filter(pl.col("time_ps").is_between(int(start_us * US), int(end_us * US))).height


def peaks(trace: Trace, start_us: float) -> pl.Series:
    """Bytes in the receive queue as packets have come in, from then on."""
    grown = trace.queue.filter(pl.col("queue_bytes") > pl.col("queue_bytes").shift(1).fill_null(0))
    return grown.filter(pl.col("time_ps") >= int(start_us * US))["queue_bytes"]
