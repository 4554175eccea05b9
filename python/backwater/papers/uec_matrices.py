"""Connection matrices and topologies of the Ultra Ethernet Consortium's published rows, made anew.

That repository has them as files. Most are made by two scripts of its own (`gen_permutation.py`, `gen_incast.py`),
which shuffle with Python's generator: the same seed gives the same matrix here. The seeds were found by trying.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random

#: The pairs of `perm_16n_16c_2MB.cm`, which none of 3000 seeds gives.
_SIXTEEN = (
    *((13, 6), (1, 4), (6, 0), (2, 13), (10, 5), (15, 1), (8, 14), (14, 2)),
    *((5, 15), (4, 12), (12, 11), (0, 8), (9, 7), (7, 9), (3, 10), (11, 3)),
)
#: Of `incast_128.cm`: who receives.
_RECEIVER = 33
#: Of the matrices of 1024 hosts and fewer.
_SEED = 13
_MB = 1_000_000

_PERMUTATION = re.compile(r"perm_(?P<nodes>\d+)n_(?P=nodes)c_(?:(?P<mb>\d+)MB|0u_(?P<bytes>\d+)b)\.cm")
_REUSED = re.compile(r"test_cr_1f(?P<messages>\d+)m(?P<packets>\d+)p\.cm")
_LEAF_SPINE = re.compile(r"leaf_spine_8192_(?P<gbps>\d+)g(?:_(?P<over>[48])_to_1)?\.topo")
_SMALL = re.compile(r"leaf_spine_1024_oversub(?P<eight>_8-1)?\.topo")


def permutation(nodes: int, seed: int) -> list[tuple[int, int]]:
    """Each node sends to one and receives from one: two shuffles. Whoever would send to itself swaps with the next."""
    random = Random(seed)  # noqa: S311
    sources, targets = list(range(nodes)), list(range(nodes))
    random.shuffle(sources)
    random.shuffle(targets)
    for at, source in enumerate(sources):
        if source == targets[at]:
            other = (at + 1) % nodes
            targets[at], targets[other] = targets[other], targets[at]
    return list(zip(sources, targets, strict=True))


def incast(nodes: int, seed: int) -> list[tuple[int, int]]:
    """All others send to node 0, in a shuffled order."""
    sources = list(range(1, nodes))
    Random(seed).shuffle(sources)  # noqa: S311
    return [(source, 0) for source in sources]


def matrix(name: str) -> str | None:
    """The matrix of this name; None if it is none of those."""
    if found := _PERMUTATION.fullmatch(name):
        nodes = int(found["nodes"])
        size = int(found["bytes"]) if found["bytes"] else int(found["mb"]) * _MB
        # 16 and more hosts; of the largest the seed is the size.
        seed = int(found["mb"] or _SEED) if nodes == 8192 else _SEED
        if nodes not in (16, 32, 128, 1024, 8192):
            return None
        return _text(nodes, _SIXTEEN if nodes == 16 else permutation(nodes, seed), size)
    if found := _REUSED.fullmatch(name):
        messages, size = int(found["messages"]), 4086 * int(found["packets"])
        words = f"0->1 id 1{' msg' if messages > 1 else ''} start 0 size {size}\n"
        return f"Nodes 2\nConnections {messages}\n{words * messages}"
    match name:
        case "one.cm":
            return _text(16, [(0, 13)], 2 * _MB)
        case "bidir.cm":
            return _text(16, [(0, 13), (13, 0)], 2 * _MB)
        case "incast.cm":
            return _text(16, [(node, 15) for node in range(15)], 2 * _MB)
        case "incast_128.cm":
            return _text(128, [(node, _RECEIVER) for node in range(128) if node != _RECEIVER], 2 * _MB)
        case "incast_1024_100K.cm":
            return _text(1024, incast(1024, _SEED), 100_000)
        case "outcast_incast.cm":
            pairs = [
                (1, 0),
                (2, 0),
                *((2, node) for node in range(4, 13)),
                (3, 0),
                *((3, node) for node in range(13, 22)),
            ]
            return _text(128, pairs, 2 * _MB)
        case "incast_3-1_overlapped.tm":
            late = "".join(f"{node}->0 start 40 size 250000\n" for node in (95, 61))
            return f"Nodes 128\nConnections 3\n127->0 start 0 size {2 * _MB}\n{late}"
    return None


def topology(name: str) -> str | None:
    """The topology of this name; None if it is none of those."""
    if found := _LEAF_SPINE.fullmatch(name):
        return _leaf_spine(128, 64, int(found["gbps"]), int(found["over"] or 1))
    if found := _SMALL.fullmatch(name):
        return _leaf_spine(32, 32, 100, 8 if found["eight"] else 4)
    return None


def _text(nodes: int, pairs: Iterable[tuple[int, int]], size: int) -> str:
    lines = [f"{source}->{target} start 0 size {size}" for source, target in pairs]
    return "\n".join([f"Nodes {nodes}", f"Connections {len(lines)}", *lines, ""])


def _leaf_spine(leaves: int, hosts: int, gbps: int, over: int) -> str:
    links = f"Downlink_speed_Gbps {gbps}\nDownlink_Latency_ns 1000\n"
    return (
        f"Nodes {leaves * hosts}\nTiers 2\nPodsize {leaves * hosts}\n"
        f"Tier 0\n{links}Radix_Down {hosts}\nRadix_Up {hosts // over}\nOversubscribed {over}\n"
        f"Tier 1\n{links}Radix_Down {leaves}\n"
    )
