"""A testbed in parts: each switch with the hosts at its links in a process of its own, memif where links are cut."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from backwater.errors import UsageError


def split(document: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """The files of the processes, one for each switch, in the order of the switches.

    `folder` is for the page of their clocks and the sockets of memif; its path must be short (those of sockets have 108
    characters). Hosts have the addresses that they have in one process, flows the queue pairs. Raises UsageError for a
    host that is at no switch.
    """
    switches = [node["name"] for node in document["node"] if node["kind"] == "switch"]
    home = _homes(document, switches)
    document = _with_addresses(document)
    cuts = [link for link in document["link"] if home[_node(link["a"])] != home[_node(link["b"])]]
    parts = []
    for number, switch in enumerate(switches):
        part = copy.deepcopy({key: value for key, value in document.items() if key not in ("node", "link", "clock")})
        part["clock"] = {
            "kind": "lockstep",
            "page": str(folder / "clocks"),
            "process": number,
            "processes": len(switches),
        }
        part["node"] = [_seen_from(node, home[node["name"]] == switch) for node in document["node"]]
        part["node"] = [node for node in part["node"] if node is not None]
        part["link"] = [link for link in document["link"] if home[_node(link["a"])] == home[_node(link["b"])] == switch]
        part["port"], part["station"] = [], []
        for cable, link in enumerate(cuts):
            for side, end in enumerate((link["a"], link["b"])):
                if home[_node(end)] == switch:
                    part["port"].append(_port(link, end, f"{folder}/cable{cable}", server=bool(side)))
                    part["station"] += _stations(document, end, link, home)
        parts.append(part)
    return parts


def _node(end: str) -> str:
    return end.partition(".")[0]


def _homes(document: dict[str, Any], switches: list[str]) -> dict[str, str]:
    """The switch in whose process each node is."""
    home = {switch: switch for switch in switches}
    ends = [(_node(link["a"]), _node(link["b"])) for link in document["link"]]
    both_ways = [*ends, *((b, a) for a, b in ends)]
    home |= {one: other for one, other in both_ways if one not in switches and other in switches}
    for node in document["node"]:
        if node["name"] not in home:
            raise UsageError(f"{node['name']} has no link to a switch, so no process of the lockstep would have it")
    return home


def _with_addresses(document: dict[str, Any]) -> dict[str, Any]:
    """The document with what a file has by the numbers of its nodes and flows written out."""
    document = copy.deepcopy(document)
    for number, node in enumerate(document["node"], 1):
        if node["kind"] != "switch":
            node.setdefault("mac", f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}")
            node.setdefault("ip", f"10.0.{number >> 8}.{number & 255}")
    for number, flow in enumerate(document.get("flow", ())):
        flow.setdefault("queue-pair", 16 + number)
    return document


def _seen_from(node: dict[str, Any], here: bool) -> dict[str, Any] | None:
    if here:
        return node
    if node["kind"] == "switch":
        return None
    return {key: node[key] for key in ("name", "mac", "ip")} | {"kind": "remote"}


def _port(link: dict[str, Any], end: str, socket: str, *, server: bool) -> dict[str, Any]:
    node, _, name = end.partition(".")
    role = "server" if server else "client"
    made = {
        "node": node,
        "device": f"net_memif{socket.rpartition('cable')[2]},role={role},id=0,socket={socket},socket-abstract=no",
    }
    same = {key: link[key] for key in ("rate", "delay", "overhead") if key in link}
    return made | ({"name": name} if name else {}) | same


def _stations(document: dict[str, Any], end: str, link: dict[str, Any], home: dict[str, str]) -> list[dict[str, str]]:
    """The hosts that a switch with static forwarding reaches over a link that is cut."""
    here = next(node for node in document["node"] if node["name"] == _node(end))
    if here.get("forwarding") != "static":
        return []
    ways = _beyond(document, _node(link["a"] if end == link["b"] else link["b"]), home, without=_node(end))
    hosts = [node for node in document["node"] if node["kind"] != "switch" and home[node["name"]] in ways]
    return [{"port": end, "mac": node["mac"]} for node in hosts]


def _beyond(document: dict[str, Any], first: str, home: dict[str, str], *, without: str) -> set[str]:
    """The switches that are reached from one without passing another."""
    seen, todo = {first}, [first]
    while todo:
        switch = todo.pop()
        for link in document["link"]:
            ends = {_node(link["a"]), _node(link["b"])}
            for other in ends - {switch} if switch in ends else ():
                if home[other] == other and other not in (*seen, without):
                    seen.add(other)
                    todo.append(other)
    return seen


def merged(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """What the processes printed, as one process would have; raises UsageError if one of them was lost."""
    if any(document["lost_processes"] for document in documents):
        raise UsageError("a process of the lockstep was killed; nothing of such a run counts")
    return documents[0] | {
        "disturbed": any(document["disturbed"] for document in documents),
        "leaked_frames": sum(document["leaked_frames"] for document in documents),
        "nodes": [node for document in documents for node in document["nodes"]],
    }
