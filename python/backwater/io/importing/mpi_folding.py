"""Repetitions in the lines of a rank become loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from backwater.common.late import np

#: Loops within loops of a program, at most; the longest stretch that is looked for again.
_DEPTH, _LONGEST = 8, 4096


@dataclass
class Folded:
    """The lines of a rank; of what was folded the largest part by which a time of computing differs from its mean."""

    lines: list[str]
    loops: int = 0
    spread: float = 0.0


@dataclass
class _Item:
    """A line, or a loop of items, after nanoseconds of computing: their sum over so many turns, and the extremes."""

    line: str
    total: float
    turns: int
    least: float
    most: float
    body: list[_Item] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return self.total / self.turns


def plain(lines: Sequence[tuple[int, str]]) -> Folded:
    """The lines as they are."""
    return Folded(list(_written([_Item(line, gap, 1, gap, gap) for gap, line in lines])))


def fold(lines: Sequence[tuple[int, str]]) -> Folded:
    """The lines with loops. What differs in computing alone counts as a repetition, and computes for the mean."""
    items = [_Item(line, gap, 1, gap, gap) for gap, line in lines]
    names: dict[object, int] = {}
    ids = [names.setdefault(item.line, len(names)) for item in items]
    loops = 0
    for _ in range(_DEPTH):
        chosen = _repeats(ids)
        if not chosen:
            break
        items, ids = _replace(items, ids, chosen, names)
        loops += len(chosen)
    spread = max((_spread(item) for item in items), default=0.0)
    return Folded(list(_written(items)), loops, spread)


def _repeats(ids: Sequence[int]) -> list[tuple[int, int, int]]:
    """Stretches (begin, length, times), apart from each other, that stand there again and again; the shortest first."""
    array = np.asarray(ids)
    free = np.ones(len(array), dtype=bool)
    found = []
    for length in range(1, min(_LONGEST, len(array) // 2) + 1):
        same = np.concatenate(([False], array[length:] == array[:-length], [False]))
        edges = np.flatnonzero(same[1:] != same[:-1]).reshape(-1, 2)
        for begin, end in edges[edges[:, 1] - edges[:, 0] >= length].tolist():
            times = (end - begin) // length + 1
            # A loop has a line before and one behind its body.
            if (times - 1) * length > 2 and free[begin : begin + times * length].all():
                free[begin : begin + times * length] = False
                found.append((begin, length, times))
    return sorted(found)


def _replace(
    items: list[_Item], ids: list[int], chosen: list[tuple[int, int, int]], names: dict[object, int]
) -> tuple[list[_Item], list[int]]:
    made: list[_Item] = []
    numbers: list[int] = []
    at = 0
    for begin, length, times in chosen:
        made += items[at:begin]
        numbers += ids[at:begin]
        turns = [items[begin + turn * length : begin + (turn + 1) * length] for turn in range(times)]
        # What was computed before the first turn may be of another kind: it goes before the loop.
        first = turns[0][0]
        mean = sum(turn[0].mean for turn in turns[1:]) / (times - 1)
        before = max(0.0, first.mean - mean) if not first.body else 0.0
        if before:
            turns[0][0] = _Item(first.line, mean, 1, mean, mean, first.body)
        body = [_merged([turn[place] for turn in turns]) for place in range(length)]
        made.append(_Item(f"loop {times}", before, 1, before, before, body))
        key = (times, *ids[begin : begin + length])
        numbers.append(names.setdefault(key, len(names)))
        at = begin + times * length
    return made + items[at:], numbers + ids[at:]


def _merged(items: Sequence[_Item]) -> _Item:
    """Items that are alike as one that has the sums of their computing."""
    return _Item(
        items[0].line,
        sum(item.total for item in items),
        sum(item.turns for item in items),
        min(item.least for item in items),
        max(item.most for item in items),
        [_merged(same) for same in zip(*(item.body for item in items), strict=True)],
    )


def _spread(item: _Item) -> float:
    within = max((_spread(inner) for inner in item.body), default=0.0)
    if not item.mean:
        return within
    return max(within, (item.most - item.mean) / item.mean, (item.mean - item.least) / item.mean)


def _written(items: Sequence[_Item]) -> list[str]:
    lines = []
    for item in items:
        if computing := round(item.mean):
            lines.append(f"compute {computing}ns")
        if item.line:
            lines.append(item.line)
        if item.body:
            lines += [*_written(item.body), "end"]
    return lines


def notes(folded: Sequence[Folded]) -> list[str]:
    """What was folded, in words."""
    loops, spread = sum(rank.loops for rank in folded), max((rank.spread for rank in folded), default=0.0)
    if not loops:
        return ["nothing repeats: --fold has found no loop"]
    return [
        f"{loops} loops: each turn computes for the mean of all, from which single turns differ by up to {spread:.0%}"
    ]
