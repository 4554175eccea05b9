"""Means over seeds, with their 95 % confidence intervals, and how both are printed.

Of what cannot be below a bound, as a slowdown below 1, the interval ends there: the part of Student's interval that is
possible. It covers the true mean as often as the whole one does, since that is possible, too (Mandelkern, "Setting
Confidence Intervals for Bounded Parameters", Statistical Science 17(2), 2002).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from backwater.common import quantities

# Student's t, two-sided 95 %, by degrees of freedom from 1 (Fisher and Yates, Statistical Tables, table III).
_T95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_T95_BEYOND = ((40, 2.021), (60, 2.000), (120, 1.980))


def t95(freedom: int) -> float:
    """Quantile of Student's t that leaves 2.5 % on either side.

    Between two entries of the table the wider interval is taken.
    """
    if freedom < 1:
        raise ValueError(
            f"a confidence interval needs at least one degree of freedom, not {freedom}: use two seeds or more"
        )
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    # The entry at or below `freedom` is the larger quantile, so the interval is never too narrow.
    return next((t for entry, t in reversed(_T95_BEYOND) if entry <= freedom), _T95[-1])


def t_quantile(freedom: int, confidence: float) -> float:
    """Student's t that `confidence` of the values lie within, either side of zero.

    For other levels than those of the table, by bisection of the series for whole degrees of freedom (Abramowitz and
    Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4).
    """
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """The share of Student's t within ``sqrt(freedom) * tan(angle)`` of zero."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for step in range(3 if odd else 2, freedom, 2):
        term *= (step - 1) / step * cosine * cosine
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds; `half_width` is half of its 95 % confidence interval, None for a single seed.

    `least` and `most` are what its values can be: `low` and `high` end there.
    """

    mean: float
    half_width: float | None
    values: tuple[float, ...]
    least: float = -math.inf
    most: float = math.inf

    @property
    def identical(self) -> bool:
        """Whether all seeds gave the same value, but for the rounding of their sum."""
        return max(self.values) - min(self.values) <= 1e-12 * abs(self.mean)

    @property
    def low(self) -> float:
        """Lower end of the confidence interval, or the single value."""
        return max(self.mean - (self.half_width or 0.0), self.least)

    @property
    def high(self) -> float:
        """Upper end of the confidence interval, or the single value."""
        return min(self.mean + (self.half_width or 0.0), self.most)


def possible(name: str) -> tuple[float, float]:
    """What a quantity can be, by its name."""
    if "ratio" not in name and ("slowdown" in name or name in ("median", "p95", "p99", "max", "mean")):
        return 1.0, math.inf
    if name.endswith("percent"):
        return 0.0, 100.0
    if name in ("jain", "fairness") or "precision" in name or "recall" in name:
        return 0.0, 1.0
    return 0.0, math.inf


def estimate(values: Sequence[float], of: str | None = None, *, among: int = 1) -> Estimate:
    """Mean of one value per seed and its 95 % confidence interval (Student's t).

    `of` names the quantity, whose bounds the interval respects; without it there are none. Where `among` estimates are
    looked at together, as for the best or the worst of them, 95 % is the chance that all intervals are right: each
    fails in 5 % over their number (Bonferroni's inequality).
    """
    n = len(values)
    if n == 0:
        raise ValueError("there is no value to estimate from")
    mean = math.fsum(values) / n
    least, most = (-math.inf, math.inf) if of is None else possible(of)
    # A bound that a value does not keep is none.
    least, most = min(least, *values, mean), max(most, *values, mean)
    if n == 1:
        return Estimate(mean, None, tuple(values), least, most)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    quantile = t95(n - 1) if among == 1 else t_quantile(n - 1, 1 - 0.05 / among)
    return Estimate(mean, quantile * math.sqrt(variance / n), tuple(values), least, most)


def geometric(ratios: Sequence[float]) -> tuple[float, float | None, float | None]:
    """The geometric mean of one ratio per seed, and the ends of its 95 % interval: None for a single seed.

    The interval is Student's of the logarithms: no end of it is 0 or below, and that of the inverse ratios is its
    inverse.
    """
    found = estimate([math.log(ratio) for ratio in ratios])
    if found.half_width is None:
        return math.exp(found.mean), None, None
    return math.exp(found.mean), math.exp(found.low), math.exp(found.high)


def with_interval(value: Estimate, show: Any) -> str:
    """A mean and half of its interval, rounded alike, the unit once: ``45.4 ± 4.6 µs``.

    Where the interval ends at a bound, both ends: ``9.87 (1.00 to 26.62)``. Both have the decimals of the mean, or as
    many more as the width needs to have a digit.
    """
    mean = str(show(value.mean))
    if value.half_width is None:
        return mean
    if value.identical:
        number, unit = quantities.parted(mean)
        return f"{mean.removesuffix(unit).rstrip()} ± 0 {unit}".rstrip()
    # Of a mean of nothing the width has the unit.
    like = mean if value.mean else str(show(value.half_width))
    number, unit = quantities.parted(like)
    size = quantities.UNITS[unit]
    width = value.half_width / size
    decimals = len(number.partition(".")[2])
    if decimals == 0 and width < 9.95:
        decimals = 1
    while decimals < _MOST_DECIMALS and round(width, decimals) == 0:
        decimals += 1

    def told(one: float) -> str:
        return f"{one / size:,.{decimals}f}".replace(",", " ")

    if value.low > value.mean - value.half_width or value.high < value.mean + value.half_width:
        return f"{told(value.mean)} ({told(value.low)} to {told(value.high)}) {unit}".rstrip()
    return f"{told(value.mean)} ± {told(value.half_width)} {unit}".rstrip()


#: What stands below tables of means: how :func:`with_interval` writes an interval that ends at a bound.
CUT = "a (b to c): its interval ends at what is possible"


def caption(seeds: int) -> str:
    """What belongs into the caption of a picture of means with whiskers."""
    return f"means of {seeds} seeds; whiskers: 95 % intervals, Student's t over seeds, cut at what is impossible"


#: So many decimals tell a width from nothing.
_MOST_DECIMALS = 6


def rank_chance(value: float, others: Sequence[float]) -> float:
    """The chance that one of equals is as large as `value` among them and `others`, or larger."""
    return (1 + sum(other >= value for other in others)) / (1 + len(others))


def merged_chance(chances: Sequence[float]) -> float:
    """One chance from several, however they depend on each other: at most twice their mean.

    Vovk and Wang, "Combining p-values via averaging", Biometrika 107(4), 2020.
    """
    return min(1.0, 2 * math.fsum(chances) / len(chances))


def row_chance(before: int, scanned: int, row: int) -> float:
    """A bound on the chance that `row` in a row of `scanned` values are less than each of `before` others.

    All are taken to be equals in any order. Given `row` of them have the least places with one chance in as many as
    there are ways to choose these places; they can begin at `scanned` - `row` + 1 of the values.
    """
    return min(1.0, max(0, scanned - row + 1) / math.comb(before + row, row))
