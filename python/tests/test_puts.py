"""What PUT streams did, against numbers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import put_scene
import pytest
from backwater import Results
from backwater.analysis import put_notes, puts, scheme_measures, scheme_pictures, scheme_tables, tables
from backwater.errors import UsageError
from backwater.results import measures

if TYPE_CHECKING:
    from pathlib import Path

US = put_scene.US
SECOND_HALF = (50 * US, 100 * US)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(put_scene.write(tmp_path / "run"))


def test_goodput_is_what_targets_accepted_as_a_share_of_the_link(results: Results) -> None:
    # 550 000 of 1 000 000 bytes, and in the second half 250 000 of 500 000.
    assert puts.goodput(results) == pytest.approx(0.55)
    assert puts.goodput(results, SECOND_HALF) == pytest.approx(0.5)


def test_what_was_sent_again_counts_as_it_was_on_the_wire(results: Results) -> None:
    assert puts.resent(results) == pytest.approx(125 * 1100 / 1_000_000)
    assert puts.resent(results, (0, 50 * US)) == 0


def test_initiators_differ_by_what_the_target_accepted_of_them_and_one_that_got_nothing_counts(
    results: Results,
) -> None:
    assert puts.largest_difference(results) == pytest.approx(0.3)
    assert puts.largest_difference(results, SECOND_HALF) == pytest.approx(0.3)
    assert puts.largest_difference(results, (0, 50 * US)) == pytest.approx(0.4)
    # (300 + 250)² / (3 (300² + 250²)), by hand.
    assert puts.jain(results) == pytest.approx(302_500 / 457_500)


def test_acknowledgements_are_those_that_took_effect_and_marked_ones_count_apart(results: Results) -> None:
    found = puts.numbers(results)
    assert [found[name] for name in ("nacks", "dacks", "marked_iacks", "timeouts")] == [2, 5, 20, 1]


def test_drops_are_those_of_the_targets_and_apart_from_them_those_of_the_switches(results: Results) -> None:
    found = puts.numbers(results)
    assert (found["target_drops"], found["switch_drops"]) == (90, 7)
    assert found["resent_percent"] == pytest.approx(100 * 125 / 700)
    # Without a table of drops nobody knows when the switch dropped its seven.
    assert "switch_drops" not in puts.numbers(results, SECOND_HALF)


def test_a_receive_queue_is_shown_by_its_peak_within_the_window(results: Results) -> None:
    assert puts.numbers(results)["receive_peak_bytes"] == 67_584
    late = puts.numbers(results, SECOND_HALF)
    assert (late["receive_peak_bytes"], late["holding_ps"]) == (40_000, 3 * US)


def test_without_sums_of_streams_flows_tell_what_was_sent_again(tmp_path: Path) -> None:
    run = Results(put_scene.write(tmp_path / "run", without=("streams", "endpoints")))
    found = puts.numbers(run)
    assert found == {"resent_packets": 125, "target_drops": 140, "switch_drops": 7}


def test_a_network_without_puts_has_nothing_of_them(tmp_path: Path) -> None:
    run = Results(put_scene.write(tmp_path / "run", transport="roce", without=("streams", "endpoints")))
    assert puts.numbers(run) == {}
    assert put_notes.of(run) == []
    found = scheme_measures.outcomes({"x": [run]})
    assert (list(found.puts), len(scheme_tables.tables(found))) == ([], 1)
    assert "resent_packets" not in measures.by_traffic(run).columns


def test_a_comparison_shows_puts_within_the_window(results: Results, tmp_path: Path) -> None:
    found = scheme_measures.outcomes({"opt": [results], "dack": [results]}, SECOND_HALF)
    assert found.network["opt"]["goodput_percent"].mean == pytest.approx(50)
    # The entry is the only one of PUTs.
    assert found.traffic["put"]["opt"]["goodput_bps"].mean == pytest.approx(40e9)
    assert found.totals()["goodput_bps"].to_list() == pytest.approx([40e9, 40e9])
    # No port was OFF, nothing was marked: the network has no table.
    titles = [str(made.title).partition(" under")[0] for made in scheme_tables.tables(found)]
    assert titles == ["Traffic", "PUTs", "Drops, ACKs and receive queues"]
    assert "from 50.0 µs to 100 µs" in str(scheme_tables.tables(found)[-1].caption)
    assert scheme_pictures.draw(found, tmp_path / "x.png", title="x").is_file()


@pytest.mark.parametrize(("window", "said"), [((0, 75), "multiples of probe.sample"), ((0, 150), "after the runs do")])
def test_a_window_of_puts_is_one_of_whole_periods_within_the_run(
    results: Results, window: tuple[int, int], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        scheme_measures.outcomes({"x": [results]}, (window[0] * US, window[1] * US))


def test_the_lines_of_a_run_say_what_was_lost_how_full_queues_were_and_who_stands_still(results: Results) -> None:
    lines = put_notes.of(results)
    assert lines[0] == "PUTs: 125 packets sent again (17.9 % of all sent), 90 dropped by their targets, 7 by switches"
    assert lines[1] == "no progress: h0 accepted no PUT of h3 at all, though 50 packets were sent"
    assert lines[2] == (
        "receive queues: the fullest, at h0, held 67.6 KB of 81.0 KB; slow hosts held back their switches for 3.00 µs"
    )


def test_the_table_of_traffic_shows_what_was_sent_again_and_dropped(results: Results) -> None:
    made = tables.traffic_table({"": results})
    cells = {str(column.header): list(column.cells) for column in made.columns}
    assert (cells["resent"], cells["dropped"]) == (["125"], ["140"])
