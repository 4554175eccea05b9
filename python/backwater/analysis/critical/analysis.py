"""The critical path of an application, put together: its waits in order of size, and what is left without each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backwater.analysis.critical import graph, path
from backwater.analysis.critical.parts import Blamed, Parts, Piece
from backwater.errors import UsageError
from backwater.results import Results

#: Of so many pieces, the largest, it is looked up who is to blame.
_LAID = 300
#: What waits are laid to that no other message is known for, such as those behind ACKs; and those not looked up.
NOBODY, SMALLER = "no message", "smaller waits"
#: What pacing is laid to: marks of a port made it, and whose packets filled that queue then is not recorded.
CONTROL = "congestion control"


@dataclass(frozen=True)
class Wait:
    """A message of the path that waited."""

    #: Its place among the messages of the path, from 1; in an iteration of a collective from its first one on.
    number: int
    message: dict[str, Any]
    #: Where it waited, and who is to blame for that.
    pieces: list[tuple[Piece, Blamed | None]]
    #: How long the application takes without this wait.
    without_ps: int

    @property
    def ps(self) -> int:
        """How long."""
        return int(self.message["wait_ps"])


@dataclass(frozen=True)
class Critical:
    """What an application, or an iteration of it, waited for."""

    path: path.Path
    iteration: int | None
    #: The messages that waited, the longest wait first.
    waits: list[Wait]
    #: The sums of their pieces by place and kind, the greatest first: `place`, `how`, `ps`, `blamed`, `messages`, and
    #: `without_ps`, how long the application takes without them.
    places: list[dict[str, Any]]
    #: What all messages of the path waited, by kind, the greatest first.
    kinds: dict[str, int]
    #: The traffic that these waits are laid to, the greatest first.
    whom: dict[str, int]
    notes: list[str]

    @property
    def time_ps(self) -> int:
        """How long it took."""
        return self.path.end_ps - self.path.start_ps


def whole(results: Results) -> None:
    """Refuse a run that recorded only a part of what its applications waited for."""
    if graph.is_cut(results):
        raise UsageError(
            f"{results.folder} has only a part of what the applications waited for, as probe.budget was used up: run "
            "it again with --set probe.budget=... of more bytes"
        )


def paths(results: Results, traffic: str | None = None, iteration: int | None = None) -> Iterator[path.Path]:
    """The critical path of each application, or of one of them; none if `probe.budget` cut what they waited for."""
    known = graph.applications(results)
    if traffic is not None and traffic not in known:
        there = ", ".join(known) or "none"
        raise UsageError(f"--job {traffic}: no application of that name; there is {there}")
    for name in [] if graph.is_cut(results) else known if traffic is None else [traffic]:
        made = graph.of(results, name)
        if made.ends():
            yield path.of(made, iteration)


def beside(alone: Mapping[str, Results], traffic: str, iteration: int | None = None) -> path.Path | None:
    """The critical path of an application when nothing else sends; None if `alone` does not tell."""
    run = alone.get(traffic)
    if run is None or traffic not in graph.applications(run):
        return None
    return next(paths(run, traffic, iteration), None)


def of(results: Results, found: path.Path, iteration: int | None = None, top: int | None = None) -> Critical:
    """All there is to say about a path; of its waits the `top` longest."""
    parts = Parts(results, found)
    without = path.Without(found.graph, iteration)
    messages = found.graph.messages
    numbered = [(number, row) for number, row in enumerate(found.rows, 1) if messages["wait_ps"][row]]
    numbered.sort(key=lambda one: (-messages["wait_ps"][one[1]], one[0]))
    pieces = {row: parts.of(row) for _, row in numbered}
    waits = [
        Wait(
            number,
            messages.row(row, named=True),
            [(piece, parts.blamed(piece)) for piece in pieces[row]],
            without.messages([row]) - found.start_ps,
        )
        for number, row in numbered[:top]
    ]
    kinds: dict[str, int] = {}
    for piece in (piece for own in pieces.values() for piece in own):
        kinds[piece.how] = kinds.get(piece.how, 0) + piece.ps
    places = _places(pieces, found, without, parts, top)
    whom = _whom([piece for own in pieces.values() for piece in own], parts)
    return Critical(found, iteration, waits, places, _greatest(kinds), _greatest(whom), parts.notes)


def _greatest(sums: dict[str, int]) -> dict[str, int]:
    return dict(sorted(sums.items(), key=lambda one: (-one[1], one[0])))


def _whom(pieces: list[Piece], parts: Parts) -> dict[str, int]:
    """The largest pieces by the traffic that they are laid to; the sums are those of all pieces."""
    ordered = sorted(pieces, key=lambda piece: (-piece.ps, piece.place, piece.how))
    sums: dict[str, int] = {}
    for piece in ordered[:_LAID]:
        blamed = parts.blamed(piece)
        left = piece.ps
        for name, share in blamed.traffic.items() if blamed is not None else ():
            part = round(piece.ps * share)
            sums[name] = sums.get(name, 0) + part
            left -= part
        nobody = CONTROL if piece.how == "paced" else NOBODY
        sums[nobody] = sums.get(nobody, 0) + left
    if rest := sum(piece.ps for piece in ordered[_LAID:]):
        sums[SMALLER] = rest
    return {name: ps for name, ps in sums.items() if ps}


def _places(
    pieces: dict[int, list[Piece]], found: path.Path, without: path.Without, parts: Parts, top: int | None
) -> list[dict[str, Any]]:
    sums: dict[tuple[str, str], dict[int, int]] = {}
    largest: dict[tuple[str, str], Piece] = {}
    for row, own in pieces.items():
        for piece in own:
            key = (piece.place, piece.how)
            rows = sums.setdefault(key, {})
            rows[row] = rows.get(row, 0) + piece.ps
            if key not in largest or largest[key].ps < piece.ps:
                largest[key] = piece
    ordered = sorted(sums.items(), key=lambda one: (-sum(one[1].values()), one[0]))
    return [
        {
            "place": place,
            "how": how,
            "ps": sum(rows.values()),
            "messages": len(rows),
            "blamed": parts.blamed(largest[place, how]),
            "without_ps": without.end_ps(rows) - found.start_ps,
        }
        for (place, how), rows in ordered[:top]
    ]
