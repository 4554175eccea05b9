"""What the TCD paper's InfiniBand figures and its testbed measure, on tables that a reader can check in the head."""

import json
from collections.abc import Callable, Sequence
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
KIB = 1024

#: Size in bytes, MCT in µs, packets with CE, packets with UE, traffic entry.
Message = tuple[int, int, int, int, str]
Write = Callable[..., Results]


def figure(name: str) -> ModuleType:
    module: Any = paper_figure.discover("tcd", [name])[0].module()
    assert isinstance(module, ModuleType)
    return module


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the synthetic run with tables and facts replaced by what is given."""

    def write(name: str, *, meta: dict[str, Any] | None = None, **tables: pl.DataFrame) -> Results:
        folder = synthetic.write(tmp_path / name)
        for table, frame in tables.items():
            frame.write_parquet(folder / f"{table}.parquet")
        file = folder / "run.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | (meta or {})))
        return Results(folder)

    return write


def messages(rows: Sequence[Message]) -> pl.DataFrame:
    columns = ("size_bytes", "fct_ps", "ce_packets", "ue_packets", "traffic")
    frame = pl.DataFrame([dict(zip(columns, row, strict=True)) for row in rows])
    return frame.with_columns(fct_ps=pl.col("fct_ps").cast(pl.UInt64) * US)


def test_every_infiniband_figure_settles_two_starts_of_f0_and_f2(write: Write) -> None:
    falls = [32e9, 15e9, 14.9e9, 12e9, 11.9e9]
    rates = pl.DataFrame({"time_ps": [us * US for us in range(5)], "flow": 1, "traffic": "F1", "rate_bps": falls}).cast(
        {"rate_bps": pl.UInt64}
    )
    run = write("lone", rates=rates)
    for name in ("fig03-ib", "fig04-ib", "fig12-ib", "fig13-ib"):
        assert figure(name).settle({"lone": run}) == {"lone-start": "2000000ps", "lone-start-12g": "4000000ps"}


def bed(write: Write, *, ue_from_ms: int = 30, f1_marked: Callable[[int], bool] = lambda _: True) -> Results:
    """100 ms of a testbed, in windows of 10 ms: A0 sends from 29.5 to 71 ms.

    F0 sends a packet of 1000 B each 100 µs, F1 each 10 µs. From 30 to 70 ms P0 marks all of F0 UE, P3 all of F1 CE
    that leave at a time, in µs, that `f1_marked` accepts.
    """
    f0 = [(us * US, "T0->T2", "UE", "F0", us // 100) for us in range(ue_from_ms * 1000, 70_000, 100)]
    f1 = [(us * US, "T2->R1", "CE", "F1", us // 10) for us in range(30_000, 70_000, 10) if f1_marked(us)]
    marks = pl.DataFrame(
        [
            {"time_ps": time, "port": port, "priority": 3, "code": code, "traffic": flow, "seq": seq}
            for time, port, code, flow, seq in f0 + f1
        ]
    )
    samples = pl.DataFrame(
        [
            {"time_ps": us * US, "port": port, "priority": 3, "queue_bytes": 0, "sent_bytes": us * rate}
            for us in range(0, 100_001, 100)
            for port, rate in (("T2->R0", 10), ("T0->T2", 110))
        ]
    )
    # In 100 ms F1 sends 10 000 packets of 1000 B, F0 1000.
    entries = [("F0", 0, None, 1_000_000), ("F1", 0, None, 10_000_000), ("A0", 295, 71 * MS, 1)]
    flows = pl.DataFrame(
        [
            {"traffic": name, "start_ps": start * MS // 10, "finish_ps": finish, "ce_packets": 0, "ue_packets": 400}
            | {"traffic_index": index, "size_bytes": None, "packets": 1000, "received_bytes": received}
            | {"fct_ps": None, "slowdown": None}
            for index, (name, start, finish, received) in enumerate(entries)
        ],
        schema_overrides={"slowdown": pl.Float64, "fct_ps": pl.UInt64, "size_bytes": pl.UInt64},
    )
    scenario = {"packet": {"payload": "1000B", "header": "0B"}, "switch": {"flow-control": "credits"}}
    meta = {
        "sim_time_ps": 100 * MS,
        "aliases": {"P0": "T0->T2", "P3": "T2->R1"},
        "scenario": scenario,
    }
    return write("testbed", meta=meta, marks=marks, samples=samples, flows=flows)


def test_figure_11_counts_whole_windows_with_and_without_a0(write: Write) -> None:
    metrics = figure("fig11").metrics({"tcd": bed(write)})
    assert metrics["least_f0_ue_percent_during"] == pytest.approx(100)
    assert metrics["least_f1_ce_percent_during"] == pytest.approx(100)
    assert metrics["most_f0_marked_percent_outside"] == 0
    assert metrics["f0_ce_packets"] == 0


def test_figure_11_sees_a_window_that_is_marked_by_half(write: Write) -> None:
    metrics = figure("fig11").metrics({"tcd": bed(write, ue_from_ms=35)})
    assert metrics["least_f0_ue_percent_during"] == pytest.approx(50)


@pytest.mark.parametrize("half", [range(5_000), range(5_000, 10_000), range(2_500, 7_500)])
def test_figure_11_counts_the_packets_without_a_mark_at_both_ends_of_a_window(write: Write, half: range) -> None:
    marked_by_half = bed(write, f1_marked=lambda us: us // 10_000 == 5 or us % 10_000 in half)
    metrics = figure("fig11").metrics({"tcd": marked_by_half})
    assert metrics["least_f1_ce_percent_during"] == pytest.approx(50, abs=0.1)


def test_figure_11_does_not_take_a_single_mark_for_a_whole_window(write: Write) -> None:
    metrics = figure("fig11").metrics({"tcd": bed(write, f1_marked=lambda us: us % 10_000 == 5_000)})
    assert metrics["least_f1_ce_percent_during"] == pytest.approx(0.1, rel=0.01)


def test_figure_11_is_drawn(write: Write, tmp_path: Path) -> None:
    figure("fig11").draw([{"tcd": bed(write)}], tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


EVERY_SIZE: tuple[Message, ...] = (
    (2 * KIB, 10, 0, 0, "victims-mpi"),
    (8 * KIB, 20, 0, 1, "victims-mpi"),
    (32 * KIB, 30, 0, 0, "victims-mpi"),
    (512 * KIB, 500, 1, 1, "victims-io"),
    (1024 * KIB, 1000, 0, 0, "victims-io"),
    (2048 * KIB, 2000, 0, 0, "victims-io"),
    (4096 * KIB, 4000, 0, 0, "victims-io"),
    (4096 * KIB, 9999, 9, 9, "culprits-io"),
)


def slower(mpi: int, io: int) -> pl.DataFrame:
    """Every size, MPI messages so many times as slow, I/O messages so many times."""
    return messages(
        [(size, time * (mpi if "mpi" in entry else io), ce, ue, entry) for size, time, ce, ue, entry in EVERY_SIZE]
    )


def test_figure_17a_divides_the_mean_mct_at_every_size_and_that_of_io_by_that_of_mpi(write: Write) -> None:
    runs = {"fecn": write("fecn", flows=slower(2, 3)), "tcd": write("tcd", flows=slower(1, 1))}
    metrics = figure("fig17a").metrics(runs)
    sizes = ("2KB", "4KB_to_8KB", "16KB_to_32KB", "512KB", "1MB", "2MB", "4MB")
    assert [metrics[f"gain_{size}"] for size in sizes] == [2, 2, 2, 3, 3, 3, 3]
    assert metrics["io_gain_over_mpi_gain"] == pytest.approx(1.5)
    assert metrics["tcd_4MB_us"] == 4000


def test_figure_17b_counts_all_messages(write: Write) -> None:
    runs = {"fecn": write("fecn", flows=slower(2, 2)), "tcd": write("tcd", flows=slower(1, 1))}
    metrics = figure("fig17b").metrics(runs)
    assert (metrics["gain_all"], metrics["gain_512KB"], metrics["tcd_messages"]) == (2, 2, 8)


def test_table_3_counts_both_kinds_of_the_victims_messages(write: Write) -> None:
    run = write("run", flows=slower(1, 1))
    assert figure("table03-ib").metrics({"fecn": run})["fecn_percent"] == pytest.approx(100 / 7)


@pytest.mark.parametrize("name", ["fig17a", "fig17b"])
def test_mean_mct_by_size_is_drawn(name: str, write: Write, tmp_path: Path) -> None:
    run = write("run", flows=slower(1, 1))
    names = ("fecn", "tcd", "fecn harsher", "tcd gentler")
    figure(name).draw([dict.fromkeys(names, run), dict.fromkeys(names, run)], tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
