"""What each flow lost, and to what: at its source, behind closed gates, in queues of held ports, in other queues."""

from __future__ import annotations

from collections.abc import Sequence

from backwater.analysis.blame.copies import Copies
from backwater.analysis.blame.gates import covered
from backwater.analysis.blame.own_gates import OwnGates, keyed_by
from backwater.analysis.blame.tables import read
from backwater.common.late import pl
from backwater.results import Results

#: Of every flow the packets 0, 64, 128 ... are followed, and the last.
FOLLOWED = 64
#: Where a packet's wait went.
WAITS = ("gate_ps", "backlog_ps", "queue_ps", "drain_ps")
#: Where the time of a flow went at its source.
SOURCE = ("connection_wait_ps", "paced_ps", "nic_held_ps", "nic_queue_ps", "recovery_ps")
#: And where it went at its end: its last packet was there, but others came later, by other ways.
END = ("reorder_wait_ps",)
#: All of it.
PARTS = (*SOURCE, *WAITS, *END)


def split_waits(
    results: Results, own: OwnGates, queues: pl.DataFrame, copies: Copies, only: Sequence[int] | None = None
) -> pl.DataFrame:
    """The waits table with each wait split; `only`: those of the last packets of these flows.

    `gate_ps` behind the closed gate, `backlog_ps` with the gate open while the port was held, `drain_ps` in the receive
    queue of a slow host, `queue_ps` the rest.
    """
    frame = copies.without(keyed_by(results, "waits", "key", ["start_ps", "end_ps", "flow", "seq", "last"]))
    if only is not None:
        frame = frame.filter(pl.col("last") & pl.col("flow").is_in(list(only)))
    off = own.gates.off.select("queue", start="off_ps", end="on_ps")
    split = covered(covered(own.numbered(frame), off, "gate_ps"), own.gates.held, "_held_ps")
    split = split.drop("queue").rename({"place": "queue"})
    rest = pl.col("end_ps") - pl.col("start_ps") - pl.col("_held_ps")
    at_drain = pl.col("queue").is_in(queues.filter("is_drain")["queue"].implode())
    return split.with_columns(
        backlog_ps=pl.col("_held_ps") - pl.col("gate_ps"),
        queue_ps=pl.when(~at_drain).then(rest).otherwise(0),
        drain_ps=pl.when(at_drain).then(rest).otherwise(0),
    ).drop("_held_ps")


def flows(results: Results, waits: pl.DataFrame) -> pl.DataFrame:
    """One row per flow: what it was, `lost_ps` (FCT less that of the flow alone) and where that went.

    Of a finished flow: the waits of its last packet, at the source `connection_wait_ps`, `paced_ps`, `nic_held_ps`,
    `nic_queue_ps` and `recovery_ps`, and at its end `reorder_wait_ps`; less `ideal_wait_ps`, for which it would wait
    alone, too, they are `lost_ps`. `rest_ps` is what is not explained. Of another flow: the waits of a followed packet
    in the mean, no `lost_ps`. `waited_ps` is how long its followed packets waited for held ports, all together.
    """
    what = ["flow", "traffic", "src", "dst", "size_bytes", "packets", "ce_packets"]
    columns = [*what, "fct_ps", "ideal_fct_ps", "ideal_wait_ps", *SOURCE, *END]
    known = read(results, "flows", columns)
    sums = [pl.col(name).sum() for name in WAITS]
    held = pl.col("gate_ps") + pl.col("backlog_ps")
    last = waits.filter("last").group_by("flow").agg(sums)
    every = waits.group_by("flow").agg(*sums, waited_ps=held.sum())
    followed = (pl.col("packets") + FOLLOWED - 1) // FOLLOWED
    per_packet = [(pl.col(name) / followed.clip(lower_bound=1)).round().cast(pl.Int64).alias(name) for name in WAITS]
    finished = known.filter(pl.col("fct_ps").is_not_null()).join(last, on="flow", how="left")
    finished = finished.join(every.select("flow", "waited_ps"), on="flow", how="left")
    others = known.filter(pl.col("fct_ps").is_null()).join(every, on="flow", how="left").with_columns(per_packet)
    together = pl.concat([finished, others], how="diagonal").with_columns(
        pl.col(*WAITS, "waited_ps").fill_null(0), lost_ps=pl.col("fct_ps") - pl.col("ideal_fct_ps")
    )
    parts = pl.sum_horizontal(PARTS)
    return together.with_columns(rest_ps=pl.col("lost_ps") + pl.col("ideal_wait_ps") - parts).sort("flow")


def verdicts(flow_table: pl.DataFrame, feeding: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """Adds `verdict`: a culprit feeds a root; a victim does not, and yet waited for a held port; else unaffected.

    Of another flow of which nothing has arrived yet, nothing can be said: unseen. Of culprits also `culprit_from_ps`,
    when they first fed a root, and `held_before_ps`: for how long until then a followed packet was waiting for a held
    port.
    """
    first = feeding.group_by("flow").agg(culprit_from_ps=pl.col("first_ps").min())
    known = flow_table.join(first, on="flow", how="left", maintain_order="left")
    known = known.join(_held_before(waits, first), on="flow", how="left", maintain_order="left")
    held_up = (pl.col("waited_ps") > 0) | (pl.col("nic_held_ps") > 0)
    verdict = (
        pl.when(pl.col("culprit_from_ps").is_not_null())
        .then(pl.lit("culprit"))
        .when(pl.col("packets") == 0)
        .then(pl.lit("unseen"))
        .when(held_up)
        .then(pl.lit("victim"))
        .otherwise(pl.lit("unaffected"))
    )
    before = pl.when(pl.col("culprit_from_ps").is_not_null()).then(pl.col("held_before_ps").fill_null(0))
    return known.with_columns(verdict=verdict, held_before_ps=before)


def _held_before(waits: pl.DataFrame, first: pl.DataFrame) -> pl.DataFrame:
    """Per flow `held_before_ps`: the time before it fed a root that waits for held ports cover, overlaps once."""
    held = waits.filter(pl.col("gate_ps") + pl.col("backlog_ps") > 0).join(first, on="flow")
    cut = held.filter(pl.col("start_ps") < pl.col("culprit_from_ps")).select(
        "flow", "start_ps", end_ps=pl.min_horizontal("end_ps", "culprit_from_ps")
    )
    ordered = cut.sort("flow", "start_ps")
    known = pl.col("end_ps").cum_max().shift(1).over("flow").fill_null(0)
    new = (pl.col("end_ps") - pl.max_horizontal("start_ps", known)).clip(lower_bound=0)
    return ordered.with_columns(new=new).group_by("flow").agg(held_before_ps=pl.col("new").sum())
