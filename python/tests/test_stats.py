"""Means over seeds and their confidence intervals."""

import itertools
import math
import statistics
from typing import Any

import pytest
from backwater.common import quantities
from backwater.common.statistics import (
    estimate,
    merged_chance,
    rank_chance,
    row_chance,
    t95,
    t_quantile,
    with_interval,
)
from hypothesis import given
from hypothesis import strategies as st


def test_five_seeds_have_the_interval_of_the_textbook() -> None:
    # mean 3, standard deviation sqrt(2.5), t(4) = 2.776: 2.776 * 1.5811 / sqrt(5) = 1.963
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.mean == 3.0
    assert found.half_width == pytest.approx(1.963, abs=5e-4)


def test_one_seed_has_no_interval() -> None:
    found = estimate([4.2])
    assert (found.mean, found.half_width, found.low, found.high) == (4.2, None, 4.2, 4.2)


def test_equal_values_have_an_interval_of_width_zero() -> None:
    assert estimate([7.0, 7.0, 7.0]).half_width == 0


def test_student_approaches_the_normal_distribution_from_above() -> None:
    quantiles = [t95(freedom) for freedom in range(1, 500)]
    assert quantiles == sorted(quantiles, reverse=True)
    assert quantiles[-1] >= statistics.NormalDist().inv_cdf(0.975)


@pytest.mark.parametrize("freedom", [1, 2])
def test_the_table_agrees_with_the_closed_forms_of_one_and_two_degrees_of_freedom(freedom: int) -> None:
    # F(t) = 1/2 + atan(t)/pi for one degree, 1/2 + t / (2 sqrt(2 + t^2)) for two
    t = t95(freedom)
    probability = 0.5 + (math.atan(t) / math.pi if freedom == 1 else t / (2 * math.sqrt(2 + t * t)))
    assert probability == pytest.approx(0.975, abs=2e-5)


def test_no_degrees_of_freedom_is_refused_with_a_fix() -> None:
    with pytest.raises(ValueError, match="two seeds or more"):
        t95(0)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=40), st.floats(-1e6, 1e6))
def test_shifting_every_value_shifts_the_mean_and_leaves_the_width(values: list[float], shift: float) -> None:
    before, after = estimate(values), estimate([value + shift for value in values])
    assert after.mean == pytest.approx(before.mean + shift, abs=1e-3)
    assert before.half_width is not None
    assert after.half_width == pytest.approx(before.half_width, rel=1e-4, abs=1e-3)


def test_an_interval_ends_where_the_quantity_does() -> None:
    # 1 and 3: a mean of 2 with half an interval of 12.706.
    found = estimate([1.0, 3.0], "p99_slowdown")
    assert [found.low, found.high, found.half_width] == pytest.approx([1.0, 14.706, 12.706])
    assert (estimate([0.9, 1.0], "precision").high, estimate([40.0, 90.0], "ce_percent").high) == (1.0, 100.0)
    assert estimate([0.0, 1.0], "becns").low == 0
    assert estimate([-1.0, 1.0]).low == pytest.approx(-12.706)


@pytest.mark.parametrize(
    ("values", "of", "show", "told"),
    [
        ([4.0, 4.0], "pauses", quantities.count, "4 ± 0"),
        # Counts of 3 seeds, whose intervals would reach below 0.
        ([1, 1, 2], "pauses", quantities.count, "1.3 (0.0 to 2.8)"),
        ([0, 0, 1], "pauses", quantities.count, "0.3 (0.0 to 1.8)"),
        ([0.1, 0.1, 0.2], "pauses", quantities.count, "0.1 (0.0 to 0.3)"),
        ([9e6, 11e6, 10e6], "mean_fct_ps", quantities.time, "10.0 ± 2.5 µs"),
        ([10e6, 10.002e6], "mean_fct_ps", quantities.time, "10.00 ± 0.01 µs"),
        ([8.0, 9.0, 12.6], "p99_slowdown", quantities.three_digits, "9.87 ± 6.01"),
        ([3.0, 9.0, 17.6], "p99_slowdown", quantities.three_digits, "9.87 (1.00 to 28.10)"),
        ([0.0, 0.0], "paused_ps", quantities.time, "0 ± 0 ps"),
    ],
)
def test_a_mean_and_its_interval_are_rounded_alike(values: list[float], of: str, show: Any, told: str) -> None:
    assert with_interval(estimate(values, of), show) == told


@pytest.mark.parametrize(
    ("freedom", "confidence", "printed"),
    # Fisher and Yates, Statistical Tables, table III.
    [(1, 0.99, 63.657), (2, 0.99, 9.925), (3, 0.99, 5.841), (4, 0.99, 4.604), (4, 0.999, 8.610), (10, 0.999, 4.587)],
)
def test_other_levels_of_student_are_those_of_the_table(freedom: int, confidence: float, printed: float) -> None:
    assert t_quantile(freedom, confidence) == pytest.approx(printed, abs=6e-4)


def test_the_series_of_student_agrees_with_the_table_at_95_percent() -> None:
    assert [t_quantile(freedom, 0.95) for freedom in range(1, 31)] == pytest.approx(
        [t95(freedom) for freedom in range(1, 31)], abs=6e-4
    )


def test_intervals_of_many_estimates_together_are_wider() -> None:
    # t(4) at 99 % is 4.604: five estimates with 1 % each.
    found = estimate([1.0, 2.0, 3.0, 4.0, 5.0], among=5)
    assert found.half_width == pytest.approx(4.604 * math.sqrt(2.5 / 5), abs=1e-3)


def test_the_chance_of_a_value_is_its_place_among_equals() -> None:
    # 3 itself, 3 and 4 of five; the largest of 50 is one in 50.
    assert rank_chance(3, [1, 2, 3, 4]) == 3 / 5
    assert rank_chance(50, range(1, 50)) == 1 / 50
    assert rank_chance(0, range(1, 50)) == 1


def test_several_chances_make_twice_their_mean_at_most() -> None:
    assert merged_chance([0.02, 0.04]) == pytest.approx(0.06)
    assert merged_chance([0.5, 0.9]) == 1


@pytest.mark.parametrize(("before", "scanned", "row"), [(2, 2, 2), (4, 1, 1), (3, 4, 2), (2, 5, 3), (4, 3, 1)])
def test_a_row_of_low_values_has_no_more_than_its_chance_in_all_orders(before: int, scanned: int, row: int) -> None:
    orders = list(itertools.permutations(range(before + scanned)))

    def has(order: tuple[int, ...]) -> bool:
        low = [value < min(order[:before]) for value in order[before:]]
        return any(all(low[start : start + row]) for start in range(scanned - row + 1))

    share = sum(map(has, orders)) / len(orders)
    assert 0 < share <= row_chance(before, scanned, row)
    if scanned == row:
        # One place only: no bound, but the chance itself.
        assert share == pytest.approx(row_chance(before, scanned, row))
