"""Paired tests: exact p against published tables and counting, Holm's correction against his own example."""

from __future__ import annotations

import math
from itertools import product

import pytest
from backwater.analysis import scheme_tests
from backwater.analysis.scheme_tests import Row
from backwater.common import paired
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("pairs", "rank_sum", "one_sided"),
    [
        # Hollander and Wolfe, Nonparametric Statistical Methods, table A.4: P(T+ >= x) for the sums of ranks.
        (5, 0, 0.031),
        (6, 2, 0.047),
        (7, 3, 0.039),
        (8, 5, 0.039),
        (9, 8, 0.049),
        (10, 10, 0.042),
        (12, 17, 0.046),
        (15, 30, 0.047),
    ],
)
def test_the_signed_rank_test_gives_the_chances_of_published_tables(
    pairs: int, rank_sum: int, one_sided: float
) -> None:
    # The largest ranks that fit make up the smaller sum: 1..n gives every sum.
    negative, left = set(), rank_sum
    for rank in range(pairs, 0, -1):
        if rank <= left:
            negative.add(rank)
            left -= rank
    differences = [-rank if rank in negative else rank for rank in range(1, pairs + 1)]
    assert paired.wilcoxon(differences) / 2 == pytest.approx(one_sided, abs=0.0005)


def test_with_all_signs_alike_only_two_of_all_ways_are_as_uneven() -> None:
    for pairs in range(1, 20):
        assert paired.wilcoxon([float(rank) for rank in range(1, pairs + 1)]) == pytest.approx(2 / 2**pairs)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_ties_are_counted_out_and_pairs_without_a_difference_left_out(differences: list[int]) -> None:
    left = [one for one in differences if one]
    sizes = sorted(map(abs, left))
    mean_rank = {size: sizes.index(size) + (sizes.count(size) + 1) / 2 for size in sizes}
    ranks = [mean_rank[abs(one)] for one in left]
    middle = sum(ranks) / 2
    found = abs(sum(rank for rank, one in zip(ranks, left, strict=True) if one > 0) - middle)
    # Every choice of signs is as likely.
    ways = [abs(sum(rank for rank, up in zip(ranks, signs, strict=True) if up) - middle) for signs in
            product((False, True), repeat=len(left))]  # fmt: skip
    assert paired.wilcoxon(differences) == pytest.approx(sum(way >= found - 1e-9 for way in ways) / len(ways))


def test_the_approximation_for_many_pairs_is_near_to_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = [-float(rank) if rank % 3 == 0 else float(rank) for rank in range(1, 61)]
    counted = paired.wilcoxon(differences)
    monkeypatch.setattr(paired, "_MOST_EXACT", 0)
    assert paired.wilcoxon(differences) == pytest.approx(counted, rel=0.05)


def test_holms_correction_multiplies_by_those_that_are_left() -> None:
    # 0.005 x 4, 0.01 x 3, 0.03 x 2, and 0.04 x 1, which may not be below the one before.
    assert paired.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert paired.holm([0.6, 0.7]) == [1.0, 1.0]
    assert paired.holm([]) == []


@pytest.mark.parametrize("comparisons", [1, 2, 3, 10, 100])
def test_so_many_pairs_are_needed_and_one_fewer_cannot_do(comparisons: int) -> None:
    needed = paired.pairs_needed(comparisons)
    assert comparisons * 2 / 2**needed <= paired.LEVEL < comparisons * 2 / 2 ** (needed - 1)


def test_a_ratio_is_a_geometric_mean_with_the_interval_of_its_logarithm() -> None:
    # Ratios 1/2, 1, 2: their logarithms have mean 0 and deviation ln 2; Student's t for two degrees is 4.303.
    found = paired.compared([2.0, 3.0, 4.0], [1.0, 3.0, 8.0])
    assert found.kind == "ratio"
    assert found.effect == pytest.approx(1.0)
    assert found.high == pytest.approx(2 ** (4.303 / math.sqrt(3)))
    assert found.low == pytest.approx(2 ** (-4.303 / math.sqrt(3)))
    assert (found.pairs, found.lower, found.higher) == (3, 1, 1)


def test_effect_and_chance_are_of_the_same_ratios() -> None:
    # Five values double, and the largest falls by a tenth. Of the logarithms its rank is the lowest, 1 of 6: two of all
    # 64 choices of signs have such a sum or a lower one, on either side 4. Of the differences its rank would be the
    # highest: 14 sets of the ranks 1 to 6 have a sum of at most 6, and p would be 28 / 64.
    first, other = [1.0, 1.0, 1.0, 1.0, 1.0, 100.0], [2.0, 2.1, 2.2, 2.3, 2.4, 90.0]
    found = paired.compared(first, other)
    assert found.kind == "ratio"
    assert found.p == 4 / 64
    inverse = paired.compared(other, first)
    assert inverse.p == found.p
    assert inverse.effect == pytest.approx(1 / found.effect)


def test_where_something_is_zero_there_is_a_difference() -> None:
    found = paired.compared([0.0, 10.0], [4.0, 12.0])
    assert found.kind == "difference"
    assert found.effect == pytest.approx(3.0)


def rows(pairs: int, second: float) -> list[Row]:
    return [
        Row(scheme, "", "web", seed, {"mean_slowdown": value * (1 + seed / 10), "p99_slowdown": None})
        for scheme, value in (("ECN", 2.0), ("TCD", 2.0 * second))
        for seed in range(pairs)
    ]


def test_what_is_lower_in_every_seed_is_told_with_its_ratio_and_the_number_of_seeds() -> None:
    (one,) = scheme_tests.of(rows(6, 0.5))
    assert one.found.shown == "lower"
    assert one.found.effect == pytest.approx(0.5)
    assert one.found.p_holm == 2 / 64
    told = scheme_tests.sentences([one])
    assert told[-1] == "web, mean slowdown: TCD's is lower, 0.500 times ECN's (0.500 to 0.500), 6 seeds, p = 0.031."


def test_too_few_seeds_are_told_with_the_number_that_would_do() -> None:
    told = scheme_tests.sentences(scheme_tests.of(rows(5, 0.5)))
    assert told[-2] == (
        "web, mean slowdown: TCD's is 0.500 times ECN's (0.500 to 0.500), 5 seeds, p = 0.062: "
        "too few to tell from chance."
    )
    assert told[-1] == "5 seeds tell no difference from chance: 1 comparison needs --seeds 6 or more."


def test_with_enough_seeds_what_chance_does_is_told_as_that() -> None:
    every = [
        Row(scheme, "", "web", seed, {"mean_slowdown": 2.0 + (seed % 2 if scheme == "TCD" else 1 - seed % 2)})
        for scheme in ("ECN", "TCD")
        for seed in range(8)
    ]
    # Four seeds have 2/3 and four 3/2: all ranks are alike, and half of all signs.
    (one,) = scheme_tests.of(every)
    assert one.found.effect == pytest.approx(1.0)
    assert one.found.p == 1.0
    assert scheme_tests.sentences([one])[-1].endswith("8 seeds, p = 1: not told from chance.")


def test_the_interval_of_each_effect_is_told_over_an_axis() -> None:
    every = [
        Row(scheme, at, "web", seed, {"mean_slowdown": value * (1 + seed / 10)})
        for at, second in (("0.2", 0.5), ("0.4", 0.25))
        for scheme, value in (("ECN", 2.0), ("TCD", 2.0 * second))
        for seed in range(7)
    ]
    told = scheme_tests.sentences(scheme_tests.of(every), "load")
    # 2 / 2^7, twice.
    assert told[-1] == (
        "web, mean slowdown, TCD against ECN over load: "
        "lower at 0.2 (0.500, 0.500 to 0.500, p = 0.031), 0.4 (0.250, 0.250 to 0.250, p = 0.031)."
    )


def test_what_is_the_same_is_one_comparison_however_often_it_is_shown() -> None:
    # An axis that changes one scheme of three, and a fourth that is the second under another name.
    values = {"ECN": (2.0, 2.0), "TCD": (1.0, 1.0), "mine": (1.5, 1.2), "TCD again": (1.0, 1.0)}
    every = [
        Row(scheme, at, "web", seed, {"mean_slowdown": of[place] * (1 + seed / 10)})
        for place, at in enumerate(("0.5", "0.7"))
        for scheme, of in values.items()
        for seed in range(7)
    ]
    found = scheme_tests.of(every)
    assert len(found) == 6
    # TCD against ECN, and two of mine; each has 2 / 2^7 by itself.
    assert {one.found.p_holm for one in found} == {3 * 2 / 2**7}
    assert "Holm's correction for 3 comparisons" in scheme_tests.sentences(found, "cut")[1]


def test_equal_values_are_no_comparison() -> None:
    (one,) = scheme_tests.of(rows(8, 1.0))
    assert one.found.shown == "equal"
    assert "TCD's is ECN's in each of 8 seeds." in scheme_tests.sentences([one])[-1]


def test_measures_of_the_run_are_compared_once_and_not_for_each_entry() -> None:
    every = [
        Row(scheme, "", traffic, seed, {"paused_ps": float(seed + add)})
        for scheme, add in (("a", 1), ("b", 2))
        for traffic in ("web", "incast")
        for seed in range(3)
    ]
    assert [(one.traffic, one.measure) for one in scheme_tests.of(every, ["paused_ps"])] == [("", "paused_ps")]


def test_where_the_seed_changes_nothing_there_is_no_chance_to_test_against() -> None:
    every = [
        Row(scheme, "", "incast", seed, {"mean_slowdown": value})
        for scheme, value in (("ECN", 4.0), ("TCD", 1.0))
        for seed in range(20)
    ]
    (one,) = scheme_tests.of(every)
    assert one.found.shown == "fixed"
    assert scheme_tests.sentences([one])[-1] == (
        "incast, mean slowdown: TCD's is 0.250 times ECN's in each of 20 seeds, which change nothing."
    )


def test_where_one_pair_pulls_the_effect_to_the_side_that_the_ranks_do_not_lean_to_nothing_is_shown() -> None:
    # Eleven pairs at 0.89 have ranks 1 to 11, the one at 100 rank 12: 12 of 78 lie above; chance has p = 0.034.
    other = [0.89 + 0.001 * number for number in range(11)] + [100.0]
    found = paired.compared([1.0] * 12, other)
    assert (found.lower, found.higher) == (11, 1)
    assert found.effect > 1
    assert found.p == pytest.approx(0.0342, abs=1e-4)
    assert found.shown == ""
    assert paired.compared([1.0] * 11, other[:11]).shown == "lower"
