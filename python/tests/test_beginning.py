"""A first scenario: the example has a congestion tree, one's own files are taken as they are, wrong ones are told."""

from __future__ import annotations

import json
import shlex
import tomllib
from typing import TYPE_CHECKING

import pytest
from backwater import Results
from backwater.cli import main
from backwater.errors import Exit
from backwater.io.first_scenario import begin, example_topology

if TYPE_CHECKING:
    from pathlib import Path

NET = (
    "6 2 5\n4 5\n0 4 10Gbps 0.001ms 0\n1 4 10Gbps 0.001ms 0\n"
    "2 5 10Gbps 0.001ms 0\n3 5 10Gbps 0.001ms 0\n4 5 10Gbps 1us 0\n"
)
FLOWS = "2\n0 2 3 100 200000 2.5\n1 2 3 100 200000 2.50001\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_example_is_a_fat_tree() -> None:
    networkx = pytest.importorskip("networkx")
    lines = [line.split() for line in example_topology().splitlines()]
    graph = networkx.Graph([(int(a), int(b)) for a, b, *_ in lines[2:]])
    # k = 4: k³/4 hosts, 5k²/4 switches, 3 k³/4 links; at most 6 links between hosts.
    assert [int(word) for word in lines[0]] == [16 + 20, 20, 48]
    assert graph.number_of_edges() == 48
    assert {graph.degree(node) for node in range(16)} == {1}
    assert {graph.degree(int(node)) for node in lines[1]} == {4}
    assert networkx.diameter(graph) == 6


def test_one_slow_host_leaves_the_thresholds_of_the_others(tmp_path: Path) -> None:
    fast = NET.replace("10Gbps", "100Gbps").replace("3 5 100Gbps", "3 5 10Gbps")
    (tmp_path / "net.txt").write_text(fast, encoding="utf-8")
    assert main(["init", "mine", "--topology", "net.txt"]) == Exit.OK
    detector = tomllib.loads((tmp_path / "mine" / "scenario.toml").read_text(encoding="utf-8"))["switch"]["detector"]
    # In proportion to the rate: a tenth for the host that is ten times as slow, which is one of four.
    assert detector["kmin"] == "50KB"
    assert [(row["rate"], row["kmin"]) for row in detector["by-rate"]] == [("10Gbps", "5KB")]


def test_the_example_shows_a_congestion_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "mine", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == {
        "scenario": "mine/scenario.toml",
        "holds": "16 hosts, 15 flows",
        "notes": [],
    }
    assert main(["run", "mine/scenario.toml", "--html"]) == Exit.OK
    page = (tmp_path / "results" / "mine-s1" / "view.html").read_text(encoding="utf-8")
    assert len(page) > 50_000
    capsys.readouterr()
    assert main(["blame", "results/mine-s1", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    root = told["roots"][0]
    # The link to the first host holds back switches of every tier and hosts that send elsewhere.
    assert root["root_port"] == "n16->n0"
    assert root["depth"] >= 4
    assert root["branches"] >= 8


def _tor(hosts: int, rate: str, delay: str, up: str) -> str:
    """Hosts below a switch that has one link up, over which a second one has as many."""
    switches = (2 * hosts, 2 * hosts + 1)
    below = "".join(f"{h} {switches[h // hosts]} {rate} {delay} 0\n" for h in range(2 * hosts))
    return f"{2 * hosts + 2} 2 {2 * hosts + 1}\n{switches[0]} {switches[1]}\n{below}{switches[0]} {switches[1]} {up}\n"


def _incast(senders: int, priorities: int = 1, size: int = 1_000_000) -> str:
    lines = (f"{1 + s} 0 {3 - s % priorities} 100 {size} 0.0001\n" for s in range(senders))
    return f"{senders}\n{''.join(lines)}"


RING = "8 4 8\n4 5 6 7\n" + "".join(
    f"{h} {4 + h} 100Gbps 1us 0\n{4 + h} {4 + (h + 1) % 4} 100Gbps 1us 0\n" for h in range(4)
)


@pytest.mark.parametrize(
    ("net", "flows"),
    [
        (_tor(32, "100Gbps", "0.001ms", "400Gbps 0.002ms 0"), _incast(16)),
        (_tor(16, "400Gbps", "10us", "400Gbps 10us 0"), _incast(12, size=4_000_000)),
        (_tor(4, "10Gbps", "100ns", "40Gbps 1us 0"), _incast(6)),
        (_tor(4, "25Gbps", "1us", "100Gbps 1us 0"), _incast(6, priorities=3)),
        (RING, _incast(3)),
        # 320 hosts in 16 racks below 16 switches, as in the evaluation of HPCC.
        (
            "352 32 576\n"
            + " ".join(str(n) for n in range(320, 352))
            + "\n"
            + "".join(f"{h} {320 + h // 20} 100Gbps 1000ns 0\n" for h in range(320))
            + "".join(f"{320 + rack} {336 + up} 400Gbps 1000ns 0\n" for rack in range(16) for up in range(16)),
            _incast(60, size=500_000),
        ),
    ],
    ids=["100G", "400G over 2 km", "10G", "three priorities", "ring", "320 hosts"],
)
def test_ordinary_networks_run_at_once_and_show_a_root(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], net: str, flows: str
) -> None:
    (tmp_path / "net.txt").write_text(net)
    (tmp_path / "flows.txt").write_text(flows)
    assert main(["init", "lab", "--topology", "net.txt", "--flows", "flows.txt"]) == Exit.OK
    assert main(["run", "lab/scenario.toml"]) in (Exit.OK, Exit.CAVEATS), capsys.readouterr().err
    results = Results("results/lab-s1")
    # An overflow would have ended the run.
    assert results.flows.collect()["finish_ps"].null_count() == 0
    capsys.readouterr()
    assert main(["blame", "results/lab-s1", "--json"]) == Exit.OK
    roots = json.loads(capsys.readouterr().out)["roots"]
    first = roots[0]
    assert first["root_port"].split()[0].endswith("->n0")
    assert first["branches"] > 0


def test_the_memory_is_what_the_headroom_needs(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text(_tor(3, "100Gbps", "1us", "400Gbps 2us 0"))
    (tmp_path / "flows.txt").write_text(_incast(2))
    text = begin(tmp_path / "x", tmp_path / "net.txt", tmp_path / "flows.txt").files["scenario.toml"]
    # 2 · 2 us · 400 Gbps = 200 000 B, 3 packets of 1048 B (one crosses the threshold) and a frame of 43 B.
    # The memory: 4 ports with this headroom and a reserve of 4 KiB each, and 2 MB.
    assert '\nheadroom = "204KB"\n' in text
    assert f'\nbuffer = "{2000 + 4 * (204 + 5)}KB"\n' in text


def test_memory_and_thresholds_follow_the_rate_of_the_links(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text(_tor(7, "400Gbps", "1us", "800Gbps 1us 0"))
    (tmp_path / "flows.txt").write_text(_incast(2))
    made = begin(tmp_path / "x", tmp_path / "net.txt", tmp_path / "flows.txt").files
    found = tomllib.loads(made["scenario.toml"])
    # 2 MB, 50 KB and 200 KB are those of 100 Gbps.
    # Headroom: 2 · 1 us · 800 Gbps, 3 packets of 1048 B (one crosses the threshold) and a frame of 43 B.
    assert found["switch"]["buffer"] == f"{4 * 2000 + 8 * (204 + 5)}KB"
    detector = found["switch"]["detector"]
    assert (detector["kmin"], detector["kmax"]) == ("200KB", "800KB")
    assert detector["by-rate"] == [{"rate": "800Gbps", "kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}]
    # Some packets have to fit, however slow links are.
    (tmp_path / "net.txt").write_text(_tor(3, "100Mbps", "1us", "100Mbps 1us 0"))
    slow = tomllib.loads(begin(tmp_path / "y", tmp_path / "net.txt", None).files["scenario.toml"])["switch"]["detector"]
    assert (slow["kmin"], slow["kmax"], "by-rate" in slow) == ("5KB", "20KB", False)


def test_two_hosts_with_flows_of_their_own_are_a_network(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    (tmp_path / "flows.txt").write_text(_incast(1))
    assert begin(tmp_path / "x", tmp_path / "net.txt", tmp_path / "flows.txt").holds == "2 hosts, 1 flow"


def test_slow_links_have_a_least_rate_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text(_tor(4, "100Mbps", "1us", "1Gbps 1us 0"))
    assert main(["init", "slow", "--topology", "net.txt"]) == Exit.OK
    assert 'min-rate = "1000000bps"' in (tmp_path / "slow/scenario.toml").read_text()
    assert main(["run", "slow/scenario.toml", "--set", "cc.kind=dcqcn"]) == Exit.OK


def test_routes_that_can_deadlock_are_told_before_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.txt").write_text(RING)
    # Each host sends two switches on, all the same way round or back: the circle is closed one way at least.
    (tmp_path / "flows.txt").write_text("4\n" + "".join(f"{h} {(h + 2) % 4} 3 100 1000 0\n" for h in range(4)))
    assert main(["init", "ring", "--topology", "net.txt", "--flows", "flows.txt"]) == Exit.OK
    assert "note: priority 3 can deadlock: the routes form a cyclic buffer dependency" in capsys.readouterr().err


def test_a_second_project_leaves_the_results_of_the_first_alone(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert main(["init", name]) == Exit.OK
        assert main(["run", f"{name}/scenario.toml"]) == Exit.OK
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"one-s1", "two-s1"}


def test_files_of_ones_own_are_taken_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.txt").write_text(NET)
    (tmp_path / "my flows.txt").write_text(FLOWS)
    assert main(["init", "a/b", "--topology", "net.txt", "--flows", "my flows.txt"]) == Exit.OK
    assert (
        capsys.readouterr().out == "a/b/scenario.toml: 4 hosts, 2 flows\nnext: backwater run a/b/scenario.toml --html\n"
    )
    assert (tmp_path / "a/b/topology.txt").read_text() == NET
    assert (tmp_path / "a/b/flow.txt").read_text() == FLOWS
    # The run begins with the first flow: 400 kB over 10 Gbps take 320 us and their headers.
    assert 'time-origin = "2.5s"' in (tmp_path / "a/b/scenario.toml").read_text()
    assert main(["run", "a/b/scenario.toml"]) == Exit.OK
    flows = Results("results/b-s1").flows.select("start_ps", "fct_ps").collect()
    assert flows["start_ps"].to_list() == [0, 10_000_000]
    assert 320e6 < max(flows["fct_ps"].to_list()) < 1e9


def test_a_network_of_ones_own_gets_an_incast(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text(NET)
    begun = begin(tmp_path / "x", tmp_path / "net.txt", None)
    assert begun.files["flow.txt"].splitlines()[1:3] == ["3 0 3 100 1000000 0.000010", "1 0 3 100 1000000 0.000010"]


@pytest.mark.parametrize(
    ("net", "flows", "message"),
    [
        (None, FLOWS, "--flows names hosts of a network; add --topology FILE"),
        ("", None, "net.txt is empty"),
        ("a b c\n", None, 'net.txt, line 1: the number of nodes "a" is not a whole number'),
        ("9999999999 0 0\n", None, "net.txt, line 1: "),
        ("2 0 1\n0 1 10Gbps 1us 0\n", None, "net.txt has 2 hosts, and the example's incast needs 3: two that send"),
        (
            NET.replace("10Gbps", "10Gbs"),
            None,
            'net.txt, line 3: the rate "10Gbs": expected one of the units bps, Kbps',
        ),
        (NET.replace("10Gbps", "-5Gbps"), None, 'net.txt, line 3: the rate "-5Gbps": expected a non-negative decimal'),
        (NET.replace("0.001ms", ""), None, "net.txt, line 3: expected 5 fields (node, node, rate, delay, loss rate)"),
        (NET.replace("6 2 5", "6 2 9"), FLOWS, "net.txt, line 7: the file ends after 5 of the"),
        (NET, "", "flows.txt is empty"),
        (NET, "0\n", "flows.txt has no flows"),
        (NET, "1\n0 2 3 100 many 2.0\n", "flows.txt: line 2: 'many' is not a whole number of bytes"),
        (NET, "1\n0 2 3 100 1000\n", "flows.txt: line 2: '0 2 3 100 1000' has 5 words, expected 6"),
        (NET, "1\n0 2 3 100 1000 nan\n", "flows.txt: line 2: the start 'nan' is not a number of seconds from 0 to"),
        (NET, "1\n0 2 3 100 1000 2,0\n", "flows.txt: line 2: the start '2,0' is not a number of seconds from 0 to"),
        (NET, "1\n0 77 3 100 1000 2.0\n", "flows.txt"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    net: str | None, flows: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["init", "mine"]
    for option, name, text in (("--topology", "net.txt", net), ("--flows", "flows.txt", flows)):
        if text is not None:
            (tmp_path / name).write_text(text)
            words += [option, name]
    assert main(words) == Exit.BAD_INPUT
    told = capsys.readouterr().err
    assert message in told
    # Nobody can look at a file that is not written.
    assert "scenario.toml" not in told
    assert not (tmp_path / "mine").exists()


def test_an_empty_folder_that_one_works_in_is_filled(tmp_path: Path) -> None:
    assert main(["init", "."]) == Exit.OK
    assert {"scenario.toml", "topology.txt"} <= {path.name for path in tmp_path.iterdir()}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert main(["run", "scenario.toml"]) in (Exit.OK, Exit.CAVEATS)


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    assert main(["init"]) == Exit.BAD_INPUT
    assert "the folder mine exists and is not an empty folder; name another one" in capsys.readouterr().err


def test_commands_that_are_printed_can_be_typed_although_a_folder_has_a_space(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "my fabric"]) == Exit.OK
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("next: ")]
    assert told == "next: backwater run 'my fabric/scenario.toml' --html"
    words = shlex.split(told.removeprefix("next: backwater "))
    assert main(words) == Exit.OK
    text = (tmp_path / "my fabric" / "scenario.toml").read_text(encoding="utf-8")
    assert "backwater view 'results/my fabric-s1'" in text
    assert Results(tmp_path / "results" / "my fabric-s1").meta["status"] == "complete"
