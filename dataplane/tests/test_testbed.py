"""Figure 11 by the program itself, in a tenth of its time or less; what tshark sees of it. Needs BACKWATER_SWITCH.

What the step clock must give is in golden/; after a change that is meant: BLESS=1, and read the difference.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
import zlib
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from backwater.papers import testbed_parts
from backwater.scenario import toml_writer

SWITCH = os.environ.get("BACKWATER_SWITCH", "")
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
GOLDEN = Path(__file__).with_name("golden")
#: The build without sanitizers, where there is one beside.
PLAIN = Path(SWITCH).parents[1] / "plain/backwater-switch" if SWITCH else Path()
MS = 1_000_000_000

pytestmark = pytest.mark.skipif(not SWITCH, reason="BACKWATER_SWITCH names no program")
FLOW_CONTROLS = ("pfc", "credits")


def quick(folder: Path, flow_control: str, *changes: tuple[str, str]) -> Path:
    """The example in a tenth of its time: windows of 10 ms, A0 from 28 ms till about 76 ms."""
    text = (EXAMPLES / f"fig11-{flow_control}.toml").read_text()
    tenth = (
        ('"1s"', '"100ms"'),
        ('window = "100ms"', 'window = "10ms"'),
        ('"295ms"', '"28ms"'),
        ('"260MB"', '"27.5MB"'),
    )
    for old, new in (*tenth, *changes):
        assert old in text, old
        text = text.replace(old, new, 1)
    file = folder / f"{flow_control}.toml"
    file.write_text(text)
    return file


def run(config: Path, *options: str, switch: str = SWITCH) -> str:
    command = [switch, "--config", str(config), "--stats", "json", *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def entry(document: dict[str, Any], side: str, flow: str) -> dict[str, Any]:
    found: dict[str, Any] = next(e for n in document["nodes"] for e in n.get(side, ()) if e["flow"] == flow)
    return found


def port(document: dict[str, Any], node: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        p for n in document["nodes"] if n["name"] == node for p in n["ports"] if p["name"] == name
    )
    return found


def shares(document: dict[str, Any], flow: str, code: str) -> list[float]:
    received = entry(document, "received", flow)
    codes = ("not_capable_packets", "capable_packets", "ue_packets", "ce_packets")
    totals = [sum(window) for window in zip(*(received[c] for c in codes), strict=True)]
    return [100 * marked / max(total, 1) for marked, total in zip(received[f"{code}_packets"], totals, strict=True)]


def assert_nothing_lost(document: dict[str, Any]) -> None:
    drops = {
        (n["name"], p["name"], why): count
        for n in document["nodes"]
        for p in n["ports"]
        for why, count in p["drops"].items()
        if count and why != "shutdown"
    }
    assert drops == {}
    for flow in ("F0", "F1", "A0"):
        received = entry(document, "received", flow)
        assert (received["missing"], received["late"], received["damaged"]) == (0, 0, 0)
    assert [n["unaccounted_frames"] for n in document["nodes"] if n["kind"] == "switch"] == [0, 0]
    assert document["leaked_frames"] == 0


def assert_figure_11(document: dict[str, Any]) -> None:
    """A0 sends in all of windows 3 to 6, and in none of 0, 1, 8, 9."""
    assert_nothing_lost(document)
    ue, ce = shares(document, "F0", "ue"), shares(document, "F1", "ce")
    assert min(ue[3:7]) >= 99
    assert min(ce[3:7]) >= 99
    assert [*ue[:2], *ue[8:]] == [0, 0, 0, 0]
    assert sum(entry(document, "received", "F0")["ce_packets"]) == 0
    assert sum(port(document, "T0", "P0")["off_periods"]) > 10


def table(document: dict[str, Any]) -> str:
    """What arrived in each window with which mark, and what the switches' ports did, to the picosecond."""
    lines = [
        f"{'ms':>6}" + "".join(f"{f'{flow} {code}':>9}" for flow in ("F0", "F1", "A0") for code in ("01", "UE", "CE"))
    ]
    codes = ("capable_packets", "ue_packets", "ce_packets")
    columns = [entry(document, "received", flow)[code] for flow in ("F0", "F1", "A0") for code in codes]
    for number, row in enumerate(zip(*columns, strict=True)):
        lines.append(f"{number * 10:>6}" + "".join(f"{count:>9}" for count in row))
    columns = ["tx_frames", "marked_ue", "marked_ce"]
    states = ("non-cong.", "congestion", "undeterm.", "judging")
    lines += ["", f"{'port':<6}" + "".join(f"{word:>11}" for word in (*columns, *states, "OFF")) + f"{'paused_ps':>16}"]
    for node in document["nodes"]:
        for one in node["ports"] if node["kind"] == "switch" else ():
            numbers = [*(one[c] for c in columns), *one["departures_in_state"], sum(one["off_periods"])]
            lines.append(
                f"{node['name'] + ' ' + one['name']:<6}"
                + "".join(f"{count:>11}" for count in numbers)
                + f"{sum(one['paused_ps']):>16}"
            )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("flow_control", FLOW_CONTROLS)
def test_by_the_step_clock_every_build_gives_the_stored_run(tmp_path: Path, flow_control: str) -> None:
    config, golden = quick(tmp_path, flow_control), GOLDEN / f"fig11-{flow_control}.txt"
    first = run(config, "--clock", "step")
    again = run(config, "--clock", "step", switch=str(PLAIN) if PLAIN.exists() else SWITCH)
    assert_figure_11(json.loads(first))
    assert first == again
    if os.environ.get("BLESS"):
        golden.write_text(table(json.loads(first)))
    assert table(json.loads(first)) == golden.read_text()


@pytest.mark.parametrize("flow_control", FLOW_CONTROLS)
def test_another_seed_is_another_run_with_the_same_answer(tmp_path: Path, flow_control: str) -> None:
    config = quick(tmp_path, flow_control)
    first, other = (run(config, "--clock", "step", "--seed", seed) for seed in ("1", "2"))
    assert_figure_11(json.loads(other))
    assert first != other


@pytest.mark.parametrize("flow_control", FLOW_CONTROLS)
def test_the_clamped_clock_holds_on_a_busy_machine(tmp_path: Path, flow_control: str) -> None:
    document = json.loads(run(quick(tmp_path, flow_control)))
    assert document["clock"] == "clamp"
    assert_figure_11(document)


@pytest.mark.parametrize("flow_control", FLOW_CONTROLS)
def test_in_lockstep_a_process_per_switch_shows_the_same(tmp_path: Path, flow_control: str) -> None:
    # Its own folder: the path of a socket has 108 characters at most.
    with tempfile.TemporaryDirectory(prefix="bw-") as folder:
        parts = testbed_parts.split(tomllib.loads(quick(tmp_path, flow_control).read_text()), Path(folder))
        files = [tmp_path / f"{number}.toml" for number in range(len(parts))]
        for file, part in zip(files, parts, strict=True):
            file.write_text(toml_writer.toml(part))
        with ThreadPoolExecutor(len(files)) as pool:
            told = list(pool.map(run, files))
    document = testbed_parts.merged([json.loads(text.splitlines()[-1]) for text in told])
    assert_nothing_lost(document)
    assert_figure_11(document)


def test_plain_ecn_marks_the_victim(tmp_path: Path) -> None:
    """The control of the study: ECN above 200 KB cannot tell P0 from a root."""
    detector = 'kind = "tcd"\nkmin = "5KB"\nkmax = "200KB"\npmax = 0.01\nepsilon = 0.04\ntau = "20us"'
    ecn = 'kind = "red"\nkmin = "200KB"\nkmax = "200KB"\npmax = 1.0'
    document = json.loads(run(quick(tmp_path, "pfc", (detector, ecn)), "--clock", "step"))
    assert_nothing_lost(document)
    assert min(shares(document, "F0", "ce")[4:7]) >= 99
    assert sum(entry(document, "received", "F0")["ue_packets"]) == 0


def test_the_wall_clock_loses_nothing_and_says_when_it_was_disturbed(tmp_path: Path) -> None:
    """A smoke test: slow links, so that a busy machine keeps up; PAUSEs come and go, marks mean nothing here."""
    slow = [('rate = "10Gbps"', 'rate = "100Mbps"')] * 6
    flows = [('rate = "1Gbps"', 'rate = "10Mbps"'), ('rate = "8Gbps"', 'rate = "80Mbps"')]
    limits = [('"800KB"', '"80KB"'), ('"770KB"', '"70KB"'), ('"27.5MB"', '"275KB"')]
    ended = subprocess.run(
        [SWITCH, "--config", str(quick(tmp_path, "pfc", *slow, *flows, *limits)), "--stats", "json", "--clock", "wall"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert_nothing_lost(document)
    assert document["disturbed"] == ("do not count it" in ended.stderr)
    assert document["now_ps"] >= 100 * MS


# --- captures


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """6 ms under each flow control, A0 from 0.5 ms on: enough for PAUSEs, UE, CE and CNPs."""
    if not shutil.which("tshark"):
        pytest.skip("no tshark")
    folder, made = tmp_path_factory.mktemp("captures"), {}
    for flow_control in FLOW_CONTROLS:
        short = (('"100ms"', '"6ms"'), ('"28ms"', '"500us"'))
        made[flow_control] = folder / f"{flow_control}.pcapng"
        run(quick(folder, flow_control, *short), "--clock", "step", "--capture", str(made[flow_control]))
    return made


def fields(file: Path, display_filter: str, *names: str) -> list[list[str]]:
    command = ["tshark", "-r", str(file), "-Y", display_filter, "-T", "fields", *(w for n in names for w in ("-e", n))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return [line.split("\t") for line in ended.stdout.splitlines()]


def test_tshark_reads_every_frame(captures: dict[str, Path]) -> None:
    for file in captures.values():
        assert fields(file, "_ws.malformed || _ws.expert.severity == error", "frame.number") == []
        names = {row[0] for row in fields(file, "frame", "frame.interface_name")}
        assert names == {
            "S0 p0",
            "S1 p0",
            "A0 p0",
            "T0 S0",
            "T0 S1",
            "T0 P0",
            "T2 T0",
            "T2 R0",
            "T2 P3",
            "T2 A0",
            "R0 p0",
            "R1 p0",
        } - silent(file)


def silent(file: Path) -> set[str]:
    """Ports without a word under PFC: R0 sees no CE to answer, and T0 need not pause S0, of whom it has little."""
    return {"R0 p0", "T0 S0"} if file.name == "pfc.pcapng" else set()


def test_tshark_shows_bth_with_numbers_in_order(captures: dict[str, Path]) -> None:
    rows = fields(
        captures["pfc"],
        'frame.interface_name == "S1 p0" && infiniband.bth',
        *("frame.time_epoch", "infiniband.bth.opcode", "infiniband.bth.psn", "frame.len", "udp.dstport"),
    )
    assert len(rows) > 3000
    assert [int(row[2]) for row in rows] == list(range(len(rows)))
    assert {(row[1], row[3], row[4]) for row in rows} == {("4", "1058", "4791")}
    # Nanoseconds on the testbed's clock, 1082 B at 8 Gbps ± 10 % apart: 974 to 1190 ns, until S1 is held back.
    stamps = [round(float(row[0]) * 1e9) for row in rows[:300]]
    gaps = [after - before for before, after in pairwise(stamps)]
    assert min(gaps) >= 973
    assert max(gaps) <= 1191


def test_tshark_shows_the_marks_where_they_are_set(captures: dict[str, Path]) -> None:
    """01 leaves the hosts; P0 sets UE (10), P3 CE (11), nobody else anything but P3 on what P0 marked."""
    for file in captures.values():
        codes: dict[str, set[str]] = {}
        for name, code in fields(file, "infiniband.bth.opcode == 4", "frame.interface_name", "ip.dsfield.ecn"):
            codes.setdefault(name, set()).add(code)
        assert codes["S0 p0"] == codes["S1 p0"] == codes["A0 p0"] == {"1"}
        assert codes["T0 P0"] == {"1", "2"}
        assert codes["T2 R0"] == {"1", "2"}
        assert "3" in codes["T2 P3"]


def test_tshark_shows_pfc_frames(captures: dict[str, Path]) -> None:
    """There they are called "Class Based Flow Control [CBFC]"."""
    names = ("frame.interface_name", "eth.dst", "macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3", "frame.len")
    rows = fields(captures["pfc"], "macc", *names)
    assert {(row[1], int(row[2], 0), row[5]) for row in rows} == {("01:80:c2:00:00:01", 0x0101, "60")}
    assert {int(row[3], 0) for row in rows} == {1 << 3}
    by_port = {row[0] for row in rows}
    assert "T2 T0" in by_port
    times = [int(row[4]) for row in rows if row[0] == "T2 T0"]
    # PAUSE and RESUME take turns.
    assert times[0] > 0
    assert all((before == 0) != (after == 0) for before, after in pairwise(times))
    assert fields(captures["credits"], "macc", "frame.number") == []


def test_credit_messages_go_every_tc(captures: dict[str, Path]) -> None:
    rows = fields(captures["credits"], 'eth.type == 0x88b5 && frame.interface_name == "T2 T0"', "frame.time_epoch")
    stamps = [float(row[0]) * 1e6 for row in rows]
    # 6 ms, Tc 60 µs; a message waits for the frame on the wire (0.9 µs) at most.
    assert 98 <= len(stamps) <= 101
    assert all(58 <= after - before <= 62 for before, after in pairwise(stamps))
    assert fields(captures["pfc"], "eth.type == 0x88b5", "frame.number") == []


def test_cnps_go_to_the_sources_of_ce_only(captures: dict[str, Path]) -> None:
    rows = fields(captures["pfc"], "infiniband.bth.opcode == 129", "frame.interface_name", "ip.dst", "ip.dsfield.dscp")
    assert {row[2] for row in rows} == {"48"}
    assert {row[0] for row in rows if row[0].startswith("R")} == {"R1 p0"}
    # S1 (node 2) and A0 (node 3); S0, whose F0 gets UE, hears nothing.
    assert {row[1] for row in rows} == {"10.0.0.2", "10.0.0.3"}


def test_the_icrc_is_right(captures: dict[str, Path]) -> None:
    """By zlib: ones for what may change on the way (InfiniBand annex A17), least significant octet first."""
    filters = 'infiniband.bth && frame.interface_name == "T2 P3"'
    command = ["tshark", "-r", str(captures["pfc"]), "-Y", filters, "-c", "4000", "-x"]
    dump = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    frames = [
        bytes.fromhex(
            "".join(re.findall(r"^[0-9a-f]{4}  ((?:[0-9a-f]{2} ?){1,16})", part, re.MULTILINE)).replace(" ", "")
        )
        for part in dump.strip().split("\n\n")
    ]
    assert len(frames) > 50
    for frame in frames:
        head = bytearray(frame[14:])
        head[1] = head[8] = 0xFF
        head[10:12] = head[26:28] = b"\xff\xff"
        head[32] = 0xFF
        wanted = zlib.crc32(b"\xff" * 8 + bytes(head[:-4])).to_bytes(4, "little")
        assert frame[-4:] == wanted


def test_a_capture_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    config = quick(tmp_path, "pfc")
    command = [SWITCH, "--config", str(config), "--capture", "/nowhere/file.pcapng"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "/nowhere/file.pcapng: No such file or directory" in ended.stderr
