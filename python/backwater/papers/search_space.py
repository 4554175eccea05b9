"""What a search for a claim varies: one dimension per open parameter that touches the claim's figure."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backwater.errors import UsageError
from backwater.experiments import sobol
from backwater.papers.open_parameters import Parameter, Reading
from backwater.papers.paper_figure import Figure, Variant
from backwater.papers.search_values import Bounds, Searched, shown, told

#: Our reading, where a parameter has readings and no values of its own.
OURS = "ours"


@dataclass(frozen=True)
class Setting:
    """One value of a dimension; `share` is its place there, from 0 to below 1. `variant` None leaves the runs alone."""

    text: str
    share: float
    variant: Variant | None


@dataclass(frozen=True)
class Dimension:
    """A parameter that a search varies: between bounds, or over kinds."""

    name: str
    about: str
    source: str
    variants: tuple[Variant | None, ...]
    ours: str
    paper: str = ""
    searched: Searched | None = None
    bounds: Bounds | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of its kinds; none of a range."""
        return () if self.bounds else tuple(variant.name if variant else OURS for variant in self.variants)

    @property
    def range(self) -> str:
        """What it may be, for people."""
        if self.bounds is None:
            return ", ".join(self.kinds)
        return f"{shown(self.at(0).text)} to {shown(self.at(1).text)}{', log' if self.bounds.log else ''}"

    def at(self, share: float) -> Setting:
        """The setting at a share of it; each kind has the same."""
        if self.bounds and self.searched:
            value = self.bounds.at(share)
            return Setting(told(value), share, self.searched.variant(value))
        variant = self.variants[min(int(share * len(self.variants)), len(self.variants) - 1)]
        return Setting(variant.name if variant else OURS, share, variant)

    def share_of(self, text: str) -> float | None:
        """Where a value lies, such as ours; of a kind the middle of its part."""
        if self.bounds:
            return self.bounds.share_of(_number(text))
        return (self.kinds.index(text) + 0.5) / len(self.kinds) if text in self.kinds else None

    def sets(self) -> frozenset[str]:
        """The keys of the scenario that it sets."""
        texts = self.searched.set if self.searched else (text for one in self.variants if one for text in one.set)
        return frozenset(text.partition("=")[0].strip() for text in texts)

    def runs(self) -> tuple[str, ...]:
        """Patterns of the runs that it applies to."""
        return self.searched.runs if self.searched else tuple(run for one in self.variants if one for run in one.runs)


@dataclass(frozen=True)
class Left:
    """A parameter that a search leaves as it is."""

    parameter: str
    why: str


def of(
    parameters: Sequence[Parameter], figure: Figure, profile: str, *, quick: bool
) -> tuple[list[Dimension], list[Left]]:
    """The dimensions for a figure under a profile, and what is left out; raises UsageError for more than there can be.

    Of parameters that set the same key the first in the file is varied.
    """
    specs = (*figure.experiment.first, *figure.experiment.run)
    runs = [name for spec in specs for name, _ in spec.expand() if not figure.skips(name, quick=quick)]
    made: list[Dimension] = []
    left: list[Left] = []
    for parameter in parameters:
        found = list(_touching(parameter, figure.name, profile))
        if found and parameter.unsearched is not None:
            left.append(Left(parameter.id, parameter.unsearched))
            continue
        for one in found:
            shared = [
                (key, other) for other in made for key in one.sets() if any(_same(key, its) for its in other.sets())
            ]
            if not any(fnmatch.filter(runs, pattern) for pattern in one.runs()):
                left.append(Left(one.name, "it applies to none of the runs"))
            elif shared:
                key, other = min(shared, key=lambda pair: pair[0])
                left.append(Left(one.name, f"it sets {key}, as {other.name} does, which stands before it in the file"))
            else:
                made.append(one)
    if len(made) > sobol.MOST_AXES:
        raise UsageError(
            f"{figure.name} has {len(made)} open parameters, and a search varies {sobol.MOST_AXES} at most: "
            "choose some with --parameter"
        )
    return made, left


def _touching(parameter: Parameter, figure: str, profile: str) -> Iterator[Dimension]:
    """The dimensions of a parameter: values to search, else its readings."""
    several = len(parameter.search) > 1
    searched = [
        one
        for one in parameter.search
        if figure in (one.figures or parameter.figures) and profile in (one.profiles or (profile,))
    ]
    for one in searched:
        ours, bounds = one.ours_under(profile), one.bounds()
        yield Dimension(
            f"{parameter.id}: {one.name}" if several else parameter.id,
            one.name or parameter.text,
            one.source,
            tuple(map(one.variant, one.kinds)),
            "" if ours is None else told(ours),
            "" if one.paper is None else told(one.paper),
            one,
            bounds,
        )
    if not searched and (readings := _readings(parameter, figure, profile)):
        yield Dimension(parameter.id, parameter.text, "the readings in sensitivity.toml", (None, *readings), OURS)


def _readings(parameter: Parameter, figure: str, profile: str) -> tuple[Reading, ...]:
    return tuple(
        one for one in parameter.variant if figure in (one.figures or parameter.figures) and profile in one.profiles
    )


def _same(one: str, other: str) -> bool:
    """Whether two keys are one, or one a part of the other."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
