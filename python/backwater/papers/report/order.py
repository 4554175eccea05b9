"""In which order verdicts are shown, and how they are counted: only those of claims that could have failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from backwater.papers.claims import Judged, Verdict
from backwater.papers.kinds import Kind
from backwater.papers.reproduce import Reproduced

#: Titles of the parts of a table, in order. Headlines are what the abstract or the conclusion states.
HEADLINES, RESULTS, MECHANISMS, OWN, UNCOUNTED = TITLES = (
    "Headline results",
    "Other results",
    "Mechanism",
    "Own checks",
    "Not counted",
)
_OF_KIND = {Kind.RESULT: RESULTS, Kind.MECHANISM: MECHANISMS, Kind.OWN: OWN}


def place(kind: Kind, *, headline: bool) -> str:
    """The part of a table that claims of a kind belong to."""
    return HEADLINES if kind is Kind.RESULT and headline else _OF_KIND.get(kind, UNCOUNTED)


def title(judged: Judged) -> str:
    """The part of a table that a verdict belongs to."""
    return place(judged.kind, headline=judged.claim.headline)


def every(figures: Iterable[Reproduced]) -> list[Judged]:
    """Every verdict: by part, then by claim; of one claim, the literal profile's first."""
    found = [judged for figure in figures for judged in figure.judged]
    return sorted(found, key=lambda one: (TITLES.index(title(one)), *_claim(one), not one.literal, one.profile))


def _claim(judged: Judged) -> tuple[str, str]:
    return judged.figure, judged.claim.id


def parts(judged: Sequence[Judged]) -> list[tuple[str, list[Judged]]]:
    """The verdicts of each part that has some, as :func:`every` orders them."""
    return [(name, list(found)) for name, found in groupby(judged, title)]


def claims(judged: Sequence[Judged]) -> list[list[Judged]]:
    """The verdicts of each claim, as :func:`every` orders them."""
    return [list(found) for _, found in groupby(judged, _claim)]


def has_literal(judged: Iterable[Judged]) -> bool:
    """Whether a profile takes the paper at its word, so that its verdicts get a column of their own."""
    return any(one.literal for one in judged)


def counts(judged: Iterable[Judged]) -> dict[str, dict[str, int]]:
    """How many verdicts of each word there are, by kind of claim."""
    found: dict[str, dict[str, int]] = {}
    listed = list(judged)
    for kind in Kind:
        verdicts = [one.verdict for one in listed if one.kind is kind]
        if verdicts:
            found[str(kind)] = {str(word): verdicts.count(word) for word in Verdict if word in verdicts}
    return found


def tally(judged: Iterable[Judged]) -> str:
    """How many claims hold, in one line; what could not have failed is named, and not counted."""
    found = counts(judged)
    told = []
    for kind in (kind for kind in Kind if kind.counts and kind in found):
        count = sum(found[kind].values())
        told.append(f"{count} verdict{'s' if count > 1 else ''} on {kind.some(2)}: {_words(found[kind])}")
    beside = uncounted(found)
    return "; ".join([*told, *([f"not counted: {beside}"] if beside else [])])


def uncounted(found: Mapping[str, Mapping[str, int]]) -> str:
    """How many there are of each kind that could not have failed."""
    numbers = [(kind, sum(found[kind].values())) for kind in Kind if not kind.counts and kind in found]
    return ", ".join(f"{count} {kind.some(count)}" for kind, count in numbers)


def _words(words: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in words.items())
