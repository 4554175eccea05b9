"""Our numbers beside those of the authors' public simulator, as tables of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from backwater.papers.number_tables import NumberTable

from papers.ec.authors import COMMIT, Known
from papers.ec.measured import Point, Window
from papers.ec.panels import LABELS, SIZE_LABELS, Seeds, seen

#: What is compared: the name, ours and theirs.
_WHAT: tuple[tuple[str, Callable[[Window], float], Callable[[Known], float | None]], ...] = (
    ("goodput", lambda one: one.goodput, lambda one: one.goodput),
    ("retransmissions", lambda one: one.retransmission, lambda one: one.retransmission),
    ("largest difference of two senders", lambda one: one.difference, lambda one: one.difference),
)


def differences(
    seeds: Seeds, known: Mapping[Point, Known], swept: str, what: Sequence[str] = ("goodput", "retransmissions")
) -> list[NumberTable]:
    """One table for each thing compared: per policy, size and place of the sweep ours, theirs, and how far apart."""
    made = []
    for name, ours, theirs in _WHAT:
        if name in what:
            rows = [_row(seeds, at, ours, theirs(one)) for at, one in known.items()]
            headings = ("policy", "size", swept, "ours", f"authors' simulator {COMMIT}", "ours less theirs")
            title = f"{name}, as shares of the link: ours and the authors' public simulator"
            made.append(NumberTable(title, headings, tuple(row for row in rows if row[3] != "–"), words=2))
    return made


def _row(seeds: Seeds, at: Point, ours: Callable[[Window], float], there: float | None) -> tuple[str, ...]:
    here = seen(seeds, at, ours)
    policy, size, swept = at
    apart = "–" if here is None or there is None else f"{here - there:+.4f}"
    return LABELS[policy], SIZE_LABELS[size], f"{swept:g}", number(here), number(there, "aborted"), apart


def number(value: float | None, none: str = "–") -> str:
    """A share of the link to four digits."""
    return none if value is None else f"{value:.4f}"
