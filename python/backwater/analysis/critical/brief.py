"""The critical path of an application in a sentence: how much of its time are waits, of what kind, where, for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from backwater.analysis.critical import analysis
from backwater.analysis.critical.parts import Parts, Piece
from backwater.analysis.critical.path import Path
from backwater.common import quantities
from backwater.results import Results, measures

#: The kinds of pieces that are one cause, in the words of a sentence; what is not here is said as it is.
_TOGETHER = {"held back": "held", "in a held queue": "held", "in the queue": "queue", "paced": "paced"}
#: Of so many pieces, the largest, it is looked up where they began.
_LOOKED = 100
#: A share that is not told: 100 %.
_ALL = 0.995


@dataclass(frozen=True)
class Brief:
    """What made an application late, most of all."""

    traffic: str
    time_ps: int
    wait_ps: int
    #: `held`, `queue`, `paced`, or the words of a piece; and its share of the waits. Empty without waits.
    how: str
    share: float
    #: The ports where that began by their share of it, the greatest first: of pacing those that marked.
    ports: Mapping[str, float]
    #: The traffic entries that fed these ports, by their share.
    fed_by: Mapping[str, float]

    @property
    def others(self) -> tuple[str, float] | None:
        """The traffic entry that fed them most, if it is another one."""
        first = next(iter(self.fed_by.items()), None)
        return first if first is not None and first[0] != self.traffic else None


def briefs(results: Results) -> Iterator[Brief]:
    """Of each application of a run, in a second or two each."""
    for path in analysis.paths(results):
        yield of(results, path)


def of(results: Results, path: Path) -> Brief:
    """Of one critical path."""
    parts = Parts(results, path)
    waited = path.graph.messages["wait_ps"]
    pieces = [piece for row in path.rows if waited[row] for piece in parts.of(row)]
    kinds: dict[str, int] = {}
    for piece in pieces:
        kinds[_kind(piece)] = kinds.get(_kind(piece), 0) + piece.ps
    how, most = max(kinds.items(), key=lambda one: (one[1], one[0]), default=("", 0))
    largest = sorted((piece for piece in pieces if _kind(piece) == how), key=lambda piece: (-piece.ps, piece.place))
    ports: dict[str, float] = {}
    fed: dict[str, float] = {}
    for piece in largest[:_LOOKED]:
        blamed = parts.blamed(piece)
        if blamed is None:
            continue
        if blamed.root is not None:
            ports[blamed.root] = ports.get(blamed.root, 0.0) + piece.ps
        for name, share in blamed.traffic.items():
            fed[name] = fed.get(name, 0.0) + share * piece.ps
    share = most / path.wait_ps if path.wait_ps else 0.0
    took = path.end_ps - path.start_ps
    return Brief(path.graph.traffic, took, path.wait_ps, how if most > 0 else "", share, _shares(ports), _shares(fed))


def _kind(piece: Piece) -> str:
    return _TOGETHER.get(piece.how, piece.how)


def _shares(sums: Mapping[str, float]) -> dict[str, float]:
    whole = sum(sums.values())
    ordered = sorted(sums.items(), key=lambda one: (-one[1], one[0]))
    return {name: ps / whole for name, ps in ordered} if whole else {}


def cause(results: Results, found: Brief, of_what: str = "of the waits on its critical path are") -> str:
    """The kind, the ports and the traffic in words: ``96 % of … are pacing by DCQCN, …``; empty without waits."""
    if not found.how:
        return ""
    scenario = results.meta["scenario"]
    port, part = next(iter(found.ports.items()), ("", 0.0))
    told = f"{_percent(found.share)} {of_what} "
    match found.how:
        case "held":
            told += "for want of credits" if measures.under_credits(scenario) else "behind PAUSEs"
            told += f", {_most(part)}because of {port}" if port else ""
        case "queue":
            told += f"in queues, {_most(part)}in that of {port}" if port else "in queues"
        case "paced":
            told += f"pacing by {scenario['cc']['kind'].upper()}"
            several = f"{len(found.ports)} ports, such as {port} ({_percent(part)})"
            told += f", for marks of {several if len(found.ports) > 1 else port}" if port else ""
        case other:
            told += other
    if found.fed_by and found.how != "paced":
        name, part = next(iter(found.fed_by.items()))
        told += f"; only {name} filled it" if part > _ALL else f"; {name} filled {_percent(part)} of it"
    return told


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _most(share: float) -> str:
    return "" if share > _ALL else f"{_percent(share)} of these "


def line(results: Results, found: Brief) -> str:
    """A sentence or two for a summary."""
    took = quantities.time(found.time_ps)
    if not found.how:
        return f"{found.traffic}: nothing on its critical path of {took} waited."
    late = f"{quantities.time(found.wait_ps)} of its {took} ({_percent(found.wait_ps / found.time_ps)}) are waits"
    return f"{found.traffic}: {late} on its critical path. {cause(results, found, 'of them are')}."
