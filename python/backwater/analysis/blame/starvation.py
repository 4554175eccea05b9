"""What is different where credits hold a port back, and not PAUSEs.

A PAUSE says that a buffer has grown; an update of credits that says how little is free is repeated every period for as
long as little is free. So it does not tell by itself whether a queue is the cause of what it holds back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backwater.analysis.blame.tables import earliest, latest
from backwater.common import quantities
from backwater.common.late import pl
from backwater.results.measures import under_credits


def period_ps(scenario: Mapping[str, Any]) -> int:
    """Tc, in picoseconds; 0 where credits return at once, and without credits."""
    credits_of = scenario["switch"]["credits"] if under_credits(scenario) else {}
    return quantities.parse_time(credits_of["period"]) if credits_of.get("returned") == "periodic" else 0


def packet_bytes(scenario: Mapping[str, Any]) -> int:
    """A full packet on the wire."""
    return sum(quantities.parse_size(scenario["packet"][part]) for part in ("payload", "header"))


def turn(scenario: Mapping[str, Any]) -> pl.Expr:
    """For how long a port may be ON although flow control still takes its turns with it, in picoseconds.

    Under credits that come once per period no ON time between two OFF times is longer than the period (TCD paper,
    Equation 4) and the packet that the next update waits for on its way. PFC has no such bound.
    """
    period = period_ps(scenario)
    if period == 0:
        return pl.lit(0, pl.Int64)
    sending = packet_bytes(scenario) * 8e12 / pl.col("rate_bps")
    return period + sending.ceil().cast(pl.Int64)


#: After so many periods a queue upstream of a port that opened its gate has settled. An update of that port's switch in
#: the second counts a whole period of sending, the switch upstream counts one of sending by it two periods later, and
#: for another one packets come by that. Credits that return at once are given half of the time until `sent_ps`.
_SETTLED = 5


def proofs(off: pl.DataFrame, holds: pl.DataFrame, slack: pl.DataFrame, period: int) -> pl.DataFrame:
    """Per OFF interval `off` of a port `time_ps`: when it is first shown to be its own cause after `sent_ps`.

    That is the first hold mainly for the sake of its queue, at an open gate, that makes a port upstream wait until the
    next update, and by whose end that port has not got rid of any of its own queue. This is compared with the end of
    the first OFF interval of that port after two periods: by then every port upstream has sent with the credits that
    the opening of the gate made free, and so have those that send to it.
    """
    bites = _bites(off, holds)
    # Of a port with an open gate, the last OFF interval before.
    own = off.select("off", "queue", "on_ps", "sent_ps")
    found = latest(bites.rename({"blocker": "queue"}), own, "time_ps", "on_ps")
    settling = pl.max_horizontal(pl.lit(_SETTLED * period), (pl.col("sent_ps") - pl.col("on_ps")) // 2)
    late = found.filter(pl.col("time_ps") >= pl.col("sent_ps")).select(
        "off", "time_ps", "end_ps", "end_bytes", queue="upstream", settled_ps=pl.col("on_ps") + settling
    )
    first = off.select("queue", first_ps="on_ps", first_bytes="queue_bytes")
    compared = earliest(late, first, "settled_ps", "first_ps").join(slack, on="queue", how="left")
    stays = (pl.col("first_ps") < pl.col("end_ps")) & (
        pl.col("end_bytes") + pl.col("slack_bytes") >= pl.col("first_bytes")
    )
    return compared.filter(stays).group_by("off").agg(pl.col("time_ps").min())


def _bites(off: pl.DataFrame, holds: pl.DataFrame) -> pl.DataFrame:
    """Holds mainly for one queue, at its open gate, that were followed by an OFF interval.

    Columns `time_ps`, `blocker`, `upstream`, and the end of that interval with the queue then: `end_ps`, `end_bytes`.
    """
    ends = off.select("queue", "off_ps", end_ps="on_ps", end_bytes="queue_bytes")
    last = holds.select("queue", "time_ps").unique()
    explained = latest(ends, last, "off_ps", "time_ps").filter(pl.col("time_ps").is_not_null())
    largest = pl.col("share") == pl.col("share").max().over("queue", "time_ps")
    mainly = holds.filter(largest & ~pl.col("closed")).select("queue", "time_ps", "blocker")
    joined = explained.join(mainly, on=["queue", "time_ps"])
    return joined.select("time_ps", "blocker", "end_ps", "end_bytes", upstream="queue")
