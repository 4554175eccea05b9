"""The distribution-free interval of a percentile, against published ranks and counting."""

from __future__ import annotations

from math import comb

import polars as pl
import pytest
from backwater.analysis import slowdown
from backwater.common import percentiles


@pytest.mark.parametrize(
    ("count", "low", "high"),
    # Ranks of the 95 % interval of a median, as statistical tables have them (Conover, Practical Nonparametric
    # Statistics, of the sign test): 5 values have none.
    [(6, 1, 6), (7, 1, 7), (8, 1, 8), (9, 2, 8), (10, 2, 9), (15, 4, 12), (20, 6, 15), (25, 8, 18), (30, 10, 21)],
)
def test_the_interval_of_a_median_has_the_ranks_of_the_sign_test(count: int, low: int, high: int) -> None:
    assert percentiles.ranks(count, 50) == (low, high)


def test_five_values_have_no_interval_of_their_median() -> None:
    # All five are on one side of it in 2 of 32 cases, which is more than 5 %.
    assert percentiles.ranks(5, 50) is None


def test_a_p99_has_an_upper_end_from_368_values_on() -> None:
    # All n values are below it with 0.99^n: 2.5 % at 367.04.
    assert 0.99**368 < 0.025 < 0.99**367
    assert percentiles.ranks(367, 99) is None
    found = percentiles.ranks(368, 99)
    assert found is not None
    assert found[1] == 368


@pytest.mark.parametrize(("count", "percent"), [(40, 50), (150, 95), (500, 99), (1000, 95)])
def test_the_interval_holds_95_percent_and_no_rank_less_would(count: int, percent: int) -> None:
    found = percentiles.ranks(count, percent)
    assert found is not None
    low, high = found

    def fewer(rank: int) -> float:
        """The chance that fewer than `rank` values are below the percentile, counted out."""
        ways = sum(comb(count, below) * percent**below * (100 - percent) ** (count - below) for below in range(rank))
        return float(ways / 100**count)

    assert fewer(low) <= 0.025 < fewer(low + 1)
    assert 1 - fewer(high) <= 0.025 < 1 - fewer(high - 1)


def test_of_many_values_the_approximation_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = percentiles.ranks(1900, 95)
    percentiles.ranks.cache_clear()
    monkeypatch.setattr(percentiles, "_MOST_EXACT", 0)
    near = percentiles.ranks(1900, 95)
    percentiles.ranks.cache_clear()
    assert exact is not None
    assert near is not None
    assert [abs(one - other) <= 2 for one, other in zip(exact, near, strict=True)] == [True, True]


def test_one_seed_has_the_interval_of_its_flows_if_it_is_asked_for() -> None:
    flows = pl.DataFrame({"size_bytes": [1] * 30, "fct_ps": [1] * 30, "slowdown": [1.0 + rank for rank in range(30)]})
    (row,) = slowdown.by_size([flows], [], within=True).to_dicts()
    # The 10th and the 21st of 30; the p95 has an upper end from 72 values on.
    assert (row["median"], row["median_low"], row["median_high"]) == (15.0, 10.0, 21.0)
    assert (row["p95_low"], row["p95_high"]) == (row["p95"], row["p95"])
    (row,) = slowdown.by_size([flows], []).to_dicts()
    assert (row["median_low"], row["median_high"]) == (15.0, 15.0)
