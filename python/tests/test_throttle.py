"""Throttled NICs, against numbers worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gpcnet_scene
import polars as pl
import pytest
from backwater import Results
from backwater.analysis import run_notes, scheme_measures, throttle, throttle_picture
from backwater.cli import main
from backwater.errors import Exit, UsageError

if TYPE_CHECKING:
    from pathlib import Path

US = gpcnet_scene.US


def _row(node: int, period: int, **what: float) -> dict[str, object]:
    times = {"start_ps": 1000 * period * US, "end_ps": 1000 * (period + 1) * US}
    empty = {
        "used_end": 0,
        "used_max": 0,
        "used_mean": 0.0,
        "congested_ps": 0,
        "held_ps": 0,
        "sent_flits": 0,
        "entries": 0,
    }
    return times | {"node": f"h{node}", "node_index": node, "used_mean": 0.0} | empty | what


def sums() -> pl.DataFrame:
    """Of 2 ms: h7, an incast sender, is congested for 1 ms and held for 0.5 ms; h0, a test node, for a little."""
    return pl.DataFrame(
        [
            _row(
                7,
                0,
                congested_ps=600 * US,
                held_ps=300 * US,
                used_max=900,
                used_mean=600.0,
                sent_flits=625_000,
                entries=2,
            ),
            _row(
                7,
                1,
                congested_ps=400 * US,
                held_ps=200 * US,
                used_max=800,
                used_mean=500.0,
                sent_flits=625_000,
                entries=1,
            ),
            _row(0, 1, congested_ps=20 * US, held_ps=10 * US, used_max=620, used_mean=90.0, sent_flits=1000, entries=1),
            _row(1, 1, used_max=100, used_mean=10.0, sent_flits=1000),
        ]
    )


def states() -> pl.DataFrame:
    rows = [(100, True), (400, False), (1000, True)]
    shared = {"node": "h7", "node_index": 7, "lane": 0, "used": 600}
    return pl.DataFrame([{"time_ps": us * US, "congested": congested} | shared for us, congested in rows])


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(gpcnet_scene.write(tmp_path / "run", tables={"throttle": sums(), "throttle_states": states()}))


def test_a_nic_is_judged_by_its_part_of_the_whole_run(results: Results) -> None:
    first = throttle.by_nic(results).row(0, named=True)
    assert (first["node"], first["sends"], first["entries"], first["used_max"]) == ("h7", "incast", 3, 900)
    assert [first["congested"], first["held"], first["used_mean"]] == pytest.approx([0.5, 0.25, 550.0])
    # 1 250 000 flits of 16 B in 2 ms are 80 Gbps.
    assert first["rate_bps"] == pytest.approx(80e9)


def test_nics_that_did_nothing_count_among_their_kind(results: Results) -> None:
    rows = {row["sends"]: row for row in throttle.by_sender(throttle.by_nic(results)).to_dicts()}
    incast = rows["incast"]
    assert (incast["nics"], incast["throttled"], incast["held_ever"]) == (4, 1, 1)
    assert [incast["held"], incast["held_most"]] == pytest.approx([0.25 / 4, 0.25])
    assert rows["all-to-all"]["throttled"] == 0


def test_bystanders_are_the_nics_whose_ranks_only_test(results: Results) -> None:
    told = throttle.bystanders(results, throttle.by_nic(results))
    # h0 held for 10 us of 2 ms, h1 never.
    assert told == (
        "bystanders, the 2 NICs whose ranks only test: 1 were throttled, 1 held back, for 0.250 % of the run on "
        "average, 0.500 % at most"
    )


def test_a_throttle_that_is_still_congested_at_the_end_was_so_until_then(results: Results) -> None:
    found = throttle_picture.congested_spans(results, "h7")
    assert found == [(100 * US, 400 * US), (1000 * US, 2000 * US)]


def _scenario(pft: dict[str, object], switch: dict[str, object]) -> dict[str, object]:
    return {"host": {"throttle": {"kind": "pft", "pft": pft}}, "switch": switch}


def test_thresholds_of_runs_of_earlier_versions_are_found_where_they_stood() -> None:
    before: dict[str, object] = {"host": {"throttle": "pft"}, "pft": {"enter": 592, "escape": 672}}
    assert throttle.thresholds(before) == {"enter": 592, "escape": 672}


def test_thresholds_of_available_credits_are_shown_as_used_ones() -> None:
    switch: dict[str, object] = {"credits": {"buffer": "64KiB", "unit": "16B"}}
    pft: dict[str, object] = {"enter": 592, "escape": 672}
    assert throttle.thresholds(_scenario(pft, switch)) == pft
    found = throttle.thresholds(_scenario(pft | {"credits": "available"}, switch))
    assert found == {"enter": 4096 - 592, "escape": 4096 - 672}


def test_sums_of_throttles_stand_beside_other_schemes(results: Results) -> None:
    sums = {"throttled_nics": 2, "holding_nics": 2, "entries": 4, "used_max": 900}
    results.meta["throttle"] = sums | {"congested_ps": 1020 * US, "held_ps": 510 * US}
    found = scheme_measures.outcomes({"PFT": [results]})
    assert found.network["PFT"]["throttle_held_ps"].mean == 510 * US
    (line,) = [line for line in run_notes.of(results) if line.startswith("throttles")]
    assert line == "throttles: 2 NICs were congested for 1.02 ms together, and held packets back for 510 µs"
    # Where credits are only counted nothing is said of throttles.
    results.meta["scenario"]["host"]["throttle"]["kind"] = "none"
    assert not any(line.startswith("throttles") for line in run_notes.of(results))


def test_a_run_without_throttles_is_refused_with_what_to_do(tmp_path: Path) -> None:
    run = Results(gpcnet_scene.write(tmp_path / "run"))
    with pytest.raises(UsageError, match=r"probe\.throttle=true"):
        throttle.by_nic(run)
    run.meta["scenario"]["host"]["throttle"]["kind"] = "none"
    with pytest.raises(UsageError, match=r"host\.throttle"):
        throttle.by_nic(run)


def test_the_command_prints_nics_and_draws_those_that_are_named(
    results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "throttle.png"
    assert main(["throttle", str(results.folder), "--plot", str(picture), "--nics", "h7,h0"]) == Exit.OK
    told = capsys.readouterr().out
    assert "NICs by what they send" in told
    assert "25.0 %" in told
    assert picture.stat().st_size > 10_000
    assert main(["throttle", str(results.folder), "--plot", str(picture), "--nics", "h99"]) == Exit.BAD_INPUT
    assert "no NIC 'h99'" in capsys.readouterr().err
