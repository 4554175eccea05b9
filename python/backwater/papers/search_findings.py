"""What a search found: where the claim held, what its numbers depend on, and how near it came where it never held."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from backwater._core import __version__
from backwater.common.late import NDArray, np
from backwater.papers import sensitivity_findings
from backwater.papers.claims import Check, Verdict
from backwater.papers.search import Look, Search, Tried
from backwater.papers.search_space import Dimension

#: Fewer points tell nothing of a dependence.
_ENOUGH = 8


@dataclass(frozen=True)
class Effect:
    """How a metric depends on a parameter, alone, over n points.

    `correlation` is Spearman's rank correlation; of kinds there is none. `share` is the share of the variance of the
    metric's ranks that the parameter explains, less what chance explains (epsilon squared; of a range by its rank).
    """

    parameter: str
    metric: str
    n: int
    correlation: float | None
    share: float


@dataclass(frozen=True)
class Region:
    """Where the claim held, by one parameter alone: from `low` to `high`, or the kinds with how many of how many."""

    parameter: str
    low: str
    high: str
    #: The share of the whole range; None of kinds.
    width: float | None
    #: Of the points with such a value, so many held.
    held: int
    of: int
    kinds: tuple[tuple[str, int, int], ...] = ()


def effects(search: Search, metric: str) -> list[Effect]:
    """On each parameter, in the order of the file."""
    known = [(one, value) for one in search.tried if (value := one.first.value(metric)) is not None]
    if len(known) < _ENOUGH:
        return []
    values = _ranks(np.array([value for _, value in known]))
    return [
        _effect(dimension, metric, [one.settings[place] for one, _ in known], values)
        for place, dimension in enumerate(search.dimensions)
    ]


def _effect(dimension: Dimension, metric: str, settings: Sequence[Any], values: NDArray[np.float64]) -> Effect:
    n, whole = len(values), float(((values - values.mean()) ** 2).sum())
    if whole == 0:
        return Effect(dimension.name, metric, n, None if dimension.kinds else 0.0, 0.0)
    if dimension.kinds:
        names = np.array([setting.text for setting in settings])
        groups = [values[names == name] for name in dict.fromkeys(names.tolist())]
        explained = sum(len(group) * float(group.mean() - values.mean()) ** 2 for group in groups) / whole
        return Effect(dimension.name, metric, n, None, _above_chance(explained, n, len(groups)))
    places = _ranks(np.array([setting.share for setting in settings]))
    spread = float(((places - places.mean()) ** 2).sum())
    both = float(((places - places.mean()) * (values - values.mean())).sum())
    correlation = both / math.sqrt(spread * whole) if spread else 0.0
    return Effect(dimension.name, metric, n, correlation, _above_chance(correlation**2, n, 2))


def _above_chance(explained: float, n: int, groups: int) -> float:
    """A share of the variance less what so many groups explain of noise (Kelley's epsilon squared), 0 or more."""
    return max(0.0, 1 - (1 - explained) * (n - 1) / (n - groups)) if n > groups else 0.0


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1 on; equal values have the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place], dtype=np.float64)


def region(search: Search, held: Sequence[Tried]) -> list[Region]:
    """By each parameter, where these points are."""
    return [_region(search, held, place, one) for place, one in enumerate(search.dimensions)] if held else []


def _region(search: Search, held: Sequence[Tried], place: int, dimension: Dimension) -> Region:
    if dimension.kinds:
        every = [one.settings[place].text for one in search.tried]
        own = [one.settings[place].text for one in held]
        kinds = tuple((name, own.count(name), every.count(name)) for name in dimension.kinds)
        reached = [kind for kind in kinds if kind[1]]
        names = ", ".join(name for name, *_ in reached)
        return Region(dimension.name, names, names, None, len(held), sum(of for *_, of in reached), kinds)
    settings = sorted((one.settings[place] for one in held), key=lambda setting: setting.share)
    low, high = settings[0], settings[-1]
    of = sum(low.share <= one.settings[place].share <= high.share for one in search.tried)
    return Region(dimension.name, low.text, high.text, high.share - low.share, len(held), of)


def nearest(search: Search) -> Tried | None:
    """The point, or ours, whose worst number misses its bound by least; candidates are judged by their fresh seeds."""
    known = [one for one in (search.ours, *search.tried) if one.last.judged is not None]
    held = [one for one in known if one.fresh is not None]
    return min(held or known, key=lambda one: (_miss(search, one.last), one.number), default=None)


def _miss(search: Search, look: Look) -> float:
    """How far the worst end of an interval is outside its bound, as a share of how far the number moves over points."""
    ends = {item.check.metric: item.value for item in (look.judged.measured if look.judged else ()) if item.value}
    worst = 0.0
    for check in search.claim.checks:
        known = [value for one in search.tried if (value := one.first.value(check.metric)) is not None]
        if (end := ends.get(check.metric)) is None:
            return math.inf
        moved = max(known) - min(known) if known else 0.0
        if distance := max(check.bound.low - end.low, end.high - check.bound.high, 0.0):
            worst = max(worst, distance / moved if moved else math.inf)
    return worst


def deciding(search: Search) -> Check:
    """The number that is outside its bound at most points, of equals the first."""

    def outside(check: Check) -> int:
        values = [one.first.value(check.metric) for one in search.tried]
        return sum(value is not None and not check.bound.admits(value) for value in values)

    return max(search.claim.checks, key=outside)


def first_two(search: Search, found: Sequence[Effect]) -> tuple[int, ...]:
    """The places of the two parameters that matter most; of a search over one, that."""
    shares = {one.parameter: one.share for one in found}
    order = sorted(range(len(search.dimensions)), key=lambda place: -shares.get(search.dimensions[place].name, 0.0))
    return tuple(order[:2])


def answer(search: Search) -> str:
    """What came of it, in a sentence or two."""
    tried = [one for one in search.tried if one.first.judged is not None]
    held, found = len(search.candidates), len(search.found)
    looked = f"{len(search.tried) * search.runs_each} runs ({len(search.tried)} points)"
    failed = len(search.tried) - len(tried)
    lacking = f", {failed} of these points could not be run" if failed else ""
    at_first = f"the claim held at {held} points with {_seeds(search.seeds)}"
    if not held:
        return f"None found in {looked}{lacking}."
    fresh = f"with {_seeds(search.fresh_seeds)} it holds at {found or 'none'} of these"
    straddling = sum(one.verdict is Verdict.OPEN for one in search.candidates)
    still = f", and is open at {straddling}, where the bound cuts the interval" if straddling else ""
    word = "Found" if found else "None found"
    return f"{word} in {looked}{lacking}: {at_first}; {fresh}{still}."


def _seeds(seeds: range) -> str:
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"


def facts(search: Search) -> dict[str, Any]:
    """Plain values, for ``--json`` and search.json."""
    near = nearest(search)
    return {
        "format": 1,
        "paper": search.system,
        "claim": search.claim.id,
        "text": search.claim.text,
        "checks": [{"metric": c.metric, "bound": c.bound.text, "unit": c.unit} for c in search.claim.checks],
        "figure": search.figure.name,
        "profile": search.profile,
        "quick": search.quick,
        "version": __version__,
        "build": sensitivity_findings.build(),
        "smaller": list(search.figure.shrunk(quick=search.quick)),
        "parameters": [
            {
                "name": one.name,
                "values": list(one.kinds) or [one.at(0).text, one.at(1).text],
                "scale": None if one.bounds is None else "log" if one.bounds.log else "linear",
                "ours": one.ours or None,
                "paper": one.paper or None,
                "source": one.source,
            }
            for one in search.dimensions
        ],
        "left": [{"parameter": one.parameter, "why": one.why} for one in search.left],
        "seeds": list(search.seeds),
        "fresh_seeds": list(search.fresh_seeds),
        "runs": len(search.tried) * search.runs_each,
        "points": len(search.tried),
        "not_run": sum(one.verdict is Verdict.NOT_RUN for one in search.tried),
        "held_at_first": len(search.candidates),
        "held_with_fresh_seeds": len(search.found),
        "open": sum(one.verdict is Verdict.OPEN for one in search.tried),
        "answer": answer(search),
        "ours": _point(search, search.ours),
        "nearest": None if near is None else _point(search, near),
        "region": [
            {
                "parameter": one.parameter,
                "low": one.low,
                "high": one.high,
                "share_of_range": one.width,
                "held": one.held,
                "of": one.of,
                "kinds": [{"kind": name, "held": held, "of": of} for name, held, of in one.kinds],
            }
            for one in region(search, search.found)
        ],
        "effects": [
            {
                "parameter": one.parameter,
                "metric": one.metric,
                "n": one.n,
                "rank_correlation": one.correlation,
                "share_of_rank_variance": one.share,
            }
            for check in search.claim.checks
            for one in effects(search, check.metric)
        ],
        "tried": [_point(search, one) for one in search.tried],
    }


def _point(search: Search, one: Tried) -> dict[str, Any]:
    values = [setting.text for setting in one.settings] or [dimension.ours for dimension in search.dimensions]
    return {
        "point": one.number,
        "values": {dimension.name: value or None for dimension, value in zip(search.dimensions, values, strict=True)},
        "verdict": str(one.verdict),
        "why": one.first.why or (one.fresh.why if one.fresh else ""),
        "first": _numbers(one.first),
        "fresh": _numbers(one.fresh) if one.fresh else None,
    }


def _numbers(look: Look) -> dict[str, Any]:
    return {
        item.check.metric: {
            "mean": item.value.mean,
            "half_width_95": item.value.half_width,
            "values": list(item.value.values),
        }
        for item in (look.judged.measured if look.judged else ())
        if item.value
    }
