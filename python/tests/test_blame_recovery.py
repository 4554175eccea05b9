"""Flows that sent packets again: parts sum up, and are those of the copy of the last packet that arrived.

Networks, losses, controllers and ways are drawn. Which copy arrived is found from the frames on every wire and the
table of drops: nothing of that does blame read.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import backwater
import polars as pl
import pytest
from backwater import Results
from backwater.analysis.blame.losses import PARTS, SOURCE, WAITS
from backwater.scenario.toml_writer import toml

if TYPE_CHECKING:
    from pathlib import Path

PAYLOAD, HEADER = 1000, 48
#: Seeds of the suite; RECOVERY_DRAWS has more of them.
DRAWS = int(os.environ.get("RECOVERY_DRAWS", "24"))
GBPS = {"40Gbps": 200, "100Gbps": 80}


@dataclass
class Draw:
    """A scenario, and its picoseconds per byte."""

    scenario: dict[str, Any]
    ps_per_byte: int


def draw(seed: int) -> Draw:
    """A network that loses packets, and queue pairs that send them again."""
    of = Random(seed)  # noqa: S311
    rate = of.choice([*GBPS])
    links = {"rate": rate, "delay": of.choice(["300ns", "1us"])}
    if of.random() < 0.5:
        hosts = of.randint(3, 8)
        topology: dict[str, Any] = {"kind": "star", "hosts": hosts, **links}
    else:
        leaves, each = of.randint(2, 3), of.randint(1, 3)
        hosts = leaves * each
        topology = {"kind": "leaf-spine", "leaves": leaves, "spines": of.randint(1, 3), "hosts-per-leaf": each, **links}
    made: dict[str, Any] = {
        "profile": "ideal",
        "run": {"seed": seed, "until": "20ms"},
        "topology": topology,
        "packet": {"payload": f"{PAYLOAD}B", "header": f"{HEADER}B"},
        "ack": {"every": 1, "size": "64B"},
        "switch": {"detector": {"kind": "none"}},
        "traffic": [],
    }
    made["switch"] |= _losing(of)
    if topology["kind"] == "leaf-spine":
        made["switch"]["load-balancing"] = of.choice(["ecmp", "ecmp", "spray", "adaptive"])
    _transport(made, of)
    _controller(made, of)
    _traffic(made, of, hosts)
    _fault(made, of)
    if of.random() < 0.15:
        made["host"] = {"of": "h0", "drain": "20Gbps"}
    switches = ["s"]
    if topology["kind"] == "leaf-spine":
        switches = [*(f"leaf{number}" for number in range(leaves)), *(f"spine{n}" for n in range(topology["spines"]))]
    made["probe"] = {"frames": [f"{node}:*" for node in (*(f"h{host}" for host in range(hosts)), *switches)]}
    return Draw(made, GBPS[rate])


def _losing(of: Random) -> dict[str, Any]:
    room = of.choice(["6KB", "20KB", "60KB", "1MB"])
    return {"flow-control": "none", "overflow": "drop", "port-buffer": room}


def _transport(made: dict[str, Any], of: Random) -> None:
    kind = of.choice(["go-back-n", "selective-repeat"])
    low = of.choice([15, 40, 100])
    shared = {"retries": 7, "backoff": of.random() < 0.5}
    if kind == "go-back-n":
        more: dict[str, Any] = {"timeout": f"{low}us", **shared}
    else:
        more = {"rto-low": f"{low}us", "rto-high": f"{2 * low}us", "bdp": of.choice(["5KB", "40KB", "1MB"]), **shared}
        if of.random() < 0.3:
            more["scoreboard"] = "block-list"
    made["transport"] = {"reliability": kind, kind: more}


def _controller(made: dict[str, Any], of: Random) -> None:
    kinds = ["none", "none", "dcqcn", "dctcp", "swift", "timely"]
    if made["switch"].get("load-balancing", "ecmp") == "ecmp":
        kinds.append("hpcc")
    kind = of.choice(kinds)
    made["cc"] = {"kind": kind}
    if kind in ("dcqcn", "dctcp"):
        made["switch"]["detector"] = {"kind": "red"}


def _traffic(made: dict[str, Any], of: Random, hosts: int) -> None:
    others = [f"h{host}" for host in range(1, hosts)]
    size = of.choice([700, 3_000, 20_000, 64_000])
    made["traffic"].append({"name": "in", "kind": "incast", "from": others, "to": "h0", "size": f"{size}B"})
    web: dict[str, Any] = {"name": "web", "kind": "poisson", "flows": of.randint(5, 40)}
    web |= {"size": f"{of.choice([1, 900, 5_000, 30_000])}B", "load": of.choice([0.2, 0.6, 0.9])}
    if made["cc"]["kind"] in ("none", "dcqcn") and of.random() < 0.4:
        web["connection"] = "pair"
    made["traffic"].append(web)
    if of.random() < 0.5:
        made["traffic"].append({"name": "all", "kind": "permutation", "size": f"{of.choice([2_000, 50_000])}B"})


def _fault(made: dict[str, Any], of: Random) -> None:
    kind = of.choice(["none", "gray", "loss", "link-down"])
    star = made["topology"]["kind"] == "star"
    place = {"switch": "s"} if star else {"switch": "leaf0"}
    link = ["h0", "s"] if star else ["leaf0", of.choice(["h0", "spine0"])]
    share = of.choice([0.01, 0.05, 0.2])
    match kind:
        case "gray":
            made["fault"] = [{"kind": kind, **place, "share": share, "at": "0ps"}]
        case "loss":
            made["fault"] = [{"kind": kind, "link": link, "frames": share, "at": "0ps"}]
        case "link-down":
            times = {"at": f"{of.randint(2, 30)}us", "for": f"{of.randint(1, 60)}us"}
            made["fault"] = [{"kind": kind, "link": link, **times}]


class Wires:
    """The copies of packets on every wire."""

    def __init__(self, results: Results) -> None:
        data = results.frames.filter(pl.col("kind").cast(pl.String) == "data").sort("sent_ps")
        ports = results.ports.select("node_index", "port_index", peer="peer_index").unique()
        self._frames: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for row in data.join(ports, on=["node_index", "port_index"]).sort("sent_ps").collect().to_dicts():
            self._frames.setdefault((row["flow"], row["seq"]), []).append(row)
        self._drops: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for row in results.drops.filter("data").collect().to_dicts():
            self._drops.setdefault((row["flow"], row["seq"]), []).append((row["node_index"], row["time_ps"]))

    def taken(self, flow: dict[str, Any], last: int, arrived: int) -> tuple[int, int] | None:
        """When the copy left that came at an instant, and how long it waited; None: this cannot tell."""
        frames = self._frames[flow["flow"], last]
        lost = Counter(self._drops.get((flow["flow"], last), []))
        found = [row for row in frames if row["peer"] == flow["dst_index"] and row["time_ps"] == arrived]
        if len(found) != 1:
            return None
        frame, waited = found[0], 0
        while frame["node_index"] != flow["src_index"]:
            node = frame["node_index"]
            came = sorted(row["time_ps"] for row in frames if row["peer"] == node)
            left = sorted(row["sent_ps"] for row in frames if row["node_index"] == node)
            for time in list(came):
                if lost[node, time]:
                    lost[node, time] -= 1
                    came.remove(time)
            # On one way none overtakes another; on several one is at a node at a time, or nobody knows.
            ways = {row["port_index"] for row in frames if row["node_index"] == node}
            ingress = {row["node_index"] for row in frames if row["peer"] == node}
            at = left.index(frame["sent_ps"])
            if len(came) != len(left) or len(set(came)) < len(came):
                return None
            alone = all(end <= begin for end, begin in zip(left, came[1:], strict=False))
            if not alone and (len(ways) > 1 or len(ingress) > 1):
                return None
            waited += left[at] - came[at]
            frame = next(row for row in frames if row["peer"] == node and row["time_ps"] == came[at])
        return frame["sent_ps"], waited


def violations(drawn: Draw, folder: Path) -> tuple[list[str], Counter[str]]:
    """What is wrong, and how often what was seen."""
    folder.mkdir()
    file = folder / "scenario.toml"
    file.write_text(toml(drawn.scenario))
    results = backwater.run(file, out=folder / "results")
    blame = results.blame()
    columns = ["flow", "src_index", "dst_index", "size_bytes", "start_ps", "finish_ps", "reorder_wait_ps"]
    counts = ["resent_packets", "drained"]
    rows = results.flows.with_columns(drained=pl.col("dst") == "h0").select(*columns, *counts, *SOURCE).collect()
    table = {row["flow"]: row for row in blame.flows.to_dicts()}
    wires = Wires(results)
    unknown = set(blame.copies.unknown)
    slow = "host" in drawn.scenario
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    for flow in rows.to_dicts():
        found = table[flow["flow"]]
        if found["lost_ps"] is None:
            continue
        if sum(found[name] for name in PARTS) + found["rest_ps"] != found["lost_ps"] + found["ideal_wait_ps"]:
            wrong.append(f"the parts are not all: {found}")
        seen["flows"] += 1
        seen["again"] += flow["resent_packets"] > 0
        if flow["flow"] in unknown:
            seen["unknown"] += 1
            continue
        if found["rest_ps"]:
            wrong.append(f"something is not explained: {found}")
        last = -(-flow["size_bytes"] // PAYLOAD) - 1
        if not flow["resent_packets"]:
            if flow["recovery_ps"] and "connection" not in drawn.scenario["traffic"][1]:
                wrong.append(f"nothing was sent again, and yet {flow}")
            continue
        if slow and flow["drained"]:
            continue
        taken = wires.taken(flow, last, flow["finish_ps"] - flow["reorder_wait_ps"])
        if taken is None:
            seen["nobody knows"] += 1
            continue
        seen["known"] += 1
        left, waited = taken
        told = flow["start_ps"] + sum(flow[name] for name in SOURCE) + last * (PAYLOAD + HEADER) * drawn.ps_per_byte
        if told != left:
            wrong.append(f"the copy left at {left} ps, not at {told} ps: {flow}")
        elif sum(found[name] for name in WAITS) != waited:
            wrong.append(f"the copy waited {waited} ps: {found}")
    one_way = drawn.scenario["switch"].get("load-balancing", "ecmp") == "ecmp"
    if unknown and one_way and not slow:
        wrong.append(f"on one way nobody knows which copy arrived: {unknown}")
    if bool(unknown) != any("unknown-copy" in note for note in blame.notes):
        wrong.append(f"unknown are {unknown}, and it is said: {blame.notes}")
    return wrong, seen


@pytest.mark.parametrize("seed", range(DRAWS))
def test_the_parts_of_what_was_sent_again_are_those_of_the_copy_that_arrived(seed: int, tmp_path: Path) -> None:
    drawn = draw(seed)
    wrong, seen = violations(drawn, tmp_path / "run")
    assert not wrong, f"{seen}\n{wrong[:3]}\n{toml(drawn.scenario)}"
