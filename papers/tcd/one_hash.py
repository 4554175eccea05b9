"""The fat tree that is left if every switch chooses by the same hash, as a topology.txt of the HPCC simulator.

    python papers/tcd/one_hash.py

The authors' release chooses a flow's path by one value of its addresses and ports, the same at every switch, modulo the
number of paths. In a fat tree an edge switch that takes its i-th way up then leads to an aggregation switch that takes
its i-th, too: of the k/2 links from each aggregation switch to the core one is used. Here only these links exist.
"""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).parent / "scenarios" / "fat-tree-one-hash.txt"


def topology(k: int) -> str:
    """Hosts first, then edge, aggregation and core switches."""
    half = k // 2
    hosts, tier = k * half * half, k * half
    edge, aggregation, core = hosts, hosts + tier, hosts + 2 * tier
    links = [(host, edge + host // half) for host in range(hosts)]
    for switch in range(tier):
        pod = switch // half * half
        links += [(edge + switch, aggregation + pod + way) for way in range(half)]
    links += [(aggregation + switch, core + switch % half) for switch in range(tier)]
    switches = range(hosts, core + half)
    head = f"{hosts + len(switches)} {len(switches)} {len(links)}\n{' '.join(map(str, switches))}\n"
    return head + "".join(f"{a} {b} 40Gbps 0.004ms 0\n" for a, b in links)


if __name__ == "__main__":
    FILE.write_text(topology(10), encoding="utf-8")
