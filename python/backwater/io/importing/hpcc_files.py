"""As much of the HPCC simulator's files as it reads: it stops after the lines that their heads announce."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TypeVar

_Node = TypeVar("_Node", int, str)
#: A byte at 1 bit/s, in ns.
BYTE_NS = 8 * 10**9


def flows(text: str) -> tuple[str, list[str]]:
    """The announced flows of a `flow.txt`, and a note on what follows them."""
    return _cut(text, 0, "flows", "flow.txt")


def links(text: str) -> tuple[str, list[str]]:
    """The head and the announced links of a `topology.txt`, and a note on what follows them."""
    return _cut(text, 2, "links", "topology.txt")


def _cut(text: str, place: int, what: str, name: str) -> tuple[str, list[str]]:
    """Text up to the last announced line; as it is where the head is not what it should be, which its reader says."""
    lines = text.splitlines(keepends=True)
    rows = [number for number, line in enumerate(lines) if line.strip()]
    try:
        head = [int(word) for word in lines[rows[0]].removeprefix("\ufeff").split()]
        # The ids of switches may stand on several lines.
        first, ids = 1, 0
        while place and ids < head[1]:
            ids += len(lines[rows[first]].split())
            first += 1
        end = rows[first + head[place] - 1]
    except (IndexError, ValueError):
        return text, []
    if head[place] < 1:
        return text, []
    surplus = [line for line in lines[end + 1 :] if line.split()[:1] and line.split()[0].isdecimal()]
    told = f"{name}: {len(surplus)} more {what} than the {head[place]} that its head announces are left out, as there"
    return "".join(lines[: end + 1]), [told] if surplus else []


def ways(
    source: _Node, links: Mapping[_Node, Sequence[tuple[_Node, int, int]]], hosts: Container[_Node], payload: int
) -> dict[_Node, tuple[int, int, int]]:
    """Of the first shortest way to every node, found as there: delay, time of the payload at each link, least rate.

    `links` are the neighbours of each node with rate in bit/s and delay in ns. Each time is cut to whole ns.
    """
    found = {source: (0, 0, 1 << 62)}
    queue = [source]
    for node in queue:
        delay, sending, least = found[node]
        for other, rate, more in links.get(node, ()):
            if other not in found:
                found[other] = (delay + more, sending + payload * BYTE_NS // rate, min(least, rate))
                if other not in hosts:
                    queue.append(other)
    return found
