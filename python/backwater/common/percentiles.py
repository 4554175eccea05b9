"""How many values a percentile needs, and what is told instead where there are fewer: the one rule of all tables.

A nearest-rank percentile is the largest value itself of fewer than 1 / (1 - p) values (Hyndman and Fan, "Sample
Quantiles in Statistical Packages", The American Statistician 50(4), 1996, definition 1): a p99 of six flows is the
slowest of six.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from backwater import _core
from backwater.common.statistics import Estimate


@cache
def least(percent: int) -> int:
    """The fewest values that a percentile is told of: 100 of a p99, 20 of a p95, one of a median."""
    return _core.least_values(percent)


#: By the name of a percentile: which one it is, and the largest value that takes its place.
INSTEAD: Mapping[str, tuple[int, str]] = {
    "p95": (95, "max"),
    "p99": (99, "max"),
    "p99_slowdown": (99, "max_slowdown"),
    "p99_fct_ps": (99, "max_fct_ps"),
}


def largest_of(shown: str, fewest: int, most: int) -> str:
    """A largest value with how many it is of: ``9.87 (max of 6)``."""
    counts = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return f"{shown} (max of {counts})"


def cell(
    name: str, values: Mapping[str, Estimate], counts: Sequence[int], show: Callable[[Estimate], str]
) -> str | None:
    """A mean over seeds; of a percentile with too few values in some seed that of the largest ones, with how many.

    None where there is neither. `counts` says of how many values each seed's is.
    """
    if name in values:
        return show(values[name])
    instead = INSTEAD.get(name)
    if instead is None or instead[1] not in values or not counts:
        return None
    return largest_of(show(values[instead[1]]), min(counts), max(counts))


def note(*percents: int) -> str:
    """What stands below a table in which a percentile has too few values."""
    needs = ", ".join(f"p{percent} needs {least(percent)}" for percent in percents)
    return f"max of n: too few values in each run for a percentile ({needs})"
