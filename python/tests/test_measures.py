"""What is read from a results folder agrees with what was put into it (see synthetic.py)."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from backwater import Results
from backwater.results import measures
from backwater.results.catalogue import named
from backwater.results.measures import Interval
from hypothesis import given
from hypothesis import strategies as st

US = 1_000_000


def test_traffic_is_summed_over_its_flows_in_the_order_of_the_scenario(tcd_run: Results) -> None:
    rows = measures.by_traffic(tcd_run).to_dicts()
    assert [row["traffic"] for row in rows] == ["F0", "F1", "A"]
    assert rows[2]["flows"] == rows[2]["finished"] == 2
    assert (rows[0]["ce_packets"], rows[0]["ue_packets"]) == (10, 5)


def test_goodput_is_payload_over_first_start_to_last_finish_or_the_end_of_the_run(tcd_run: Results) -> None:
    rows = measures.by_traffic(tcd_run).to_dicts()
    assert rows[2]["goodput_bps"] == 128_000 * 8 / 1e-3  # from 0 to 1 ms
    assert rows[0]["goodput_bps"] == 100_000 * 8 / 1.5e-3  # endless: until 1.5 ms


def test_the_99th_percentile_is_the_smallest_slowdown_that_99_percent_do_not_exceed(tcd_run: Results) -> None:
    one = tcd_run.flows.collect()[2:3]
    for count, expected in ((100, 99.0), (101, 100.0), (99, None), (1, None)):
        slowdowns = pl.DataFrame({"slowdown": [float(value) for value in range(1, count + 1)]})
        rows = pl.concat([one.drop("slowdown")] * count).hstack(slowdowns)
        rows.write_parquet(tcd_run.folder / "flows.parquet")
        (row,) = measures.by_traffic(Results(tcd_run.folder)).to_dicts()
        # Of fewer than 100 it would be the largest, which has a column of its own.
        assert (row["p99_slowdown"], row["max_slowdown"], row["slowdowns"]) == (expected, count, count)


def _of_two(tcd_run: Results, second: dict[str, pl.Expr], count: int = 2) -> float | None:
    """The fairness of flows of 1 MB that begin at once and take 1 ms, the second one otherwise."""
    alike = {
        "size_bytes": pl.lit(1_000_000),
        "received_bytes": pl.lit(1_000_000),
        "start_ps": pl.lit(0),
        "finish_ps": pl.lit(1000 * US),
    }
    one = tcd_run.flows.collect().tail(1)
    whole = [one.with_columns(**(alike | (second if number else {}))) for number in range(count)]
    pl.concat(flow.cast(one.schema) for flow in whole).write_parquet(tcd_run.folder / "flows.parquet")
    (row,) = measures.of_traffic(Results(tcd_run.folder), named("fairness")).to_dicts()
    return None if row["fairness"] is None else float(row["fairness"])


def test_fairness_is_jains_index_of_what_equal_flows_get_per_time(tcd_run: Results) -> None:
    # Of n rates (Σx)² / (n Σx²); of 1 and 1/2 that is 2.25 / 2.5.
    assert _of_two(tcd_run, {}) == 1
    assert _of_two(tcd_run, {"finish_ps": pl.lit(2000 * US)}) == pytest.approx(0.9)
    # A flow that gets nothing leaves half, of four flows all but a quarter.
    starved = {"received_bytes": pl.lit(0), "finish_ps": pl.lit(None)}
    assert _of_two(tcd_run, starved) == pytest.approx(0.5)
    assert _of_two(tcd_run, starved, 4) == pytest.approx(0.25)


def test_flows_of_other_sizes_or_starts_or_a_lone_one_are_not_asked_for_fairness(tcd_run: Results) -> None:
    assert _of_two(tcd_run, {"size_bytes": pl.lit(2_000_000)}) is None
    assert _of_two(tcd_run, {"start_ps": pl.lit(US)}) is None
    assert _of_two(tcd_run, {}, 1) is None


def test_the_priority_shown_is_the_one_that_carried_most_bytes(tcd_run: Results) -> None:
    assert measures.busiest_priority(tcd_run) == 3


def test_ports_come_in_the_order_asked_for_and_only_at_one_priority(tcd_run: Results) -> None:
    rows = measures.by_port(tcd_run, ["P3", "P0"], 3)
    assert rows["name"].to_list() == ["P3", "P0"]
    assert rows["port"].to_list() == ["T2->R1", "T0->L0"]


def test_a_port_paused_for_5_of_every_10_us_from_100_to_600_is_off_for_250_us(tcd_run: Results) -> None:
    off = measures.off_intervals(tcd_run, "P2", 3)
    assert len(off) == 50
    assert sum(interval.end_ps - interval.start_ps for interval in off) == 250 * US
    assert measures.off_intervals(tcd_run, "P3", 3) == []


def test_states_cover_the_whole_run_without_gaps(tcd_run: Results) -> None:
    states = measures.state_intervals(tcd_run, "P2", 3)
    assert [interval.what for interval in states] == [
        "non-congestion", "undetermined", "judging", "non-congestion", "congestion",
    ]  # fmt: skip
    assert states[0].start_ps == 0
    assert states[-1].end_ps == 1500 * US
    assert all(a.end_ps == b.start_ps for a, b in pairwise(states))


def test_the_send_rate_is_the_slope_of_what_was_sent(tcd_run: Results) -> None:
    rate = measures.send_rate(tcd_run, "P2", 3, 10 * US)
    np.testing.assert_allclose(rate.value, 40e9)  # 5000 B a µs
    assert rate.time_ps[0] == 10 * US


def test_marks_are_told_apart_by_code_and_traffic(tcd_run: Results) -> None:
    every = measures.mark_times(tcd_run, "P2", 3, "UE")
    of_f0 = measures.mark_times(tcd_run, "P2", 3, "UE", "F0")
    assert measures.mark_times(tcd_run, "P2", 3, "CE").size == 0
    assert 0 < of_f0.size < every.size
    assert np.all((of_f0 // US) % 2 == 0)


def test_the_allowed_rate_of_a_flow_is_what_was_sampled(tcd_run: Results) -> None:
    assert measures.allowed_rate(tcd_run, "F1").value.tolist() == [40e9, 20e9]


@given(st.lists(st.tuples(st.integers(0, 100), st.sampled_from("abc")), max_size=30))
def test_intervals_tile_the_run_whatever_the_changes(changes: list[tuple[int, str]]) -> None:
    changes.sort(key=lambda change: change[0])
    times = pl.Series([time for time, _ in changes], dtype=pl.Int64)
    values = pl.Series([value for _, value in changes], dtype=pl.String)
    found = measures._intervals(times, values, "a", 100)
    assert found[0].start_ps == 0
    assert found[-1].end_ps == 100
    assert all(before.end_ps == after.start_ps for before, after in pairwise(found))
    assert all(interval.start_ps < interval.end_ps for interval in found)


def test_intervals_of_a_port_that_never_changed_are_one() -> None:
    empty = pl.Series([], dtype=pl.Int64)
    assert measures._intervals(empty, empty.cast(pl.String), "a", 9) == [Interval(0, 9, "a")]
