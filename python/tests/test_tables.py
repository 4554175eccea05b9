"""What is said of a run beside its tables."""

from pathlib import Path

import polars as pl
import pytest
import synthetic
from backwater import Results
from backwater.analysis import run_notes, tables
from backwater.common import quantities
from backwater.common.statistics import estimate, with_interval


def test_a_run_that_paused_needs_no_explanation(tcd_run: Results) -> None:
    assert not any("no PAUSE" in line for line in run_notes.of(tcd_run))


def test_a_run_without_a_pause_says_how_far_from_xoff_it_was(tcd_run: Results) -> None:
    peak = {"bytes": 120_000, "node": "L0", "port": "L0->T0", "priority": 3}
    tcd_run.meta["totals"] |= {"pauses": 0, "peak_ingress": peak}
    pfc = {"form": "timed", "threshold": "static", "xoff": "329.6KB"}
    tcd_run.meta["scenario"]["switch"] = {"flow-control": "pfc", "pfc": pfc}
    said = "no PAUSE: the fullest ingress, at L0 from T0, held 120 KB; Xoff is 329.6KB"
    assert run_notes.of(tcd_run)[-1] == said


def test_a_combined_switch_without_a_pause_names_the_stops_of_its_regions(tcd_run: Results) -> None:
    peak = {"bytes": 120_000, "node": "L0", "port": "L0->T0", "priority": 3}
    tcd_run.meta["totals"] |= {"pauses": 0, "peak_ingress": peak}
    isolation = {"kind": "none", "nfq": {"stop": "88KiB"}, "cfq": {"stop": "68KiB"}}
    tcd_run.meta["scenario"]["switch"] = {
        "flow-control": "pfc",
        "queueing": "combined",
        "pfc": {"form": "ideal", "threshold": "static", "xoff": "320KB"},
        "combined": {"stop": "200KiB"},
        "isolation": isolation,
    }
    said = run_notes.of(tcd_run)[-1]
    assert "Xoff" not in said
    assert said.endswith(
        "held 120 KB; a port is paused at switch.combined.stop = 200KiB, shared equally by the priorities with traffic"
    )
    isolation["kind"] = "ici"
    said = run_notes.of(tcd_run)[-1]
    assert said.endswith("; the NFQ is paused at 88KiB, the CFQ at 68KiB, the port at switch.combined.stop = 200KiB")


def test_a_run_that_never_lacked_credits_says_how_full_its_buffers_were(tcd_run: Results) -> None:
    peak = {"bytes": 120_000, "node": "L0", "port": "L0->T0", "priority": 3}
    tcd_run.meta["totals"] |= {"pauses": 0, "peak_ingress": peak}
    tcd_run.meta["scenario"]["switch"] = {"flow-control": "credits", "credits": {"buffer": "280KB"}}
    said = "no port ran out of credits: the fullest ingress, at L0 from T0, held 120 KB of 280KB"
    assert run_notes.of(tcd_run)[-1] == said
    # Buffers are looked at once in a delay of the shortest link; a queue of one packet in between is not seen.
    tcd_run.meta["totals"] |= {"peak_ingress": None}
    said = "no port ran out of credits: no packet stayed in a switch for longer than the shortest link takes"
    assert run_notes.of(tcd_run)[-1] == said


def test_caveats_come_with_the_run(tcd_run: Results) -> None:
    cut = {"code": "budget", "place": "marks", "message": "marks: only the first 9 rows fit the budget"}
    tcd_run.meta["caveats"].append(cut)
    assert "caveat[budget]: marks: only the first 9 rows fit the budget" in run_notes.of(tcd_run)


def test_the_busiest_ports_come_first_and_by_their_aliases(tcd_run: Results) -> None:
    assert tables.busiest_ports(tcd_run, 2) == ["P2", "P0"]


def test_a_partial_seed_is_named_and_is_not_in_the_mean(tmp_path: Path) -> None:
    runs = [Results(synthetic.write(tmp_path / str(seed), seed=seed)) for seed in (1, 2, 3)]
    runs.append(Results(synthetic.write(tmp_path / "4", seed=4, status="partial")))
    title = tables.seeds_table(runs).title
    assert title == "Traffic, mean of 3 complete seeds ± 95 % confidence interval; seed 4 partial, left out"


def test_identical_seeds_have_an_interval_of_zero_and_others_one_in_the_unit_of_the_mean() -> None:
    assert with_interval(estimate([0.1 + 0.2, 0.3, 0.3]), quantities.three_digits) == "0.300 ± 0"
    assert with_interval(estimate([5e9] * 3), quantities.time) == "5.00 ± 0 ms"
    assert with_interval(estimate([10.0e9, 10.1e9]), quantities.rate) == "10.1 ± 0.6 Gbps"
    assert with_interval(estimate([1000, 1001, 1001]), quantities.count) == "1 000.7 ± 1.4"


def test_a_table_says_how_many_flows_its_completion_times_are_of(tcd_run: Results) -> None:
    assert "that finished" not in str(tables.traffic_table({"": tcd_run}).caption)
    flows = tcd_run.flows.collect()
    cut = pl.when(pl.col("flow") == 3).then(None).otherwise(pl.col("finish_ps"))
    flows.with_columns(finish_ps=cut).write_parquet(tcd_run.folder / "flows.parquet")
    cut_run = Results(tcd_run.folder)
    for table in (tables.traffic_table({"": cut_run}), tables.seeds_table([cut_run])):
        assert "FCT and slowdown of the 1 of 2 flows that finished" in str(table.caption)
    assert "note[unfinished]: 1 of 2 finite flows had not finished when the run ended" in run_notes.of(cut_run)


def test_the_port_with_the_largest_queue_is_shown_though_it_was_never_paused(tcd_run: Results) -> None:
    peak = pl.when(pl.col("port") == "T2->R1").then(10**6).otherwise(pl.col("peak_queue_bytes"))
    tcd_run.ports.collect().with_columns(peak_queue_bytes=peak).write_parquet(tcd_run.folder / "ports.parquet")
    assert tables.busiest_ports(tcd_run, 2) == ["P2", "P3"]
    assert tables.ports_title(tcd_run, 2).startswith("The first 2 of 4 egress ports in use, by time OFF, peak queue")
    tcd_run.meta["scenario"]["probe"] = {"ports": ["P1"]}
    assert tables.busiest_ports(tcd_run, 1) == ["P2", "P1", "P3"]


def test_states_of_ports_are_shown_only_where_a_detector_has_some(tcd_run: Results) -> None:
    assert "undetermined" in [column.header for column in tables.port_table({"": tcd_run}, ["P2"]).columns]
    tcd_run.meta["scenario"]["switch"] = {"detector": {"kind": "none"}}
    headings = [column.header for column in tables.port_table({"": tcd_run}, ["P2"]).columns]
    assert headings == ["port", "PAUSEs", "OFF", "CE", "UE", "peak queue"]
    assert "congestion" not in tables.ports_title(tcd_run, 2)


def test_flows_of_a_supply_have_nothing_to_finish(tcd_run: Results) -> None:
    names = tcd_run.flows.select(pl.col("traffic").cast(pl.String).unique(maintain_order=True)).collect()["traffic"]
    tcd_run.meta["scenario"]["traffic"] = [{"name": name, "kind": "supply"} for name in names]
    table = tables.traffic_table({"": tcd_run})
    cells = {str(column.header): list(column.cells) for column in table.columns}
    assert set(cells["finished"]) == set(cells["mean FCT"]) == {"-"}
    assert "supplied" in str(table.caption)
    assert not any("had not finished" in line for line in run_notes.of(tcd_run))


@pytest.mark.parametrize("kind", ["trace", "bale"])
def test_an_application_says_when_it_is_done(tcd_run: Results, kind: str) -> None:
    flows = tcd_run.flows.collect()
    times = [
        pl.lit(value, pl.UInt64).alias(name) for name, value in (("start_ps", 2 * 10**6), ("finish_ps", 9 * 10**6))
    ]
    flows.with_columns(*times, traffic=pl.lit("app")).write_parquet(tcd_run.folder / "flows.parquet")
    # The first message is sent at 2 µs: what is computed before it counts, from the start of the entry.
    for start, said in (("0s", "9.00 µs"), ("1.5us", "7.50 µs from its start at 1.50 µs")):
        tcd_run.meta["scenario"]["traffic"] = [{"name": "app", "kind": kind, "start": start}]
        told = f"app: the application is done after {said}, {flows.height} messages"
        assert told in run_notes.of(tcd_run)
