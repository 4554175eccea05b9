"""What flows were held back for, and whether they went there: one score for PAUSEs, credits, holds of queues and rates.

A flow is held while a gate is closed before it: that of its priority, of its queue, or at its NIC its own; and at its
source while its reaction point lets it send nothing. A gate is closed for the sake of roots
(:mod:`backwater.analysis.blame.chain`). That is right for a flow that goes through the root, and wrong for one that
only shares a queue with such flows. A rate is cut for the sake of any root.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from backwater.analysis.blame import chain
from backwater.analysis.blame.gates import Gates, covered
from backwater.analysis.blame.losses import FOLLOWED
from backwater.analysis.blame.own_gates import OwnGates, keyed_by, whole_priority
from backwater.analysis.blame.tables import earliest, latest, queue_of, read
from backwater.common.late import pl
from backwater.results import Results, measures

if TYPE_CHECKING:
    from backwater.analysis.blame.copies import Copies

#: An interval of a frame that lies in closures: when it begins and ends.
_SPAN = ("start_ps", "end_ps")


@dataclass(frozen=True)
class Held:
    """Times that holds cost flows, summed over all of them, in picoseconds.

    Of a flow that finished: at its source, and of its last packet at gates. Of another one a followed packet counts in
    the mean.
    """

    #: Held for a root that the flow goes through, and for roots elsewhere.
    right_ps: float
    wrong_ps: float
    #: Held, and the tables do not tell for which root, or holds go round in a circle.
    unexplained_ps: float
    #: How many flows were held wrongly.
    wronged: int
    #: What packets waited at roots beyond the time that K bytes take there: nobody held them back.
    missed_ps: float

    @property
    def precision(self) -> float | None:
        """Of the time that flows were held the share that was right; None if none was."""
        return _share(self.right_ps, self.wrong_ps)

    @property
    def recall(self) -> float | None:
        """Of the time that flows to roots had to wait the share that they were held; None if they had not to."""
        return _share(self.right_ps, self.missed_ps)

    def values(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"precision": self.precision, "recall": self.recall}


def _share(part: float, rest: float) -> float | None:
    return part / (part + rest) if part + rest > 0 else None


@dataclass(frozen=True)
class Truth:
    """What is known of a run beside its tables: see :class:`backwater.analysis.blame.Blame`."""

    results: Results
    queues: pl.DataFrame
    own: OwnGates
    crowding: pl.DataFrame
    copies: Copies


def held(truth: Truth) -> Held:
    """Score what a run held back."""
    results = truth.results
    known = truth.own
    flows = _flows(results)
    going = _goes(truth, flows)
    at_switches = _at_gates(_waits(truth, known, flows), known.gates)
    at_sources = _at_sources(flows, known)
    parts = pl.concat([_judged(at_switches, known, going), _judged(at_sources, known, going)])
    paced = _paced(flows, going, known, truth, results)
    sums = pl.concat([parts, paced]).select(pl.col("right", "wrong", "unexplained").sum()).row(0)
    right, wrong, unexplained = map(float, sums)
    wronged = pl.concat([parts, paced]).filter(pl.col("wrong") > 0)["flow"].n_unique()
    return Held(right, wrong, unexplained, wronged, _missed(truth, known, flows))


def _flows(results: Results) -> pl.DataFrame:
    """What is known of each flow, and `ended`, until when it was there."""
    columns = ["flow", "traffic", "dst", "src_index", "src_port_index", "dst_index", "priority", "packets"]
    frame = read(results, "flows", [*columns, "start_ps", "finish_ps", "acked_ps", "nic_held_ps", "paced_ps", "fct_ps"])
    ended = pl.max_horizontal("finish_ps", "acked_ps").fill_null(measures.end_ps(results))
    return frame.filter(pl.col("start_ps").is_not_null()).with_columns(ended=ended)


def _waits(truth: Truth, known: OwnGates, flows: pl.DataFrame) -> pl.DataFrame:
    """The waits that count: `flow`, `queue` (a gate), `place`, their span and their `weight`."""
    waits = keyed_by(truth.results, "waits", "key", [*_SPAN, "flow", "last"])
    counted = truth.copies.without(waits).join(flows.select("flow", "fct_ps", "packets"), on="flow")
    followed = ((pl.col("packets") + FOLLOWED - 1) // FOLLOWED).clip(lower_bound=1)
    counted = counted.filter(pl.col("last") | pl.col("fct_ps").is_null())
    weighted = counted.with_columns(weight=pl.when(pl.col("fct_ps").is_null()).then(1 / followed).otherwise(1.0))
    return known.numbered(weighted.drop("fct_ps", "packets", "last"))


def _inside(frame: pl.DataFrame, off: pl.DataFrame) -> pl.DataFrame:
    """One row per row of `frame` and OFF interval of its gate that it overlaps: with `off` and `overlap_ps`."""
    ordered = off.sort("queue", "off_ps").select("queue", "off", "off_ps", "on_ps")
    last = latest(frame, ordered.select("queue", _last="off", _off="off_ps"), "end_ps", "_off").drop("_off")
    both = earliest(last, ordered.select("queue", _first="off", _on="on_ps"), "start_ps", "_on").drop("_on")
    both = both.filter(pl.col("_first") <= pl.col("_last"))
    spread = both.with_columns(off=pl.int_ranges("_first", pl.col("_last") + 1, dtype=pl.UInt32)).explode("off")
    joined = spread.drop("_first", "_last").join(ordered.drop("queue"), on="off")
    overlap = pl.min_horizontal("end_ps", "on_ps") - pl.max_horizontal("start_ps", "off_ps")
    return joined.with_columns(overlap_ps=overlap).filter(pl.col("overlap_ps") > 0)


def _at_gates(waits: pl.DataFrame, gates: Gates) -> pl.DataFrame:
    """Per wait and OFF interval what it was held: `flow`, `off`, `held`."""
    return _inside(waits, gates.off).select("flow", "off", held=pl.col("overlap_ps") * pl.col("weight"))


def _at_sources(flows: pl.DataFrame, known: OwnGates) -> pl.DataFrame:
    """Per flow and OFF interval of its NIC what it was held there; `off` is null where the tables do not tell.

    What a flow was held in all is shared out over the intervals that lie in its life, by their lengths.
    """
    held_there = flows.filter(pl.col("nic_held_ps") > 0).with_columns(end_ps="ended")
    port = pl.col("src_index") * 65_536 + pl.col("src_port_index")
    # A NIC that was told that a flow is isolated sends it in the priority of such flows.
    lanes = [held_there.with_columns(queue=port * 8 + pl.col("priority"))]
    if known.isolated is not None:
        lanes.append(held_there.with_columns(queue=port * 8 + known.isolated))
    scoped = pl.concat(lanes).join(known.scopes, on="queue", how="left", maintain_order="left")
    own = pl.when(pl.col("scope") == "destination").then("dst_index").otherwise("flow")
    keyed = scoped.with_columns(key=pl.when(pl.col("scope").is_null()).then(whole_priority()).otherwise(own))
    found = _inside(known.numbered(keyed), known.gates.off)
    parts = pl.col("nic_held_ps") * pl.col("overlap_ps") / pl.col("overlap_ps").sum().over("flow")
    told = found.select("flow", pl.col("off").cast(pl.UInt32), held=parts)
    rest = held_there.join(told, on="flow", how="anti")
    nobody = rest.select("flow", off=pl.lit(None, pl.UInt32), held=pl.col("nic_held_ps").cast(pl.Float64))
    return pl.concat([told, nobody])


def _goes(truth: Truth, flows: pl.DataFrame) -> pl.DataFrame:
    """Which flow goes through which egress queue, if packets waited there or all to a host do: `flow`, `root`."""
    waited = keyed_by(truth.results, "waits", "key", ["flow"]).select("flow", root="queue")
    crowded = truth.crowding.select("flow", root="queue")
    ends = truth.queues.with_columns(
        peer=pl.col("port").str.split("->").list.get(1, null_on_oob=True), node=pl.col("queue") // (65_536 * 8)
    )
    last = flows.join(ends.select(root="queue", dst="peer"), on="dst").select("flow", "root")
    drains = ends.filter("is_drain").select(root="queue", dst_index="node")
    drained = flows.join(drains, on="dst_index").select("flow", "root")
    return pl.concat([waited, crowded, last, drained]).unique()


def _judged(parts: pl.DataFrame, known: OwnGates, going: pl.DataFrame) -> pl.DataFrame:
    """What was held, as `right`, `wrong` and `unexplained`."""
    rooted = parts.join(known.rooted, on="off", how="left").with_columns(
        pl.col("root").fill_null(chain.UNKNOWN), pl.col("weight").fill_null(1.0)
    )
    told = rooted.join(going.with_columns(goes=pl.lit(value=True)), on=["flow", "root"], how="left")
    amount, goes = pl.col("held") * pl.col("weight"), pl.col("goes").fill_null(value=False)
    unknown = pl.col("root") < 0
    return told.select(
        "flow",
        right=pl.when(goes & ~unknown).then(amount).otherwise(0.0),
        wrong=pl.when(~goes & ~unknown).then(amount).otherwise(0.0),
        unexplained=pl.when(unknown).then(amount).otherwise(0.0),
    )


def _paced(flows: pl.DataFrame, going: pl.DataFrame, known: OwnGates, truth: Truth, results: Results) -> pl.DataFrame:
    """What reaction points held back; supplies and ranks wait for their applications, too, and are left out."""
    scenario = results.meta["scenario"]
    others = [*measures.supplied(scenario), *measures.programs(scenario)]
    paced = flows.filter((pl.col("paced_ps") > 0) & ~pl.col("traffic").is_in(others))
    roots = pl.concat([known.rooted.select("root"), _crowded(truth).select("root")]).unique()
    right = pl.col("flow").is_in(going.join(roots, on="root", how="semi")["flow"].unique().implode())
    amount = pl.col("paced_ps").cast(pl.Float64)
    return paced.select(
        "flow",
        right=pl.when(right).then(amount).otherwise(0.0),
        wrong=pl.when(right).then(0.0).otherwise(amount),
        unexplained=pl.lit(0.0),
    )


def _crowded(truth: Truth) -> pl.DataFrame:
    """The queues that were roots by a long queue of their own, with `long_ps`, the time that K bytes take there."""
    place = ["node_index", "port_index", "priority", "threshold_bytes"]
    above = read(truth.results, "crowds", place).select("threshold_bytes", root=queue_of()).unique()
    free = truth.crowding.filter(~pl.col("is_held")).select(root="queue").unique()
    rates = truth.queues.select("rate_bps", root="queue")
    found = free.join(above, on="root").join(rates, on="root")
    return found.select("root", long_ps=pl.col("threshold_bytes") * 8e12 / pl.col("rate_bps"))


def _missed(truth: Truth, known: OwnGates, flows: pl.DataFrame) -> float:
    """What packets waited at roots beyond the time of K bytes, without what they waited there behind gates."""
    waits = covered(_waits(truth, known, flows), known.gates.held, "_held_ps")
    free = waits.with_columns(free=pl.col("end_ps") - pl.col("start_ps") - pl.col("_held_ps"))
    there = free.join(_crowded(truth), left_on="place", right_on="root")
    beyond = (pl.col("free") - pl.col("long_ps")).clip(lower_bound=0) * pl.col("weight")
    return float(there.select(beyond.sum()).item() or 0.0)
