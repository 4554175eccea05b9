"""How many values a percentile needs, and what is told instead where there are fewer: the one rule of all tables.

A nearest-rank percentile is the largest value itself of fewer than 1 / (1 - p) values (Hyndman and Fan, "Sample
Quantiles in Statistical Packages", The American Statistician 50(4), 1996, definition 1): a p99 of six flows is the
slowest of six.

How far a percentile of some values is from that of what they are drawn from, two of the values say themselves, whatever
the distribution: so many of n values are below it as of n draws succeed (David and Nagaraja, "Order Statistics", 2003,
section 7.1). Values that depend on each other, as flows of one run, say less than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import accumulate

from backwater import _core
from backwater.common.statistics import Estimate


@cache
def least(percent: int) -> int:
    """The fewest values that a percentile is told of: 100 of a p99, 20 of a p95, one of a median."""
    return _core.least_values(percent)


#: A percentile lies within its interval in so much.
_CONFIDENCE = 0.95
#: Of more values the binomial distribution is taken for a normal one, two of whose deviations hold that much.
_MOST_EXACT, _DEVIATIONS = 2000, 1.959964


@cache
def ranks(count: int, percent: int) -> tuple[int, int] | None:
    """The ranks, from 1, of the values between which a percentile lies with 95 %; None of too few values.

    >>> ranks(10, 50), ranks(5, 50)
    ((2, 9), None)
    """
    share = percent / 100
    aside = (1 - _CONFIDENCE) / 2
    if count > _MOST_EXACT:
        reach = _DEVIATIONS * math.sqrt(count * share * (1 - share))
        low, high = math.floor(count * share - reach), math.ceil(count * share + reach) + 1
        return (low, high) if low >= 1 and high <= count else None
    chances = [
        math.exp(
            math.lgamma(count + 1)
            - math.lgamma(below + 1)
            - math.lgamma(count - below + 1)
            + below * math.log(share)
            + (count - below) * math.log(1 - share)
        )
        for below in range(count + 1)
    ]
    # Fewer than `low` values below it, or `high` and more, are each as unlikely as that.
    fewer, more = list(accumulate(chances)), list(accumulate(reversed(chances)))
    low = sum(chance <= aside for chance in fewer)
    high = count + 1 - sum(chance <= aside for chance in more)
    return (low, high) if low >= 1 and high <= count else None


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
