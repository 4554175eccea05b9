"""GPCNeT's metrics, against numbers worked out by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import gpcnet_scene
import numpy as np
import polars as pl
import pytest
from backwater import gpcnet, gpcnet_tables
from backwater.errors import UsageError
from backwater.gpcnet import Test
from backwater.results import Results

if TYPE_CHECKING:
    from pathlib import Path

LAT = Test("lat", "RR Two-sided Lat (8 B)", "usec")
BW = Test("bw", "RR Two-sided BW+Sync (131072 B)", "MiB/s/rank", 16 * 131_072)
ALLREDUCE = Test("allreduce", "Multiple Allreduce (8 B)", "usec")
US = 1_000_000


def table(*rows: tuple[int, int, int]) -> pl.DataFrame:
    """Ring, rank, elapsed microseconds."""
    found = [{"label": label, "rank": rank, "elapsed_ps": us * US} for label, rank, us in rows]
    return pl.DataFrame(found)


def test_a_latency_is_half_of_an_exchange_with_two_neighbours() -> None:
    assert LAT.samples(np.array([5e6]))[0] == 2.5
    assert ALLREDUCE.samples(np.array([5e6]))[0] == 5.0


def test_a_bandwidth_is_16_messages_of_128_kib_over_the_time_in_mib_per_second() -> None:
    # 2 MiB in 1 ms.
    assert BW.samples(np.array([1e9]))[0] == pytest.approx(2000.0)


def test_averages_are_of_pairs_first_over_ranks_then_over_rings() -> None:
    # Ring 0: rank 0 takes 2 and 6 us (1 and 3: pair value 2), rank 1 takes 12 (6): mean 4. Ring 1: 4 us each: 2.
    found = gpcnet.metrics(LAT, table((0, 0, 2), (0, 0, 6), (0, 1, 12), (1, 0, 4), (1, 1, 4)))
    assert found.average == pytest.approx((4 + 2) / 2)
    assert (found.minimum, found.maximum, found.samples) == (2.0, 6.0, 5)
    # The worst pair of each ring: 6 and 2.
    assert found.average_worst == pytest.approx(4.0)


def test_the_bandwidth_of_a_pair_is_all_its_bytes_over_all_its_time() -> None:
    # 2 MiB in 1 ms and in 3 ms: 4 MiB in 4 ms. The mean of 2000 and 667 would be another number.
    found = gpcnet.metrics(BW, table((0, 0, 1000), (0, 0, 3000), (0, 1, 500), (0, 1, 500)))
    assert [found.minimum, found.maximum] == pytest.approx([1000.0, 4000.0])
    assert found.average == pytest.approx(2500.0)
    assert found.average_worst == pytest.approx(1000.0)


def test_a_percentile_of_latencies_is_the_upper_edge_of_its_bucket_counted_from_below() -> None:
    # 0 to 99 999: each sample k begins bucket k, of width 1. 99 % of 100 000 are reached in bucket 98 999.
    samples = np.arange(100_000, dtype=np.float64)
    assert gpcnet.percentile(samples, 0.99, smaller_is_better=True) == 99_000.0
    assert gpcnet.percentile(samples, 0.999, smaller_is_better=True) == 99_900.0


def test_a_percentile_of_bandwidths_is_the_lower_edge_of_its_bucket_counted_from_above() -> None:
    samples = np.arange(100_000, dtype=np.float64)
    assert gpcnet.percentile(samples, 0.99, smaller_is_better=False) == 1000.0


def test_of_two_samples_the_better_one_is_already_99_percent() -> None:
    # floor(0.99 * 2) = 1: the first bucket from below that is not empty, of width 90 / 99 999.
    found = gpcnet.percentile(np.array([10.0, 100.0]), 0.99, smaller_is_better=True)
    assert found == pytest.approx(10 + 90 / 99_999)
    assert gpcnet.percentile(np.array([10.0, 100.0]), 0.99, smaller_is_better=False) == pytest.approx(100.0)


def test_equal_samples_have_no_histogram_and_are_their_percentile() -> None:
    assert gpcnet.percentile(np.full(7, 3.5), 0.99, smaller_is_better=True) == 3.5


def test_an_impact_factor_is_of_values_rounded_to_a_tenth() -> None:
    # 1.24 and 2.36 are printed as 1.2 and 2.4.
    assert gpcnet.impact(1.24, 2.36, smaller_is_better=True) == pytest.approx(2.0)
    assert gpcnet.impact(2.36, 1.24, smaller_is_better=False) == pytest.approx(2.0)
    assert gpcnet.impact(5.0, 5.0, smaller_is_better=True) == 1.0


def test_an_impact_of_what_is_rounded_to_nothing_has_no_bound() -> None:
    assert math.isinf(gpcnet.impact(0.04, 1.0, smaller_is_better=True))
    assert math.isnan(gpcnet.impact(0.04, 0.01, smaller_is_better=True))


def test_the_control_factor_multiplies_what_is_won_in_bandwidth_and_in_latency() -> None:
    # 1.6 times the bandwidth at 1 / 1.6 of the latency: 2.56.
    assert gpcnet.control_factor(160, 10, 100, 16) == pytest.approx(2.56)
    assert gpcnet.control_factor(100, 16, 100, 16) == 1.0


def test_a_process_has_the_mean_of_its_rings() -> None:
    found = gpcnet.per_rank(LAT, table((0, 0, 2), (0, 0, 6), (1, 0, 12), (0, 1, 4)))
    assert found.rows() == [(0, 4.0), (1, 2.0)]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(gpcnet_scene.write(tmp_path / "run"))


def test_a_run_has_its_tests_by_phase_and_their_impact(results: Results) -> None:
    found = gpcnet.of(results)
    assert [test.key for test in found.tests] == ["lat", "bw", "allreduce"]
    assert found.metrics["isolated"]["lat"].average == pytest.approx(2.0)
    assert found.metrics["congested"]["lat"].average == pytest.approx(6.0)
    assert list(found.impacts("lat") or ()) == pytest.approx([3.0, 3.0])
    # 1000 and 250 MiB/s.
    assert list(found.impacts("bw") or ()) == pytest.approx([4.0, 4.0])


def test_congestors_count_what_they_got_across_while_they_ran(results: Results) -> None:
    # They run for 1 ms after the isolated tests. Incast: 3 of 4 ranks send 1 MiB each to the root.
    by_role = {one.role: one for one in gpcnet.of(results).congestors}
    assert by_role["incast"].mib_per_s == pytest.approx(1000.0)
    assert by_role["incast"].bps == pytest.approx(3 * 1024 * 1024 * 8 * 1e3)
    # All-to-all over 4 nodes: a fourth of what each gets is from itself.
    assert by_role["all-to-all"].mib_per_s == pytest.approx(0.75 * 1000.0)


def test_a_run_of_something_else_is_refused(tmp_path: Path) -> None:
    folder = gpcnet_scene.write(tmp_path / "run", kind="program")
    with pytest.raises(UsageError, match="one traffic entry of kind gpcnet; it has none"):
        gpcnet.of(Results(folder))


def test_gpcnets_tables_are_80_letters_wide_and_say_what_gpcnet_says(results: Results) -> None:
    lines = gpcnet_tables.text([gpcnet.of(results)]).splitlines()
    assert {len(line) for line in lines if line} == {80}
    assert "|          RR Two-sided Lat (8 B) |          2.0 |          2.0 |         usec |" in lines
    assert "| RR Two-sided BW+Sync (131072 B) |       1000.0 |       1000.0 |   MiB/s/rank |" in lines
    assert "|          RR Two-sided Lat (8 B) |                 3.0X |                3.0X |" in lines


def test_schemes_are_ranked_by_the_geometric_mean_of_their_impact_factors(results: Results) -> None:
    measured = gpcnet.of(results)
    # Latency 3, bandwidth 4, allreduce 5, each twice.
    assert gpcnet_tables.geometric_mean([measured]) == pytest.approx(60 ** (1 / 3))
    assert list(gpcnet_tables.control_factors([measured], [measured]) or ()) == pytest.approx([1.0])
