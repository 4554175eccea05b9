"""Hosts with several ports from Python: a multigraph, a file of the HPCC simulator, tables, blame and the page."""
# networkx has no types.
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import backwater as bw
import networkx as nx
import polars as pl
import pytest
from backwater.cli import main
from backwater.errors import Exit

#: Packets of 1000 B and headers of 48 B.
PAYLOAD, HEADER = 1000, 48
PACKET = {"payload": "1000B", "header": "48B"}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def planes() -> nx.MultiGraph:
    """Four hosts with two parallel links to a switch, and one to another that nothing else joins."""
    made = nx.MultiGraph(rate="100Gbps", delay="1us")
    for host in range(4):
        made.add_node(f"h{host}", kind="host")
        made.add_edges_from([(f"h{host}", "a"), (f"h{host}", "a"), (f"h{host}", "b")])
    return made


def sent_as_flows_say(results: bw.Results) -> pl.DataFrame:
    """What each port of a host has sent, beside what the flows say that leave by it."""
    packets = (pl.col("size_bytes") / PAYLOAD).ceil().cast(pl.Int64)
    said = (
        results.flows.with_columns(wire=pl.col("size_bytes") + packets * HEADER)
        .group_by(node_index="src_index", port_index="src_port_index")
        .agg(pl.col("wire").sum())
    )
    sent = results.ports.filter(pl.col("sent_bytes") > 0).group_by("node_index", "port_index")
    return said.join(sent.agg(pl.col("sent_bytes").sum()), on=["node_index", "port_index"]).collect()


def test_a_multigraph_has_hosts_with_several_ports_and_flows_say_by_which_they_leave() -> None:
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    flows = {
        "src": [f"h{a}" for a, _ in pairs],
        "dst": [f"h{b}" for _, b in pairs],
        "size_bytes": [10_000 + 1000 * (4 * a + b) for a, b in pairs],
        "start_ps": [0] * len(pairs),
    }
    given: dict[str, Any] = {"profile": "ideal", "packet": PACKET, "probe": {"blame": False}}
    results = bw.run(bw.Experiment(topology=planes(), traffic=pl.DataFrame(flows), **given), out="out")
    assert isinstance(results, bw.Results)
    assert results.flows.select("finish_ps").collect()["finish_ps"].null_count() == 0
    ports = sent_as_flows_say(results)
    assert ports["wire"].to_list() == ports["sent_bytes"].to_list()
    assert set(ports["port_index"]) == {0, 1, 2}
    names = results.ports.filter(pl.col("node").cast(pl.String) == "h0").select(pl.col("port").cast(pl.String)).unique()
    assert sorted(names.collect()["port"]) == ["h0->a:0", "h0->a:1", "h0->b"]


def test_a_file_of_the_hpcc_simulator_may_have_parallel_links_of_hosts() -> None:
    # Nodes, switches, links; the switch; links with rate, delay and loss.
    links = ["0 2 100Gbps 0.001ms 0"] * 2 + ["1 2 100Gbps 0.001ms 0"] * 2
    Path("topology.txt").write_text("\n".join([f"3 1 {len(links)}", "2", *links]) + "\n")
    traffic = [{"name": f"f{n}", "kind": "flow", "from": "n0", "to": "n1", "size": "100KB"} for n in range(8)]
    tables: dict[str, Any] = {
        "profile": "ideal",
        "topology": {"kind": "hpcc", "file": "topology.txt"},
        "packet": PACKET,
    }
    results = bw.run(bw.Experiment(**tables, traffic=traffic), out="out")
    assert isinstance(results, bw.Results)
    ports = sent_as_flows_say(results)
    assert ports["wire"].to_list() == ports["sent_bytes"].to_list()
    assert set(ports["port_index"]) == {0, 1}


#: h0 has its second port at t, where h1 is behind a link of a tenth of the rate: only that port is paused.
HELD = """profile = "ideal"
packet = { payload = "1000B", header = "48B" }
probe = { blame = true }
[topology]
kind = "edges"
hosts = ["h0", "h1", "h2"]
switches = ["s", "t"]
links = [
  { a = "h0", b = "s", rate = "100Gbps", delay = "1us" },
  { a = "h0", b = "t", rate = "100Gbps", delay = "1us" },
  { a = "h1", b = "t", rate = "10Gbps", delay = "1us" },
  { a = "h2", b = "s", rate = "100Gbps", delay = "1us" },
  { a = "s", b = "t", rate = "100Gbps", delay = "1us" },
]
[switch.pfc]
xoff = "50KB"
xon = "48KB"
[[traffic]]
name = "slow"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
[[traffic]]
name = "fast"
kind = "flow"
from = "h0"
to = "h2"
size = "1MB"
"""


def test_blame_finds_the_port_that_was_paused_and_the_page_shows_both(capsys: pytest.CaptureFixture[str]) -> None:
    Path("held.toml").write_text(HELD)
    results = bw.run("held.toml", out="out")
    assert isinstance(results, bw.Results)
    paused = results.ports.filter(pl.col("pauses") > 0).select(pl.col("port").cast(pl.String)).collect()
    assert paused["port"].to_list() == ["h0->t"]
    assert results.flows.sort("flow").collect()["src_port_index"].to_list() == [1, 0]
    assert main(["blame", "out", "--by", "traffic", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    lost = {row["group"]: row for row in told["lost"]}
    assert lost["slow"]["nic_held_ps"] > 0
    assert lost["fast"]["lost_ps"] == 0
    because = [row for row in told["because_of"] if row["group"] == "slow"]
    assert [row["whom"] for row in because] == ["slow"], "its own packets fill the queue of t->h1"
    assert main(["view", "out", "--out", "page.html"]) == Exit.OK
    assert Path("page.html").stat().st_size > 0
