"""GPCNeT's numbers from its samples, in exact fractions: averages, percentiles by its histogram, impact factors."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

BUCKETS = 100_000
# (ring, rank, value)
Sample = tuple[int, int, Fraction]


def average(samples: list[Sample], larger_is_better: bool) -> Fraction:
    """The mean over rings of the mean over ranks of a rank's average in that ring: of rates, that of the whole time."""
    rings: dict[int, dict[int, list[Fraction]]] = defaultdict(lambda: defaultdict(list))
    for ring, rank, value in samples:
        rings[ring][rank].append(value)

    def mean(values: list[Fraction]) -> Fraction:
        return sum(values, Fraction(0)) / len(values)

    def of_pair(values: list[Fraction]) -> Fraction:
        return 1 / mean([1 / value for value in values]) if larger_is_better else mean(values)

    return mean([mean([of_pair(values) for values in ranks.values()]) for ranks in rings.values()])


def percentile(values: list[Fraction], share: Fraction, larger_is_better: bool) -> Fraction:
    """The edge of the bucket by which `share` of the samples are as good or better."""
    low, high = min(values), max(values)
    width = (high - low) / (BUCKETS - 1)  # the largest sample has the last bucket to itself
    if not width:
        return low
    counts = [0] * BUCKETS
    for value in values:
        counts[int((value - low) / width)] += 1
    order = range(BUCKETS - 1, -1, -1) if larger_is_better else range(BUCKETS)
    seen = 0
    for bucket in order:
        seen += counts[bucket]
        if seen >= int(share * len(values)):
            return low + width * (bucket if larger_is_better else bucket + 1)
    raise ValueError("shares are at most 1")


def tenth(value: Fraction) -> Fraction:
    """Rounded as it is printed, to one digit, a half up."""
    return Fraction(int(value * 10 + Fraction(1, 2)), 10)


def impact(isolated: Fraction, congested: Fraction, larger_is_better: bool) -> Fraction:
    """How many times worse it is under congestion, from what is printed."""
    a, b = tenth(isolated), tenth(congested)
    return a / b if larger_is_better else b / a
