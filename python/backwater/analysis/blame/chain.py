"""Who held whom back: each OFF interval traced along the chain of holds to the ports where it began, the roots."""

from __future__ import annotations

from collections.abc import Sequence

from backwater.analysis.blame.gates import DEEPEST, Gates, within
from backwater.analysis.blame.tables import latest
from backwater.common.late import pl

#: Instead of a root: what held the port is not in the tables, or pauses went round in a circle.
UNKNOWN, CIRCLE = -1, -2


def roots_of(gates: Gates) -> pl.DataFrame:
    """Per OFF interval `off` its roots: `root` (a queue), `weight` (the shares of an interval sum to 1), `depth`.

    A hold is shared out over the egress queues that it was for, by bytes. A queue that was held itself when the OFF
    interval began passes its share on to what its own last hold was for; one that was not is a root.
    """
    at = gates.off.select("off", "queue", time="off_ps", weight=pl.lit(1.0), path=pl.concat_list("queue"))
    done = [pl.DataFrame(schema={"off": pl.UInt32, "root": pl.Int64, "weight": pl.Float64, "depth": pl.Int64})]
    last = gates.holds.select("queue", "time_ps").unique()
    for depth in range(1, DEEPEST + 1):
        if not at.height:
            break
        found = latest(at, last.with_columns(hold="time_ps"), "time", "time_ps")
        done.append(_ended(found.filter(pl.col("hold").is_null()), UNKNOWN, depth))
        split = found.filter(pl.col("hold").is_not_null()).join(
            gates.holds, left_on=["queue", "hold"], right_on=["queue", "time_ps"]
        )
        split = split.select("off", "time", "path", queue="blocker", weight=pl.col("weight") * pl.col("share"))
        split = within(split, gates.held, "time", "is_held")
        rooted = split.filter(~pl.col("is_held"))
        done.append(rooted.select("off", root="queue", weight="weight", depth=pl.lit(depth, pl.Int64)))
        passed = split.filter("is_held")
        circle = pl.col("path").list.contains(pl.col("queue"))
        done.append(_ended(passed.filter(circle), CIRCLE, depth))
        at = passed.filter(~circle).with_columns(path=pl.concat_list("path", "queue")).drop("is_held")
    done.append(_ended(at, CIRCLE, DEEPEST))
    together = pl.concat(done).group_by("off", "root").agg(pl.col("weight").sum(), pl.col("depth").min())
    return together.sort("off", "root")


def _ended(frame: pl.DataFrame, root: int, depth: int) -> pl.DataFrame:
    return frame.select("off", root=pl.lit(root, pl.Int64), weight="weight", depth=pl.lit(depth, pl.Int64))


def branches(gates: Gates, rooted: pl.DataFrame) -> pl.DataFrame:
    """Per root and branch: how long the branch was OFF for the root's sake, weighted and in full.

    Columns `root`, `queue`, `weighted_ps`, `off_ps`, `offs` (intervals), `depth` (holds from the root), `first_ps`,
    `last_ps`; by weighted time, the longest first.
    """
    length = pl.col("on_ps") - pl.col("off_ps")
    return (
        rooted.join(gates.off, on="off")
        .group_by("root", "queue")
        .agg(
            weighted_ps=(pl.col("weight") * length).sum().round().cast(pl.Int64),
            held_off_ps=length.sum(),
            offs=pl.len(),
            depth=pl.col("depth").min(),
            first_ps=pl.col("off_ps").min(),
            last_ps=pl.col("on_ps").max(),
        )
        .rename({"held_off_ps": "off_ps"})
        .sort("weighted_ps", "root", "queue", descending=[True, False, False])
    )


def trees(found: pl.DataFrame, queues: Sequence[int]) -> pl.DataFrame:
    """Per root what its tree is: `root`, `branches`, `depth`, `weighted_ps` (summed over its branches)."""
    real = found.filter(pl.col("root").is_in(list(queues)))
    return real.group_by("root").agg(
        branches=pl.len(),
        depth=pl.col("depth").max(),
        weighted_ps=pl.col("weighted_ps").sum(),
        first_ps=pl.col("first_ps").min(),
        last_ps=pl.col("last_ps").max(),
    )
