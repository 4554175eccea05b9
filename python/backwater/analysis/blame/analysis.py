"""Blame of a run, put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from backwater.analysis.blame import chain, copies, crowding, held, losses, overtime, scoring, tables
from backwater.analysis.blame.gates import Gates, gates
from backwater.analysis.blame.own_gates import OwnGates
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.results import Results, measures

#: Without these there is no blame; without `marks` there is no score.
NEEDED = ("pauses", "holds", "crowds", "waits")
#: Where gates are of less than a priority.
_OF_PRIORITIES = (
    "queues, flows or destinations were held; roots, branches and verdicts count gates of whole priorities only. A "
    "port that sends on what it held may count as a root. Only waits and the line held: count the gates of queues"
)


@dataclass
class Blame:
    """Who held whom back in a run, which flows are to blame, and what it cost the others.

    Every frame has readable names beside its numbers; times are in picoseconds. Computed on first use.
    """

    results: Results
    #: What makes this blame less than the whole truth, in sentences.
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Check that the tables are there; raises UsageError with how to get them."""
        absent = tables.missing(self.results, NEEDED)
        if absent:
            raise UsageError(absent)
        self.notes += tables.cut(self.results)
        unmarked = tables.missing(self.results, ["marks"])
        if unmarked:
            self.notes.append(unmarked)
        self.notes += self.copies.notes
        if self.results.has("closures"):
            self.notes.append(_OF_PRIORITIES)

    @cached_property
    def queues(self) -> pl.DataFrame:
        """The egress queues by number."""
        return tables.queues(self.results)

    @cached_property
    def gates(self) -> Gates:
        """OFF intervals, held periods, holds."""
        return gates(self.results, self.queues)

    @cached_property
    def own(self) -> OwnGates:
        """The gates that packets waited for, whatever they are of."""
        return OwnGates(self.results, self.gates)

    @cached_property
    def rooted(self) -> pl.DataFrame:
        """Per OFF interval its roots with weights."""
        return chain.roots_of(self.gates)

    @cached_property
    def crowding(self) -> pl.DataFrame:
        """The crowds, whether their port was held, and whether it is the drain of a slow host."""
        return crowding.crowds(self.results, self.gates, self.queues)

    @cached_property
    def branches(self) -> pl.DataFrame:
        """Per root and port that it held back, `at_host` or not: see :func:`.chain.branches`."""
        hosts = self.queues.select("queue", "at_host")
        found = chain.branches(self.gates, self.rooted).join(hosts, on="queue", how="left", maintain_order="left")
        return self._named(self._named(found, "queue", "branch"), "root", "root_port")

    @cached_property
    def roots(self) -> pl.DataFrame:
        """One row per root: a port that chains of holds lead to, or whose queue was above K while it was not held.

        Columns `root`, `root_port`, `weighted_ps` (OFF time for its sake, summed over its branches), `branches`,
        `depth`, `crowd_ps` (time above K while not held), `packets`, `flows` (that fed it), `first_ps`, `last_ps`.
        """
        tree = chain.trees(self.branches, self.queues["queue"].to_list())
        crowd = crowding.crowded(self.crowding).rename({"queue": "root"})
        flows = self.feeding.group_by("root").agg(flows=pl.len())
        joined = tree.join(crowd, on="root", how="full", coalesce=True).join(flows, on="root", how="left")
        first = pl.min_horizontal("first_ps", "crowd_from_ps")
        last = pl.max_horizontal("last_ps", "crowd_to_ps")
        filled = joined.with_columns(first_ps=first, last_ps=last).drop("crowd_from_ps", "crowd_to_ps")
        counts = pl.col("weighted_ps", "branches", "depth", "crowd_ps", "packets", "ce_packets", "flows").fill_null(0)
        ordered = filled.with_columns(counts).sort("weighted_ps", "crowd_ps", "root", descending=[True, True, False])
        return self._named(ordered, "root", "root_port")

    @cached_property
    def feeding(self) -> pl.DataFrame:
        """Per root and flow what it sent through the root's long queue.

        With the `role` of the ranks at its source, where its traffic entry has several roles and the host one of them.
        """
        found = self._named(crowding.feeding(self.crowding), "root", "root_port")
        names = tables.read(self.results, "flows", ["flow", "traffic", "src", "dst"])
        named = found.join(names, on="flow", how="left", maintain_order="left")
        if not self.results.has("ranks"):
            return named.with_columns(role=pl.lit(None, pl.String))
        ranks = tables.read(self.results, "ranks", ["traffic", "node", "role"])
        several = pl.col("role").n_unique().over("traffic") > 1
        places = ranks.filter(several).group_by("traffic", src="node").agg(pl.col("role").unique())
        roles = places.filter(pl.col("role").list.len() == 1).with_columns(pl.col("role").list.first())
        return named.join(roles, on=["traffic", "src"], how="left", maintain_order="left")

    @cached_property
    def copies(self) -> copies.Copies:
        """What is known of copies, where flows sent packets again."""
        return copies.find(self.results, (*losses.SOURCE, *losses.END))

    @cached_property
    def waits(self) -> pl.DataFrame:
        """The waits of followed packets, split."""
        return losses.split_waits(self.results, self.own, self.queues, self.copies)

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow with its `verdict` and what it lost: see :func:`.losses.flows`."""
        return losses.verdicts(losses.flows(self.results, self.waits), self.feeding, self.waits)

    @cached_property
    def marks(self) -> pl.DataFrame | None:
        """The marks, and whether their port was held; None without the table."""
        return scoring.judged_marks(self.results, self.gates) if self.results.has("marks") else None

    @cached_property
    def score(self) -> scoring.Score | None:
        """The detector's score; None without the table of marks."""
        if self.marks is None:
            return None
        return scoring.score(self.marks, self.crowding, scoring.received(self.results))

    @cached_property
    def held(self) -> held.Held:
        """Whether what was held back went where it was held for."""
        return held.held(held.Truth(self.results, self.queues, self.own, self.crowding, self.copies))

    @cached_property
    def port_scores(self) -> pl.DataFrame | None:
        """The score by port, without ports that have nothing to score."""
        if self.marks is None:
            return None
        return self._named(scoring.by_port(self.marks, self.crowding), "queue", "port")

    def curves(self, bin_ps: int) -> pl.DataFrame | None:
        """The score over time, of packets and of flows: see :func:`backwater.analysis.blame.overtime.run`."""
        return None if self.marks is None else overtime.run(self.marks, self.crowding, bin_ps)

    def port_curves(self, bin_ps: int) -> pl.DataFrame | None:
        """The score over time by port: see :func:`backwater.analysis.blame.overtime.ports`."""
        if self.marks is None:
            return None
        return self._named(overtime.ports(self.marks, self.crowding, bin_ps), "queue", "port")

    def flow_curves(self, bin_ps: int) -> pl.DataFrame | None:
        """Over time which flow fed a root and which was marked: see :func:`backwater.analysis.blame.overtime.flows`."""
        return None if self.marks is None else overtime.flows(self.marks, self.crowding, bin_ps)

    @property
    def unexplained_ps(self) -> int:
        """OFF time whose root the tables do not tell, or whose holds go round in a circle."""
        return int(self.branches.filter(pl.col("root") < 0)["weighted_ps"].sum())

    @property
    def brief(self) -> scoring.Score | None:
        """The score, if a detector, or ICI+, was there and something to detect."""
        switch = self.results.meta["scenario"].get("switch", {})
        marks = measures.isolation(self.results.meta["scenario"]) == "ici-plus"
        if switch.get("detector", {}).get("kind") == "none" and not marks:
            return None
        found = self.score
        return found if found is not None and (found.ce_marks or found.ue_marks or found.root_packets) else None

    def labels(self) -> dict[int, str]:
        """How the egress queues are called, by number."""
        return dict(self.queues.select("queue", port=self._label()).iter_rows())

    def _named(self, frame: pl.DataFrame, number: str, name: str) -> pl.DataFrame:
        labels = self.queues.select("queue", port=self._label())
        named = frame.join(labels, left_on=number, right_on="queue", how="left", maintain_order="left")
        return named.rename({"port": name})

    def _label(self) -> pl.Expr:
        """Label of a queue: the port's alias or name, with the priority or VL where more than one was used."""
        aliases = {label: f"{alias} {label}" for alias, label in self.results.meta.get("aliases", {}).items()}
        named = pl.col("port").replace(aliases)
        busy = pl.concat([self.gates.off["queue"], self.crowding["queue"]])
        used = (busy % 8).unique()
        word = "VL" if measures.under_credits(self.results.meta["scenario"]) else "priority"
        return named + pl.format(f" {word} {{}}", pl.col("priority")) if len(used) > 1 else named
