"""Who held whom back, summed up by traffic entry, rank or step of an application.

What a finished flow waited for is laid to those that fed the root of the wait: behind a closed gate and in the queue of
a held port to the roots of the port's last OFF interval, in another long queue to that queue's own crowd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.analysis.blame import losses
from backwater.analysis.blame.tables import latest, read
from backwater.common.late import pl

if TYPE_CHECKING:
    from backwater.analysis.blame.analysis import Blame

#: By what, and how its groups are called in a sentence.
KEYS = {"traffic": "traffic entry", "rank": "rank", "step": "iteration or line"}
#: What waited for a queue that was never long, or for a port of which the tables do not tell.
NOBODY = "no long queue"


def totals(blame: Blame, by: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Per group that lost time `group`, `flows`, `lost_ps`, the parts; and per pair `group`, `whom`, `ps`.

    `group` is the receiver's side, who gets its messages late; `whom` the sender's, who fed the root.
    """
    names = _names(blame, by)
    finished = blame.flows.filter(pl.col("lost_ps").is_not_null())
    lost = (
        finished.join(names.select("flow", group="receives"), on="flow")
        .group_by("group")
        .agg(pl.len().alias("flows"), pl.col("lost_ps", *losses.PARTS).sum())
        .sort("lost_ps", "group", descending=[True, False])
    )
    pieces = pl.concat([_held(blame), _queued(blame)]).filter(pl.col("flow").is_in(finished["flow"].implode()))
    feeding = blame.feeding.join(names.select("flow", whom="sends"), on="flow").group_by("root", "whom")
    shares = feeding.agg(pl.col("share").sum())
    laid = (
        pieces.join(names.select("flow", group="receives"), on="flow")
        .group_by("group", "root")
        .agg(pl.col("ps").sum())
        .join(shares, on="root", how="left")
        .select("group", pl.col("whom").fill_null(NOBODY), ps=pl.col("ps") * pl.col("share").fill_null(1.0))
        .group_by("group", "whom")
        .agg(pl.col("ps").sum().round().cast(pl.Int64))
        .filter(pl.col("ps") > 0)
        .sort("group", "ps", "whom", descending=[False, True, False])
    )
    return lost, laid


def _held(blame: Blame) -> pl.DataFrame:
    """What flows waited for held ports, by root: `flow`, `root`, `ps`."""
    on_the_way = blame.waits.filter("last").select(
        "flow", "queue", "end_ps", ps=pl.col("gate_ps") + pl.col("backlog_ps")
    )
    known = read(blame.results, "flows", ["flow", "src_index", "priority", "nic_held_ps", "finish_ps"])
    at_host = pl.col("src_index") * 65_536 * 8 + pl.col("priority")
    source = known.select("flow", queue=at_host, end_ps="finish_ps", ps="nic_held_ps").drop_nulls("end_ps")
    waits = pl.concat([on_the_way, source]).filter(pl.col("ps") > 0)
    found = latest(waits, blame.gates.off.select("queue", "off", "off_ps"), "end_ps", "off_ps")
    rooted = found.join(blame.rooted, on="off", how="left")
    weight = pl.col("weight").fill_null(1.0)
    return rooted.select("flow", pl.col("root").fill_null(-1), ps=pl.col("ps") * weight)


def _queued(blame: Blame) -> pl.DataFrame:
    """What flows waited in queues of ports that nobody held: `flow`, `root` (that queue), `ps`."""
    waits = blame.waits.filter(pl.col("last") & (pl.col("queue_ps") + pl.col("drain_ps") > 0))
    return waits.select("flow", root="queue", ps=(pl.col("queue_ps") + pl.col("drain_ps")).cast(pl.Float64))


def _names(blame: Blame, by: str) -> pl.DataFrame:
    """How each flow's receiver and sender are called: `flow`, `receives`, `sends`."""
    flows = read(blame.results, "flows", ["flow", "traffic", "src", "dst"])
    if by == "traffic" or not blame.results.has("dependencies"):
        return flows.select("flow", receives="traffic", sends="traffic")
    steps = read(blame.results, "dependencies", ["traffic", "rank", "node", "what", "flow", "line"])
    if by == "step":
        labels = _steps(blame, flows, steps)
        return flows.join(labels, on="flow", how="left").select(
            "flow",
            receives=pl.col("label").fill_null(pl.col("traffic")),
            sends=pl.col("label").fill_null(pl.col("traffic")),
        )
    ranks = steps.select("traffic", "node", label=pl.format("{}, rank {}", "traffic", "rank")).unique()
    named = flows
    for end, column in (("dst", "receives"), ("src", "sends")):
        named = named.join(ranks.rename({"node": end, "label": column}), on=["traffic", end], how="left")
    other = pl.format("{}, {}", "traffic", "dst"), pl.format("{}, {}", "traffic", "src")
    return named.select("flow", pl.col("receives").fill_null(other[0]), pl.col("sends").fill_null(other[1]))


def _steps(blame: Blame, flows: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """The iteration of each flow of a collective, the line of each of a trace: `flow`, `label`."""
    lines = steps.filter((pl.col("what") == "starts") & (pl.col("line") > 0))
    labels = []
    if blame.results.has("job_messages"):
        parts = read(blame.results, "job_messages", ["flow", "traffic", "iteration", "step"])
        labels = [parts.select("flow", label=pl.format("{}, iteration {}, step {}", "traffic", "iteration", "step"))]
        lines = lines.join(parts, on="flow", how="anti")
    labels.append(lines.select("flow", label=pl.format("{}, line {}", "traffic", "line")))
    for entry in blame.results.meta["scenario"]["traffic"]:
        if entry["kind"] == "collective":
            own = flows.filter(pl.col("traffic") == entry["name"]).sort("flow")
            number = iteration(["src", "dst"], entry["iterations"])
            labels.append(own.select("flow", label=pl.format("{}, iteration {}", "traffic", number)))
    return pl.concat(labels)


def iteration(pair: list[str], iterations: int) -> pl.Expr:
    """The iteration of each flow of a collective: each pair of ranks has as many messages in every one, in order."""
    each = pl.max_horizontal(pl.len().over(pair) // iterations, 1)
    return pl.int_range(pl.len()).over(pair) // each
