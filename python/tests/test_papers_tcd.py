"""What the figures of the TCD paper measure, on tables that a reader can check in the head (see synthetic.py)."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest
import synthetic
from backwater import Results
from backwater.cli import main
from backwater.papers import paper_figure
from synthetic import US

#: Every claim of the paper's simulations.
CLAIMS = {
    "fig01": ["TCD-F1a", "TCD-F1b"],
    "fig02": ["TCD-F2a", "TCD-F2b"],
    "fig03": ["TCD-F3a", "TCD-F3b", "TCD-F3c", "TCD-F3d", "TCD-F3e", "TCD-F3f", "TCD-F3g"],
    "fig03-ib": ["TCD-F3a", "TCD-F3b", "TCD-F3c", "TCD-F3d", "TCD-F3e", "TCD-F3f"],
    "fig04": ["TCD-F4a", "TCD-F4b", "TCD-F4c"],
    "fig04-ib": ["TCD-F4a", "TCD-F4b", "TCD-F4c"],
    "fig05": ["TCD-F5a", "TCD-F5b", "TCD-F5c"],
    "fig06": ["TCD-F6a", "TCD-F6b"],
    "fig07": ["TCD-F7a", "TCD-F7b"],
    "fig09": ["TCD-F9a", "TCD-F9b"],
    "fig10": ["TCD-F10a", "TCD-F10b", "TCD-F10c"],
    "fig08": ["TCD-F8a", "TCD-F8b"],
    "fig11": ["TCD-F11a", "TCD-F11b"],
    "fig12": ["TCD-F12a", "TCD-F12b", "TCD-F12c", "TCD-F12d"],
    "fig12-ib": ["TCD-F12a", "TCD-F12b", "TCD-F12c", "TCD-F12d"],
    "fig13": ["TCD-F13a", "TCD-F13b"],
    "fig13-ib": ["TCD-F13a", "TCD-F13b"],
    "fig14": ["TCD-F14a", "TCD-F14b"],
    "fig15a": ["TCD-F15a", "TCD-F15d"],
    "fig15b": ["TCD-F15b", "TCD-F15c"],
    "fig16": [
        *("TCD-F16a", "TCD-F16a-level", "TCD-F16b", "TCD-F16c", "TCD-F16d", "TCD-F16d-level", "TCD-F16e", "TCD-F16f"),
        *("TCD-F16-detector", "TCD-F16-cut"),
    ],
    "fig17a": ["TCD-F17a"],
    "fig17a-bursts": ["TCD-F17a-bursts"],
    "fig17b": ["TCD-F17b", "TCD-F17b-oracle"],
    "fig17b-skewed": ["TCD-F17b-skewed", "TCD-F17b-skewed-oracle"],
    "fig18a": ["TCD-F18a"],
    "fig18b": ["TCD-F18c", "TCD-F18d"],
    "fig19": ["TCD-F19a", "TCD-F19b", "TCD-F19b-level", "TCD-F19-detector"],
    "headline": ["TCD-H1"],
    "loads": ["TCD-L1", "TCD-L2", "TCD-L3", "TCD-L4", "TCD-L5"],
    "fig20": ["TCD-F20a", "TCD-F20a-timely", "TCD-F20b", "TCD-F20b-timely", "TCD-F20c", "TCD-F20c-timely"],
    "sec45": ["TCD-M1", "TCD-M2"],
    "sec523": ["TCD-F18b"],
    "sec6": ["TCD-D1", "TCD-D2", "TCD-D3", "TCD-D4"],
    "table01": ["TCD-T1a", "TCD-T1b"],
    "table02": ["TCD-T2a", "TCD-T2b", "TCD-T2c"],
    "table03": ["TCD-T3a", "TCD-T3b"],
    "table03-ib": ["TCD-T3c", "TCD-T3d"],
}

SCENARIO: dict[str, Any] = {
    "switch": {"detector": {"kmax": "200KB", "max-ton": "97us"}},
    "traffic": [
        {"name": "F1", "kind": "long-lived"},
        {"name": "F0", "kind": "constant", "rate": "5Gbps"},
        {"name": "A", "kind": "synchronous", "load": 0.9},
    ],
}

Write = Callable[..., Results]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the synthetic run, with tables replaced by what is given."""

    def write(name: str, scheme: str = "TCD", **tables: pl.DataFrame) -> Results:
        folder = synthetic.write(tmp_path / name, scheme)
        tables.setdefault("flows", with_f2(pl.read_parquet(folder / "flows.parquet")))
        for table, frame in tables.items():
            frame.write_parquet(folder / f"{table}.parquet")
        file = folder / "run.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"scenario": SCENARIO}))
        return Results(folder)

    return write


def with_f2(flows: pl.DataFrame) -> pl.DataFrame:
    """The synthetic flows and F2, which is like F0."""
    f2 = flows.filter(pl.col("traffic") == "F0").with_columns(
        traffic=pl.lit("F2"), traffic_index=pl.lit(3, flows["traffic_index"].dtype), src=pl.lit("S2")
    )
    return pl.concat([flows, f2])


def level(queue_bytes: int) -> pl.DataFrame:
    """Samples of a P2 whose queue does not change and that sends at 40 Gbps."""
    rows = [
        {
            "time_ps": us * US,
            "port": synthetic.PORTS["P2"],
            "priority": synthetic.PRIORITY,
            "queue_bytes": queue_bytes,
            "sent_bytes": us * 5000,
        }
        for us in range(1500)
    ]
    return pl.DataFrame(rows)


def figure(name: str) -> ModuleType:
    module: Any = paper_figure.discover("tcd", [name])[0].module()
    assert isinstance(module, ModuleType)
    return module


def shared(name: str) -> ModuleType:
    """A module that figures share, which can be imported once a figure was."""
    figure("fig03")
    return importlib.import_module(f"papers.tcd.{name}")


def flows(*ce_packets: int, traffic: str = "victims") -> pl.DataFrame:
    return pl.DataFrame({"traffic": traffic, "ce_packets": ce_packets})


def states(*steps: tuple[int, str], port: str = "P2") -> pl.DataFrame:
    label = synthetic.PORTS[port]
    rows = [{"time_ps": us * US, "port": label, "priority": synthetic.PRIORITY, "state": state} for us, state in steps]
    return pl.DataFrame(rows)


def test_every_claim_of_the_paper_has_its_place() -> None:
    found = {figure.name: [claim.id for claim in figure.claims] for figure in paper_figure.discover("tcd")}
    assert found == CLAIMS


def test_every_claim_is_a_number_with_a_bound_under_its_profiles() -> None:
    for figure in paper_figure.discover("tcd"):
        for claim in figure.claims:
            assert claim.checks, claim.id
        if figure.experiment.first and "ideal" in figure.experiment.profiles:
            assert "ideal" in figure.experiment.profile, figure.name


def test_f0_and_f2_start_when_f1_falls_below_15_gbps(write: Write) -> None:
    rates = pl.DataFrame(
        {"time_ps": [0, US, 2 * US, 3 * US], "flow": 1, "traffic": "F1", "rate_bps": [40e9, 15e9, 14.9e9, 15.1e9]}
    ).cast({"rate_bps": pl.UInt64})
    assert figure("fig03").settle({"ecn": write("lone", rates=rates)}) == {"ecn-start": "2000000ps"}
    assert figure("fig14").settle({"tcd": write("lone", rates=rates)})["tcd-start+100us"] == "102000000ps"


def test_without_a_fall_of_f1_there_is_no_start(write: Write) -> None:
    with pytest.raises(ValueError, match="does not fall below 15 Gbps"):
        figure("fig03").settle({"ecn": write("lone")})


def test_figure_3_counts_off_periods_peaks_and_marks_of_p2(write: Write) -> None:
    metrics = figure("fig03").metrics({"ecn": write("ecn", "ECN")})
    # OFF for 5 µs of every 10 from 100 to 600 µs; marks every 3 µs from 300 to 687 µs, F0 and F1 in turn
    assert metrics["fewest_off_periods"] == 50
    assert metrics["p2_peak_kb"] == 500
    assert (metrics["ce_f0_at_p2"], metrics["ce_f1_at_p2"], metrics["ce_f2_at_p2"]) == (65, 65, 0)
    assert metrics["p2_drains"] is True
    assert metrics["p2_gbps_after"] == pytest.approx(40)


def test_figure_3_adds_up_what_a_port_is_offered(write: Write) -> None:
    metrics = figure("fig03").metrics({"ecn": write("ecn", "ECN")})
    assert metrics["most_offered_gbps"] == pytest.approx(40 + 5)
    # the hosts' links are not sampled; P0 and P1 send 40 Gbps each
    assert metrics["most_sent_to_gbps"] is None
    assert metrics["p2_most_arriving_gbps"] == pytest.approx(80)


def test_figure_3_divides_the_rate_of_p3s_link_among_the_hosts_that_send_through_it(write: Write) -> None:
    run = write("ecn", "ECN")
    # F1 and two hosts with bursts send to R1
    assert figure("fig03").metrics({"ecn": run})["f1_fair_share_gbps"] == pytest.approx(40 / 3)
    # under credits the 40 Gbps of the link are data, of 50 Gbps of signalling
    meta = json.loads((run.folder / "run.json").read_text())
    meta["scenario"]["switch"]["flow-control"] = "credits"
    (run.folder / "run.json").write_text(json.dumps(meta))
    metrics = figure("fig03-ib").metrics({"fecn": Results(run.folder)})
    assert metrics["f1_fair_share_gbps"] == pytest.approx(50 / 3)


def test_figure_3_adds_up_what_the_hosts_send_towards_a_port(write: Write) -> None:
    samples = [level(0).with_columns(port=pl.lit(link)) for link in ("S0->T0", "S1->T0", "S2->T1")]
    # S2 sends at 10 Gbps only, so P2 gets 40 + 40 + 10 if nothing is held back
    samples[2] = samples[2].with_columns(pl.col("sent_bytes") // 4)
    run = write("ecn", "ECN", samples=pl.concat([level(0), *samples]))
    assert shared("spreading").most_sent_to_gbps(shared("scene").Scene(run)) == pytest.approx(90, rel=1e-3)


def test_figure_4_finds_the_last_off_period_and_compares_the_queues(write: Write) -> None:
    two = figure("fig04")
    metrics = two.metrics({"ecn": write("two", samples=level(440_000)), two.ONE: write("one", samples=level(400_000))})
    assert metrics["p2_release_ms"] == pytest.approx(0.595)
    assert metrics["p2_gbps_after"] == pytest.approx(40)
    assert metrics["p2_least_queue_after_kb"] == 440
    assert metrics["largest_difference_percent"] == pytest.approx(10)


def test_figure_8_is_the_arithmetic_of_the_paper() -> None:
    metrics = figure("fig08").metrics({})
    # Equation 2 at ε = 0.05 and Rd = C/2: (16 kbit + 8 µs · 20 Gbps) / 2 Gbps + 8 µs
    assert metrics["plane_us"] == pytest.approx((16e3 + 8e-6 * 20e9) / 2e9 * 1e6 + 8)
    # Ton ≤ 96 µs wherever ε ≥ (0.4 + 8 Rd/C) / 88
    covered = 1 - sum(max((0.4 + 8 * r / 1000) / 88 - 0.01, 0) for r in range(501)) / 501 / 0.49
    assert metrics["covered_percent"] == pytest.approx(100 * covered, abs=0.2)


def test_figure_12_sees_a_port_drain_above_the_threshold_without_a_mark(write: Write) -> None:
    metrics = figure("fig12").metrics({"tcd": write("tcd")})
    # released at 595 µs; the queue falls from 500 KB at 600 µs by 1 KB a µs and is above 200 KB until 895 µs
    assert metrics["above_threshold_us"] == pytest.approx(300)
    assert metrics["ce_at_p2_while_draining"] == 0
    assert metrics["p2_peak_over_p1_peak"] == pytest.approx(500 / 150)


@pytest.mark.parametrize(
    ("steps", "becomes"),
    [
        ([(105, "undetermined"), (700, "judging"), (800, "non-congestion")], True),
        ([(50, "congestion"), (105, "undetermined"), (800, "non-congestion")], True),
        ([(105, "undetermined"), (700, "congestion"), (800, "non-congestion")], False),
        ([(105, "undetermined"), (700, "judging")], False),
        ([(105, "congestion"), (700, "non-congestion")], False),
    ],
)
def test_a_port_becomes_non_congestion_only_from_undetermined_and_not_by_way_of_congestion(
    write: Write, steps: list[tuple[int, str]], becomes: bool
) -> None:
    metrics = figure("fig12").metrics({"tcd": write("tcd", states=states(*steps))})
    assert metrics["p2_becomes_non_congestion"] is becomes


def test_figure_13_counts_marks_from_the_verdict_after_the_release(write: Write) -> None:
    steps = pl.concat(
        [
            states((105, "undetermined"), (692, "judging"), (700, "congestion")),
            states((105, "undetermined"), (1050, "non-congestion"), port="P1"),
        ]
    )
    ce = [(650, "F0"), (701, "F0"), (702, "F2"), (703, "F2")]
    marks = pl.DataFrame(
        [
            {"time_ps": us * US, "port": "L0->T2", "priority": synthetic.PRIORITY, "code": "CE", "traffic": flow}
            for us, flow in ce
        ]
    )
    metrics = figure("fig13").metrics({"tcd": write("tcd", states=steps, marks=marks)})
    assert metrics["p2_becomes_congestion"] is True
    assert metrics["p2_verdict_ms"] == pytest.approx(0.7)
    assert (metrics["ce_f0_before_verdict"], metrics["ce_f0_after_verdict"], metrics["ce_f2_after_verdict"]) == (
        1,
        1,
        2,
    )
    # from 595 to 1050 µs of 1500
    assert metrics["p1_undetermined_percent_after"] == pytest.approx(100 * 455 / 905)


def test_figure_13_without_a_verdict_has_no_congestion(write: Write) -> None:
    metrics = figure("fig13").metrics({"tcd": write("tcd", states=states((105, "undetermined"), (692, "judging")))})
    assert metrics["p2_becomes_congestion"] is False
    assert metrics["p2_verdict_ms"] is None


def test_figure_14_takes_the_worst_start_below_a_tenth_and_the_mean_over_starts(write: Write) -> None:
    fig14 = figure("fig14")

    def run(name: str, ce: int) -> Results:
        marked = pl.when(pl.col("traffic") == "F0").then(ce).otherwise(0)
        return write(name, flows=write(name).flows.collect().with_columns(ce_packets=marked))

    wrong = {0.01: (0, 0, 0), 0.02: (0, 0, 0), 0.05: (0, 3, 0), 0.1: (0, 0, 0), 0.2: (9, 9, 9), 0.5: (30, 60, 90)}
    runs = {
        f"{start} {epsilon}": run(f"{start} {epsilon}", ce)
        for epsilon, values in wrong.items()
        for start, ce in zip(fig14.STARTS_US.values(), values, strict=True)
    }
    metrics = fig14.metrics(runs)
    assert metrics["most_wrong_below_0.1"] == 3
    assert metrics["wrong_at_0.5"] == 60
    assert [metrics[f"step_to_{epsilon}"] for epsilon in fig14.EPSILONS[1:]] == [0, 1, -1, 9, 51]


@pytest.mark.parametrize(
    ("trend", "xoff", "label"),
    [
        # (32 960 + 320 000 bit)/(2ε · 40 000 bit/µs) + 8 µs = 96.24, in whole microseconds
        ("authors", "322060B", "97 µs"),
        # τ = 8.4 µs; (32 000 + 336 000 bit)/(2ε · 40 000 bit/µs) + 8.4 µs
        ("samples", "322000B", "100.4 µs"),
    ],
)
def test_figure_14_labels_max_ton_of_the_paper_and_of_the_authors_release(trend: str, xoff: str, label: str) -> None:
    switch = {"pfc": {"xoff": xoff, "xon": "320000B"}, "detector": {"tcd": {"trend": trend}}}
    run = SimpleNamespace(meta={"scenario": {"switch": switch}})
    assert figure("fig14").max_ton({"tcd 0.05": run}, 0.05) == label


def test_table_3_counts_flows_with_at_least_one_ce_packet(write: Write) -> None:
    run = write("run", flows=pl.concat([flows(0, 0, 1, 9), flows(5, 5, 5, traffic="culprits")]))
    assert shared("marked").marked_percent(run) == 50
    assert shared("marked").load_of(run) == 0.9


@pytest.mark.parametrize("name", ["fig03", "fig04", "fig08", "fig12", "fig13"])
def test_every_figure_draws_what_its_runs_hold(name: str, write: Write, tmp_path: Path) -> None:
    module = figure(name)
    names = [run for spec in paper_figure.discover("tcd", [name])[0].experiment.run for run, _ in spec.expand()]
    module.draw([{run: write(run) for run in names}], tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_quick_reproduction_of_figure_12_runs_the_simulator_and_keeps_its_victims_unmarked(tmp_path: Path) -> None:
    assert (
        main(["reproduce", "tcd", "--figure", "fig12", "--profile", "authors", "--quick", "--out", str(tmp_path)]) == 0
    )
    verdicts = {
        entry["id"]: entry for entry in json.loads((tmp_path / "fig12-authors-quick" / "claims.json").read_text())
    }
    assert sorted(verdicts) == CLAIMS["fig12"]
    assert verdicts["TCD-F12d"]["checks"][0]["values"] == [0]
    assert (tmp_path / "fig12-authors-quick" / "fig12-authors.png").is_file()
