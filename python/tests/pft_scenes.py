"""Results of runs as the figures of the PFT paper want them, small and made up."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import made_results
import numpy as np
import polars as pl
from backwater import Results

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

US = 1_000_000
FLIT_PS = 1280
ENTRY = {
    "name": "gpcnet",
    "kind": "gpcnet",
    "ranks-per-host": 16,
    "congestor-size": "4KiB",
    "rings": 1,
    "latency": {"size": "8B", "timed": 1},
    "bandwidth": {"size": "128KiB", "messages": 2, "timed": 1},
    "tests": ["latency", "bandwidth"],
    "isolated": False,
}


def results(folder: Path, host: str = "pft", **tables: pl.DataFrame) -> Results:
    """A run with these tables; `host` is whether NICs throttle themselves."""
    pft = {"clock-mhz": 700}
    scenario = {"traffic": [ENTRY], "host": {"throttle": {"kind": host, "pft": pft}}}
    return Results(made_results.write(folder, tables, scenario, 600 * US))


def timings(latencies_us: npt.ArrayLike, turns_us: npt.ArrayLike) -> pl.DataFrame:
    """One exchange of each rank in the latency test, and one turn in the bandwidth test, that took so long in all."""
    rows = [
        {"start_ps": 0, "elapsed_ps": int(us * US), "end_ps": int(us * US), "rank": rank, "node": f"h{rank}",
         "traffic": "gpcnet", "role": "test", "series": f"congested/{key}", "label": 0}
        for key, every in (("lat", latencies_us), ("bw", turns_us))
        for rank, us in enumerate(np.asarray(every))
    ]  # fmt: skip
    return pl.DataFrame(rows)


def ranks() -> pl.DataFrame:
    """One congestor."""
    row = {"rank": 0, "node": "h0", "traffic": "gpcnet", "role": "incast", "received_bytes": 4096}
    return pl.DataFrame([row])


def gpcnet(folder: Path, name: str) -> Results:
    """A run of GPCNeT by the name of its cell; its numbers are drawn, the same each time."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    scale = 1.0 if name.startswith("none") else random.uniform(0.4, 1.2)
    found = timings(100 * scale * random.lognormal(0, 0.5, 60), 5000 * scale * random.lognormal(0, 0.2, 60))
    return results(folder, timings=found, ranks=ranks())


def links() -> pl.DataFrame:
    """The ports of the tree of 120 nodes."""
    found: list[tuple[str, str]] = []
    for host in range(120):
        found += [(f"h{host}", f"s0.{host // 12}"), (f"s0.{host // 12}", f"h{host}")]
    for edge in range(10):
        for spine in range(12):
            found += [(f"s0.{edge}", f"s1.{spine}"), (f"s1.{spine}", f"s0.{edge}")]
    return pl.DataFrame([{"node": node, "peer": peer, "rate_bps": 100_000_000_000} for node, peer in found])


def period(start_us: float, end_us: float, node: str, used: float, **others: int) -> dict[str, Any]:
    """One row of the table of throttles."""
    row = {"start_ps": int(start_us * US), "end_ps": int(end_us * US), "node": node, "used_mean": used}
    return row | {"used_max": int(used) + 16, "sent_flits": 0, "congested_ps": 0, "held_ps": 0, "entries": 0} | others


def one_nic(folder: Path, used: float, rate: float) -> Results:
    """A NIC that uses so many credits and sends at this share of its link, in the second half of its run."""
    flits = round(rate * 20 * US / FLIT_PS)
    rows = [period(start, start + 20, "h0", used, sent_flits=flits) for start in range(500, 1000, 20)]
    rows += [period(start, start + 20, "h0", 1, sent_flits=1) for start in range(0, 500, 20)]
    return results(folder, throttle=pl.DataFrame(rows))


def levels(folder: Path, name: str) -> Results:
    """Queues of the tree: 100 KB at the first switch without throttling and 30 KB with it, 50 KB further in."""
    first = 100_000 if name.endswith("none") else 30_000
    queues = {"s0.1->s1.0": first, "s1.0->s0.0": 40_000, "s0.0->h0": 10_000}
    rows = [
        {"time_ps": time * US, "node": port.split("->")[0], "port": port, "queue_bytes": size if time > 200 else 0}
        for time in range(0, 600, 50)
        for port, size in queues.items()
    ]
    return results(folder, samples=pl.DataFrame(rows))


def incast(folder: Path, name: str) -> Results:
    """The incast: throttled NICs use half of what others do and are cut from 3 µs on, under DCQCN after 9."""
    free, nodes = name == "none", [f"h{number}" for number in (2, 35, *range(12, 35))]
    high = 4000 if free else 2000
    rows = [
        period(start, start + 20, node, 140 if start < 100 or node == "h2" else high)
        for start in range(0, 600, 20)
        for node in nodes
    ]
    gbps = {"incast": 98, "edge": 98, "tree": 8 if free else 60, "own": 4 if free else 5}
    got = [
        {"time_ps": start * US, "node": "h0", "traffic": traffic, "received_bytes": int(rate * 1000 / 8 * 20)}
        for start in range(0, 600, 20)
        for traffic, rate in gbps.items()
    ]
    changed = [
        {"time_ps": int((103 + number / 10) * US), "node": node, "lane": 0, "congested": True, "used": 600}
        for number, node in enumerate([] if free else nodes[2:])
    ]
    schema = {"time_ps": pl.Int64, "node": pl.String, "lane": pl.Int64, "congested": pl.Boolean, "used": pl.Int64}
    if name == "DCQCN":
        rates = [
            {"time_ps": time * US, "flow": flow, "traffic": "incast", "rate_bps": 10**11 if time < 109 else 10**10}
            for time in range(100, 120)
            for flow in range(23)
        ]
        return results(folder, "none", delivered=pl.DataFrame(got), rates=pl.DataFrame(rates))
    return results(
        folder,
        throttle=pl.DataFrame(rows),
        throttle_states=pl.DataFrame(changed, schema=schema),
        delivered=pl.DataFrame(got),
    )
