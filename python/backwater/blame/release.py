"""When a port that was OFF is held no more: its long queue has fallen, or is provably its own.

A queue that flow control has piled up does not fall by itself: where as much comes in as goes out, it stays. So it is
not enough that the port has had the time to send on what was held back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from backwater import quantity
from backwater.blame.tables import earliest, latest, queue_of, read

if TYPE_CHECKING:
    from backwater.results import Results


def ends(results: Results, off: pl.DataFrame, holds: pl.DataFrame, end_ps: int) -> pl.DataFrame:
    """OFF intervals with `end_ps`, until when they hold their port.

    That is `sent_ps`; if the queue is above K then, until it falls to K, or the port's switch holds back an upstream
    port mainly for the sake of this queue while its gate is open, or the queue is longer than it was at the RESUME.
    Another OFF interval, or the end of the run, ends it in any case.
    """
    slack = _slack(results)
    rows = _intervals(results, slack)
    next_off = pl.col("off_ps").shift(-1).over("queue").fill_null(end_ps)
    ordered = off.sort("queue", "off_ps").with_columns(_next=next_off)
    began = latest(ordered, rows.select("queue", _start="start_ps", _end="end_ps", _fell="fell"), "sent_ps", "_start")
    long = (pl.col("_start") >= pl.col("on_ps")) & ~(pl.col("_fell") & (pl.col("_end") <= pl.col("sent_ps")))
    found = began.with_columns(_long=long.fill_null(value=False))
    for name, times in (
        ("_falls", rows.filter("fell").select("queue", time_ps="end_ps")),
        ("_holds", _blocking(holds)),
    ):
        found = earliest(found, times.rename({"time_ps": name}), "sent_ps", name)
    grown = _grown(found, rows, slack).rename({"time_ps": "_grows"})
    found = found.join(grown, on="off", how="left")
    proof = pl.min_horizontal("_falls", "_holds", "_grows", "_next")
    until = pl.when("_long").then(pl.max_horizontal("sent_ps", proof)).otherwise("sent_ps")
    return found.select(*off.columns, end_ps=until).sort("off")


def _intervals(results: Results, slack: pl.DataFrame) -> pl.DataFrame:
    """The intervals of the crowds table, without their flows: `start_ps`, `end_ps`, `queue_bytes`, `fell`.

    `fell`: the queue fell to K at its end, and not only to be above K again as soon as a few packets were sent.
    """
    columns = ["start_ps", "end_ps", "node_index", "port_index", "priority", "queue_bytes", "threshold_bytes"]
    frame = read(results, "crowds", columns).with_columns(queue=queue_of())
    rows = frame.select("queue", "start_ps", "end_ps", "queue_bytes", "threshold_bytes").unique()
    ordered = rows.join(slack, on="queue", how="left").sort("queue", "start_ps")
    again = pl.col("start_ps").shift(-1).over("queue") - pl.col("end_ps")
    lasting = (again > pl.col("slack_ps")).fill_null(value=True)
    fell = (pl.col("queue_bytes") <= pl.col("threshold_bytes")) & lasting
    return ordered.with_columns(fell=fell).select("queue", "start_ps", "end_ps", "queue_bytes", "fell")


def _blocking(holds: pl.DataFrame) -> pl.DataFrame:
    """When a hold was decided on mainly for the sake of a queue whose own gate was open."""
    largest = pl.col("share") == pl.col("share").max().over("queue", "time_ps")
    return holds.filter(largest & ~pl.col("closed")).select("time_ps", queue="blocker").unique()


def _grown(off: pl.DataFrame, rows: pl.DataFrame, slack: pl.DataFrame) -> pl.DataFrame:
    """Per OFF interval `time_ps`: the first end of an interval after `sent_ps` with a queue longer than at RESUME."""
    ended = rows.select("queue", _end="end_ps", _bytes="queue_bytes")
    own = latest(ended, off.select("queue", "off", "on_ps", "sent_ps", "queue_bytes"), "_end", "on_ps")
    longer = own.join(slack, on="queue", how="left").filter(
        (pl.col("_end") >= pl.col("sent_ps")) & (pl.col("_bytes") > pl.col("queue_bytes") + pl.col("slack_bytes"))
    )
    return longer.group_by("off").agg(time_ps=pl.col("_end").min())


def _slack(results: Results) -> pl.DataFrame:
    """By how much a queue goes up and down while as much comes in as goes out, and how long that takes to be sent.

    A packet may come by each port of the switch at once.
    """
    packet = results.meta["scenario"]["packet"]
    size = sum(quantity.parse_size(packet[part]) for part in ("payload", "header"))
    ports = read(results, "ports", ["node_index", "port_index", "priority", "rate_bps"])
    known = ports.with_columns(queue=queue_of(), slack_bytes=size * pl.col("port_index").n_unique().over("node_index"))
    sending = (pl.col("slack_bytes") * 8e12 / pl.col("rate_bps")).ceil().cast(pl.Int64)
    return known.select("queue", "slack_bytes", slack_ps=sending)
