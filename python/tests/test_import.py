"""Networks and workloads of other tools: what they become, and what is said of those that are wrong."""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING

import pytest
from backwater import Results, validate
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.io.importing import hpcc, htsim
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

TOPO = """Nodes 8
Tiers 2
Podsize 8
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 500
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Downlink_Latency_ns 1000
"""

THREE = """Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
"""

MATRIX = """Nodes 8
Connections 2
0->5 id 1 start 0 size 100000 recv_done_trigger 1
5->1 id 2 trigger 1 size 50000
trigger id 1 oneshot
"""

GOAL = """num_ranks 2
rank 0 { a: calc 1000 b: send 10000b to 1 tag 5 b requires a }
rank 1 { recv 10000b from 0 tag 5 }
"""


def _links(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()[2:]]


def test_a_leaf_spine_of_htsim_has_its_hosts_its_switches_and_its_links() -> None:
    text, hosts, notes = htsim.network(TOPO, "a.topo")
    # 8 hosts, 2 leaves, 2 spines: 4 uplinks over 2 ports of each spine
    assert (text.splitlines()[0], text.splitlines()[1], hosts, notes) == ("12 4 12", "8 9 10 11", 8, [])
    links = _links(text)
    assert links[0] == ["0", "8", "100Gbps", "500ns", "0"]
    assert links[8:] == [[str(a), str(b), "200Gbps", "1000ns", "0"] for a in (8, 9) for b in (10, 11)]


def test_a_fat_tree_of_htsim_is_the_k_4_fat_tree() -> None:
    networkx = pytest.importorskip("networkx")
    text, hosts, _ = htsim.network(THREE, "a.topo")
    assert hosts == 16
    made = networkx.Graph([(int(a), int(b)) for a, b, *_ in _links(text)])
    # 8 leaves, 8 above them, 4 cores; every switch has 4 ports
    assert made.number_of_nodes() == 16 + 8 + 8 + 4
    assert {made.degree(node) for node in range(16)} == {1}
    assert {made.degree(node) for node in range(16, 36)} == {4}
    assert networkx.diameter(made) == 6
    # Two hosts of different pods: as many ways as a leaf has uplinks.
    assert networkx.edge_connectivity(made, 16, 22) == 4 - 2


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("Nodes 8", "Nodes eight", "line 1: Nodes needs a number from 1, and nothing else"),
        ("Nodes 8", "", "line 12: Nodes is missing or 0"),
        ("Tiers 2", "Tiers 4", "line 12: Tiers 4 with 2 tiers described; 2 or 3 are possible"),
        ("Tier 1", "Tier 2", "line 9: tier 1 is expected here: tiers follow each other from 0"),
        ("Radix_Down 4", "Radix_Down 3", "line 4: hosts of a pod over Radix_Down of tier 0: 8 is no multiple of 3"),
        ("Radix_Up 2", "", "line 4: this tier needs Radix_Up, from 1"),
        ("Radix_Up 2", "Radix_Sideways 2", "line 7: 'Radix_Sideways' is not one of Downlink_Speed_Gbps, "),
        ("Radix_Down 2", "Radix_Down 3", "line 9: uplinks of a pod over Radix_Down of tier 1: 4 is no multiple of 3"),
        ("Nodes 8", "Nodes 800000000", "line 1: this network has "),
    ],
)
def test_what_is_wrong_with_a_topology_of_htsim_is_said_with_its_line(before: str, after: str, message: str) -> None:
    text = TOPO.replace(before, after, 1)
    if after.startswith("Nodes 8000"):
        # As many leaves as spines have ports.
        text = text.replace("Radix_Down 2", "Radix_Down 200000000")
    with pytest.raises(UsageError) as told:
        htsim.network(text, "a.topo")
    assert str(told.value).startswith(f"a.topo: {message}")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*TOPO.splitlines(), *THREE.splitlines(), "Tier x", "Bundle 2", "-1", "Nodes 0"])))
def test_any_topology_file_is_read_or_refused_with_a_line(lines: list[str]) -> None:
    try:
        text, hosts, _ = htsim.network("\n".join(lines), "a.topo")
    except UsageError as error:
        told = str(error)
    else:
        assert len(_links(text)) >= hosts
        return
    assert told.startswith("a.topo: line ")


def test_links_side_by_side_become_one_of_their_rates_together(tmp_path: Path) -> None:
    # 2 leaves with 4 uplinks each to 2 spines of 4 ports.
    text = TOPO.replace("Radix_Up 2", "Radix_Up 4").replace("Radix_Down 2", "Radix_Down 4")
    made, _, notes = htsim.network(text, "a.topo")
    assert "8 10 400Gbps 1000ns 0" in made.splitlines()
    assert "2 links side by side are one of their rates together: no flow is hashed to one of them" in notes
    (tmp_path / "a.cm").write_text(MATRIX)
    (tmp_path / "a.topo").write_text(text)
    words = ["import", "htsim", str(tmp_path / "a.cm"), "--topology", str(tmp_path / "a.topo")]
    assert main([*words, "--out", str(tmp_path / "made")]) == Exit.OK
    assert _run(tmp_path / "made").flows.collect().height == 2


@pytest.mark.parametrize("key", ["Downlink_speed_Gbps 100", "Downlink_Latency_ns 500"])
def test_what_htsim_takes_from_its_command_line_is_a_note_and_nothing_is_0(key: str) -> None:
    _, _, notes = htsim.network(TOPO.replace(key, "", 1), "a.topo")
    assert notes[0].startswith(f"{key.split()[0].title()} is not given for tier 0: ")
    with pytest.raises(UsageError, match=f"this tier needs {key.split()[0].title()}, from 1"):
        htsim.network(TOPO.replace(key, f"{key.split()[0]} 0", 1), "a.topo")


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("topo.txt", "rubbish\n", "topo.txt, line 1: "),
        ("flows.txt", "2\n0 2 3 100 100000 2.0\nrubbish\n", "flows.txt line 3: "),
        ("flows.txt", "1\n0 77 3 100 100000 2.0\n", "flows.txt line 2: "),
    ],
)
def test_what_would_not_run_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, message: str
) -> None:
    config = _config(tmp_path, CONFIG)
    (tmp_path / file).write_text(text)
    assert main(["import", "hpcc", str(config), "--out", str(tmp_path / "made")]) == Exit.BAD_INPUT
    told = capsys.readouterr().err
    assert message in told
    assert "scenario.toml" not in told
    assert not (tmp_path / "made").exists()


def _run(folder: Path) -> Results:
    assert main(["run", str(folder / "scenario.toml"), "--out", str(folder / "results")]) in (Exit.OK, Exit.CAVEATS)
    return next(Results.find(folder / "results"))


def test_a_matrix_and_its_topology_become_a_scenario_that_runs(tmp_path: Path) -> None:
    (tmp_path / "a.cm").write_text(MATRIX)
    (tmp_path / "a.topo").write_text(TOPO)
    words = ["import", "htsim", str(tmp_path / "a.cm"), "--topology", str(tmp_path / "a.topo")]
    assert main([*words, "--out", str(tmp_path / "made")]) == Exit.OK
    run = _run(tmp_path / "made")
    first, second = run.flows.sort("flow").collect().iter_rows(named=True)
    assert (first["size_bytes"], second["size_bytes"]) == (100_000, 50_000)
    # The second starts at the host at which the first ends, when it ends.
    assert second["start_ps"] == first["finish_ps"]
    assert second["src"] == first["dst"]


def test_a_goal_schedule_becomes_a_scenario_whose_messages_wait_for_computations(tmp_path: Path) -> None:
    (tmp_path / "a.goal").write_text(GOAL)
    assert main(["import", "goal", str(tmp_path / "a.goal"), "--out", str(tmp_path / "made")]) == Exit.OK
    run = _run(tmp_path / "made")
    # `calc 1000` are 1000 ns.
    assert run.flows.collect()["start_ps"].to_list() == [1_000_000]


CONFIG = """ENABLE_QCN 1
CC_MODE 1
TOPOLOGY_FILE topo.txt
FLOW_FILE flows.txt
SIMULATOR_STOP_TIME 2.01
PACKET_PAYLOAD_SIZE 1000
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 900
EWMA_GAIN 0.00390625
RATE_AI 50Mb/s
MIN_RATE 100Mb/s
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.2
BUFFER_SIZE 32
LINK_DOWN 0 0 0
"""
NETWORK = "4 1 3\n3\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n2 3 100Gbps 1000ns 0\n"
FLOWS = "2\n0 2 3 100 100000 2.0\n1 2 3 100 100000 2.0\n"


def _config(folder: Path, text: str) -> Path:
    (folder / "topo.txt").write_text(NETWORK)
    (folder / "flows.txt").write_text(FLOWS)
    file = folder / "config.txt"
    file.write_text(text)
    return file


#: Every key that third.cc of the HPCC simulator reads, with the values of its DCQCN example.
EVERY_KEY = (
    CONFIG
    + """USE_DYNAMIC_PFC_THRESHOLD 1
CLAMP_TARGET_RATE 0
FAST_RECOVERY_TIMES 1
RATE_HAI 100Mb/s
DCTCP_RATE_AI 1000Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 0
GLOBAL_T 1
VAR_WIN 0
FAST_REACT 0
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 1
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.05
PINT_PROB 1.0
RATE_BOUND 1
ACK_HIGH_PRIO 0
ENABLE_TRACE 1
TRACE_FILE mix/trace.txt
TRACE_OUTPUT_FILE mix/mix.tr
FCT_OUTPUT_FILE mix/fct.txt
PFC_OUTPUT_FILE mix/pfc.txt
QLEN_MON_FILE mix/qlen.txt
QLEN_MON_START 2000000000
QLEN_MON_END 3000000000
"""
)


@pytest.mark.parametrize("mode", [1, 7])
def test_of_every_key_of_a_config_it_is_said_what_became_of_it(tmp_path: Path, mode: int) -> None:
    text = EVERY_KEY.replace("CC_MODE 1", f"CC_MODE {mode}").replace("PMAX", "SOME_NEW_KEY 7\nPMAX")
    made = hpcc.load(_config(tmp_path, text))
    notes = "\n".join(made.notes)
    # What became a line of the scenario; the network's and the flows' files are there beside it.
    carried = {"CC_MODE", "TOPOLOGY_FILE", "FLOW_FILE", "SIMULATOR_STOP_TIME", "PACKET_PAYLOAD_SIZE", "BUFFER_SIZE"}
    carried |= {"KMAX_MAP", "KMIN_MAP", "PMAX_MAP", "ACK_HIGH_PRIO"}
    if mode == 1:
        carried |= {"ALPHA_RESUME_INTERVAL", "RATE_DECREASE_INTERVAL", "RP_TIMER", "EWMA_GAIN", "FAST_RECOVERY_TIMES"}
        carried |= {"RATE_AI", "RATE_HAI", "MIN_RATE", "CLAMP_TARGET_RATE"}
    if mode == 7:
        carried |= {"RATE_AI", "RATE_HAI", "MIN_RATE"}
    for number, line in enumerate(text.splitlines(), 1):
        key = line.split()[0]
        assert (f"{line} (line {number})" in notes) == (key not in carried), key
    assert "SOME_NEW_KEY 7 (line 15) is not carried over" in notes


def test_a_key_of_which_another_value_would_be_needed_is_not_called_the_same(tmp_path: Path) -> None:
    made = hpcc.load(_config(tmp_path, CONFIG.replace("ENABLE_QCN 1", "ENABLE_QCN 0")))
    assert "ENABLE_QCN 0 (line 1) is not carried over" in made.notes


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ERROR_RATE_PER_LINK 0.0000", "so it is here"),
        ("HAS_WIN 1", "is not carried over: a window bounds what is under way there"),
        ("HAS_WIN 0", "so it is here"),
        ("RATE_BOUND 0", "is not carried over: senders have no pace there"),
        ("RATE_BOUND 1", "so it is here"),
        ("L2_ACK_INTERVAL 256", "says nothing there"),
        ("L2_ACK_INTERVAL 5000", "the packets before byte 5000 of a flow have no ACK but at whole chunks"),
        ("L2_ACK_INTERVAL 0", "there no flow ever counts as finished"),
        ("MULTI_RATE 1", "are for HPCC (CC_MODE 3)"),
        ("VAR_WIN 1", "is not carried over"),
        ("VAR_WIN 1\nHAS_WIN 0", "HAS_WIN 0 is none"),
    ],
)
def test_a_line_that_becomes_nothing_is_told_with_what_it_does_there(tmp_path: Path, line: str, told: str) -> None:
    text = "\n".join(kept for kept in CONFIG.splitlines() if kept.split()[0] != line.split()[0])
    made = hpcc.load(_config(tmp_path, f"{text}\n{line}\n"))
    assert [note for note in made.notes if note.startswith(f"{line.splitlines()[0]} (line ") and told in note]


def test_errors_and_a_link_that_goes_down_become_faults_and_queue_pairs_go_back_n(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "ERROR_RATE_PER_LINK 0.001\nL2_CHUNK_SIZE 4000\nL2_ACK_INTERVAL 1\nL2_BACK_TO_ZERO 0\n"
    file = _config(tmp_path, CONFIG.replace("LINK_DOWN 0 0 0", "LINK_DOWN 5000 1 3") + more)
    # Of a link with a rate of its own that goes before the one of all.
    (tmp_path / "topo.txt").write_text(NETWORK.replace("2 3 100Gbps 1000ns 0", "2 3 100Gbps 1000ns 0.25"))
    assert main(["import", "hpcc", str(file), "--out", str(tmp_path / "made"), "--json"]) == Exit.OK
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert not [note for note in notes if "not carried over" in note]
    assert "L2_BACK_TO_ZERO 0 (line 21): so it is here: go-back-N (transport.reliability)" in notes
    run = _run(tmp_path / "made")
    said = run.meta["scenario"]
    losses = [
        {"kind": "loss", "link": [f"n{host}", "n3"], "frames": share} for host, share in enumerate([0.001, 0.001, 0.25])
    ]
    assert [{key: fault[key] for key in ("kind", "link", "frames")} for fault in said["fault"][:3]] == losses
    assert (said["fault"][3]["kind"], said["fault"][3]["link"]) == ("link-down", ["n1", "n3"])
    assert said["fault"][3]["at"] in ("5ms", "5000us")
    assert said["transport"]["reliability"] == "go-back-n"
    assert said["transport"]["go-back-n"]["nack-interval"] == "500us"
    # It has no timer: nothing goes on within its run of 4 s.
    assert said["transport"]["go-back-n"]["timeout"] == "10s"
    # 100 packets of each flow, of which a quarter is lost on the last link and sent again.
    flows = run.flows.collect()
    assert flows["resent_packets"].sum() > 30


def test_a_link_that_goes_down_after_the_end_of_the_run_is_a_note(tmp_path: Path) -> None:
    # The simulator schedules it at 2 s and so many us, and stops at 2.01 s.
    made = hpcc.load(_config(tmp_path, CONFIG.replace("LINK_DOWN 0 0 0", "LINK_DOWN 10000 1 3")))
    assert "[[fault]]" not in made.files["scenario.toml"]
    told = "LINK_DOWN 10000 1 3 (line 17) says nothing: its time is in us from 2 s on, when flows start, and the run"
    assert f"{told} ends at 2.01 s" in made.notes


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("ERROR_RATE_PER_LINK 2", "ERROR_RATE_PER_LINK 2 is no share of the frames, 0 to 1"),
        ("LINK_DOWN 5 a 3", "LINK_DOWN '5 a 3' is not a time in us and two nodes"),
        ("LINK_DOWN 5 0 1", "LINK_DOWN 5 0 1: no link of the topology joins them; 0 has links to 3"),
    ],
)
def test_losses_that_say_nothing_are_refused_with_their_line(tmp_path: Path, lines: str, told: str) -> None:
    text = "\n".join(kept for kept in CONFIG.splitlines() if not kept.startswith("LINK_DOWN"))
    with pytest.raises(UsageError, match=re.escape(f"line 17: {told}")):
        hpcc.load(_config(tmp_path, f"{text}\n{lines}\n"))


def test_a_receiver_that_goes_back_to_a_chunk_is_not_ours_and_is_told(tmp_path: Path) -> None:
    more = "ERROR_RATE_PER_LINK 0.001\nL2_CHUNK_SIZE 4000\nL2_BACK_TO_ZERO 1\n"
    notes = "\n".join(hpcc.load(_config(tmp_path, CONFIG + more)).notes)
    assert "L2_BACK_TO_ZERO 1 (line 20) is not carried over: receivers forget what they have of a chunk" in notes
    assert "L2_CHUNK_SIZE 4000 (line 19) is not carried over" in notes


def test_a_config_of_the_hpcc_simulator_becomes_a_scenario_with_its_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _config(tmp_path, CONFIG)
    assert main(["import", "hpcc", str(file), "--out", str(tmp_path / "made"), "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert told["notes"] == [
        "ENABLE_QCN 1 (line 1): so it is here: receivers and senders of cc.kind act on marks",
        "LINK_DOWN 0 0 0 (line 17): so it is here: no link goes down",
    ]
    run = _run(tmp_path / "made")
    cc = run.meta["scenario"]["cc"]
    dcqcn = cc["dcqcn"]
    assert (cc["kind"], dcqcn["alpha-timer"], dcqcn["rate-timer"], dcqcn["rate-ai"]) == (
        "dcqcn",
        "1us",
        "900us",
        "50Mbps",
    )
    detector = run.meta["scenario"]["switch"]["detector"]
    assert [(row["kmin"], row["kmax"], row["pmax"]) for row in detector["by-rate"]] == [("400KB", "1.6MB", 0.2)]
    assert run.flows.collect().height == 2


#: What `run.py --cc hp --bw 100` and `--cc dctcp --bw 100` of the simulator write, but for files and link down.
WINDOWS = """CC_MODE 3
TOPOLOGY_FILE topo.txt
FLOW_FILE flows.txt
SIMULATOR_STOP_TIME 2.01
PACKET_PAYLOAD_SIZE 1000
EWMA_GAIN 0.0625
RATE_AI 40Mb/s
MIN_RATE 1000Mb/s
DCTCP_RATE_AI 615Mb/s
L2_ACK_INTERVAL 1
HAS_WIN 1
GLOBAL_T 1
VAR_WIN 1
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 4
MULTI_RATE 0
SAMPLE_FEEDBACK 0
RATE_BOUND 1
ACK_HIGH_PRIO 0
KMAX_MAP 1 100000000000 300
KMIN_MAP 1 100000000000 300
PMAX_MAP 1 100000000000 1.0
BUFFER_SIZE 32
"""


@pytest.mark.parametrize("mode", ["1", "3"])
def test_what_that_simulator_does_not_read_of_its_files_is_left_out(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # So end the files that come with it, and its flow.txt announces 2 of its 256 flows.
    text = CONFIG if mode == "1" else WINDOWS
    (tmp_path / "plain").mkdir()
    whole = hpcc.load(_config(tmp_path / "plain", text))
    file = _config(tmp_path, text)
    links, flows = tmp_path / "topo.txt", tmp_path / "flows.txt"
    links.write_text(
        links.read_text() + "0 64 25Gbps 0.001ms 0\n\nFirst line: total node #\nsrc0 dst0 rate delay error_rate\n...\n"
    )
    flows.write_text(flows.read_text() + "2 1 3 100 5 2\n3 1 3 100 5 2\n\nFirst line: # of flows\n...\n")
    assert main(["import", "hpcc", str(file), "--out", str(tmp_path / "made")]) == Exit.OK
    said = " ".join(capsys.readouterr().err.split())
    assert "topology.txt: 1 more links than the " in said
    assert "flow.txt: 2 more flows than the " in said
    for name, wanted in whole.files.items():
        if name != "scenario.toml":
            assert (tmp_path / "made" / name).read_text().split() == wanted.split()


def test_hpcc_of_the_hpcc_simulator_becomes_ours_with_its_base_round_trip(tmp_path: Path) -> None:
    file = _config(tmp_path, WINDOWS)
    assert main(["import", "hpcc", str(file), "--out", str(tmp_path / "made")]) == Exit.OK
    run = _run(tmp_path / "made")
    resolved = run.meta["scenario"]
    # Two links of 1000 ns there and back, and 1000 B at 100 Gbps on each: 4 us and 2 times 80 ns.
    assert resolved["cc"]["hpcc"]["base-rtt"] in ("4160ns", "4.16us")
    assert (resolved["cc"]["hpcc"]["eta"], resolved["cc"]["hpcc"]["max-stage"]) == (0.95, 0)
    # 40 Mbit/s for 4160 ns are 20.8 B, 1 Gbit/s are 520 B.
    assert (resolved["cc"]["hpcc"]["wai"], resolved["cc"]["hpcc"]["min-window"]) == ("21B", "520B")
    # 48 B and 42 B of telemetry; 46 B and 42 B of telemetry, in the class of the data.
    assert (resolved["packet"]["header"], resolved["ack"]["size"], resolved["ack"]["priority"]) == ("90B", "88B", 3)
    assert run.flows.collect().height == 2


def test_hpcc_of_links_that_its_simulator_cannot_name_is_a_note(tmp_path: Path) -> None:
    file = _config(tmp_path, WINDOWS)
    assert not any("no code" in note for note in hpcc.load(file).notes)
    topology = tmp_path / "topo.txt"
    topology.write_text(topology.read_text().replace("100Gbps", "10Gbps"))
    told = [note for note in hpcc.load(file).notes if "no code" in note]
    assert len(told) == 1
    assert "10Gbps" in told[0]
    assert "25Gbps" in told[0]


def test_timely_of_the_hpcc_simulator_becomes_its_form_of_ours(tmp_path: Path) -> None:
    text = WINDOWS.replace("CC_MODE 3", "CC_MODE 7") + "RATE_HAI 200Mb/s\n"
    made = hpcc.load(_config(tmp_path, text)).files["scenario.toml"]
    for line in ('kind = "timely"', 'header = "56B"', 'add = "40Mbps"', "hai-factor = 5", 'min-rate = "1000Mbps"'):
        assert line in made.splitlines(), line
    assert "priority = 3" in made


def test_dctcp_of_the_hpcc_simulator_becomes_ours_with_its_windows(tmp_path: Path) -> None:
    file = _config(tmp_path, WINDOWS.replace("CC_MODE 3", "CC_MODE 8"))
    assert main(["import", "hpcc", str(file), "--out", str(tmp_path / "made")]) == Exit.OK
    run = _run(tmp_path / "made")
    dctcp = run.meta["scenario"]["cc"]["dctcp"]
    # 12.5 B/ns for 4160 ns; 615 Mbit/s for 4160 ns are 319.8 B.
    assert (dctcp["g"], dctcp["add"], dctcp["min-window"]) == (0.0625, "320B", "520B")
    assert dctcp["window"] == dctcp["max-window"] == "52KB"
    assert [row["kmin"] for row in run.meta["scenario"]["switch"]["detector"]["by-rate"]] == ["300KB"]
    assert run.flows.collect().height == 2


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("HAS_WIN 1", "HAS_WIN 0", "line 11: HAS_WIN 0 with CC_MODE 3: without a window"),
        ("GLOBAL_T 1", "GLOBAL_T 0", "line 12: GLOBAL_T 0 with CC_MODE 3: a T of its own"),
        ("VAR_WIN 1\n", "", "VAR_WIN is missing, which there means VAR_WIN 0, with CC_MODE 3"),
        ("FAST_REACT 1", "FAST_REACT 0", "line 14: FAST_REACT 0 with CC_MODE 3: one reaction per round trip"),
        ("MULTI_RATE 0", "MULTI_RATE 1", "line 18: MULTI_RATE 1 with CC_MODE 3: one rate per hop"),
        ("SAMPLE_FEEDBACK 0", "SAMPLE_FEEDBACK 1", "line 19: SAMPLE_FEEDBACK 1 with CC_MODE 3: telemetry"),
        ("RATE_BOUND 1", "RATE_BOUND 0", "line 20: RATE_BOUND 0 with CC_MODE 3: a sender without a pace"),
        ("L2_ACK_INTERVAL 1", "L2_ACK_INTERVAL 4", "line 10: L2_ACK_INTERVAL 4 with CC_MODE 3: windows want an ACK"),
        ("RATE_AI 40Mb/s\n", "", "RATE_AI is missing; the simulator does not start without it"),
        ("U_TARGET 0.95", "U_TARGET most", "line 15: U_TARGET 'most' is not one number from 0"),
    ],
)
def test_what_our_windows_cannot_be_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, message: str
) -> None:
    file = _config(tmp_path, WINDOWS.replace(before, after, 1))
    assert main(["import", "hpcc", str(file), "--out", str(tmp_path / "made")]) == Exit.BAD_INPUT
    assert f"{file}: {message}" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("four 1 3", "line 1: not the numbers of nodes, switches and links"),
        ("2 0 1\n0 1 100Gbps soon 0\n", "line 2: not a link such as"),
        ("2 0 1\n0 1 0Gbps 1us 0\n", "line 2: a link of rate 0"),
        ("2 0 1\n0 0 1Gbps 1us 0\n", "no two hosts are connected"),
        ("9999999 0 1\n", "line 1: 9999999 nodes; allowed: 1 to 1000000"),
    ],
)
def test_a_topology_without_a_base_round_trip_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], network: str, message: str
) -> None:
    file = _config(tmp_path, WINDOWS)
    (tmp_path / "topo.txt").write_text(network)
    assert main(["import", "hpcc", str(file), "--out", str(tmp_path / "made")]) == Exit.BAD_INPUT
    assert f"{tmp_path / 'topo.txt'}: {message}" in capsys.readouterr().err


@settings(max_examples=100, deadline=None)
@given(st.sets(st.sampled_from(WINDOWS.splitlines())), st.text("0123 \nGbpsnu.-", max_size=60))
def test_any_config_with_windows_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, without: set[str], network: str
) -> None:
    lines = [line for line in WINDOWS.splitlines() if line not in without]
    file = _config(tmp_path_factory.getbasetemp(), "\n".join(lines) or " ")
    file.with_name("topo.txt").write_text(network or " ")
    with contextlib.suppress(UsageError):
        assert set(hpcc.load(file).files) == {"scenario.toml", "topology.txt", "flow.txt"}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "CC_MODE 1",
            "CC_MODE 10",
            "line 2: CC_MODE 10 is not one of 1 (dcqcn), 3 (hpcc), 7 (timely), 8 (dctcp)",
        ),
        ("CC_MODE 1", "CC_MODE fast", "line 2: CC_MODE 'fast' is not one number from 0"),
        ("CC_MODE 1", "CC_MODE", "line 2: CC_MODE has no value"),
        ("CC_MODE 1", "cc-mode 1", "line 2: 'cc-mode' is no key such as CC_MODE"),
        ("RATE_AI 50Mb/s", "RATE_AI fiftyMb/s", "line 11: RATE_AI 'fiftyMb/s' is not a rate such as 50Mb/s"),
        ("KMAX_MAP 1", "KMAX_MAP 2", "line 13: KMAX_MAP is not `n rate value rate value ...` with n pairs"),
        ("KMIN_MAP 1 1", "KMIN_MAP 1 2", "line 14: KMIN_MAP does not name the link rates that KMAX_MAP names"),
        ("STOP_TIME 2.01", "STOP_TIME 1.5", "line 5: SIMULATOR_STOP_TIME 1.5 is not after 2 s, when flows start"),
        ("topo.txt", "other.txt", "line 3: TOPOLOGY_FILE other.txt was not found beside the file"),
    ],
)
def test_what_is_wrong_with_a_config_is_said_with_its_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, message: str
) -> None:
    file = _config(tmp_path, CONFIG.replace(before, after, 1))
    assert main(["import", "hpcc", str(file), "--out", str(tmp_path / "made")]) == Exit.BAD_INPUT
    assert f"{file}: {message}" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*CONFIG.splitlines(), "KMAX_MAP", "KMAX_MAP nan", "RATE_AI -1", "x", "CC_MODE 1e99"])))
def test_any_config_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    file = _config(tmp_path_factory.getbasetemp(), "\n".join(lines) or " ")
    try:
        made = hpcc.load(file)
    except UsageError as error:
        told = str(error)
    else:
        assert set(made.files) == {"scenario.toml", "topology.txt", "flow.txt"}
        return
    assert str(file) in told


@pytest.mark.parametrize(
    ("format_", "content", "message"),
    [
        ("goal", b"", "a is empty; a GOAL schedule, text or binary is expected"),
        ("goal", b"num_ranks 1", "line 1: num_ranks 1 is not a number from 2 to 65536"),
        ("goal", b"\xff\xfe", "is no text"),
        ("htsim", b"Nodes 4\n0->9 start 0 size 1", "line 2: there is no node 9; the 4 nodes are 0 to 3"),
        ("chakra", b"\x00", "there are 1 files, one for each NPU"),
        ("vef", b"VEF", "line 1: "),
    ],
)
def test_what_is_wrong_with_a_workload_is_said_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format_: str, content: bytes, message: str
) -> None:
    file = tmp_path / "a"
    file.write_bytes(content)
    assert main(["import", format_, str(file), "--out", str(tmp_path / "made")]) == Exit.BAD_INPUT
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a"]


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.goal").write_text(GOAL)
    assert main(["import", "goal", str(tmp_path / "a.goal"), "--out", str(tmp_path)]) == Exit.BAD_INPUT
    assert "is not an empty folder" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.goal"]


def test_an_imported_workload_has_thresholds_that_fit_its_links_and_says_which_profile_it_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.goal").write_text(GOAL)
    assert main(["import", "goal", str(tmp_path / "a.goal"), "--out", str(tmp_path / "plain")]) == Exit.OK
    told = capsys.readouterr().err
    assert "roce" in told
    assert "--topology" in told
    scenario = tmp_path / "plain" / "scenario.toml"
    # Of 100 Gbps the HPCC simulator marks from 400 KB on; the 5 KB of profile authors are for 40 Gbps.
    assert validate(scenario)["switch"]["detector"]["kmin"] == "400KB"
    # Another profile, and networks of three kinds.
    (tmp_path / "net.toml").write_text('[topology]\nkind = "star"\nhosts = 4\nrate = "40Gbps"\ndelay = "2us"\n')
    (tmp_path / "fat.topo").write_text(TOPO)
    (tmp_path / "links.txt").write_text("3 1 2\n2\n0 2 40Gbps 1000ns 0\n1 2 40Gbps 1000ns 0\n")
    for file, kind in (("net.toml", "star"), ("fat.topo", "hpcc"), ("links.txt", "hpcc")):
        out = tmp_path / file.partition(".")[0]
        words = ["import", "goal", str(tmp_path / "a.goal"), "--topology", str(tmp_path / file), "--out", str(out)]
        assert main([*words, "--profile", "ideal"]) == Exit.OK
        made = validate(out / "scenario.toml")
        assert (made["topology"]["kind"], made["profile"]) == (kind, "ideal")
        assert "no profile is named" not in capsys.readouterr().err
    assert validate(tmp_path / "net" / "scenario.toml")["topology"]["delay"] == "2us"


def test_a_topology_without_its_table_and_a_profile_that_is_none_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.goal").write_text(GOAL)
    (tmp_path / "net.toml").write_text("[run]\nseed = 1\n")
    words = ["import", "goal", str(tmp_path / "a.goal"), "--out", str(tmp_path / "made")]
    for more, message in (
        (["--topology", str(tmp_path / "net.toml")], "has no [topology]"),
        (["--profile", "authros"], "authros"),
    ):
        assert main([*words, *more]) == Exit.BAD_INPUT
        assert message in capsys.readouterr().err
        assert not (tmp_path / "made").exists()
