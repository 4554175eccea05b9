"""What flows were held back for, and whether they went there: one score for PAUSEs, credits, holds of queues and rates.

A flow is held while a gate is closed before it: that of its priority, of its queue, or at its NIC its own; and at its
source while its reaction point lets it send nothing. A gate is closed for the sake of roots
(:mod:`backwater.analysis.blame.chain`). That is right for a flow that goes through the root, and wrong for one that
only shares a queue with such flows. A rate is cut for the sake of any root. Which way a flow goes is told by its
packets: where they tell nothing, that is said, and no share is made of it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from backwater.analysis.blame import chain
from backwater.analysis.blame.gates import Gates, covered
from backwater.analysis.blame.losses import FOLLOWED
from backwater.analysis.blame.own_gates import OwnGates, first_flows, keyed_by, whole_priority
from backwater.analysis.blame.tables import earliest, latest, queue_of, read
from backwater.common.late import pl
from backwater.results import Results, measures
from backwater.scenario import senders

if TYPE_CHECKING:
    from backwater.analysis.blame.copies import Copies

#: An interval of a frame that lies in closures: when it begins and ends.
_SPAN = ("start_ps", "end_ps")
#: Kinds of isolation whose gates at NICs are of what no table names: ranges of destinations.
_UNSEEN = ("drbcm",)
#: Kinds of isolation that hold a whole port where no queue is left, by a gate that no table names.
_WHOLE_PORTS = ("pyrrha", "recn", "fbicm", "ccfit")
#: What sends at its own rate, or only what it was given so far.
_APPLICATIONS = ("constant", "supply", "program", "gpcnet", "trace")


@dataclass(frozen=True)
class Held:
    """Times that holds cost flows, summed over all of them, in picoseconds.

    Of a flow that finished: at its source, and of its last packet at gates. Of another one a followed packet counts in
    the mean.
    """

    #: Held for a root that the flow goes through, and for roots elsewhere.
    right_ps: float
    wrong_ps: float
    #: Held, and the tables do not tell for which root, or whether the flow goes there, or holds go round in a circle.
    unexplained_ps: float
    #: How many flows were held wrongly.
    wronged: int
    #: What packets waited at roots beyond the time that K bytes take there: nobody held them back.
    missed_ps: float
    #: How many flows may have been held when the run ended: that time is in no table.
    at_end: int = 0
    #: How many roots have no rate that is known all the time: what was missed there is not in `missed_ps`.
    unrated: int = 0
    #: A kind of isolation whose gates at NICs are not in the tables: there are no shares.
    unseen: str | None = None
    #: How often no queue was left for a root or a destination, so that it may have held a whole port.
    refused: int = 0

    @property
    def held_ps(self) -> float:
        """What flows were held in all."""
        return self.right_ps + self.wrong_ps + self.unexplained_ps

    @property
    def precision(self) -> float | None:
        """Of the time that flows were held the share that was right; None if none was, or if most is unexplained."""
        known = self.right_ps + self.wrong_ps
        return None if self.unseen or self.unexplained_ps > known else _share(self.right_ps, self.wrong_ps)

    @property
    def recall(self) -> float | None:
        """Of the time that flows to roots had to wait the share that they were held; None if they had not to.

        None, too, if it is not known what was missed, or for the most part not why flows were held.
        """
        if self.unseen or self.unrated or self.unexplained_ps > self.right_ps + self.wrong_ps:
            return None
        return _share(self.right_ps, self.missed_ps)

    @property
    def notes(self) -> list[str]:
        """What is not in the shares, in sentences."""
        notes = []
        if self.unseen:
            notes.append(
                f'held: what switch.isolation.kind = "{self.unseen}" holds back is not in the tables as a whole, so '
                "there is no precision and no recall"
            )
        if self.refused:
            times = "once" if self.refused == 1 else f"{self.refused} times"
            notes.append(
                f"held: {times} no queue was left for a root or a destination; what waited for such a one behind a "
                "port held whole is not counted: raise queues"
            )
        if self.at_end:
            flows = "flow was" if self.at_end == 1 else "flows were"
            notes.append(
                f"held: up to {self.at_end} {flows} held at the end of the run; what packets waited until then is "
                "not counted: raise run.until"
            )
        if self.unrated:
            roots = "root drains" if self.unrated == 1 else "roots drain"
            notes.append(
                f"held: {self.unrated} {roots} at a rate that changes or is not known, so there is no recall: "
                "set host.drain without host.pattern"
            )
        if self.unexplained_ps > self.right_ps + self.wrong_ps:
            notes.append("held: most of the time held is unexplained, so there is no precision and no recall")
        return notes

    def values(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self) | {"held_ps": self.held_ps, "precision": self.precision, "recall": self.recall}


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
    at_sources = _at_sources(flows, known, going)
    parts = _judged(pl.concat([at_switches, at_sources]), known, going, flows)
    paced = _paced(flows, going, known, truth)
    sums = pl.concat([parts, paced]).select(pl.col("right", "wrong", "unexplained").sum()).row(0)
    right, wrong, unexplained = map(float, sums)
    wronged = pl.concat([parts, paced]).filter(pl.col("wrong") > 0)["flow"].n_unique()
    missed, unrated = _missed(truth, known, flows)
    kind = measures.isolation(results.meta["scenario"])
    unseen = kind if kind in _UNSEEN else None
    at_end = _held_at_end(truth, known, flows, going)
    refused = 0
    if kind in _WHOLE_PORTS and results.has("switches"):
        refused = int(results.table("switches").select(pl.col("refusals").sum()).collect().item())
    return Held(right, wrong, unexplained, wronged, missed, at_end, unrated, unseen, refused)


def _flows(results: Results) -> pl.DataFrame:
    """What is known of each flow, and `ended`, until when it was there."""
    columns = ["flow", "traffic", "src_index", "src_port_index", "dst_index", "priority", "packets"]
    frame = read(results, "flows", [*columns, "start_ps", "finish_ps", "acked_ps", "nic_held_ps", "paced_ps", "fct_ps"])
    ended = pl.max_horizontal("finish_ps", "acked_ps").fill_null(measures.end_ps(results))
    firsts = first_flows(results).rename({"first": "held_as"})
    frame = frame.join(firsts, on="flow", how="left", maintain_order="left")
    return frame.filter(pl.col("start_ps").is_not_null()).with_columns(ended=ended)


def _waits(truth: Truth, known: OwnGates, flows: pl.DataFrame) -> pl.DataFrame:
    """The waits that count: `flow`, `queue` (a gate), `place`, their span and their `weight`."""
    waits = keyed_by(truth.results, "waits", "key", [*_SPAN, "flow", "seq", "last"])
    counted = truth.copies.without(waits).join(flows.select("flow", "fct_ps", "packets"), on="flow")
    counted = counted.filter(pl.col("last") | pl.col("fct_ps").is_null())
    weighted = counted.with_columns(weight=pl.when(pl.col("fct_ps").is_null()).then(1 / _followed()).otherwise(1.0))
    return known.numbered(weighted.drop("fct_ps", "packets", "last", "seq"))


def _followed() -> pl.Expr:
    """How many packets of a flow were followed: every 64th that came, and no fewer than have waited.

    The last packets of messages are followed, too, and may have one number. As many of them as waited at one place
    are different packets.
    """
    here = pl.len().over("flow", "queue", "seq")
    most = pl.when(pl.int_range(pl.len()).over("flow", "seq") == 0).then(here.max().over("flow", "seq")).otherwise(0)
    waited = pl.when(pl.col("last")).then(most).otherwise((most > 0).cast(pl.UInt32)).sum().over("flow")
    return pl.max_horizontal((pl.col("packets") + FOLLOWED - 1) // FOLLOWED, waited).clip(lower_bound=1)


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


def _at_sources(flows: pl.DataFrame, known: OwnGates, going: pl.DataFrame) -> pl.DataFrame:
    """Per flow and OFF interval of its NIC what it was held there; `off` is null where the tables do not tell.

    What a flow was held in all is shared out over the intervals that lie in its life, by their lengths.
    """
    held_there = flows.filter(pl.col("nic_held_ps") > 0).with_columns(end_ps="ended")
    found = _inside(_at_nics(held_there, known, going), known.gates.off)
    # As fractions: the product of two times may have more than 63 bits.
    share = pl.col("overlap_ps") / pl.col("overlap_ps").sum().over("flow")
    told = found.select("flow", pl.col("off").cast(pl.UInt32), held=pl.col("nic_held_ps") * share)
    rest = held_there.join(told, on="flow", how="anti")
    nobody = rest.select("flow", off=pl.lit(None, pl.UInt32), held=pl.col("nic_held_ps").cast(pl.Float64))
    return pl.concat([told, nobody])


def _at_nics(flows: pl.DataFrame, known: OwnGates, going: pl.DataFrame) -> pl.DataFrame:
    """Flows with a gate of their NIC as their `queue`: that of the priority, and those of less beside it.

    Where these are of roots, with that of each on their way.
    """
    port = pl.col("src_index") * 65_536 + pl.col("src_port_index")
    # A NIC that was told that a flow is isolated sends it in the priority of such flows.
    lanes = [flows.with_columns(queue=port * 8 + pl.col("priority"))]
    if known.isolated is not None:
        lanes.append(flows.with_columns(queue=port * 8 + known.isolated))
    every = pl.concat(lanes)
    scoped = every.join(known.scopes, on="queue", how="inner", maintain_order="left")
    of_roots = pl.col("scope") == "root"
    named = pl.when(pl.col("scope") == "destination").then("dst_index")
    own = named.when(pl.col("scope") == "priority").then("priority").otherwise("held_as")
    on_the_way = scoped.filter(of_roots).join(known.roots, on="queue")
    on_the_way = on_the_way.join(going.filter("sure"), on=["flow", "root"], how="semi").drop("root")
    keyed = [
        every.with_columns(key=whole_priority()),
        scoped.filter(~of_roots).with_columns(key=own.cast(pl.Int64)),
        on_the_way,
    ]
    return known.numbered(pl.concat(keyed, how="diagonal"))


def _held_at_end(truth: Truth, known: OwnGates, flows: pl.DataFrame, going: pl.DataFrame) -> int:
    """How many flows that did not finish had a closed gate at their NIC, or had last waited at one, at the end."""
    end_ps = measures.end_ps(truth.results)
    shut = known.gates.off.filter(pl.col("on_ps") >= end_ps).select("queue").unique()
    going_on = flows.filter(pl.col("fct_ps").is_null())
    at_nics = _at_nics(going_on, known, going).join(shut, on="queue", how="semi").select("flow")
    waits = keyed_by(truth.results, "waits", "key", ["flow"])
    at_switches = known.numbered(waits).join(shut, on="queue", how="semi").select("flow")
    at_switches = at_switches.join(going_on, on="flow", how="semi")
    return int(pl.concat([at_nics, at_switches])["flow"].n_unique())


def _goes(truth: Truth, flows: pl.DataFrame) -> pl.DataFrame:
    """Which flow goes through which egress queue: `flow`, `root`, and whether that is `sure`.

    It is if a packet waited there, or if that is the only way to its receiver. Where several ports lead to a host, or
    another priority is meant, a flow may go there.
    """
    seen = [keyed_by(truth.results, "waits", "key", ["flow"]).select("flow", root="queue")]
    seen.append(truth.crowding.select("flow", root="queue"))
    surely = pl.concat(seen).unique().with_columns(sure=pl.lit(value=True))
    to_hosts = pl.when("is_drain").then(pl.col("queue") // (65_536 * 8)).otherwise("peer_index")
    ends = truth.queues.select(root="queue", lane=pl.col("queue") % 8, way=pl.col("queue") // 8, dst_index=to_hosts)
    drains = truth.queues.select("is_drain", root="queue")
    ends = ends.join(drains, on="root").with_columns(ways=pl.col("way").n_unique().over("dst_index", "is_drain"))
    last = flows.join(ends, on="dst_index")
    lanes = pl.col("lane") == pl.col("priority")
    if truth.own.isolated is not None:
        lanes |= pl.col("lane") == truth.own.isolated
    guessed = last.select("flow", "root", sure=lanes & (pl.col("ways") == 1))
    return pl.concat([surely, guessed]).group_by("flow", "root").agg(pl.col("sure").any())


def _judged(parts: pl.DataFrame, known: OwnGates, going: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """What was held, as `right`, `wrong` and `unexplained`."""
    rooted = parts.join(known.rooted, on="off", how="left").with_columns(
        pl.col("root").fill_null(chain.UNKNOWN), pl.col("weight").fill_null(1.0)
    )
    told = rooted.join(going, on=["flow", "root"], how="left").join(flows.select("flow", "packets"), on="flow")
    amount, known_root = pl.col("held") * pl.col("weight"), pl.col("root") >= 0
    return _split(told, amount, known_root & pl.col("sure"), known_root & pl.col("sure").is_null())


def _split(frame: pl.DataFrame, amount: pl.Expr, right: pl.Expr, elsewhere: pl.Expr) -> pl.DataFrame:
    """An `amount` as `right`, `wrong` and `unexplained`: nobody can tell the way of a flow before its packets came."""
    right = right.fill_null(value=False)
    wrong = elsewhere & (pl.col("packets") > 0) & ~right
    return frame.select(
        "flow",
        right=pl.when(right).then(amount).otherwise(0.0),
        wrong=pl.when(wrong).then(amount).otherwise(0.0),
        unexplained=pl.when(right | wrong).then(0.0).otherwise(amount),
    )


def _paced(flows: pl.DataFrame, going: pl.DataFrame, known: OwnGates, truth: Truth) -> pl.DataFrame:
    """What reaction points held back, not what applications had not sent by then."""
    paced = flows.filter((pl.col("paced_ps") > 0) & pl.col("traffic").is_in(_reacting(truth.results)))
    roots = pl.concat([known.rooted.select("root"), _crowded(truth).select("root")]).unique()
    to_roots = going.join(roots, on="root", how="semi").group_by("flow").agg(pl.col("sure").any())
    told = paced.join(to_roots, on="flow", how="left")
    return _split(told, pl.col("paced_ps").cast(pl.Float64), pl.col("sure"), pl.col("sure").is_null())


def _reacting(results: Results) -> list[str]:
    """The entries whose packets nothing spaces but a reaction point."""
    scenario = results.meta["scenario"]
    shared = scenario.get("cc", {}).get("kind", "none")
    found = []
    for entry in senders.of(scenario):
        kind = (entry.get("cc") or {}).get("kind", shared)
        plain = entry.get("transport") != "put" and entry.get("control", "cc") == "cc"
        if plain and kind != "none" and entry.get("kind") not in _APPLICATIONS:
            found.append(entry["name"])
    return found


def _crowded(truth: Truth) -> pl.DataFrame:
    """The queues that were roots by a long queue of their own, with `long_ps`, the time that K bytes take there."""
    place = ["node_index", "port_index", "priority", "threshold_bytes"]
    above = read(truth.results, "crowds", place).select("threshold_bytes", root=queue_of()).unique()
    free = truth.crowding.filter(~pl.col("is_held")).select(root="queue").unique()
    rates = truth.queues.select("rate_bps", root="queue")
    found = free.join(above, on="root").join(rates, on="root")
    return found.select("root", long_ps=pl.col("threshold_bytes") * 8e12 / pl.col("rate_bps"))


def _missed(truth: Truth, known: OwnGates, flows: pl.DataFrame) -> tuple[float, int]:
    """What packets waited at roots beyond the time of K bytes, without what they waited there behind gates.

    And how many roots have a rate that is not known: what was missed there is left out.
    """
    waits = covered(_waits(truth, known, flows), known.gates.held, "_held_ps")
    free = waits.with_columns(free=pl.col("end_ps") - pl.col("start_ps") - pl.col("_held_ps"))
    there = free.join(_crowded(truth), left_on="place", right_on="root")
    beyond = (pl.col("free") - pl.col("long_ps")).clip(lower_bound=0) * pl.col("weight")
    unrated = there.filter(pl.col("long_ps").is_null())["place"].n_unique()
    return float(there.select(beyond.sum()).item() or 0.0), unrated
