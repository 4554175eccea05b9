from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl
import pytest
from backwater.analysis import slowdown
from backwater.errors import UsageError

if TYPE_CHECKING:
    from backwater import Results


def seed(*rows: tuple[int, float | None]) -> pl.DataFrame:
    """Flows of one seed as (size, slowdown); each would take 1000 ps alone."""
    return pl.DataFrame(
        {
            "size_bytes": [size for size, _ in rows],
            "fct_ps": [None if value is None else round(value * 1000) for _, value in rows],
            "slowdown": [value for _, value in rows],
        },
        schema={"size_bytes": pl.UInt64, "fct_ps": pl.UInt64, "slowdown": pl.Float64},
    )


def test_a_flow_as_large_as_a_cut_belongs_to_the_bin_above_it() -> None:
    table = slowdown.by_size([seed((99, 1.0), (100, 2.0), (101, 4.0))], [100])
    assert table.select("low_bytes", "high_bytes", "flows", "mean").rows() == [(0, 100, 1, 1.0), (100, None, 2, 3.0)]


def test_percentiles_are_nearest_ranks() -> None:
    # Of 200 flows with slowdowns 1 to 200 the 100th, 190th and 198th smallest.
    table = slowdown.by_size([seed(*((1, float(value)) for value in range(1, 201)))], [])
    assert table.select("median", "p95", "p99").row(0) == (100.0, 190.0, 198.0)


def test_the_interval_is_over_the_seeds_not_over_the_flows() -> None:
    # Means 2 and 4 over two seeds: 3 ± 12.706 x sqrt(2) / sqrt(2).
    table = slowdown.by_size([seed((1, 1.0), (1, 3.0)), seed((1, 4.0))], [])
    row = table.row(0, named=True)
    assert row["mean"] == 3.0
    assert math.isclose(row["mean_high"] - row["mean"], 12.706)
    assert (row["seeds"], row["flows"]) == (2, 3)


def test_flows_that_did_not_finish_are_counted_and_have_no_slowdown() -> None:
    table = slowdown.by_size([seed((1, 2.0), (1, None)), seed((2000, None))], [1000])
    assert table.select("low_bytes", "flows", "unfinished", "median", "seeds").rows() == [
        (0, 1, 1, 2.0, 1),
        (1000, 0, 1, None, 0),
    ]


def test_bins_without_a_flow_are_left_out() -> None:
    assert slowdown.by_size([seed((5, 1.0))], [1, 10, 20])["low_bytes"].to_list() == [1]
    assert slowdown.by_size([], [1]).is_empty()


def test_the_discrete_tables_have_the_papers_sizes() -> None:
    kib = [size // 1024 for size in slowdown.SIZES["mpi-io"]]
    assert kib == [2, 4, 8, 16, 32, 512, 1024, 2048, 4096]


def test_cuts_must_rise() -> None:
    with pytest.raises(UsageError, match="smallest first"):
        slowdown.by_size([], [10, 10])


def test_the_cuts_include_every_size_at_which_the_paper_divides_flows() -> None:
    assert {10_000, 50_000, 80_000, 100_000, 120_000} <= set(slowdown.EDGES["hadoop"])
    assert {500_000, 1_000_000, 5_000_000} <= set(slowdown.EDGES["web-search"])


def test_the_slowdown_of_a_run_is_its_fct_over_that_of_the_lone_flow(tcd_run: Results) -> None:
    # 500 µs and 900 µs against 100 µs; F0 and F1 are endless.
    assert slowdown.flows(tcd_run)["slowdown"].to_list() == [5.0, 9.0]
    assert slowdown.flows(tcd_run, traffic="A").height == 2
    assert slowdown.flows(tcd_run, traffic="F0").is_empty()


def test_what_a_run_does_not_have_is_named(tcd_run: Results) -> None:
    with pytest.raises(UsageError, match="no traffic 'B'; it has F0, F1, A"):
        slowdown.flows(tcd_run, traffic="B")
    with pytest.raises(UsageError, match=r"analytic_fct_ps .* run the scenario again"):
        slowdown.flows(tcd_run, base="analytic")


def test_bins_are_merged_until_each_has_flows_enough_for_the_percentiles() -> None:
    # 90, 20 and 130 flows below 10, from 10 to 100, and above: the first two together have a p99, and so has the third.
    flows = [(1, 2.0)] * 90 + [(10, 3.0)] * 20 + [(100, 4.0)] * 130
    assert slowdown.merged([seed(*flows)], [10, 100]) == [100]
    # One of two seeds with too few at the end: the last bin goes to the one before.
    assert slowdown.merged([seed(*flows), seed(*flows[:-40])], [10, 100]) == []
    # 60 in all are enough for a p95 of 20; 15 for neither, and the bins stay.
    assert slowdown.merged([seed(*[(1, 1.0)] * 30, *[(10, 1.0)] * 5, *[(100, 1.0)] * 25)], [10, 100]) == [10]
    assert slowdown.merged([seed(*[(1, 1.0)] * 5, *[(10, 1.0)] * 10)], [10]) == [10]


def test_bins_of_equal_counts_are_quantiles_that_have_enough_flows() -> None:
    # 250 sizes from 1 to 250: two bins of 125 have enough for a p99, three of 83 have not.
    flows = [(size, 1.0) for size in range(1, 251)]
    assert slowdown.equal_counts([seed(*flows)]) == [130]
    # 40 have two bins with enough for a p95, 39 have not.
    assert slowdown.equal_counts([seed(*flows[:40])]) == [21]
    assert slowdown.equal_counts([seed(*flows[:39])]) is None
    # All of one size cannot be parted.
    assert slowdown.equal_counts([seed(*[(7, 1.0)] * 500)]) is None
