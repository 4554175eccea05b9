"""Who held whom back, summed up by traffic entry, job, rank, or part of an application.

What a finished flow waited for is laid to those that fed the root of the wait: behind a closed gate and in the queue of
a held port to the roots of the port's last OFF interval, in another long queue to that queue's own crowd.
Queue pairs of ranks never finish. Of them it is what the last packet of each message waited on its way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.analysis.blame import losses
from backwater.analysis.blame.tables import latest, queue_of, read
from backwater.common.late import pl
from backwater.results import measures
from backwater.scenario import senders

if TYPE_CHECKING:
    from backwater.analysis.blame.analysis import Blame

#: By what, and how its groups are called in a sentence.
KEYS = {
    "traffic": "traffic entry",
    "job": "job",
    "rank": "rank",
    "collective": "collective",
    "iteration": "iteration",
    "step": "iteration or line",
}
#: By what has a row even if nothing of it was recorded.
_WHOLE = {"traffic": senders.names, "job": measures.jobs}
#: What only a finished flow tells.
_OF_FINISHED = ("lost_ps", *(part for part in losses.PARTS if part not in losses.WAITS))
#: What waited for a queue that was never long, or for a port of which the tables do not tell.
NOBODY = "no long queue"


def totals(blame: Blame, by: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Per group `group`, `flows`, `finished` of them, `lost_ps`, the parts; and per pair `group`, `whom`, `ps`.

    `group` is the receiver's side, who gets its messages late; `whom` the sender's, who fed the root. What is known of
    finished flows only is null in a group without one.
    """
    names = _names(blame, by)
    on_the_way = blame.waits.filter("last").group_by("flow").agg(pl.col(losses.WAITS).sum())
    endless = read(blame.results, "flows", ["flow", "size_bytes"]).filter(pl.col("size_bytes").is_null())["flow"]
    known = blame.flows.drop(losses.WAITS).join(on_the_way, on="flow", how="left")
    done = pl.col("lost_ps").is_not_null()
    counted = done | pl.col("flow").is_in(endless.implode())
    finished = known.filter(counted)["flow"]
    source = [pl.when(done.any()).then(pl.col(name).filter(done).sum()).alias(name) for name in _OF_FINISHED]
    lost = (
        known.join(names.select("flow", group="receives"), on="flow")
        .group_by("group")
        .agg(pl.len().alias("flows"), done.sum().alias("finished"), *source, pl.col(losses.WAITS).filter(counted).sum())
    )
    if by in _WHOLE:
        every = pl.DataFrame({"group": _WHOLE[by](blame.results.meta["scenario"])}, schema={"group": pl.String})
        lost = every.join(lost, on="group", how="left")
    lost = lost.with_columns(pl.col("flows", "finished", *losses.WAITS).fill_null(0))
    waited = pl.sum_horizontal(losses.WAITS)
    lost = lost.select("group", "flows", "finished", "lost_ps", *losses.PARTS).sort(
        pl.coalesce("lost_ps", waited), "group", descending=[True, False]
    )
    pieces = pl.concat([_held(blame), _queued(blame)]).filter(pl.col("flow").is_in(finished.implode()))
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
    return lost, laid.filter(pl.col("group").is_in(lost["group"].implode()))


def _held(blame: Blame) -> pl.DataFrame:
    """What flows waited for held ports, by root: `flow`, `root`, `ps`."""
    on_the_way = blame.waits.filter("last").select(
        "flow", "queue", "end_ps", ps=pl.col("gate_ps") + pl.col("backlog_ps")
    )
    known = read(
        blame.results, "flows", ["flow", "src_index", "src_port_index", "priority", "nic_held_ps", "finish_ps"]
    )
    at_host = queue_of("src_index", "src_port_index")
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
    if by == "rank":
        return _of_ranks(blame, flows)
    if by in _WHOLE:
        return flows.select("flow", receives="traffic", sends="traffic")
    label = pl.col("label").fill_null(pl.col("traffic"))
    return flows.join(_labels(blame, flows, by), on="flow", how="left").select("flow", receives=label, sends=label)


def _of_ranks(blame: Blame, flows: pl.DataFrame) -> pl.DataFrame:
    """The same by rank; by host where a host has several ranks of an entry, or none."""
    there = {"dependencies": "rank", "ranks": "number"}
    tables = [
        read(blame.results, table, ["traffic", "node", number]).rename({number: "rank"})
        for table, number in there.items()
        if blame.results.has(table)
    ]
    named = flows
    for end, column in (("dst", "receives"), ("src", "sends")):
        label = pl.format("{}, {}", "traffic", end)
        if tables:
            own = pl.concat(tables).unique().group_by("traffic", node="node").agg(pl.len(), pl.col("rank").first())
            named = named.join(own.rename({"node": end}), on=["traffic", end], how="left")
            label = pl.when(pl.col("len") == 1).then(pl.format("{}, rank {}", "traffic", "rank")).otherwise(label)
        named = named.with_columns(label.alias(column)).drop("len", "rank", strict=False)
    return named.select("flow", "receives", "sends")


def _labels(blame: Blame, flows: pl.DataFrame, by: str) -> pl.DataFrame:
    """How the parts of applications are called that flows belong to: `flow`, `label`. Other flows are not in it."""
    parts = _parts(blame, flows)
    if by == "iteration":
        return parts.select("flow", label=pl.format("{}, iteration {}", "traffic", "iteration"))
    if by == "collective":
        steps = pl.DataFrame(
            _steps(blame), schema={"traffic": pl.String, "step": pl.Int64, "what": pl.String}, orient="row"
        )
        named = pl.format("{}, step {}: {}", "traffic", "step", "what")
        return parts.join(steps, on=["traffic", "step"]).select("flow", label=named)
    labels = pl.coalesce(
        pl.format("{}, iteration {}, step {}", "traffic", "iteration", "step"),
        pl.format("{}, iteration {}", "traffic", "iteration"),
    )
    found = [parts.select("flow", label=labels)]
    if blame.results.has("dependencies"):
        lines = read(blame.results, "dependencies", ["traffic", "what", "flow", "line"])
        # Of a queue pair between ranks each message has a line.
        lines = lines.filter(~pl.col("traffic").is_in(measures.programs(blame.results.meta["scenario"])))
        started = lines.filter((pl.col("what") == "starts") & (pl.col("line") > 0)).join(parts, on="flow", how="anti")
        found.append(started.select("flow", label=pl.format("{}, line {}", "traffic", "line")))
    return pl.concat(found)


def _parts(blame: Blame, flows: pl.DataFrame) -> pl.DataFrame:
    """The messages of jobs and of collectives: `flow`, `traffic`, `iteration`, and `step` of a job."""
    columns = ("flow", "traffic", "iteration", "step")
    found = [flows.select("flow", "traffic", iteration=pl.lit(0, pl.Int64), step=pl.lit(None, pl.Int64)).clear()]
    if blame.results.has("job_messages"):
        found.append(read(blame.results, "job_messages", list(columns)).cast({"iteration": pl.Int64, "step": pl.Int64}))
    for entry in blame.results.meta["scenario"]["traffic"]:
        if entry["kind"] == "collective":
            own = flows.filter(pl.col("traffic") == entry["name"]).sort("flow")
            number = iteration(["src", "dst"], entry["iterations"]).cast(pl.Int64)
            found.append(own.select("flow", "traffic", iteration=number, step=pl.lit(None, pl.Int64)))
    return pl.concat([part.select(columns) for part in found])


def _steps(blame: Blame) -> list[tuple[str, int, str]]:
    """What the steps of jobs that send are: the job, the number of the step, and a word."""
    return [
        (job["name"], number, step.get("collective") or ("write" if step.get("write") is not None else "read"))
        for job in blame.results.meta["scenario"].get("job", [])
        for number, step in enumerate(job.get("step", []))
        if step.get("compute") is None
    ]


def iteration(pair: list[str], iterations: int) -> pl.Expr:
    """The iteration of each flow of a collective: each pair of ranks has as many messages in every one, in order."""
    each = pl.max_horizontal(pl.len().over(pair) // iterations, 1)
    return pl.int_range(pl.len()).over(pair) // each
