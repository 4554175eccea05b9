"""When a port was OFF, and how long it was held: OFF, and then until flow control explains its queue no more."""

from __future__ import annotations

from dataclasses import dataclass

from backwater.analysis.blame import release, starvation
from backwater.analysis.blame.tables import latest, queue_of, read
from backwater.common.late import pl
from backwater.results import Results

#: No congestion tree is deeper. Where pauses go round in a circle, sums over the tree end here.
DEEPEST = 32


@dataclass(frozen=True)
class Gates:
    """`off`: one row per OFF interval: `off` (its number), `queue`, `off_ps`, `on_ps`, `behind` (bytes held back).

    Also `rate_bps` of the port, and `turn_ps`: see :func:`starvation.turn`.

    `held`: one row per held period: `queue`, `start`, `end`. `holds`: one row per hold and egress queue it was for:
    `time_ps`, `queue` (the held one), `blocker`, `share` (of the packets that the hold was for), `closed` (whether the
    gate of the blocker was).
    """

    off: pl.DataFrame
    held: pl.DataFrame
    holds: pl.DataFrame


def gates(results: Results, ports: pl.DataFrame) -> Gates:
    """OFF intervals, held periods and what holds whom."""
    end_ps = int(results.meta["sim_time_ps"])
    turn = starvation.turn(results.meta["scenario"]).alias("turn_ps")
    known = _off(results, end_ps).join(ports.select("queue", "rate_bps"), on="queue", how="left").with_columns(turn)
    holds = _holds(results)
    off = _behind(known, holds)
    ends = release.ends(results, _sent(off), holds, end_ps)
    return Gates(off, _held(ends), holds)


def _off(results: Results, end_ps: int) -> pl.DataFrame:
    columns = ["time_ps", "node_index", "port_index", "priority", "paused", "queue_bytes"]
    changes = read(results, "pauses", columns).with_columns(queue=queue_of())
    ordered = changes.sort("queue", "time_ps", maintain_order=True)
    return (
        ordered.select(
            "queue",
            "paused",
            off_ps="time_ps",
            on_ps=pl.col("time_ps").shift(-1).over("queue").fill_null(end_ps),
            queue_bytes=pl.col("queue_bytes").shift(-1).over("queue").fill_null(0),
        )
        .filter("paused")
        .drop("paused")
        .with_row_index("off")
    )


def _holds(results: Results) -> pl.DataFrame:
    held = ("held_node_index", "held_port_index", "priority")
    blocker = ("node_index", "blocker_index", "blocker_priority")
    frame = read(results, "holds", ["time_ps", *held, *blocker, "from_held_bytes", "closed"])
    return frame.select(
        "time_ps",
        "closed",
        queue=queue_of(*held),
        blocker=queue_of(*blocker),
        share=pl.col("from_held_bytes"),
    ).with_columns(
        # A NIC that does not stop sending PAUSE holds for the sake of nothing in a queue, and alone.
        share=(pl.col("share") / pl.col("share").sum().over("queue", "time_ps")).fill_nan(1.0)
    )


def _behind(off: pl.DataFrame, holds: pl.DataFrame) -> pl.DataFrame:
    """Adds what waited at the end of each OFF interval: in the queue, and upstream in the ports it held by then.

    An upstream port counts with its own last OFF interval, if the two overlap (or lie, under credits, no longer apart
    than the upstream port takes its turn), and with all that waited behind that one in turn, wherever it was going.
    """
    pairs = holds.select("queue", "blocker").unique()
    parents = off.join(pairs, left_on="queue", right_on="blocker", how="inner").rename({"queue_right": "upstream"})
    parents = parents.select("off", "off_ps", "on_ps", "upstream")
    children = off.select("queue", child="off", child_off="off_ps", child_held=pl.col("on_ps") + pl.col("turn_ps"))
    edges = latest(parents, children.rename({"queue": "upstream"}), "on_ps", "child_off", by="upstream")
    edges = edges.filter(pl.col("child_held") >= pl.col("off_ps")).select("off", "child")
    behind = off.select("off", behind="queue_bytes")
    for _ in range(DEEPEST if edges.height else 0):
        upstream = edges.join(behind, left_on="child", right_on="off").group_by("off").agg(pl.col("behind").sum())
        below = off.select("off", "queue_bytes").join(upstream, on="off", how="left")
        after = below.select("off", behind=pl.col("queue_bytes") + pl.col("behind").fill_null(0)).sort("off")
        if after["behind"].equals(behind["behind"]):
            break
        behind = after
    return off.join(behind, on="off").sort("off")


def _sent(off: pl.DataFrame) -> pl.DataFrame:
    """Adds `sent_ps`: when the port can have sent on all that was held back, and not before its turn is over."""
    sending = (pl.col("behind") * 8e12 / pl.col("rate_bps")).ceil().cast(pl.Int64)
    return off.with_columns(sent_ps=pl.col("on_ps") + pl.max_horizontal(sending, "turn_ps")).sort("off")


def _held(ends: pl.DataFrame) -> pl.DataFrame:
    """Held periods: OFF intervals, each until its end after the gate opened, merged."""
    spans = ends.select("queue", start="off_ps", end="end_ps")
    spans = spans.sort("queue", "start")
    before = pl.col("end").cum_max().shift(1).over("queue")
    begins = (pl.col("start") > before).fill_null(value=True)
    numbered = spans.with_columns(period=begins.cast(pl.Int64).cum_sum())
    return numbered.group_by("period", "queue").agg(pl.col("start").min(), pl.col("end").max()).drop("period")


def within(frame: pl.DataFrame, periods: pl.DataFrame, time: str, name: str) -> pl.DataFrame:
    """`frame` with a column `name`: whether `time` is in one of the periods of its queue."""
    found = latest(frame, periods.select("queue", _start="start", _end="end"), time, "_start")
    return found.with_columns((pl.col("_end") >= pl.col(time)).fill_null(value=False).alias(name)).drop(
        "_start", "_end"
    )


def covered(frame: pl.DataFrame, periods: pl.DataFrame, name: str) -> pl.DataFrame:
    """`frame` with a column `name`: how much of [`start_ps`, `end_ps`] the periods of its queue cover."""
    ordered = periods.sort("queue", "start")
    lengths = pl.col("end") - pl.col("start")
    known = ordered.select("queue", _start="start", _end="end", _before=lengths.cum_sum().over("queue") - lengths)
    for column in ("end_ps", "start_ps"):
        until = pl.min_horizontal(column, "_end") - pl.col("_start") + pl.col("_before")
        frame = latest(frame, known, column, "_start").with_columns(until.fill_null(0).alias(f"_{column}"))
        frame = frame.drop("_start", "_end", "_before")
    return frame.with_columns((pl.col("_end_ps") - pl.col("_start_ps")).alias(name)).drop("_start_ps", "_end_ps")
