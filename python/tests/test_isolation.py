"""What isolation did, against numbers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import isolation_scene
import polars as pl
import pytest
from backwater import Results
from backwater.analysis import isolation
from backwater.common import terminal
from backwater.results import measures

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(isolation_scene.write(tmp_path / "run"))


def test_a_host_is_hot_if_several_hosts_of_a_placed_entry_send_to_it(results: Results) -> None:
    assert isolation.hot(results).rows() == [(0, "h0", "tree", 2)]


def test_marks_of_victims_are_those_on_packets_to_other_hosts(results: Results) -> None:
    found = isolation.numbers(results)
    assert (found["marks"], found["victim_marks"]) == (13, 1)
    assert (found["becns"], found["becn_peak"]) == (6, 3)


def test_entries_elsewhere_are_made_by_switches_for_flows_that_do_not_head_for_a_hot_host(results: Results) -> None:
    found = isolation.numbers(results)
    # The switch makes entries for h1 -> h0, h3 -> h4 and, again, h2 -> h0; that of the NIC is not counted.
    assert (found["entries"], found["entries_elsewhere"]) == (3, 1)
    assert (found["refusals"], found["peak_slots"], found["cims"]) == (6, 2, 1)
    assert (found["pauses"], found["cfq_pauses"]) == (12, 7)


def test_a_port_is_shown_with_its_congested_flow_queue_though_no_flow_has_that_priority(tmp_path: Path) -> None:
    assert measures.data_priorities(Results(isolation_scene.write(tmp_path / "on"))) == [2, 3]
    assert measures.data_priorities(Results(isolation_scene.write(tmp_path / "off", kind="none"))) == [3]


def test_events_are_counted_by_period(results: Results) -> None:
    assert isolation.events(results, "refused").value.tolist() == [1, 0, 1]
    assert isolation.events(results, "notified").value.tolist() == [1, 0, 0]
    assert isolation.events(results, "allocated").value.tolist() == [2, 0, 0]


def test_slots_that_were_taken_before_a_period_count_in_it(results: Results) -> None:
    assert isolation.slots(results).value.tolist() == [2, 2, 2]
    early = results.isolation.filter(pl.col("time_ps") < 7 * isolation_scene.US).collect()
    early.write_parquet(results.folder / "isolation.parquet")
    assert isolation.slots(results).value.tolist() == [2, 2, 2]
    early.filter(pl.col("node_index") == 1).write_parquet(results.folder / "isolation.parquet")
    assert isolation.slots(results).value.tolist() == [0, 0, 0]
    freed = early.head(2).with_columns(time_ps=pl.Series([5, 60], dtype=pl.Int64) * isolation_scene.US)
    freed.with_columns(used_slots=pl.Series([2, 1])).write_parquet(results.folder / "isolation.parquet")
    assert isolation.slots(results).value.tolist() == [2, 2, 1]


def test_without_isolation_there_are_marks_but_no_entries(tmp_path: Path) -> None:
    found = isolation.numbers(Results(isolation_scene.write(tmp_path / "run", kind="none")))
    assert found["marks"] == 13
    assert [found[key] for key in ("cims", "entries", "refusals", "peak_slots", "cfq_pauses")] == [None] * 5


def test_schemes_stand_below_each_other_and_what_one_cannot_tell_is_a_dash(tmp_path: Path) -> None:
    runs = {
        name: [Results(isolation_scene.write(tmp_path / name, kind=kind))]
        for name, kind in (("none", "none"), ("ici+", "ici-plus"))
    }
    made = isolation.table(runs)
    cells = {str(column.header): list(column.cells) for column in made.columns}
    assert cells["run"] == ["none", "ici+"]
    assert cells["refused"] == ["-", "6"]
    assert cells["of victims"] == ["1", "1"]
    assert "other hosts than h0" in str(made.caption)
    terminal.stdout().print(made)


def test_means_over_seeds_have_an_interval(tmp_path: Path) -> None:
    seeds = [Results(isolation_scene.write(tmp_path / str(cnps), cnps=cnps)) for cnps in (True, False)]
    made = isolation.table({"": seeds})
    becns = next(column for column in made.columns if column.header == "BECNs")
    # 6 and 0: a mean of 3, with a standard error of 3 and one degree of freedom 12.706 times that.
    assert list(becns.cells) == ["3 (0 to 41)"]
