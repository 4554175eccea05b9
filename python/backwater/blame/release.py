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


def ends(results: Results, off: pl.DataFrame, holds: pl.DataFrame, end_ps: int, look_ps: int) -> pl.DataFrame:
    """OFF intervals with `end_ps`, until when they hold their port.

    That is `sent_ps`; if the queue is above K then, until it falls to K, or the port's switch holds back an upstream
    port mainly for the sake of this queue while its gate is open (twice, `look_ps` apart, if that is not 0, without it
    falling in between), or the queue is longer than it was at the RESUME. Another OFF interval, or the end of the run,
    ends it in any case.
    """
    slack = _slack(results)
    rows = _intervals(results, slack)
    next_off = pl.col("off_ps").shift(-1).over("queue").fill_null(end_ps)
    ordered = off.sort("queue", "off_ps").with_columns(_next=next_off)
    began = latest(ordered, rows.select("queue", _start="start_ps", _end="end_ps", _fell="fell"), "sent_ps", "_start")
    long = (pl.col("_start") >= pl.col("on_ps")) & ~(pl.col("_fell") & (pl.col("_end") <= pl.col("sent_ps")))
    found = began.with_columns(_long=long.fill_null(value=False))
    found = earliest(found, rows.filter("fell").select("queue", _falls="end_ps"), "sent_ps", "_falls")
    blocking = _blocking(holds) if look_ps == 0 else _still_blocking(holds, slack, look_ps)
    found = earliest(found, blocking.rename({"time_ps": "_holds", "since": "_since"}), "sent_ps", "_since")
    grown = _grown(found, rows, _swing(slack, look_ps)).rename({"time_ps": "_grows"})
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


def _own(holds: pl.DataFrame) -> pl.DataFrame:
    """The holds that are mainly for the sake of a queue whose own gate is open."""
    largest = pl.col("share") == pl.col("share").max().over("queue", "time_ps")
    return holds.filter(largest & ~pl.col("closed"))


def _blocking(holds: pl.DataFrame) -> pl.DataFrame:
    """When a hold was decided on mainly for the sake of a `queue`, its gate open: `time_ps`, also called `since`."""
    return _own(holds).select("time_ps", queue="blocker", since="time_ps").unique()


def _still_blocking(holds: pl.DataFrame, slack: pl.DataFrame, look_ps: int) -> pl.DataFrame:
    """The same, where there was such a hold of the same port `look_ps` before (`since`), and the queue has not fallen.

    And only if the ports that are held back for its sake meanwhile could bring more than it sends: else it only stays.
    Under credits the queue rises and falls in each period: only what was seen at the same place of it can be compared.
    """
    own = _own(holds).with_columns(pair=pl.format("{} {}", "queue", "blocker"), _then=pl.col("time_ps") - look_ps // 2)
    earlier = own.select("pair", since="time_ps", _bytes="queue_bytes")
    found = latest(own, earlier, "_then", "since", by="pair").with_columns(look=pl.col("time_ps") // look_ps)
    looks = [found.select("blocker", "queue", look=pl.col("look") + later) for later in (0, 1)]
    rates = slack.select("queue", "rate_bps")
    brings = (
        pl.concat(looks).unique().join(rates, on="queue").group_by("blocker", "look").agg(brings=pl.sum("rate_bps"))
    )
    known = found.join(brings, on=["blocker", "look"]).drop("queue").rename({"blocker": "queue"})
    level = pl.col("queue_bytes") + pl.col("slack_bytes") >= pl.col("_bytes")
    own_cause = known.join(slack, on="queue").filter(level & (pl.col("brings") > pl.col("rate_bps")))
    return own_cause.select("time_ps", "queue", "since").unique()


def _swing(slack: pl.DataFrame, look_ps: int) -> pl.DataFrame:
    """The slack, and by how much a queue swings within a period of credits: by no more than its port sends in one."""
    sends = pl.col("slack_bytes") * look_ps // pl.col("slack_ps")
    return slack.with_columns(slack_bytes=pl.col("slack_bytes") + sends)


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

    A packet may come by each port of the switch at once. `rate_bps` is the port's.
    """
    packet = results.meta["scenario"]["packet"]
    size = sum(quantity.parse_size(packet[part]) for part in ("payload", "header"))
    ports = read(results, "ports", ["node_index", "port_index", "priority", "rate_bps"])
    known = ports.with_columns(queue=queue_of(), slack_bytes=size * pl.col("port_index").n_unique().over("node_index"))
    sending = (pl.col("slack_bytes") * 8e12 / pl.col("rate_bps")).ceil().cast(pl.Int64)
    return known.select("queue", "slack_bytes", "rate_bps", slack_ps=sending)
