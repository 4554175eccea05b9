"""Blame of a run as the page shows it: congestion trees over time, who fed their roots, where flows lost their time."""

from __future__ import annotations

from backwater.analysis.blame import Blame, losses
from backwater.analysis.blame.report import left_out, shown_roots
from backwater.analysis.blame.tables import latest
from backwater.common.late import NDArray, np, pl
from backwater.view.encode import Columns
from backwater.view.network import Network
from backwater.view.spans import merged

#: A root with less than this share of an OFF interval is not drawn with it: a packet that happened to stand there.
LEAST_SHARE = 0.05
VERDICTS = ("unseen", "unaffected", "victim", "culprit")
#: Where a flow's time went, in the order of docs/ground-truth.md; the last is taken off.
PARTS = (*losses.PARTS, "rest_ps", "ideal_wait_ps")


def trees(blame: Blame, network: Network) -> pl.DataFrame:
    """Which port stood in the tree of which root from when to when: `root`, `port`, `start`, `end`, `depth`, `share`.

    A branch stands in it from when its gate closes for the root's sake until it is held no more, or until it closes
    again, for whoever that is for. In ps, by root and time.
    """
    off = blame.gates.off.select("off", "queue", "off_ps").sort("queue", "off_ps")
    following = pl.col("off_ps").shift(-1).over("queue")
    spans = latest(
        off.with_columns(next_ps=following), blame.gates.held.rename({"start": "held_from"}), "off_ps", "held_from"
    )
    spans = spans.with_columns(end=pl.min_horizontal("end", "next_ps"))
    rows = blame.rooted.filter((pl.col("root") >= 0) & (pl.col("weight") >= LEAST_SHARE)).join(spans, on="off")
    placed = rows.select(
        pl.Series("root", network.of_queues(rows["root"])),
        pl.Series("port", network.of_queues(rows["queue"])),
        pl.col("depth").cast(pl.Int64),
        share=(pl.col("weight") * 100).round().cast(pl.Int64),
        start="off_ps",
        end="end",
    )
    placed = placed.filter((pl.col("root") >= 0) & (pl.col("port") >= 0))
    kept = merged(placed.rename({"port": "lane"}), ["root", "lane", "depth"], keep="share").rename({"lane": "port"})
    return kept.sort("root", "start", "port")


def largest(blame: Blame, network: Network) -> tuple[int, int, int] | None:
    """The root, the time and the size of the largest tree, counted in ports that are OFF at once; None without one."""
    rows = blame.rooted.filter((pl.col("root") >= 0) & (pl.col("weight") >= LEAST_SHARE))
    rows = rows.join(blame.gates.off.select("off", "off_ps", "on_ps"), on="off")
    best: tuple[int, int, int] | None = None
    for (root,), tree in rows.sort("root", "off_ps").group_by("root", maintain_order=True):
        time, size = most_at_once(tree["off_ps"].to_numpy(), tree["on_ps"].to_numpy())
        if best is None or size > best[2]:
            best = (int(network.of_queues(pl.Series([root]))[0]), time, size)
    return best if best is not None and best[0] >= 0 else None


def most_at_once(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[int, int]:
    """The middle of the first time at which most of these intervals overlap, and how many do."""
    times, count = _overlaps(starts, ends)
    peak = int(np.argmax(count))
    until = times[peak + 1] if peak + 1 < times.size else times[peak]
    return int((int(times[peak]) + int(until)) // 2), int(count[peak])


#: So much of the most is as good as the most.
_ABOUT = 0.9


def middle_of_most(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> int:
    """A time at which about as many of these intervals overlap as ever do: half of all such time is before it."""
    times, count = _overlaps(starts, ends)
    lengths = np.diff(times, append=times[-1])
    lengths[count < _ABOUT * count.max()] = 0
    gone = np.cumsum(lengths)
    part = int(np.searchsorted(gone, gone[-1] / 2))
    return int(times[part] + lengths[part] // 2)


def _overlaps(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The times at which the number of intervals that overlap changes, and how many do from then on."""
    times = np.concatenate([starts, ends])
    steps = np.concatenate([np.ones(starts.size, dtype=np.int64), -np.ones(ends.size, dtype=np.int64)])
    # What ends at an instant is over before what begins there.
    order = np.lexsort((steps, times))
    return times[order], np.cumsum(steps[order])


def add_roots(columns: Columns, blame: Blame, network: Network) -> list[str]:
    """The roots that matter, the worst first, and the flows that fed each; returns sentences on what is left out.

    A root is a port here, all its lanes together: what each of them held back is summed, what they share counts once.
    """
    worthy = shown_roots(blame)
    lanes = worthy.with_columns(pl.Series("port", network.of_queues(worthy["root"])))
    known = lanes.filter(pl.col("port") >= 0).select("root", "port")
    branches = blame.branches.join(known, on="root")
    trees = (
        branches.with_columns(pl.Series("branch", network.of_queues(branches["queue"])))
        .group_by("port")
        .agg(branches=pl.col("branch").n_unique(), depth=pl.col("depth").max())
    )
    fed = blame.feeding.join(known, on="root").group_by("port", "flow").agg(pl.col("sent_bytes").sum())
    fed = fed.with_columns(share=pl.col("sent_bytes") / pl.col("sent_bytes").sum().over("port"))
    long = blame.crowding.filter(~pl.col("is_held")).join(known, left_on="queue", right_on="root")
    spans = merged(long.select("port", start="start_ps", end="end_ps"), ["port"])
    crowded = spans.group_by("port").agg(crowd_ps=(pl.col("end") - pl.col("start")).sum())
    roots = lanes.filter(pl.col("port") >= 0).group_by("port").agg(pl.col("weighted_ps").sum())
    for part in (trees, crowded, fed.group_by("port").agg(flows=pl.len())):
        roots = roots.join(part, on="port", how="left")
    roots = roots.fill_null(0).sort("weighted_ps", "crowd_ps", "port", descending=[True, True, False])
    columns.add("roots.port", roots["port"].cast(pl.Int64).to_numpy())
    for name in ("branches", "depth", "flows"):
        columns.add(f"roots.{name}", roots[name].cast(pl.Int64).to_numpy())
    for name in ("weighted_ps", "crowd_ps"):
        columns.add(f"roots.{name.removesuffix('_ps')}_us", (roots[name].cast(pl.Float64) / 1e6).to_numpy())
    fed = fed.sort("port", "sent_bytes", "flow", descending=[False, True, False])
    columns.add("feeding.root", fed["port"].cast(pl.Int64).to_numpy(), delta=True)
    columns.add("feeding.flow", fed["flow"].cast(pl.Int64).to_numpy())
    columns.add("feeding.share", fed["share"].cast(pl.Float32).to_numpy())
    return list(left_out(blame, worthy))


def lost(blame: Blame, flows: pl.DataFrame, tick_ps: int) -> pl.DataFrame:
    """For each of these flows its `verdict` (a number of `VERDICTS`) and the parts of what it lost, in ticks."""
    number = {name: index for index, name in enumerate(VERDICTS)}
    known = blame.flows.select(
        "flow",
        pl.col("verdict").replace_strict(number, default=0, return_dtype=pl.Int64),
        *((pl.col(part).fill_null(0) / tick_ps).round().cast(pl.Int64).alias(part) for part in PARTS),
    )
    return (
        flows.select("flow")
        .join(known, on="flow", how="left", maintain_order="left")
        .with_columns(pl.col(pl.Int64).fill_null(0))
    )


def add_waits(columns: Columns, blame: Blame, network: Network, flows: pl.DataFrame, tick_ps: int) -> None:
    """Where the followed packets of flows waited: for each flow and port how many, and how long on average."""
    waits = blame.waits.join(flows.select("flow"), on="flow", how="semi")
    rows = (
        waits.with_columns(pl.Series("port", network.of_queues(waits["queue"])))
        .group_by("flow", "port")
        .agg(packets=pl.len(), first=pl.col("start_ps").min(), wait=(pl.col("end_ps") - pl.col("start_ps")).mean())
        .sort("flow", "first", "port")
    )
    columns.add("waits.flow", rows["flow"].to_numpy(), delta=True)
    columns.add("waits.port", rows["port"].to_numpy())
    columns.add("waits.packets", rows["packets"].cast(pl.Int64).to_numpy())
    columns.add("waits.mean", (rows["wait"] / tick_ps).round().cast(pl.Int64).to_numpy())
