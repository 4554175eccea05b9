"""What the figures of the ICI paper measure, on tables that a reader can check in the head; every claim has a place."""

from pathlib import Path
from typing import Any

import made_results
import numpy as np
import polars as pl
import pytest
from backwater import Results
from backwater.papers import claims, open_parameters, paper_figure, sensitivity
from backwater.scenario import schemes
from backwater.scenario.scenario import Scenario
from ici_scenes import write

from papers.ici import measured, messages, times, trees

US, BIN = measured.US, measured.BIN_PS
CLAIMS = {
    "fig1": ["F1a", "F1b", "F1c", "F1d", "F1e"],
    "fig2": ["F2a", "F2a-latency", "F2a-throughput", "F2b", "F2c", "F2d", "F2e", "F2e-latency", "F2f"],
    "fig3": ["F3a", "F3b"],
    "fig4": ["F4a", "F4b", "F4b-best"],
    "fig5": ["F5a", "F5a-total", "F5b", "F5c", "F5c-cause"],
    "fig6": ["F6a", "F6a-throughput"],
    "flows": ["G6", "G6-flows", "G7", "G7-fewer", "G7-ci", "G8", "G9", "G10"],
    "general": ["G1", "G2", "G3", "G4"],
    "headline": ["G5"],
    "length": ["L1", "L2", "L3"],
    "scale": ["S1", "S2", "S3"],
    "w4": ["W4"],
}
#: A tree that is offered from 100 to 200 µs of a run of 400 µs.
TREE = {"name": "tree", "start": "100us", "until": "200us"}


def run(folder: Path, tree: dict[str, Any] = TREE, **tables: pl.DataFrame) -> Results:
    """A run of 400 µs with these tables."""
    isolation = {"kind": "ici-plus", "ici-plus": {"overflow": "20us", "persist": "50us"}}
    scenario = {
        "traffic": [{"name": "background"}, tree],
        "switch": {"isolation": isolation},
        "probe": {"sample": "50us"},
    }
    return Results(made_results.write(folder, tables, scenario, 400 * US))


def delivered(*rows: tuple[int, str, int, int, int]) -> pl.DataFrame:
    """Periods of hosts as (number of the period, traffic, bytes on the wire, packets with CE, BECNs)."""
    columns = ["time_ps", "traffic", "wire_bytes", "ce_packets", "cnps"]
    return pl.DataFrame([(period * BIN, *rest) for period, *rest in rows], schema=columns, orient="row", strict=False)


def test_every_claim_of_the_paper_has_its_place() -> None:
    found = {figure.name: [claim.id for claim in figure.claims] for figure in paper_figure.discover("ici")}
    assert found == {name: [f"ICI-{claim}" for claim in claims] for name, claims in CLAIMS.items()}


@pytest.mark.parametrize("name", ["w1", "w2", "w3", "w4", "w5", "w6"])
def test_every_scenario_runs_under_the_six_schemes(name: str) -> None:
    file = Path(__file__).parents[2] / "papers" / "ici" / "scenarios" / f"{name}.toml"
    assert [scheme.name for scheme in schemes.of(Scenario.load(file))] == list(measured.SCHEMES)


def test_every_workload_has_the_six_schemes_in_every_figure() -> None:
    # Not where the length of the run or the size of the network is what is asked.
    for figure in (one for one in paper_figure.discover("ici") if one.name not in ("length", "scale")):
        names = [name for spec in figure.experiment.run for name, _ in spec.expand()]
        workloads = {name.split()[0] for name in names}
        assert {f"{workload} {scheme}" for workload in workloads for scheme in measured.SCHEMES} <= set(names)


# A quick look leaves out runs of these.
@pytest.mark.parametrize(
    ("name", "quick"), [*((name, False) for name in CLAIMS), *((name, True) for name in ("fig2", "length"))]
)
def test_every_figure_measures_what_its_claims_ask_and_is_drawn(name: str, quick: bool, tmp_path: Path) -> None:
    figure = paper_figure.discover("ici", [name])[0]
    names = [one for spec in figure.experiment.run for one, _ in spec.expand() if not figure.skips(one, quick=quick)]
    runs = {one: write(tmp_path / one.replace(" ", "-"), one) for one in names}
    module = figure.module()
    found = module.metrics(runs)
    for claim in figure.claims:
        assert claims.judge(claim, name, "sigcomm15", [found]).verdict is not claims.Verdict.NOT_DECIDABLE
    module.draw([runs, runs], tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_every_reading_of_what_the_paper_leaves_open_names_figures_that_there_are() -> None:
    _, parameters = open_parameters.load("ici")
    assert {f"A{number}" for number in range(1, 19)} <= {parameter.id for parameter in parameters}
    cases = sensitivity.cases("ici", parameters, ["sigcomm15"])
    assert all(case.figures for case in cases)


def test_throughput_counts_what_arrived_within_the_span(tmp_path: Path) -> None:
    full = BIN // 80  # bytes that a link of 100 Gbps carries in a period
    hosts = delivered((2, "tree", full, 0, 0), (3, "tree", full, 0, 0), (3, "background", 2 * full, 0, 0))
    one = run(tmp_path / "one", delivered=hosts)
    assert measured.throughput(one, 100 * US, 200 * US, tree=True) == pytest.approx(100)
    assert measured.throughput(one, 100 * US, 200 * US, tree=False) == pytest.approx(100)
    assert measured.throughput(one, 175 * US, 225 * US) == pytest.approx(150)


def test_becns_are_summed_over_hosts_and_victims_are_the_background(tmp_path: Path) -> None:
    hosts = delivered((2, "tree", 1, 5, 3), (2, "tree", 1, 1, 4), (4, "background", 1, 2, 6))
    one = run(tmp_path / "one", delivered=hosts)
    assert (measured.becns(one), measured.becn_peak(one), measured.victim_marks(one)) == (13, 7, 2)


def test_a_packet_that_did_not_arrive_was_on_its_way_until_the_end(tmp_path: Path) -> None:
    sent = [(0, 0, 90), (0, 1, 110), (0, 2, 120), (0, 3, 130)]
    injected = pl.DataFrame(
        [{"flow": flow, "seq": seq, "time_ps": us * US, "made_ps": (us - 5) * US} for flow, seq, us in sent]
    ).with_columns(traffic=pl.lit("background"))
    arrived = pl.DataFrame({"flow": [0, 0, 0], "seq": [0, 1, 3], "time_ps": [99 * US, 113 * US, 131 * US]})
    one = run(tmp_path / "one", injected=injected, arrived=arrived)
    assert times.latency_us(one, tree=False).tolist() == [1, 3, 280]
    assert times.latency_us(one, tree=False, made=True).tolist() == [6, 8, 285]


def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed() -> None:
    values = np.arange(1.0, 1001.0)
    assert [times.percentile(values, percent) for percent in (50, 99, 99.9, 100)] == [500, 990, 999, 1000]
    assert times.percentile(values[:1], 50) == 1


def events(*rows: tuple[int, str, int, str, int]) -> pl.DataFrame:
    """Events of tables as (µs, what, node, destination, slots in use); every source is S."""
    return pl.DataFrame(
        [
            {"time_ps": us * US, "what": what, "node_index": node, "src": "S", "dst": dst, "used_slots": used}
            for us, what, node, dst, used in rows
        ]
    )


SWITCHES = pl.DataFrame({"node_index": [7, 8]})


def test_slots_stay_in_use_until_something_happens_and_nics_do_not_count(tmp_path: Path) -> None:
    table = events(
        (60, "allocated", 7, "R", 1),
        (70, "allocated", 7, "Q", 2),
        (80, "released", 7, "Q", 1),
        (210, "released", 7, "R", 0),
        (220, "allocated", 8, "R", 1),
        (230, "allocated", 1, "R", 9),
    )
    one = run(tmp_path / "one", isolation=table, switches=SWITCHES)
    assert measured.slots(one).value.tolist() == [0, 2, 1, 1, 1, 1, 1, 1]


def test_a_flow_that_was_refused_and_got_an_entry_later_counts_as_refused(tmp_path: Path) -> None:
    table = events(
        (60, "refused", 7, "R", 2),
        (61, "refused", 7, "R", 2),
        (70, "allocated", 7, "R", 2),
        (80, "allocated", 8, "R", 1),
        (90, "notified", 8, "R", 1),
        (95, "refused", 1, "R", 1),
    )
    one = run(tmp_path / "one", isolation=table, switches=SWITCHES)
    assert measured.refused_share(one) == 0.5


def test_a_mark_has_a_cause_shortly_after_a_refusal_or_long_after_the_allocation(tmp_path: Path) -> None:
    table = events((60, "allocated", 7, "R", 1), (100, "refused", 7, "Q", 1), (100, "refused", 8, "Q", 1))
    flows = pl.DataFrame({"flow": [0, 1], "src": ["S", "S"], "dst": ["R", "Q"]})

    def marked(*rows: tuple[int, int, int]) -> int:
        marks = pl.DataFrame([{"time_ps": us * US, "node_index": node, "flow": flow} for us, node, flow in rows])
        folder = tmp_path / "-".join(str(number) for row in rows for number in row)
        return measured.marks_without_cause(run(folder, isolation=table, flows=flows, marks=marks, switches=SWITCHES))

    assert marked((90, 7, 0)) == 1
    assert marked((110, 7, 0), (120, 8, 1), (121, 7, 0)) == 0
    assert marked((121, 7, 1), (110, 7, 1)) == 1


def tree_flows(*rows: tuple[int, int, int | None]) -> pl.DataFrame:
    """Hot flows as (source, bytes that arrived, finish in µs)."""
    return pl.DataFrame(
        [
            {
                "traffic": "tree",
                "src_index": src,
                "dst_index": 0,
                "received_bytes": got,
                "finish_ps": done and done * US,
            }
            for src, got, done in rows
        ]
    )


def test_fairness_is_among_sources_and_bursts_last_until_the_last_packet(tmp_path: Path) -> None:
    one = run(tmp_path / "one", flows=tree_flows((1, 50, 150), (1, 50, 180), (2, 100, 190)))
    assert measured.jain(one) == pytest.approx(1)
    assert measured.makespan_ms(one) == pytest.approx(0.09)
    other = run(tmp_path / "other", flows=tree_flows((1, 100, 150), (2, 0, None)))
    assert measured.jain(other) == pytest.approx(0.5)
    assert measured.makespan_ms(other) is None


def test_a_peak_of_no_becns_counts_as_one() -> None:
    assert trees.peak_gain({"dcqcn_becn_peak": 450, "ici+_becn_peak": 0}) == 450
    assert trees.peak_gain({"dcqcn_becn_peak": 450, "ici+_becn_peak": 10}) == 45
    assert messages.becn_gain({"dcqcn_becns": 90, "ici+_becns": 0}, "dcqcn") == 90


def test_innocent_entries_are_those_of_flows_that_head_elsewhere_and_a_swing_is_that_of_the_periods_after_the_first(
    tmp_path: Path,
) -> None:
    module: Any = paper_figure.discover("ici", ["flows"])[0].module()
    # 100 to 300 µs: the tree begins in the third period; then 40, 80 and 60 Gbps, whose standard deviation is 20.
    tree = {"name": "tree", "start": "100us", "until": "300us"}
    table = delivered(
        *((period, "tree", gbps * 6250, 0, 0) for period, gbps in ((2, 5), (3, 40), (4, 80), (5, 60), (6, 9)))
    )
    assert module.swing(run(tmp_path / "swing", tree, delivered=table), tree=True) == pytest.approx(20 / 60)
    quiet = module.ratio({"w1 a": 0, "w1 b": 0, "w2 a": 3, "w2 b": 6}, lambda one: one, "a", "b")
    assert quiet == {"w1": 1.0, "w2": 0.5}
