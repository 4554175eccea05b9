"""What Figures 15 and 18 of the TCD paper measure about victims, on tables that a reader can check in the head."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
import synthetic
from backwater import Results
from backwater.papers import paper_figure
from synthetic import US

MS = 1000 * US

#: Size in bytes, FCT in µs, packets with CE, packets with UE.
Row = tuple[int, int | None, int, int]

Write = Callable[..., Results]


def figure(name: str) -> ModuleType:
    module: Any = paper_figure.discover("tcd", [name])[0].module()
    assert isinstance(module, ModuleType)
    return module


def shared() -> ModuleType:
    """papers/tcd/victims.py, which can be imported once a figure was."""
    figure("fig15a")
    from papers.tcd import victims

    return victims


def victims(rows: Sequence[Row]) -> pl.DataFrame:
    """Flows of the victims, and one of S1, which no measure may count."""
    columns = ("size_bytes", "fct_ps", "ce_packets", "ue_packets")
    ours = [dict(zip(columns, row, strict=True)) | {"traffic": "victims"} for row in rows]
    other = dict(zip(columns, (5_000, 9_999, 9, 9), strict=True)) | {"traffic": "culprits"}
    table = pl.DataFrame([*ours, other], schema_overrides={"fct_ps": pl.UInt64})
    return table.with_columns(pl.col("fct_ps") * US)


def ports(paused_us: Mapping[str, int]) -> pl.DataFrame:
    rows = [
        {"port": port, "priority": priority, "paused_ps": us * US if priority == synthetic.PRIORITY else MS}
        for port, us in paused_us.items()
        for priority in (synthetic.PRIORITY, 7)
    ]
    return pl.DataFrame(rows)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the synthetic run with these victims, if any, and the tables that are given."""

    def write(name: str, rows: Sequence[Row] = (), paused_us: int = 100, **tables: pl.DataFrame) -> Results:
        folder = synthetic.write(tmp_path / name)
        held = dict.fromkeys(("S0->T0", "T0->L0", "L0->T2", "T1->L0"), paused_us)
        tables["ports"] = ports(held)
        if rows:
            tables["flows"] = victims(rows)
        for table, frame in tables.items():
            frame.write_parquet(folder / f"{table}.parquet")
        return Results(folder)

    return write


ONE_OF_EACH: tuple[Row, ...] = ((9_999, 10, 0, 0), (10_000, 20, 0, 3), (999_999, 40, 1, 3), (1_000_000, 80, 5, 0))


def test_a_size_at_the_edge_of_two_bins_is_in_the_upper_one(write: Write) -> None:
    assert list(shared().by_bin(write("run", ONE_OF_EACH)).values()) == [10, 20, 40, 80]


def test_a_bin_without_a_flow_has_no_mean(write: Write) -> None:
    assert math.isnan(shared().by_bin(write("run", ONE_OF_EACH[:3]))["over_1MB"])


def test_a_flow_that_did_not_finish_has_no_fct_to_count(write: Write) -> None:
    assert shared().mean_fct_us(write("run", [*ONE_OF_EACH[:2], (100, None, 1, 1)])) == 15


def test_a_victim_with_both_marks_counts_as_one_with_ce(write: Write) -> None:
    assert shared().percent_marked(write("run", ONE_OF_EACH)) == {"CE": 50, "UE": 25}


def test_the_time_that_pfc_held_the_victims_leaves_out_p1_and_other_priorities(write: Write) -> None:
    assert shared().off_ms(write("run", ONE_OF_EACH, paused_us=500)) == pytest.approx(1.5)


@pytest.mark.parametrize(("name", "plain"), [("fig15a", "ecn"), ("fig18a", "timely")])
def test_figures_15a_and_18a_divide_the_mean_fct_without_tcd_by_that_with_it(
    name: str, plain: str, write: Write
) -> None:
    slow = [(size, 3 * (fct or 0), ce, ue) for size, fct, ce, ue in ONE_OF_EACH]
    runs = {plain: write("plain", slow, paused_us=300), "tcd": write("tcd", ONE_OF_EACH, paused_us=150)}
    metrics = figure(name).metrics(runs)
    assert [metrics[f"gain_{size}"] for size in shared().BINS] == [3, 3, 3, 3]
    assert metrics["gain_all"] == 3
    assert metrics["off_gain"] == pytest.approx(2)
    assert metrics[f"{plain}_over_1MB_us"] == 240
    assert metrics["tcd_ce_percent"] == 50


def test_where_tcd_keeps_pfc_from_holding_anything_the_gain_is_infinite_and_else_none() -> None:
    assert shared().ratio(1, 0) == math.inf
    assert math.isnan(shared().ratio(0, 0))


def sweep(write: Write, plain: str) -> dict[str, Results]:
    """TCD is better at 100 KB only; with each size one flow more of eight has UE."""
    sizes = shared().BURSTS_KB
    runs: dict[str, Results] = {}
    for index, size in enumerate(sizes):
        rows: list[Row] = [(5_000, 10, 0, int(flow < index)) for flow in range(len(sizes))]
        longer = [(bytes_, 20 if size == 100 else fct, 1, 0) for bytes_, fct, _, _ in rows]
        runs[f"{plain} {size}KB"] = write(f"{plain}-{size}", longer)
        runs[f"tcd {size}KB"] = write(f"tcd-{size}", rows)
    return runs


@pytest.mark.parametrize(("name", "plain"), [("fig15b", "ecn"), ("fig17a-bursts", "fecn"), ("fig18b", "timely")])
def test_figures_15b_and_18b_take_gains_and_steps_over_the_burst_sizes(name: str, plain: str, write: Write) -> None:
    metrics = figure(name).metrics(sweep(write, plain))
    gains = {f"{size} KB": 2 if size == 100 else 1 for size in shared().BURSTS_KB}
    assert metrics["gain_by_size"] == gains
    # Those before 250 KB, over its gain of 1.
    assert metrics["gain_over_last"] == {size: gain for size, gain in gains.items() if size != "250 KB"}
    assert metrics["ue_percent_10KB"] == 0
    assert [metrics[f"ue_step_to_{size}KB"] for size in shared().BURSTS_KB[1:]] == [12.5] * 7
    assert metrics["ce_percent_100KB"] == 0
    assert metrics[f"{plain}_ce_percent_100KB"] == 100


@pytest.mark.parametrize("name", ["fig15b", "fig17a-bursts", "fig18b"])
def test_the_runs_of_the_sweeps_are_those_that_are_measured(name: str) -> None:
    specs = paper_figure.discover("tcd", [name])[0].experiment.run
    names = {run for spec in specs for run, _ in spec.expand()}
    assert names == {f"{spec.name} {size}KB" for spec in specs for size in shared().BURSTS_KB}


def rates(*steps: tuple[int, float]) -> pl.DataFrame:
    rows = [{"time_ps": us * US, "flow": 0, "traffic": "F0", "rate_bps": int(gbps * 1e9)} for us, gbps in steps]
    return pl.DataFrame(rows).cast({"rate_bps": pl.UInt64})


def test_a_cut_that_comes_with_the_acks_of_what_the_last_pause_held_is_a_cut(write: Write) -> None:
    # bursts start at 0, P2's last OFF period ends at 595 µs
    cut = write("cut", rates=rates((0, 20), (300, 5), (595, 10), (700, 2)))
    held = write("held", rates=rates((0, 20), (595, 20), (610, 15), (700, 20)))
    metrics = figure("sec523").metrics({"timely": cut, "tcd": held})
    assert metrics["victim_lowest_share_timely"] == 0.1
    assert metrics["victim_lowest_share_tcd"] == 0.75
    assert metrics["p2_release_ms_tcd"] == pytest.approx(0.595)


def test_without_a_pause_there_is_no_release(write: Write) -> None:
    run = write("run", pauses=write("held").pauses.collect().clear(), rates=rates((0, 20)))
    assert figure("sec523").metrics({"tcd": run}) == {"victim_lowest_share_tcd": 1, "p2_release_ms_tcd": None}


@pytest.mark.parametrize(("name", "plain"), [("fig15b", "ecn"), ("fig17a-bursts", "fecn"), ("fig18b", "timely")])
def test_the_sweeps_are_drawn(name: str, plain: str, write: Write, tmp_path: Path) -> None:
    figure(name).draw([sweep(write, plain)], tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "plain"), [("fig15a", "ecn"), ("fig18a", "timely")])
def test_the_bins_are_drawn(name: str, plain: str, write: Write, tmp_path: Path) -> None:
    run = write("run", ONE_OF_EACH)
    names = (plain, "tcd", f"{plain} harsher", "tcd gentler")
    figure(name).draw([dict.fromkeys(names, run), dict.fromkeys(names, run)], tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
