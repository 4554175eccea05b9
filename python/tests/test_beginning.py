"""A first scenario: the example has a congestion tree, one's own files are taken as they are, wrong ones are told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from backwater.beginning import begin, example_topology
from backwater.cli import main
from backwater.errors import Exit
from backwater.results import Results

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


def test_the_example_shows_a_congestion_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "mine", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out) == {"scenario": "mine/scenario.toml", "holds": "16 hosts, 15 flows"}
    assert main(["run", "mine/scenario.toml", "--html"]) == Exit.OK
    page = (tmp_path / "results" / "scenario-s1" / "view.html").read_text(encoding="utf-8")
    assert len(page) > 50_000
    capsys.readouterr()
    assert main(["blame", "results/scenario-s1", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    root = told["roots"][0]
    # The link to the first host holds back switches of every tier and hosts that send elsewhere.
    assert root["root_port"] == "n16->n0"
    assert root["depth"] >= 4
    assert root["branches"] >= 8


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
    flows = Results("results/scenario-s1").flows.select("start_ps", "fct_ps").collect()
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
        ("a b c\n", None, "net.txt is no topology of the HPCC simulator"),
        ("9999999999 0 0\n", None, "net.txt: line 1: 9999999999 nodes; at most 1000000 are possible"),
        ("2 0 1\n0 1 10Gbps 1us 0\n", None, "net.txt has 2 hosts and 1 links; 3 hosts and a link are needed"),
        (NET.replace("10Gbps", "10Furlongs"), None, "net.txt is no topology of the HPCC simulator"),
        (NET.replace("6 2 5", "6 2 9"), FLOWS, 'net.txt", line 7: the file ends after 5 of the'),
        (NET, "", "flows.txt is empty"),
        (NET, "0\n", "flows.txt has no flows"),
        (NET, "1\n0 2 3 100 many 2.0\n", "flows.txt: line 2: '0 2 3 100 many 2.0' is no flow"),
        (NET, "1\n0 2 3 100 1000 nan\n", "flows.txt: line 2"),
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
    assert message in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    assert main(["init"]) == Exit.BAD_INPUT
    assert "the folder mine exists and is not an empty folder; name another one" in capsys.readouterr().err
