"""Values of two schemes over the same seeds: how far apart they are, and how likely that is by chance.

The traffic of a seed is the same under both, so that its own size is no part of the difference. Who compares much finds
something by chance: Holm's correction says how sure all of what is said is together.

Effect and chance are of one quantity: where all values are above 0 the logarithms of the ratios, which are differences
on a scale on which a half is as far from 1 as a double is (Keene, "The log transformation is special", Statistics in
Medicine 14(8), 1995); else the differences.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from backwater.common.statistics import estimate, geometric

#: More pairs than this have the normal approximation, which is as good then as the exact test.
_MOST_EXACT = 100
#: What all that is said is wrong in at most.
LEVEL = 0.05


def wilcoxon(differences: Sequence[float]) -> float:
    """Two-sided p of the signed-rank test: how often signs by chance would give ranks as uneven as these, or more.

    Exact, for ties of ranks, too: every sign of every rank is as likely (Wilcoxon, "Individual Comparisons by Ranking
    Methods", Biometrics Bulletin 1(6), 1945). Pairs without a difference are left out, as there; without any pair left
    p is 1.
    """
    left = [one for one in differences if one]
    if not left:
        return 1.0
    every, positive = _ranks(left)
    total = sum(every)
    fewer = min(positive, total - positive)
    if len(left) > _MOST_EXACT:
        deviation = math.sqrt(sum(rank * rank for rank in every)) / 2
        return min(1.0, math.erfc((total / 2 - fewer - 1) / deviation / math.sqrt(2)))
    ways = [1] + [0] * fewer
    for rank in every:
        for sum_ in range(fewer, rank - 1, -1):
            ways[sum_] += ways[sum_ - rank]
    return min(1.0, float(2 * sum(ways) / 2 ** len(left)))


def leaning(differences: Sequence[float]) -> int:
    """To which side the ranks of that test lean: -1 lower, 1 higher, 0 neither. A mean may lie on the other side."""
    every, positive = _ranks([one for one in differences if one])
    return (2 * positive > sum(every)) - (2 * positive < sum(every))


def _ranks(left: Sequence[float]) -> tuple[list[int], int]:
    """Twice the rank of each difference, by size, and the sum of those above 0.

    Twice the ranks are whole numbers also where several share the mean of theirs.
    """
    sizes = sorted(map(abs, left))
    doubled = {size: sizes.index(size) * 2 + sizes.count(size) + 1 for size in set(sizes)}
    return [doubled[size] for size in sizes], sum(doubled[abs(one)] for one in left if one > 0)


def holm(chances: Sequence[float]) -> list[float]:
    """Each p with Holm's correction for all of them (Scandinavian Journal of Statistics 6(2), 1979)."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    corrected = [0.0] * len(chances)
    least = 0.0
    for place, number in enumerate(order):
        least = max(least, min(1.0, (len(chances) - place) * chances[number]))
        corrected[number] = least
    return corrected


def pairs_needed(comparisons: int) -> int:
    """The fewest pairs with which the signed-rank test can find a difference among so many comparisons.

    With n pairs no p is below 2 / 2^n, which Holm's correction multiplies by the number of comparisons.

    >>> pairs_needed(1), pairs_needed(2), pairs_needed(6)
    (6, 7, 8)
    """
    return math.ceil(math.log2(2 * comparisons / LEVEL))


@dataclass(frozen=True)
class Paired:
    """How one scheme differs from another: the ratio of their values, or where some are 0 the difference.

    `effect` has the 95 % interval of Student's t over the pairs: of ratios that of their logarithms, so that it is
    above 0, and the ratio is the geometric mean.
    """

    kind: Literal["ratio", "difference"]
    effect: float
    low: float | None
    high: float | None
    pairs: int
    #: Pairs in which the value is lower, and higher.
    lower: int
    higher: int
    p: float
    #: With Holm's correction for all that were compared.
    p_holm: float
    #: Whether every pair is the same: the seed changes nothing, and there is no chance to test against.
    fixed: bool = False
    #: How many comparisons the correction is for.
    among: int = 1
    #: To which side the ranks of the test lean.
    leans: int = 0

    @property
    def tested(self) -> bool:
        """Whether there is something to test."""
        return not self.fixed and self.lower + self.higher > 0

    @property
    def shown(self) -> Literal["equal", "fixed", "lower", "higher", ""]:
        """What is shown of it; nothing where chance would do, or where few pairs pull the effect to the other side."""
        if self.lower == self.higher == 0:
            return "equal"
        if self.fixed:
            return "fixed"
        if self.p_holm > LEVEL:
            return ""
        above = self.effect - (1 if self.kind == "ratio" else 0)
        return "lower" if above < 0 > self.leans else "higher" if above > 0 < self.leans else ""


def compared(first: Sequence[float], other: Sequence[float]) -> Paired:
    """What `other` has against `first`, pair by pair."""
    pairs = list(zip(first, other, strict=True))
    ratio = all(below > 0 and above > 0 for below, above in pairs)
    differences = [_log(below, above) if ratio else above - below for below, above in pairs]
    effect, low, high = geometric([above / below for below, above in pairs]) if ratio else _mean(differences)
    p = wilcoxon(differences)
    return Paired(
        "ratio" if ratio else "difference",
        effect,
        low,
        high,
        len(pairs),
        sum(one < 0 for one in differences),
        sum(one > 0 for one in differences),
        p,
        p,
        len(set(pairs)) == 1 < len(pairs),
        leans=leaning(differences),
    )


def _log(below: float, above: float) -> float:
    """The logarithm of the ratio; of twice and of half the same but for the sign, so that ties are ties."""
    return math.copysign(math.log(max(below, above) / min(below, above)), above - below)


def _mean(differences: Sequence[float]) -> tuple[float, float | None, float | None]:
    found = estimate(differences)
    return (found.mean, None, None) if found.half_width is None else (found.mean, found.low, found.high)


def corrected(found: Sequence[Paired], of: Sequence[Hashable]) -> list[Paired]:
    """The same with Holm's correction; those without a difference, or without chance, are no comparison.

    `of` is what each compares: what is equal is one comparison, however often it is shown.
    """
    tested = {what: one.p for what, one in zip(of, found, strict=True) if one.tested}
    chances = dict(zip(tested, holm(list(tested.values())), strict=True))
    return [
        replace(one, p_holm=chances.get(what, 1.0) if one.tested else 1.0, among=len(tested))
        for what, one in zip(of, found, strict=True)
    ]
