"""What hosts got over time, against numbers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import isolation_scene
import pytest
from backwater import Results
from backwater.analysis import deliveries

if TYPE_CHECKING:
    from pathlib import Path

US = isolation_scene.US


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(isolation_scene.write(tmp_path / "run"))


def test_what_hosts_got_is_summed_by_period_of_one_entry_or_of_all(results: Results) -> None:
    every = deliveries.per_period(results, "received_bytes")
    assert every.time_ps.tolist() == [0, 50 * US, 100 * US]
    assert every.value.tolist() == [202_000, 109_000, 100_000]
    assert deliveries.per_period(results, "packets", ["background"]).value.tolist() == [2, 9, 0]


def test_goodput_of_the_last_period_counts_as_long_as_the_run_was_in_it(results: Results) -> None:
    tree = deliveries.goodput(results, ["tree"])
    # 200 KB in 50 µs are 32 Gbps, 100 KB in 50 µs are 16 Gbps, 100 KB in 20 µs are 40 Gbps.
    assert tree.value.tolist() == pytest.approx([32e9, 16e9, 40e9])
    assert deliveries.throughput(results, ["tree"]).value[0] == pytest.approx(64e9)


def test_becns_count_where_and_when_they_were_sent(results: Results) -> None:
    assert deliveries.becns(results).value.tolist() == [3, 3, 0]
    assert deliveries.becns(results, ["background"]).value.tolist() == [1, 0, 0]


def test_a_packet_has_its_times_in_one_row_and_none_of_arrival_if_it_did_not_arrive(results: Results) -> None:
    packets = results.packets.collect()
    assert packets.row(0) == (2, 0, "background", 10 * US, 11 * US, 15 * US, True)
    assert packets.row(3) == (0, 7, "tree", 100 * US, 119 * US, None, None)


def test_jains_index_of_three_to_one_is_four_fifths(results: Results) -> None:
    # (3 + 1)² / (2 · (9 + 1))
    assert deliveries.jain(results, ["tree"]) == pytest.approx(0.8)
    assert deliveries.jain(results, ["background"]) == pytest.approx(1.0)
    assert deliveries.jain(results, ["nobody"]) is None
