"""Results for other tools: HPCC's text files, Perfetto, CSV."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import backwater as bw
import polars as pl
import pytest
from backwater import Results
from backwater.cli import main
from backwater.errors import Exit
from backwater.io.exporting import hpcc

if TYPE_CHECKING:
    from pathlib import Path

#: h1 and h2 send 30 kB each to h0, all over 100 Gbps and 1 us; Xoff is low enough for a PAUSE each.
SCENARIO = """
profile = "ideal"

[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
delay = "1us"

[switch.pfc]
threshold = "static"
xoff = "10KB"
xon = "5KB"

[cc]
kind = "none"

[[traffic]]
name = "two"
kind = "incast"
from = ["h1", "h2"]
to = "h0"
size = "30KB"
start = "2us"

[probe]
sample = "1us"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("export")
    file = folder / "two.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    assert main(["run", str(file), "--out", str(folder / "results")]) == Exit.OK
    return next(Results.find(folder / "results"))


def test_node_addresses_are_those_of_the_hpcc_simulator() -> None:
    # 11.(id / 256).(id mod 256).1
    assert [hpcc.address(node) for node in (0, 1, 255, 256, 319)] == [
        "0b000001",
        "0b000101",
        "0b00ff01",
        "0b010001",
        "0b013f01",
    ]


@pytest.mark.parametrize(("profile", "noted"), [("hpcc-ns3", False), ("ideal", True)])
def test_who_divides_the_times_of_fct_txt_is_told_where_that_is_no_slowdown(
    profile: str, noted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lone flow of 1000 B over two links of 40 Gbps and 1 us, with 48 B of header and an ACK of 60 B.

    There the formula has 4 us, twice 200 ns for 1000 B and 209.6 ns for 1048 B. With ACKs the flow takes 4 us, twice
    209.6 ns and twice 12 ns: 0.964 of it.
    """
    lone = {
        "profile": profile,
        "topology": {"kind": "star", "hosts": 2, "rate": "40Gbps", "delay": "1us"},
        "traffic": [{"name": "lone", "kind": "flow", "from": "h0", "to": "h1", "size": "1KB"}],
    }
    run = bw.run(lone, out=tmp_path / "run")
    assert isinstance(run, Results)
    out = tmp_path / "fct.txt"
    assert main(["export", "fct", str(run.folder), "--out", str(out)]) == Exit.OK
    assert ("no slowdown, which ack.every = 1 makes it" in capsys.readouterr().err) == noted
    took, alone = map(int, out.read_text().split()[6:])
    assert alone == 4609
    assert took == (4443 if not noted else 2400)


def test_fct_txt_has_a_line_for_each_flow_in_the_order_of_their_ends(run: Results, tmp_path: Path) -> None:
    out = tmp_path / "fct.txt"
    assert main(["export", "fct", str(run.folder), "--out", str(out)]) == Exit.OK
    lines = [line.split() for line in out.read_text(encoding="utf-8").splitlines()]
    assert {tuple(line[:6]) for line in lines} == {
        ("0b000101", "0b000001", "10000", "100", "30000", "2000"),
        ("0b000201", "0b000001", "10000", "100", "30000", "2000"),
    }
    flows = run.flows.select("finish_ps", "acked_ps", "ideal_fct_ps").collect()
    ends = sorted(flows.select(pl.coalesce("acked_ps", "finish_ps")).to_series())
    assert [int(line[6]) for line in lines] == [(end - 2_000_000) // 1000 for end in ends]
    # Alone, as there: two links of 1 us there and back, 80 ns for a payload at each, 31440 B at 100 Gbps.
    assert all(int(line[7]) == 4_000 + 160 + 2_515 for line in lines)


def test_pfc_txt_has_each_pause_at_the_port_that_it_stops(run: Results, tmp_path: Path) -> None:
    out = tmp_path / "pfc.txt"
    assert main(["export", "pfc", str(run.folder), "--out", str(out)]) == Exit.OK
    lines = [tuple(int(word) for word in line.split()) for line in out.read_text(encoding="utf-8").splitlines()]
    # Hosts 1 and 2 by their only port, which ns-3 calls 1.
    assert {line[1:4] for line in lines} == {(1, 0, 1), (2, 0, 1)}
    for node in (1, 2):
        kinds = [line[4] for line in lines if line[1] == node]
        assert kinds
        assert kinds == [1, 0] * (len(kinds) // 2)
    assert [line[0] for line in lines] == sorted(line[0] for line in lines)


def test_a_perfetto_trace_has_every_flow_every_pause_and_names_its_ports(run: Results, tmp_path: Path) -> None:
    out = tmp_path / "perfetto.json"
    assert main(["export", "perfetto", str(run.folder), "--out", str(out)]) == Exit.OK
    trace: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    events = trace["traceEvents"]
    begun = [event for event in events if event["ph"] == "b"]
    assert sorted(event["name"] for event in begun) == ["two to h0", "two to h0"]
    assert all(event["ts"] == 2.0 for event in begun)
    assert sum(event["ph"] == "e" for event in events) == 2
    paused = [event for event in events if event["ph"] == "X" and event["name"] == "paused"]
    changes = run.pauses.collect()
    assert len(paused) == changes["paused"].sum()
    total = run.ports.select(pl.col("paused_ps").sum()).collect().item()
    assert sum(event["dur"] for event in paused) == pytest.approx(total / 1e6)
    assert trace["otherData"]["digest"] == run.digest


def test_spans_of_one_thread_of_a_perfetto_trace_do_not_overlap(run: Results, tmp_path: Path) -> None:
    out = tmp_path / "perfetto.json"
    assert main(["export", "perfetto", str(run.folder), "--out", str(out)]) == Exit.OK
    events = json.loads(out.read_text(encoding="utf-8"))["traceEvents"]
    ends: dict[tuple[int, int], float] = {}
    for event in sorted((event for event in events if event["ph"] == "X"), key=lambda event: event["ts"]):
        thread = (event["pid"], event["tid"])
        assert event["ts"] >= ends.get(thread, 0.0)
        ends[thread] = event["ts"] + event["dur"]


def test_tables_as_csv_hold_what_the_tables_hold(run: Results, tmp_path: Path) -> None:
    assert main(["export", "csv", str(run.folder), "flows", "pauses", "--out", str(tmp_path)]) == Exit.OK
    assert sorted(file.name for file in tmp_path.iterdir()) == ["flows.csv", "pauses.csv"]
    assert pl.read_csv(tmp_path / "flows.csv")["finish_ps"].to_list() == run.flows.collect()["finish_ps"].to_list()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["csv", "{run}", "flowers"], "has no table 'flowers'"),
        (["fct", "{run}", "--out", "{run}/run.json/x"], "cannot be written"),
        (["fct", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_exported_is_said(
    run: Results, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    before = sorted(run.folder.iterdir())
    words = [word.replace("{run}", str(run.folder)) for word in arguments]
    assert main(["export", *words]) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err
    assert sorted(run.folder.iterdir()) == before


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("capture")
    file = folder / "two.toml"
    text = SCENARIO.replace('kind = "none"', 'kind = "dcqcn"') + 'frames = ["s->h0", "s->h1", "h1->s"]\n'
    marking = '[switch.detector]\nkind = "red"\nkmin = "5KB"\nkmax = "5KB"\npmax = 1.0\n\n[cc]'
    file.write_text(text.replace("[cc]", marking), encoding="utf-8")
    assert main(["run", str(file), "--out", str(folder / "results")]) == Exit.OK
    return next(Results.find(folder / "results"))


def _dissected(capture: Path, shown: str, *fields: str) -> list[list[str]]:
    words = ["tshark", "-n", "-r", str(capture), "-Y", shown, "-T", "fields"]
    for field in fields:
        words += ["-e", field]
    out = subprocess.run(words, check=True, capture_output=True, text=True)  # noqa: S603
    return [line.split("\t") for line in out.stdout.splitlines()]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reads_every_frame_of_a_capture(captured: Results, tmp_path: Path) -> None:
    out = tmp_path / "two.pcapng"
    assert main(["export", "pcapng", str(captured.folder), "--out", str(out)]) == Exit.OK
    frames = captured.frames.collect()
    everything = _dissected(out, "frame", "frame.time_epoch", "frame.interface_name")
    assert len(everything) == frames.height
    assert {name for _, name in everything} == {"s->h0", "s->h1", "h1->s"}
    kinds = frames.group_by(pl.col("kind").cast(pl.String)).len().rows()
    count = dict(kinds)
    # SEND first, middle, last; ECN bits 3 are CE. Two flows of 30 packets to h0.
    data = _dissected(
        out, "infiniband.bth.opcode <= 4 && ip.dst == 10.0.0.1", "ip.src", "infiniband.bth.psn", "ip.dsfield.ecn"
    )
    to_h0 = frames.filter((pl.col("port").cast(pl.String) == "s->h0") & (pl.col("kind").cast(pl.String) == "data"))
    from_h1 = frames.filter((pl.col("port").cast(pl.String) == "h1->s") & (pl.col("kind").cast(pl.String) == "data"))
    assert len(data) == to_h0.height + from_h1.height
    assert sum(ecn == "3" for *_, ecn in data) == to_h0.filter(pl.col("code").cast(pl.String) == "CE").height > 0
    assert len(_dissected(out, "infiniband.bth.opcode == 129", "ip.src")) == count["cnp"] > 0
    # tshark calls PFC "CBFC"
    pauses = _dissected(out, "macc.opcode == 0x0101", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3")
    assert len(pauses) == count["pfc"] > 0
    assert not _dissected(out, "_ws.malformed || infiniband.mad", "frame.number")


def test_a_run_without_frames_says_how_to_record_them(run: Results, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "pcapng", str(run.folder)]) == Exit.BAD_INPUT
    assert "has no table of frames; run the scenario again with the ports to capture" in capsys.readouterr().err


def test_a_port_that_was_not_recorded_is_named(captured: Results, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "pcapng", str(captured.folder), "--ports", "h2->s"]) == Exit.BAD_INPUT
    assert "no frame of 'h2->s' was recorded" in capsys.readouterr().err
    assert main(["export", "pcapng", str(captured.folder), "--snap", "20"]) == Exit.BAD_INPUT
    assert "20 bytes are too few to dissect; keep at least 64 of each frame" in capsys.readouterr().err
    assert not list(captured.folder.glob("*.pcapng"))
