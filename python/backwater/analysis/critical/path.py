"""The critical path: from the end of an application back to its start, always to what came last."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from backwater.analysis.critical.graph import Graph
from backwater.common.late import np
from backwater.errors import UsageError


@dataclass(frozen=True)
class Hop:
    """One way of the path: `least_ps` and then `wait_ps` after the node before it, `node` happened."""

    node: int
    least_ps: int
    wait_ps: int
    #: The row of the messages; None: a step.
    message: int | None


@dataclass(frozen=True)
class Path:
    """A path from `start_ps` to `end_ps`, in the order of time. The times of its hops add up to what lies between."""

    graph: Graph
    start_ps: int
    end_ps: int
    hops: list[Hop]
    #: The host of a rank that goes on for ever, if the path begins with what that rank did.
    cut: str | None = None

    @property
    def wait_ps(self) -> int:
        """What its messages waited: so late is the application."""
        return sum(hop.wait_ps for hop in self.hops)

    @property
    def alone_ps(self) -> int:
        """What its messages take in an empty network."""
        return sum(self.graph.messages["alone_ps"][hop.message] for hop in self.hops if hop.message is not None)

    @property
    def ideal_ps(self) -> int:
        """What it takes without waits: its messages alone, and what ranks compute."""
        return sum(hop.least_ps for hop in self.hops)

    @property
    def rows(self) -> list[int]:
        """Rows of its messages."""
        return [hop.message for hop in self.hops if hop.message is not None]


def of(graph: Graph, iteration: int | None = None) -> Path:
    """The critical path of an application, or of an iteration: from where the path leaves the one before it."""
    node = end = graph.ends(iteration)[0]
    hops = []
    iterations = graph.messages["iteration"]
    while node != 0 and graph.cut(node) is None:
        row = int(graph.message[node])
        if iteration is not None and row >= 0 and iterations[row] < iteration:
            break
        ways = np.arange(graph.first[node], graph.first[node + 1])
        arrives = graph.time_ps[graph.before[ways]] + graph.least_ps[ways] + graph.wait_ps[ways]
        # Of two at the same instant the one that was waited for to its end.
        best = max(zip(arrives, graph.wait_ps[ways], -ways, strict=True), default=None)
        if best is None or best[0] != graph.time_ps[node]:
            raise UsageError(
                f"the dependencies of {graph.traffic} do not add up at {graph.time_ps[node]} ps: the tables are not of "
                "one run, or were cut by probe.budget; run the scenario again"
            )
        way = -int(best[2])
        hops.append(Hop(node, int(graph.least_ps[way]), int(graph.wait_ps[way]), row if row >= 0 else None))
        node = int(graph.before[way])
    return Path(graph, int(graph.time_ps[node]), int(graph.time_ps[end]), hops[::-1], graph.cut(node))


class Without:
    """When an application, or an iteration, is done if some waits are gone and all others stay as they were."""

    def __init__(self, graph: Graph, iteration: int | None = None) -> None:
        self._graph = graph
        after = np.repeat(np.arange(len(graph.time_ps)), np.diff(graph.first))
        order = np.argsort(graph.before, kind="stable")
        self._next = after[order]
        self._from = np.searchsorted(graph.before[order], np.arange(len(graph.time_ps) + 1))
        self._ends = graph.ends(iteration)

    def end_ps(self, gone: dict[int, int]) -> int:
        """When the application is done if these rows of its messages wait that much less."""
        graph = self._graph
        changed: dict[int, int] = {}
        less = {int(graph.nodes[row]): ps for row, ps in gone.items()}
        queue = [(int(graph.time_ps[node]), node) for node in less]
        heapq.heapify(queue)
        while queue:
            _, node = heapq.heappop(queue)
            ways = range(graph.first[node], graph.first[node + 1])
            new = max(
                changed.get(int(graph.before[way]), int(graph.time_ps[graph.before[way]]))
                + int(graph.least_ps[way] + graph.wait_ps[way])
                for way in ways
            ) - less.get(node, 0)
            if new == changed.get(node, int(graph.time_ps[node])):
                continue
            changed[node] = new
            for after in self._next[self._from[node] : self._from[node + 1]].tolist():
                heapq.heappush(queue, (int(graph.time_ps[after]), after))
        unchanged = next((int(graph.time_ps[node]) for node in self._ends if node not in changed), graph.start_ps)
        ends = set(self._ends)
        return max([unchanged, *(time for node, time in changed.items() if node in ends)])

    def messages(self, rows: Sequence[int]) -> int:
        """When it is done if these messages do not wait at all, whatever of them a step waits for."""
        messages, key = self._graph.messages, ["flow", "message"]
        found = messages.with_row_index().join(messages[list(rows)].select(key), on=key, how="semi", nulls_equal=True)
        return self.end_ps(dict(found.select("index", "wait_ps").iter_rows()))
