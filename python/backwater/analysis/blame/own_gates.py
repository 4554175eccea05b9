"""Gates of whole priorities and of less, as one set: each has a number, whatever it is of.

Where switches hold queues upstream, a queue of a port has a gate, or what waits for a destination or for a root; at a
NIC a flow may have one, or a priority that a switch further on pauses. Closures at switches take the place of those of
the priority, which say there only that everything behind it was held. At a NIC those of PFC stand beside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.analysis.blame import chain
from backwater.analysis.blame.gates import Gates
from backwater.analysis.blame.tables import earliest, queue_of, read
from backwater.common.late import pl
from backwater.results import Results, measures

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALL = -1
#: The key of a root is its node, times this, plus its port.
_PORTS = 1024


class OwnGates:
    """The gates of a run by number, whatever they are of: the `queue` of each frame is such a number."""

    def __init__(self, results: Results, classes: Gates) -> None:
        end_ps = measures.end_ps(results)
        changes = _changes(results)
        apart = changes.filter(pl.col("scope").is_in(["queue", "root"]))["queue"].unique().implode()
        whole = classes.off.filter(~pl.col("queue").is_in(apart))
        #: The scope of gates within a queue: queue, flow, destination, root or priority.
        self.scopes = changes.select("queue", "scope").unique()
        #: Those of roots: `queue` and `key`, and `root`, the egress queue that is meant.
        self.roots = (
            changes.filter(pl.col("scope") == "root")
            .select("queue", "key")
            .unique()
            .with_columns(root=((pl.col("key") // _PORTS) * 65_536 + pl.col("key") % _PORTS) * 8 + pl.col("queue") % 8)
        )
        holds = _named(_holds(results), self.scopes, first_flows(results))
        waits = keyed_by(results, "waits", "key", [])
        seen = [changes, whole.with_columns(key=whole_priority()), waits]
        seen += [holds.select(queue=name, key=key) for name, key in (("queue", "key"), ("blocker", "blocker_key"))]
        self.names = pl.concat([one.select("queue", "key") for one in seen]).unique(maintain_order=True)
        self.names = self.names.with_row_index("gate").with_columns(pl.col("gate").cast(pl.Int64))
        isolation = results.meta["scenario"].get("switch", {}).get("isolation") or {}
        #: The priority of isolated flows, where flows are isolated.
        self.isolated = None
        if measures.isolation(results.meta["scenario"]) != "none" and "cfq-priority" in isolation:
            self.isolated = int(isolation["cfq-priority"])
        keyed = _closures(self.numbered(changes), end_ps)
        others = self.numbered(whole.with_columns(key=whole_priority()))
        off = pl.concat([one.select("queue", "off_ps", "on_ps") for one in (keyed, others)])
        periods = classes.held.filter(~pl.col("queue").is_in(apart)).with_columns(key=whole_priority())
        held_periods = [
            self.numbered(periods).select("queue", "start", "end"),
            keyed.select("queue", start="off_ps", end="drained_ps"),
        ]
        off = off.filter(pl.col("on_ps") > pl.col("off_ps")).sort("queue", "off_ps").with_row_index("off")
        holds = self.numbered(holds)
        blocker = self.names.select(blocker="queue", blocker_key="key", _gate="gate")
        holds = holds.join(blocker, on=["blocker", "blocker_key"], how="left", maintain_order="left")
        holds = holds.select("time_ps", "queue", "share", "closed", blocker="_gate")
        self.gates = Gates(off, pl.concat(held_periods), holds)
        #: Per OFF interval its roots with weights, the roots as queues.
        rooted = chain.roots_of(self.gates)
        places = self.names.select(root="gate", _place="queue")
        self.rooted = rooted.join(places, on="root", how="left", maintain_order="left").select(
            "off", "weight", root=pl.col("_place").fill_null(pl.lit(chain.UNKNOWN))
        )

    def numbered(self, frame: pl.DataFrame) -> pl.DataFrame:
        """With the number of a gate as its `queue`, and that of the egress queue as `place`; without rows of none."""
        joined = frame.join(self.names, on=["queue", "key"], how="inner", maintain_order="left")
        return joined.rename({"queue": "place", "gate": "queue"}).drop("key")


def whole_priority() -> pl.Expr:
    """The key of a gate that is that of a whole priority."""
    return pl.lit(_ALL, pl.Int64)


def keyed_by(results: Results, name: str, key: str, columns: Sequence[str]) -> pl.DataFrame:
    """A table with `queue` and `key`; runs of earlier versions have gates of whole priorities only."""
    known = key in results.table(name).collect_schema()
    frame = read(results, name, [*columns, "node_index", "port_index", "priority", *([key] if known else [])])
    keys = pl.col(key).fill_null(_ALL) if known else whole_priority()
    return frame.with_columns(queue=queue_of(), key=keys).drop("node_index", "port_index", "priority")


def _changes(results: Results) -> pl.DataFrame:
    """Changes of the gates of less than a priority."""
    columns = ["time_ps", "node_index", "port_index", "priority", "key", "scope", "change", "queue_bytes"]
    kinds = {"time_ps": pl.Int64, "key": pl.Int64, "scope": pl.String, "change": pl.String, "queue_bytes": pl.Int64}
    kinds |= {"queue": pl.Int64}
    if not results.has("closures"):
        return pl.DataFrame(schema=kinds)
    frame = read(results, "closures", columns).with_columns(queue=queue_of())
    frame = frame.drop("node_index", "port_index", "priority")
    return _named(frame, frame.select("queue", "scope").unique(), first_flows(results)).select(*kinds)


def first_flows(results: Results) -> pl.DataFrame:
    """Per `flow` the `first` one of its connection, by which a NIC holds it: a frame may name any of them."""
    known = read(results, "flows", ["flow", "connection"])
    own = pl.when(pl.col("connection").is_null()).then("flow").otherwise(pl.col("flow").min().over("connection"))
    return known.select("flow", first=own)


def _named(frame: pl.DataFrame, scopes: pl.DataFrame, firsts: pl.DataFrame) -> pl.DataFrame:
    """Keys that are flows, as the first ones of their connections."""
    of_flows = scopes.filter(pl.col("scope") == "flow").select("queue", flows=pl.lit(value=True))
    told = frame.join(of_flows, on="queue", how="left", maintain_order="left")
    told = told.join(firsts, left_on="key", right_on="flow", how="left", maintain_order="left")
    key = pl.when(pl.col("flows")).then(pl.coalesce("first", "key")).otherwise("key")
    return told.with_columns(key=key).drop("flows", "first")


def _closures(changes: pl.DataFrame, end_ps: int) -> pl.DataFrame:
    """Intervals in which gates were closed, and until when what stood behind them had left."""
    turns = changes.filter(pl.col("change") != "drained").sort("queue", "time_ps", maintain_order=True)
    closed = turns.with_columns(
        off_ps="time_ps",
        on_ps=pl.col("time_ps").shift(-1).over("queue").fill_null(end_ps),
        behind=pl.col("queue_bytes").shift(-1).over("queue").fill_null(0),
        next_ps=pl.col("time_ps").shift(-2).over("queue").fill_null(end_ps),
    ).filter(pl.col("change") == "closed")
    drained = changes.filter(pl.col("change") == "drained").select("queue", _drained="time_ps")
    found = earliest(closed, drained, "on_ps", "_drained")
    left = pl.min_horizontal(pl.col("_drained").fill_null(end_ps), "next_ps")
    return found.with_columns(drained_ps=pl.when(pl.col("behind") > 0).then(left).otherwise("on_ps"))


def _holds(results: Results) -> pl.DataFrame:
    """Per hold and queue that it was for: `queue` and `key` that are held, `blocker` and `blocker_key`, `share`."""
    has = "held_key" in results.table("holds").collect_schema()
    keys = ["held_key", "blocker_key"] if has else []
    held_at, blocker = ("held_node_index", "held_port_index"), ("node_index", "blocker_index", "blocker_priority")
    frame = read(results, "holds", ["time_ps", *held_at, "priority", *blocker, "from_held_bytes", "closed", *keys])
    named = frame.select(
        "time_ps",
        "closed",
        share="from_held_bytes",
        queue=queue_of(*held_at, "priority"),
        blocker=queue_of(*blocker),
        key=pl.col("held_key").fill_null(_ALL) if has else whole_priority(),
        blocker_key=pl.col("blocker_key").fill_null(_ALL) if has else whole_priority(),
    )
    whole = pl.col("share").sum().over("queue", "key", "time_ps")
    return named.with_columns(share=(pl.col("share") / whole).fill_nan(1.0))
