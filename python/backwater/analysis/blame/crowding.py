"""Which flows feed the roots: those whose packets leave a long queue behind at a port that nobody holds."""

from __future__ import annotations

from backwater.analysis.blame.gates import Gates, within
from backwater.analysis.blame.tables import latest, queue_of, read
from backwater.common.late import pl
from backwater.results import Results


def crowds(results: Results, gates: Gates, queues: pl.DataFrame) -> pl.DataFrame:
    """The crowds table with `queue`, `is_drain` and `is_held`: whether the port was held in the middle of an interval.

    An interval in which a held period ends begins, if it counts as free, where that period ended.
    """
    columns = ["start_ps", "end_ps", "node_index", "port_index", "priority", "flow", "packets", "sent_bytes"]
    frame = read(results, "crowds", [*columns, "ce_packets", "ce_before_packets"]).with_columns(queue=queue_of())
    frame = frame.drop("node_index", "port_index", "priority")
    middle = frame.with_columns(middle_ps=(pl.col("start_ps") + pl.col("end_ps")) // 2)
    judged = within(middle, gates.held, "middle_ps", "is_held").drop("middle_ps")
    ends = latest(judged, gates.held.select("queue", _start="start", _free="end"), "start_ps", "_start")
    free = pl.max_horizontal("start_ps", pl.when(~pl.col("is_held")).then("_free"))
    drains = queues.filter("is_drain")["queue"].implode()
    return ends.with_columns(start_ps=free, is_drain=pl.col("queue").is_in(drains)).drop("_start", "_free")


def crowded(crowding: pl.DataFrame) -> pl.DataFrame:
    """Per queue that was ever a root: `crowd_ps` (time above K), `packets`, `ce_packets`, since and until when."""
    free = crowding.filter(~pl.col("is_held"))
    spans = free.group_by("queue", "start_ps", "end_ps").agg(pl.col("packets", "ce_packets").sum(), flows=pl.len())
    return spans.group_by("queue").agg(
        crowd_ps=(pl.col("end_ps") - pl.col("start_ps")).sum(),
        crowd_from_ps=pl.col("start_ps").min(),
        crowd_to_ps=pl.col("end_ps").max(),
        packets=pl.col("packets").sum(),
        ce_packets=pl.col("ce_packets").sum(),
    )


def feeding(crowding: pl.DataFrame) -> pl.DataFrame:
    """Per root and flow what it sent meanwhile.

    Columns `root`, `flow`, `packets`, `sent_bytes`, `ce_packets`, `first_ps`, `share`.
    """
    totals = (
        crowding.filter(~pl.col("is_held"))
        .group_by(pl.col("queue").alias("root"), "flow")
        .agg(pl.col("packets", "sent_bytes", "ce_packets").sum(), first_ps=pl.col("start_ps").min())
    )
    share = pl.col("sent_bytes") / pl.col("sent_bytes").sum().over("root")
    return totals.with_columns(share=share).sort("root", "sent_bytes", "flow", descending=[False, True, False])
