"""`make bench-peers`, with programs in place of other simulators that read and print what those do."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[2] / "benches" / "peers.py"

_HEAD = f"""#!{sys.executable}
import sys, time
from pathlib import Path
made = next(Path().glob("results/*/run.json"), None)
with open(Path(__file__).parent / "started", "a") as started:
    print(Path.cwd().name, made and made.stat().st_mtime_ns, file=started)
"""
#: What csg-htsim and uet-htsim read.
_CONNECTIONS = """
words = sys.argv[1:]
assert Path(words[words.index("-topo") + 1]).read_text().startswith("Nodes")
file = Path(words[words.index("-tm") + 1]).read_text().splitlines()
flows = [line.split() for line in file if "->" in line]
assert file[:2] == [f"Nodes {words[words.index('-nodes') + 1]}", f"Connections {len(flows)}"]
trial = Path.cwd().name == "trial"
"""
ROCE = """
for number, (pair, _, start, _, size) in enumerate(flows):
    source, _, destination = pair.partition("->")
    print(f"startflow Roce_{source}_{destination} at 0")
    at = KEEPS * int(start) / 1e6 + 5.5
    print(f"Flow Roce_{source}_{destination} {number} finished at {at:g} total bytes {size}")
print("Done\\nNew: 0 Rtx: 0")
"""
UEC = """
for number, (pair, _, start, _, size) in enumerate(flows[: len(flows) - LEFT * (not trial)]):
    name = f"Flow Uec_{pair.replace('->', '_')} flowId {1000000001 + number} uecSrc {number}"
    print(f"{name} starting at {start}")
    print(f"{name} finished at {int(start) + 5.5:g} total messages 1 total packets 2 RTS 0 total bytes {size}")
print("Done\\nNew: 490 Rtx: 12345 RTS: 0 Bounced: 0 ACKs: 124 NACKs: 0 Pulls: 0 sleek_pkts: 0")
"""
#: The keys of a configuration are its first words; a line of `fct.txt` has start and duration in ns.
HPCC = """
keys = dict(line.split(maxsplit=1) for line in Path(sys.argv[1]).read_text().splitlines())
count, *rows = Path(keys["FLOW_FILE"]).read_text().splitlines()
assert int(count) == len(rows)
nodes, switches, links = map(int, Path(keys["TOPOLOGY_FILE"]).read_text().split()[:3])
with open(keys["FCT_OUTPUT_FILE"], "w") as out:
    for source, destination, _, port, size, start in map(str.split, rows):
        ns = int(float(start) * 1e9)
        print(f"0b{int(source):04x}01 0b{int(destination):04x}01 10000 {port} {size} {ns} 5500 4000", file=out)
"""


def stand_in(place: Path, text: str, **values: object) -> Path:
    """A program at a place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    for word, value in values.items():
        text = text.replace(word, str(value))
    place.write_text(_HEAD + text)
    place.chmod(0o755)
    return place


def compared(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), "--case", "quick", "--folder", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


def rows(printed: str) -> dict[str, list[str]]:
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.splitlines() if line.startswith("| ")]
    return {name: rest for name, *rest in cells[1:]}


def remarks(printed: str) -> dict[str, str]:
    return dict(re.findall(r"^- (.*?): (.*)$", printed, re.MULTILINE))


def middle(cell: str) -> float:
    return float(cell.split()[0])


@pytest.fixture(scope="module")
def peers() -> Any:
    spec = importlib.util.spec_from_file_location("peers", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["peers"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder and the table of three simulators in two turns; one uses its time, one memory, one neither."""
    folder = tmp_path_factory.mktemp("peers")
    burn = "end = time.process_time() + 0.8 * (not trial)\nwhile time.process_time() < end: pass\n"
    stand_in(folder / "csg/htsim_roce", _CONNECTIONS + burn + ROCE, KEEPS=0)
    stand_in(
        folder / "uet/htsim/sim/build/datacenter/htsim_uec", _CONNECTIONS + "held = b'x' * 400_000_000\n" + UEC, LEFT=3
    )
    stand_in(folder / "ns3/simulation/build/scratch/third", HPCC + "time.sleep(0.8)\n")
    paths = ("--hpcc", str(folder / "ns3"), "--htsim", str(folder / "csg"), "--uet", str(folder / "uet"))
    done = compared(folder / "work", *paths, "--runs", "2")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_a_packet_and_its_ack_count_once_for_each_link_of_a_shortest_path(peers: Any) -> None:
    # A tree of k = 4 has two hosts at a leaf and four in a pod: 2, 4 and 6 links. 2500 B are three packets.
    flows = [peers.Flow(0, 1, 2500, 0), peers.Flow(0, 2, 1000, 0), peers.Flow(5, 15, 1001, 0)]
    assert peers.packet_hops(flows, 4) == (3 + 1 + 2, 2 * (3 * 2 + 1 * 4 + 2 * 6))


def test_the_count_is_what_the_engine_counts(three: tuple[Path, str], peers: Any) -> None:
    work = three[0] / "work/quick"
    flows = [peers.Flow(*flow) for flow in json.loads((work / "flows.json").read_text())]
    packets, hops = peers.packet_hops(flows, 4)
    (run,) = work.glob("results/*/run.json")
    facts = json.loads(run.read_text())
    assert (facts["totals"]["packets"], facts["packet_hops"]) == (packets, hops)
    assert f"{hops:,} packet-hops." in three[1]
    assert "Backwater counted" not in three[1]


def test_every_format_has_the_same_flows(three: tuple[Path, str], peers: Any) -> None:
    work = three[0] / "work/quick"
    flows = [peers.Flow(*flow) for flow in json.loads((work / "flows.json").read_text())]
    lines = [line.split() for line in (work / "flows.cm").read_text().splitlines()[2:]]
    assert [(*map(int, pair.split("->")), int(size), int(at)) for pair, _, at, _, size in lines] == flows
    lines = [line.split() for line in (work / "flows-us.cm").read_text().splitlines()[2:]]
    assert [int(at) for _, _, at, _, _ in lines] == [flow.start_ps // 1_000_000 for flow in flows]
    lines = [line.split() for line in (work / "flow.txt").read_text().splitlines()[1:]]
    starts = [round((float(at) - 2) * 1e12, -3) for *_, at in lines]
    assert starts == pytest.approx([flow.start_ps for flow in flows], abs=1000)
    assert [(int(a), int(b), int(size)) for a, b, _, _, size, _ in lines] == [flow[:3] for flow in flows]
    assert (work / "ours/flow.txt").read_text() == (work / "flow.txt").read_text()


def test_a_row_has_time_and_memory_of_the_process_alone(three: tuple[Path, str]) -> None:
    table = rows(three[1])
    assert list(table) == [
        "Backwater",
        "Backwater, the run alone",
        "HPCC (ns-3)",
        "csg-htsim (RoCE)",
        "uet-htsim (NSCC)",
    ]
    wall, cpu, memory = (dict(zip(table, cells, strict=True)) for cells in list(zip(*table.values(), strict=True))[:3])
    assert middle(wall["HPCC (ns-3)"]) >= 0.8 > middle(cpu["HPCC (ns-3)"])
    assert middle(cpu["csg-htsim (RoCE)"]) >= 0.8
    # None has the memory of another, nor that of the program that starts it.
    assert 400 <= int(memory["uet-htsim (NSCC)"]) < 500
    assert int(memory["csg-htsim (RoCE)"]) < 100
    assert int(memory["HPCC (ns-3)"]) < 100


def test_speed_and_ratio_follow_from_the_times(three: tuple[Path, str]) -> None:
    table = rows(three[1])
    found = re.search(r"([\d,]+) packet-hops\.$", three[1], re.MULTILINE)
    assert found is not None
    hops = int(found[1].replace(",", ""))
    for cells in table.values():
        assert middle(cells[3]) == pytest.approx(hops / middle(cells[1]) / 1e6, rel=0.2)
    _, cpu, _, _, over_whole, over_alone, _ = table["csg-htsim (RoCE)"]
    assert middle(over_whole) == pytest.approx(middle(cpu) / middle(table["Backwater"][1]), rel=0.5)
    assert middle(over_alone) == pytest.approx(middle(cpu) / middle(table["Backwater, the run alone"][1]), rel=0.5)
    assert middle(over_alone) > middle(over_whole), "starting Python and writing tables take their time"


def test_ours_runs_anew_before_each_of_the_others(three: tuple[Path, str]) -> None:
    started = [line.split() for file in sorted(three[0].rglob("started")) for line in file.read_text().splitlines()]
    ours = [when for case, when in started if case == "quick"]
    assert len(ours) == 3 * 2
    assert len({*ours}) == 3 * 2
    assert [when for case, when in started if case == "trial"] == ["None"] * 3


def test_who_begins_all_flows_at_once_and_what_was_not_done_are_said(three: tuple[Path, str]) -> None:
    table, told = rows(three[1]), remarks(three[1])
    at_once = "This build does not keep start times: all flows begin at once."
    assert [name for name, text in told.items() if at_once in text] == ["csg-htsim (RoCE)"]
    count = table["Backwater"][-1].split()[-1]
    assert table["HPCC (ns-3)"][-1] == f"{count} of {count}"
    assert table["uet-htsim (NSCC)"][-1] == f"{int(count) - 3} of {count}"
    assert f"3 of {count} flows did not finish within 100 ms." in told["uet-htsim (NSCC)"]
    assert "It sent 12,345 packets again." in told["uet-htsim (NSCC)"]
    assert all("Model: " in text for text in told.values())
    assert "cut to whole ns" in told["HPCC (ns-3)"]


def test_a_build_that_was_changed_to_keep_start_times_is_told(tmp_path: Path) -> None:
    program = stand_in(tmp_path / "mine", _CONNECTIONS + ROCE, KEEPS=1)
    done = compared(tmp_path / "work", "--htsim", str(program), "--runs", "1")
    assert done.returncode == 0, done.stderr
    told = remarks(done.stdout)["csg-htsim (RoCE)"]
    assert "This build keeps start times, as those that its authors publish do not." in told


def test_who_fails_or_takes_too_long_is_told_and_no_time_is_given(tmp_path: Path) -> None:
    fails = stand_in(tmp_path / "a/htsim_roce", _CONNECTIONS + "if not trial: sys.exit(9)\n" + ROCE, KEEPS=0)
    hangs = stand_in(tmp_path / "b/htsim_uec", _CONNECTIONS + "if not trial: time.sleep(60)\n" + UEC, LEFT=0)
    words = ("--htsim", str(fails), "--uet", str(hangs), "--runs", "2", "--limit", "8")
    done = compared(tmp_path / "work", *words)
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout)["csg-htsim (RoCE)"] == ["–"] * 7
    assert "It failed: ended with code 9; see " in remarks(done.stdout)["csg-htsim (RoCE)"]
    assert "It failed: stopped after 8 s; see " in remarks(done.stdout)["uet-htsim (NSCC)"]
    log = (hangs.parent / "started").read_text().splitlines()
    assert [line.split()[0] for line in log] == ["trial", "quick"], "who failed is not run again"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), r"no build is given; name at least one: make bench-peers HPCC=PATH .* or HTSIM=PATH .* or UET=PATH"),
        (("--hpcc", "nothing"), r"HPCC=nothing: there is no such file or folder; name the folder of a build that has"),
        (("--uet", "empty"), r"UET=empty: the folder has no htsim_uec or .*; build it there, or name the program"),
        (("--htsim", "plain"), r"HTSIM=plain: .*/plain is not a program that can be run; name one, or the folder"),
        (("--htsim", "noise"), r"HTSIM=noise: .*/noise does not start \(.*\); name a build for this machine"),
        (
            ("--htsim", "other"),
            r"HTSIM=other: .*/other is no build of csg-htsim \(RoCE\) that can be timed: of 2 flows it finished 0,"
            r" ended with code 1, and printed at last: Unknown option -nodes; all is in .*htsim.log",
        ),
        (("--htsim", "other", "--runs", "0"), r"RUNS=0: from 1; three turns are usual, RUNS=3"),
    ],
)
def test_what_is_no_build_is_refused(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("plain").write_text("Nodes 16\n")
    Path("noise").write_bytes(b"\x7fELF" + bytes(60))
    Path("noise").chmod(0o755)
    stand_in(Path("other"), "print(f'Unknown option {sys.argv[1]}')\nsys.exit(1)\n")
    done = compared(Path("work"), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(f"error: {message}", done.stderr.splitlines()[-1]), done.stderr
    assert not Path("work/quick").exists()
