"""When a port that was OFF is held no more: its long queue has fallen, or is provably its own.

A queue that flow control has piled up does not fall by itself: where as much comes in as goes out, it stays. So it is
not enough that the port has had the time to send on what was held back.
"""

from __future__ import annotations

from backwater.analysis.blame import starvation
from backwater.analysis.blame.tables import earliest, latest, queue_of, read
from backwater.common.late import pl
from backwater.results import Results
from backwater.results.measures import under_credits


def ends(results: Results, off: pl.DataFrame, holds: pl.DataFrame, end_ps: int) -> pl.DataFrame:
    """OFF intervals with `end_ps`, until when they hold their port.

    That is `sent_ps`; if the queue is above K then, until it falls to K, or the port's switch holds back an upstream
    port mainly for the sake of this queue while its gate is open, or the queue is longer than when the gate opened.
    Under credits :func:`starvation.proofs` says which of those holds count. Another OFF interval, or the end of the
    run, ends it in any case.
    """
    slack = _slack(results)
    rows = _intervals(results, slack)
    next_off = pl.col("off_ps").shift(-1).over("queue").fill_null(end_ps)
    ordered = off.sort("queue", "off_ps").with_columns(_next=next_off)
    began = latest(ordered, rows.select("queue", _start="start_ps", _end="end_ps", _fell="fell"), "sent_ps", "_start")
    long = (pl.col("_start") >= pl.col("on_ps")) & ~(pl.col("_fell") & (pl.col("_end") <= pl.col("sent_ps")))
    found = began.with_columns(_long=long.fill_null(value=False))
    found = earliest(found, rows.filter("fell").select("queue", _falls="end_ps"), "sent_ps", "_falls")
    swing = _swing(results, slack)
    for name, times in (("_holds", _holding(results, off, holds, slack)), ("_grows", _grown(off, rows, swing))):
        found = found.join(times.rename({"time_ps": name}), on="off", how="left")
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


def _holding(results: Results, off: pl.DataFrame, holds: pl.DataFrame, slack: pl.DataFrame) -> pl.DataFrame:
    """Per OFF interval `time_ps`: the first hold after `sent_ps` mainly for the sake of its queue, at an open gate."""
    scenario = results.meta["scenario"]
    if under_credits(scenario):
        return starvation.proofs(off, holds, slack, starvation.period_ps(scenario))
    largest = pl.col("share") == pl.col("share").max().over("queue", "time_ps")
    times = holds.filter(largest & ~pl.col("closed")).select(time_ps="time_ps", queue="blocker").unique()
    return earliest(off.select("off", "queue", "sent_ps"), times, "sent_ps", "time_ps").select("off", "time_ps")


def _swing(results: Results, slack: pl.DataFrame) -> pl.DataFrame:
    """The slack, and by how much a queue swings within a period of credits: by no more than its port sends in one."""
    period = starvation.period_ps(results.meta["scenario"])
    sends = pl.col("slack_bytes") * period // pl.col("slack_ps")
    return slack.with_columns(slack_bytes=pl.col("slack_bytes") + sends)


def _grown(off: pl.DataFrame, rows: pl.DataFrame, slack: pl.DataFrame) -> pl.DataFrame:
    """Per OFF interval `time_ps`: the first end of an interval after `sent_ps` with a queue longer than at `on_ps`."""
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
    size = starvation.packet_bytes(results.meta["scenario"])
    ports = read(results, "ports", ["node_index", "port_index", "priority", "rate_bps"])
    known = ports.with_columns(queue=queue_of(), slack_bytes=size * pl.col("port_index").n_unique().over("node_index"))
    sending = (pl.col("slack_bytes") * 8e12 / pl.col("rate_bps")).ceil().cast(pl.Int64)
    return known.select("queue", "slack_bytes", slack_ps=sending)
