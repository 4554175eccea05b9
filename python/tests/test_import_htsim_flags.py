"""Commands of the Ultra Ethernet Consortium's simulator: which keys their flags become, and what is refused."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.io.importing import htsim, htsim_flags
from backwater.io.importing.became import Fate
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

#: 16 hosts, as two tiers of four leaves and two spines.
TOPO = """Nodes 16
Tiers 2
Podsize 16
Tier 0
Downlink_speed_Gbps 400
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Oversubscribed 2
Tier 1
Downlink_speed_Gbps 400
Radix_Down 4
Downlink_Latency_ns 1000
"""


def _matrix(folder: Path, hosts: int = 16, text: str = "0->13 start 40 size 2000000\n") -> Path:
    file = folder / "one.cm"
    file.write_text(f"Nodes {hosts}\nConnections {text.count('->')}\n{text}")
    return file


def _made(folder: Path, flags: str, hosts: int = 16, **others: Any) -> tuple[dict[str, Any], htsim_flags.Command]:
    command = htsim_flags.load(_matrix(folder, hosts), flags, **{"profile": "roce"} | others)
    return tomllib.loads(command.imported.files["scenario.toml"]), command


# The network.


def test_without_a_file_the_network_is_the_fat_tree_of_as_many_hosts() -> None:
    # k = 4: 16 hosts, 8 and 8 switches with 2 links down and 2 up, 4 at the top.
    tree = htsim.of_size(16, 3, 100, 1000, 0)
    assert tree.shape.switches == [8, 8, 4]
    assert len(tree.shape.links) == 16 * 3
    assert (tree.diameter, tree.one_way_ns()) == (6, 6000)
    # k = 2, the least: a switch for each of the two hosts, and another above it.
    assert htsim.of_size(2, 3, 100, 1000, 0).shape.switches == [2, 2, 1]
    # Two tiers of k²/2 hosts: k leaves, k/2 spines.
    assert htsim.of_size(32, 2, 100, 1000, 0).shape.switches == [8, 4]
    with pytest.raises(UsageError, match="17 nodes are no fat tree of 3 tiers, which has k³/4 hosts"):
        htsim.of_size(17, 3, 100, 1000, 0)


@pytest.mark.parametrize(
    ("tree", "mbps", "round_trip_ps", "bdp"),
    [
        # Six links of 1 us each way, six times 332 ns for a packet of 4150 B and 5.12 ns for 64 B at 100 Gbps.
        (htsim.of_size(1024, 3, 100, 1000, 0), 100_000, 14_022_720, 43),
        # Four links at 400 Gbps: 8 us, 4 × 83 ns, 4 × 1.28 ns; 416 856 B are 100.4 packets.
        (htsim.of_size(8192, 2, 400, 1000, 0), 400_000, 8_337_120, 101),
        # Four links at 100 Gbps.
        (htsim.of_size(512, 2, 100, 1000, 0), 100_000, 9_348_480, 29),
        # 500 ns in each of the five switches: 5 us more for both ways.
        (htsim.of_size(1024, 3, 100, 1000, 500), 100_000, 19_022_720, 58),
    ],
)
def test_the_round_trip_and_what_is_under_way_in_it(
    tree: htsim.FatTree, mbps: float, round_trip_ps: int, bdp: int
) -> None:
    network = htsim_flags.Network(tree, mbps, 4150)
    assert (network.round_trip_ps, network.bdp) == (round_trip_ps, bdp)


def test_slow_spines_have_a_quarter_of_their_rate_both_ways() -> None:
    tree = htsim.read(TOPO, "a.topo")
    lines = [line.split() for line in tree.text(slow=1).splitlines()[2:]]
    spines = {b: rate for a, b, rate, *_ in lines if int(a) >= 16}
    assert spines == {"20": "100Gbps", "21": "400Gbps"}


def test_of_three_tiers_the_first_links_down_to_the_first_switches_are_slow(tmp_path: Path) -> None:
    scenario, _ = _made(tmp_path, "-failed 3 -linkspeed 100000")
    slow = [(fault["kind"], fault["link"], fault["from"], fault["rate"]) for fault in scenario["fault"]]
    # Hosts n0 to n15, n16 to n23 above them, n24 to n31 in the middle, two to a pod, n32 to n35 at the top. The first
    # one in the middle has two links up; the second is two further in the count: one of its links is slow, too.
    assert slow == [
        ("link-slow", ["n24", "n32"], "n32", "25000Mbps"),
        ("link-slow", ["n24", "n33"], "n33", "25000Mbps"),
        ("link-slow", ["n25", "n34"], "n34", "25000Mbps"),
    ]


def test_of_a_slow_bundle_each_link_has_a_quarter(tmp_path: Path) -> None:
    tiers = ("Radix_Down 4\nRadix_Up 2", "Radix_Down 2\nRadix_Up 4", "Radix_Down 4\nBundle 2")
    texts = [
        f"Tier {tier}\nDownlink_speed_Gbps 100\n{radix}\nDownlink_Latency_ns 1000\n" for tier, radix in enumerate(tiers)
    ]
    (tmp_path / "b.topo").write_text("Nodes 16\nTiers 3\nPodsize 8\n" + "".join(texts))
    scenario, _ = _made(tmp_path, "-failed 1", topology=str(tmp_path / "b.topo"))
    # Two links of 100 Gbps are one of 200 Gbps here.
    assert scenario["fault"][0]["rate"] == "50000Mbps"


def test_failures_of_a_matrix_are_links_that_were_never_there(tmp_path: Path) -> None:
    file = _matrix(tmp_path)
    file.write_text(
        f"{file.read_text()}failure switch_type AGG switch_id 1 link_id 0\n".replace("Nodes", "Failures 1\nNodes")
    )
    scenario = tomllib.loads(htsim_flags.load(file, "", profile="roce").imported.files["scenario.toml"])
    assert scenario["fault"] == [{"kind": "link-down", "link": ["n25", "n34"], "at": "0ns"}]
    assert scenario["fault-handling"] == {"detect": "0ns", "converge": "0ns"}
    file.write_text(file.read_text().replace("link_id 0", "link_id 2"))
    with pytest.raises(UsageError, match=r"one.cm: line 5: there is no uplink 2 of switch 1 between tiers 1 and 2"):
        htsim_flags.load(file, "", profile="roce")


# What each flag becomes.


def _uec(folder: Path, flags: str, **others: Any) -> dict[str, Any]:
    scenario, _ = _made(folder, flags, profile=None, **others)
    return {name: scenario.get(name) for name in ("host", "packet", "switch", "uec", "cc", "run")}


def test_a_published_command_says_the_transport_and_the_switches(tmp_path: Path) -> None:
    topo = tmp_path / "leaf_spine.topo"
    topo.write_text(TOPO)
    flags = (
        "htsim_uec -tm connection_matrices/one.cm -end 1000 -paths 128 -linkspeed 400000 -topo a/leaf_spine.topo"
        " -q 100 -ecn 25 75 -cwnd 150 -sender_cc_only"
    )
    made = _uec(tmp_path, flags, topology=str(topo))
    assert made["host"] == {"transport": "uec"}
    # Packets of 4150 B.
    assert made["packet"] == {"payload": "4086B", "header": "64B"}
    # Three quarters of the round trip, 8.33712 us.
    assert made["cc"] == {"kind": "nscc", "nscc": {"target": "6252840ps"}}
    assert made["switch"] == {
        "flow-control": "none",
        "overflow": "trim",
        "load-balancing": "entropy",
        "trimming": {"queue": "415000B", "size": "64B"},
        "detector": {"kind": "red", "kmin": "103750B", "kmax": "311250B", "pmax": 1.0},
    }
    # 15 us, and six queues of 415 000 B at 400 Gbps, 8.3 us each.
    assert made["uec"] == {
        "rto": "64800000ps",
        "backoff": False,
        "entropies": 128,
        "spread": "mixed",
        "window": "622500B",
    }
    assert made["run"] == {"until": "1000us"}


def test_without_flags_queue_and_marks_follow_from_the_round_trip(tmp_path: Path) -> None:
    # The fat tree of 16 hosts: 43 packets; 9 and 35 of them are 0.2 and 0.8, rounded up.
    made = _uec(tmp_path, "")
    assert made["switch"]["trimming"]["queue"] == f"{43 * 4150}B"
    assert (made["switch"]["detector"]["kmin"], made["switch"]["detector"]["kmax"]) == ("37350B", "145250B")
    # 15 us and six times 14.276 us.
    assert made["uec"]["rto"] == "100656000ps"
    assert made["uec"]["entropies"] == 64
    # Without trimming five times as much, and a target of one round trip.
    made = _uec(tmp_path, "-disable_trim")
    assert made["switch"]["overflow"] == "drop"
    assert made["switch"]["port-buffer"] == f"{5 * 43 * 4150}B"
    assert made["cc"]["nscc"] == {"target": "14022720ps"}


@pytest.mark.parametrize(
    ("flags", "as_of", "kind"),
    [
        ("", "2025-08", "nscc"),
        ("", "2024-07", "rccc"),
        ("-receiver_cc", "2025-08", "nscc+rccc"),
        ("-sender_cc -receiver_cc", "2025-08", "nscc+rccc"),
        ("-receiver_cc_only", "2025-08", "rccc"),
        ("-sender_cc_only", "2024-08", "nscc"),
        ("-receiver_cc_only -sender_cc_only", "2025-08", "nscc"),
        ("-sender_cc_algo constant", "2025-08", "none"),
    ],
)
def test_who_controls_is_what_the_last_flags_say(tmp_path: Path, flags: str, as_of: str, kind: str) -> None:
    made = _uec(tmp_path, flags, as_of=as_of)
    assert made["cc"]["kind"] == kind
    # Marks at the last hop are off where the receiver controls.
    assert made["switch"]["detector"].get("last-hop", True) is ("rccc" not in kind)


def test_thresholds_of_august_2024_were_a_quarter(tmp_path: Path) -> None:
    detector = _uec(tmp_path, "-q 100 -ecn 25 75", as_of="2024-08")["switch"]["detector"]
    # 6.25 and 18.75 packets.
    assert (detector["kmin"], detector["kmax"]) == ("25937B", "77812B")


def test_messages_of_a_connection_are_one_flow_of_this_transport(tmp_path: Path) -> None:
    file = _matrix(tmp_path, 2, "0->1 id 1 msg start 0 size 4086\n" * 10)
    command = htsim_flags.load(file, "-conn_reuse")
    assert command.imported.files["app.trace"].splitlines()[2:] == ["message 0 from 0 to 1 bytes 40860"]
    other = tomllib.loads(htsim_flags.load(file, "-conn_reuse", profile="roce").imported.files["scenario.toml"])
    assert other["traffic"][0]["connection"] == "pair"


def test_a_flow_starts_in_microseconds_and_the_run_ends_as_the_flag_says(tmp_path: Path) -> None:
    scenario, command = _made(tmp_path, "./htsim_uec -tm connection_matrices/one.cm -end 3000")
    assert scenario["run"] == {"until": "3000us"}
    assert "delay 40000000ps" in command.imported.files["app.trace"]
    assert "connection" not in scenario["traffic"][0]


def test_flags_of_the_transport_say_nothing_under_a_profile_with_another_one(tmp_path: Path) -> None:
    scenario, command = _made(tmp_path, "-paths 128 -cwnd 50 -seed 3 -o log -host_queue_type fair_prio")
    assert scenario.keys() == {"profile", "topology", "run", "traffic"}
    became = {line.place[0]: (line.fate, line.key) for line in command.lines}
    assert became["-paths"] == became["-cwnd"] == became["-o"] == (Fate.NONE, "")
    assert became["-seed"] == (Fate.TAKEN, "run.seed = 3")
    assert became["-host_queue_type"] == (Fate.SAME, "")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("-pathes 3", "--flags: '-pathes' is no flag of htsim_uec; -paths?; they are -Ai, "),
        ("-paths", "--flags: -paths needs a value"),
        ("-ecn 1 -q 3", "--flags: -ecn needs two values"),
        ("-q '", "--flags: No closing quotation; write the words as in a shell"),
        ("-paths 100", "--flags: -paths '100' is not a power of two up to 1024"),
        ("-paths 2048", "--flags: -paths '2048' is not a whole number from 1 to 1024"),
        (
            "-q 10 -ecn 5 11",
            "--flags: -ecn '5 11' is not two whole numbers of packets, low and high, from 0 to the queue's 10",
        ),
        ("-ecn 7 5", "--flags: -ecn '7 5' is not two whole numbers"),
        ("-tiers 4", "--flags: -tiers '4' is not a whole number from 2 to 3"),
        ("-nodes 17", "--flags: -nodes '17' is not the number of nodes of "),
        ("-tm other.cm", "--flags: -tm 'other.cm' is not the matrix that is imported, "),
        ("-topo nowhere.topo", "--flags: -topo 'nowhere.topo' is not found; name the file with --topology"),
        ("-sleek", "--flags: -sleek: the sender's recovery by holes in SACKs"),
        ("-planes 2", "--flags: -planes '2' is not 1; there is no counterpart of another one"),
        ("-sender_cc_algo dctcp", "--flags: -sender_cc_algo 'dctcp' is not nscc, or constant"),
        ("-load_balancing_algo best", "--flags: -load_balancing_algo 'best' is not one of oblivious, "),
        ("-strat rr_ecmp", "--flags: -strat 'rr_ecmp' is not one of ecmp_host, ecmp_ar"),
        ("-end nan", "--flags: -end 'nan' is not a whole number from 1 to "),
    ],
)
def test_what_is_wrong_with_flags_is_said_with_the_flag(tmp_path: Path, flags: str, message: str) -> None:
    with pytest.raises(UsageError) as told:
        _made(tmp_path, flags)
    assert str(told.value).startswith(message)


def test_a_file_says_the_network_and_flags_may_not_contradict_it(tmp_path: Path) -> None:
    topo = tmp_path / "leaf_spine.topo"
    topo.write_text(TOPO)
    with pytest.raises(
        UsageError, match=r"-linkspeed '100000' is not the rate of the hosts' links .* give -linkspeed 400000"
    ):
        _made(tmp_path, "", topology=str(topo))
    with pytest.raises(UsageError, match=r"-tiers '2' contradicts .*leaf_spine.topo, which says it; leave it out"):
        _made(tmp_path, "-tiers 2 -linkspeed 400000", topology=str(topo))
    with pytest.raises(UsageError, match=r"leaf_spine.topo has 16 nodes, but .*one.cm has 54"):
        _made(tmp_path, "-linkspeed 400000", 54, topology=str(topo))
    _, command = _made(tmp_path, "-linkspeed 400000 -topo topologies/leaf_spine.topo", topology=str(topo))
    assert "Oversubscribed is not used" in command.imported.notes[0]


def test_a_topology_is_found_as_the_command_names_it_beside_the_matrix(tmp_path: Path) -> None:
    (tmp_path / "connection_matrices").mkdir()
    (tmp_path / "topologies").mkdir()
    file = _matrix(tmp_path / "connection_matrices")
    (tmp_path / "topologies" / "a.topo").write_text(TOPO)
    flags = "./htsim_uec -tm connection_matrices/one.cm -topo topologies/a.topo -linkspeed 400000"
    command = htsim_flags.load(file, flags, profile="roce")
    assert command.imported.files["topology.txt"].startswith("22 6 24\n")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*htsim_flags.FLAGS, "1", "64", "nscc", "-1", "1e9", "x", "0.5", "''"]), max_size=12))
def test_any_flags_are_read_or_refused_with_the_flag(words: list[str]) -> None:
    try:
        lines = htsim_flags.parse(" ".join(words))
    except UsageError as error:
        assert str(error).startswith("--flags: ")  # noqa: PT017
    else:
        assert all(line.place[0] in htsim_flags.FLAGS for line in lines)


# The command.


def test_the_command_says_what_became_of_each_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["import", "htsim", str(_matrix(tmp_path)), "--flags", "-paths 128 -end 500", "--profile", "roce"]
    assert main([*words, "--out", str(tmp_path / "made")]) == Exit.OK
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "taken           -end '500': run.until = \"500us\""
    assert told[1] == "no counterpart  -paths '128': profile roce has its own transport, control and switches"
    assert main([*words, "--out", str(tmp_path / "again"), "--json"]) == Exit.OK
    flags = json.loads(capsys.readouterr().out)["flags"]
    assert [flag["became"] for flag in flags] == ["no counterpart", "taken"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--as-of", "2024-07"], "--as-of 2024-07: it says how --flags are read; give --flags, too"),
        (["--flags", "", "--as-of", "2023"], "--as-of 2023: there are 2024-07, 2024-08, 2025-08"),
        (["--flags", "", "--delay", "1us"], "--delay 1us: the network of --flags is a fat tree of htsim"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    words = ["import", "htsim", str(_matrix(tmp_path)), "--out", str(tmp_path / "made"), *more]
    assert main(words) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        ("-oversubscribed_cc -receiver_cc_only", "auto"),
        ("-receiver_cc_only -oversubscribed_cc", "on"),
        ("-receiver_cc_only -oversubscribed_cc -force_disable_oversubscribed_cc", "off"),
        ("-receiver_cc_only -force_disable_oversubscribed_cc -oversubscribed_cc", "on"),
        ("-oversubscribed_cc -sender_cc_only", None),
    ],
)
def test_flags_of_oversubscribed_control_stand_as_their_order_leaves_them(
    tmp_path: Path, flags: str, kept: str | None
) -> None:
    """`main_uec.cpp:160-352, 688`."""
    settings = tomllib.loads(htsim_flags.load(_matrix(tmp_path, 16), flags).imported.files["scenario.toml"])
    assert settings["cc"].get("rccc", {}).get("oversubscribed") == kept


def test_controls_that_are_off_get_no_keys(tmp_path: Path) -> None:
    file = _matrix(tmp_path, 16)
    made = tomllib.loads(htsim_flags.load(file, "-receiver_cc_only -qa_gate 4").imported.files["scenario.toml"])
    assert "nscc" not in made["cc"]


def test_adaptive_routing_has_one_entropy_unless_more_are_asked_for_behind_it(tmp_path: Path) -> None:
    """`main_uec.cpp:405, 493`."""
    for flags, count in (("-paths 128 -strat ecmp_ar", 1), ("-strat ecmp_ar -paths 128", 128), ("-paths 128", 128)):
        made = tomllib.loads(htsim_flags.load(_matrix(tmp_path, 16), flags).imported.files["scenario.toml"])
        assert made["uec"]["entropies"] == count


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("conn_reuse", "is no flag of htsim_uec"),
        ("-q 1e2", "is not a whole number"),
        ("-q 1_0", "is not a whole number"),
        ("-q 10", "below the high threshold of 35 packets"),
    ],
)
def test_what_that_program_would_read_otherwise_is_refused(tmp_path: Path, flags: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        htsim_flags.load(_matrix(tmp_path, 16), flags)


def test_switches_take_no_time_unless_flags_say_so(tmp_path: Path) -> None:
    made = tomllib.loads(htsim_flags.load(_matrix(tmp_path, 16), "", profile="hdr").imported.files["scenario.toml"])
    assert made["switch"]["latency"] == "0ns"
