"""The profile conweave-ns3 gives the answers of the ConWeave simulator (ns-3): FCTs, packets, NACKs, drops, PAUSEs.

Nothing is drawn in these cases: there is no ECN, and one path for each flow. The simulator loses up to a nanosecond of
a start time, so that flows start here when they did there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import backwater
import conweave_answers
import polars
import pytest
from conweave_rules import keys

if TYPE_CHECKING:
    from pathlib import Path

    from backwater import Results

#: When its flows begin.
ORIGIN_NS = 2_000_000_000
MTU = 1048


def scenario(folder: Path) -> dict[str, Any]:
    """The scenario around the files of a case: what is not the profile's."""
    config = keys(folder / "config.txt", " ")
    environment = dict(word.split("=", 1) for word in (folder / "env.txt").read_text().split())
    lines = (folder.parent / config["TOPOLOGY_FILE"]).read_text().splitlines()
    ports = len(lines) - 2
    rate = lines[2].split()[2]
    bits = int(float(rate.removesuffix("Mbps").removesuffix("Gbps")) * (1e6 if rate.endswith("Mbps") else 1e9))
    buffer = int(environment["REF_BUFFER_BYTES"])
    headroom = 2 * bits * 1000 // 8_000_000_000 + 2 * MTU
    rows = sorted(conweave_answers.numbers(folder / "fct.txt"), key=lambda row: int(row[8]))
    return {
        "profile": "conweave-ns3",
        "topology": {"kind": "star", "hosts": ports, "rate": f"{bits}bps", "delay": "1us"},
        "packet": {"payload": config["PACKET_PAYLOAD_SIZE"] + "B"},
        "switch": {
            "buffer": f"{buffer}B",
            "flow-control": "pfc" if config["ENABLE_PFC"] == "1" else "none",
            "detector": {"kind": "none"},
            "two-pools": {
                # The sum of headroom misses the last port, and takes one that does not exist.
                "ingress-pool": f"{buffer - 14_596 - (ports - 1) * headroom - ports * 8 * MTU}B",
                "headroom": f"{headroom}B",
            },
        },
        "cc": {"kind": "dcqcn" if config["CC_MODE"] == "1" else "none"},
        "transport": {
            "reliability": "selective-repeat" if config["ENABLE_IRN"] == "1" else "go-back-n",
            "selective-repeat": {
                "bdp": environment["REF_IRN_BDP"] + "B",
                "rto-low": environment["REF_RTO_LOW"] + "us",
                "rto-high": environment["REF_RTO_HIGH"] + "us",
            },
        },
        "traffic": [
            {
                "name": f"flow{row[8]}",
                "kind": "flow",
                "from": f"h{row[0]}",
                "to": f"h{row[1]}",
                "size": f"{row[4]}B",
                "start": f"{int(row[5]) - ORIGIN_NS}ns",
            }
            for row in rows
        ],
        "probe": {"blame": False, "frames": ["s:*"]},
    }


def flows(results: Results, payload: int) -> list[tuple[int, ...]]:
    """FCT, packets sent, NACKs and timeouts, by flow."""
    table = results.flows.sort("traffic_index").collect()
    return [
        (
            (row["acked_ps"] - row["start_ps"]) // 1000,
            -(-row["size_bytes"] // payload) + row["resent_packets"],
            row["nacks"],
            row["timeouts"],
        )
        for row in table.iter_rows(named=True)
    ]


def drops(results: Results) -> list[tuple[int, int, str, int, int]]:
    """Of what the switch lost: time, port at the side that lost it, that side, flow, number of the packet."""
    # Receivers that go back N discard what comes out of order: no drop of a switch.
    of_switch = results.drops.filter(polars.col("reason") != "not-taken")
    at_ingress = ("headroom", "memory")
    return [
        (
            row["time_ps"] // 1000,
            row["port_index"],
            "ingress" if row["reason"] in at_ingress else "egress",
            row["flow"],
            row["seq"],
        )
        for row in of_switch.sort("time_ps", maintain_order=True).collect().iter_rows(named=True)
    ]


def pauses(results: Results) -> list[tuple[int, int, bool]]:
    """When each PFC frame was received by which host, and whether it was a PAUSE."""
    table = results.frames.filter(polars.col("kind") == "pfc").sort("time_ps", "port_index").collect()
    return [(row["time_ps"] // 1000, row["port_index"], row["paused"] != 0) for row in table.iter_rows(named=True)]


@pytest.mark.parametrize("name", conweave_answers.CASES)
def test_every_flow_drop_and_pause_is_that_of_the_simulator(name: str, tmp_path: Path) -> None:
    wanted = conweave_answers.answers(name)
    made = scenario(conweave_answers.folder(name))
    payload = int(made["packet"]["payload"].removesuffix("B"))
    results = backwater.run(made, out=tmp_path)
    assert flows(results, payload) == [(fct, sent, nacks, timeouts) for fct, sent, nacks, _, timeouts in wanted.flows]
    hosts = [int(entry["from"].removeprefix("h")) for entry in made["traffic"]]
    assert [(time, side, port, hosts[flow], seq) for time, port, side, flow, seq in drops(results)] == [
        (time - ORIGIN_NS, side, egress if side == "egress" else ingress, source, seq // payload)
        for time, ingress, egress, side, source, seq in wanted.drops
    ]
    assert pauses(results) == sorted((time - ORIGIN_NS, host, paused) for time, host, paused in wanted.pauses)


def test_its_order_of_events_is_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    made = scenario(conweave_answers.folder("burst-exact/pfc-gbn-noecn"))
    runs = [backwater.run(made, threads=threads, out=tmp_path / str(threads)) for threads in (1, 2)]
    assert len({run.digest for run in runs}) == 1
