"""Means over seeds, with their 95 % confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds; `half_width` is half of its 95 % confidence interval, None for a single seed."""

    mean: float
    half_width: float | None
    values: tuple[float, ...]

    @property
    def identical(self) -> bool:
        """Whether all seeds gave the same value, but for the rounding of their sum."""
        return max(self.values) - min(self.values) <= 1e-12 * abs(self.mean)

    @property
    def low(self) -> float:
        """Lower end of the confidence interval, or the single value."""
        return self.mean - (self.half_width or 0.0)

    @property
    def high(self) -> float:
        """Upper end of the confidence interval, or the single value."""
        return self.mean + (self.half_width or 0.0)


def estimate(values: Sequence[float]) -> Estimate:
    """Mean of one value per seed and its 95 % confidence interval (Student's t)."""
    n = len(values)
    if n == 0:
        raise ValueError("there is no value to estimate from")
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None, tuple(values))
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return Estimate(mean, t95(n - 1) * math.sqrt(variance / n), tuple(values))
