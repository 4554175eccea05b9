"""GPCNeT's metrics, against numbers worked out by hand."""

from __future__ import annotations

import json
import math
import tomllib
from typing import TYPE_CHECKING

import gpcnet_scene
import numpy as np
import polars as pl
import pytest
from backwater import Results
from backwater.analysis import gpcnet, gpcnet_profile, gpcnet_tables, run_notes, scheme_measures, slowdown
from backwater.analysis.gpcnet import Test
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.experiments import gpcnet_runs
from backwater.experiments.executor import Job
from backwater.experiments.store import RunFolders
from backwater.results import measures
from backwater.scenario import topologies
from backwater.scenario.scenario import Scenario

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


def test_a_folder_of_results_is_shown_with_its_tables_its_scaling_and_a_picture(
    results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "gpcnet.png"
    assert main(["gpcnet", str(results.folder), "--plot", str(picture)]) == Exit.OK
    told = capsys.readouterr().out
    assert "Congestion Impact Factor" in told
    assert "random rings of latency and of bandwidth: 2 (GPCNeT: 30)" in told
    assert picture.stat().st_size > 10_000
    assert main(["gpcnet", str(results.folder), "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    latency = next(row for row in found["rows"] if row["phase"] == "congested" and "Lat" in row["test"])
    assert latency["impact_avg"] == pytest.approx(3.0)


def test_seeds_that_backwater_run_left_are_those_of_one_scheme(tmp_path: Path) -> None:
    for seed in (1, 2):
        gpcnet_scene.write(tmp_path / f"gpcnet-PFT-s{seed}", seed=seed)
    gpcnet_scene.write(tmp_path / "gpcnet-none-s2", seed=2)
    found = gpcnet_runs.of_folder(tmp_path)
    # Only the seed that both have.
    assert {name: [run.meta["seed"] for run in runs] for name, runs in found.items()} == {
        "gpcnet-PFT": [2],
        "gpcnet-none": [2],
    }


def test_what_is_complete_is_shown_though_other_runs_were_interrupted(tmp_path: Path) -> None:
    scenario = Scenario("", "g.toml", tmp_path)

    def job(name: str, seed: int) -> Job:
        return Job(name, scenario, (), seed, tmp_path / f"{name}-{seed}", scheme=name)

    kept = RunFolders(tmp_path, gpcnet_runs.NEEDED)
    planned = {seed: {name: job(name, seed) for name in ("none", "PFT")} for seed in (1, 2)}
    gpcnet_scene.write(tmp_path / "none-1")
    assert list(gpcnet_runs.complete(planned, kept)) == ["none"]
    gpcnet_scene.write(tmp_path / "none-2")
    gpcnet_scene.write(tmp_path / "PFT-2")
    found = gpcnet_runs.complete(planned, kept)
    assert {name: [run.folder.name for run in runs] for name, runs in found.items()} == {
        "none": ["none-2"],
        "PFT": ["PFT-2"],
    }


def test_a_scheme_is_held_against_the_one_without_control_on_the_same_switches(tmp_path: Path) -> None:
    pfc, credits_ = {"flow-control": "pfc"}, {"flow-control": "credits"}
    kinds = {
        "none": (credits_, "none", "none"),
        "IB CC": (credits_ | {"detector": {"kind": "fecn"}}, "ib-cc", "none"),
        "PFT": (credits_, "none", "pft"),
        "PFC": (pfc, "none", "none"),
        "DCQCN": (pfc | {"detector": {"kind": "red"}}, "dcqcn", "none"),
        "ICI+": (pfc | {"queueing": "combined", "isolation": {"kind": "ici-plus"}}, "dcqcn", "none"),
    }
    runs = {name: [Results(gpcnet_scene.write(tmp_path / name))] for name in kinds}
    for name, (switch, cc, throttle) in kinds.items():
        runs[name][0].meta["scenario"] |= {
            "switch": switch,
            "cc": {"kind": cc},
            "host": {"throttle": {"kind": throttle}},
        }
    bases = gpcnet_runs.baselines(runs)
    assert bases == {"none": "none", "IB CC": "none", "PFT": "none", "PFC": "PFC", "DCQCN": "PFC"}
    _, absolute, _ = gpcnet_tables.ranking(gpcnet_runs.measure(runs), bases)
    assert list(absolute.columns[-1].cells) == ["-", "1.00", "1.00", "-", "1.00", "-"]
    assert "IB CC, PFT: none; DCQCN: PFC" in str(absolute.caption)


def test_results_are_only_shown_so_options_for_runs_are_refused(
    results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gpcnet", str(results.folder), "--quick"]) == Exit.BAD_INPUT
    assert "folder of results" in capsys.readouterr().err


def test_a_quick_run_never_has_more_turns_than_the_scenario() -> None:
    few = gpcnet_scene.ENTRY | {"rings": 2, "latency": {"timed": 20, "warm-up": 1}}
    found = gpcnet_profile.quick(few)
    assert "traffic.gpcnet.latency.timed=5" in found
    assert not any("rings" in one or "latency.warm-up" in one for one in found)


def test_what_is_left_out_of_gpcnet_is_told() -> None:
    part = gpcnet_scene.ENTRY | {"congestors": ["incast"], "congestor-share": 0.5, "tests": ["latency"]}
    told = "\n".join(gpcnet_profile.lines(part))
    assert "congestors at 50 % of the nodes (GPCNeT: 80 %)" in told
    assert "left out: all-to-all, put-incast, get-broadcast, bandwidth, allreduce" in told
    assert "left out" not in "\n".join(gpcnet_profile.lines(gpcnet_scene.ENTRY))


def test_channels_between_ranks_have_goodput_but_no_completion_time(results: Results) -> None:
    (row,) = measures.by_traffic(results).to_dicts()
    assert (row["finite"], row["finished"], row["mean_fct_ps"], row["p99_slowdown"]) == (0, None, None, None)
    # 10 channels that got 2048 B across in 2 ms.
    assert row["goodput_bps"] == pytest.approx(10 * 2048 * 8 / 2e-3)
    assert slowdown.flows(results).is_empty()
    values = scheme_measures.outcomes({"PFT": [results]}).traffic["gpcnet"]["PFT"]
    assert "finished" not in values
    assert "median_fct_ps" not in values
    lines = run_notes.of(results)
    assert "gpcnet: 2 of 10 ranks came to their end, the last after 2.00 ms; 1 792 messages" in lines
    factors = "RR Two-sided Lat 3.0 and 3.0, RR Two-sided BW+Sync 4.0 and 4.0, Multiple Allreduce 5.0 and 5.0"
    assert f"congestion impact factors of Avg and of 99 %: {factors}" in lines


def test_another_network_takes_the_place_of_the_scenarios_own(tmp_path: Path) -> None:
    lines = '[topology]\nkind = "star"\nhosts = 5\n'
    text = '[topology]\nkind = "xgft"\nm = [\n  12, 10\n]\n[topology.more]\nx = 1\n[[traffic]]\nname = "a"\n'
    scenario = Scenario(text, "gpcnet.toml", tmp_path)
    made = topologies.on(scenario, "tree", lines)
    found = tomllib.loads(made.text)
    assert found == {"topology": {"kind": "star", "hosts": 5}, "traffic": [{"name": "a"}]}
    assert made.origin == "gpcnet-on-tree.toml"


def test_a_file_without_a_network_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none.toml").write_text("[run]\nseed = 1\n")
    with pytest.raises(UsageError, match=r"none.toml has no \[topology\]"):
        topologies.alone(tmp_path / "none.toml")
