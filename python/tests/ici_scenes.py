"""Results of a run as the figures of the ICI paper want them, small and made up: two hosts send, two are roots."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import made_results
import numpy as np
import polars as pl
from backwater import Results

if TYPE_CHECKING:
    from pathlib import Path

US = 1_000_000
BIN = 50 * US
END = 800 * US
HOSTS = ("h0", "h1", "h2", "h3")
SWITCHES = ("s0.0", "s0.1")
_SIZES = (4, 40, 400, 2000, 4096, 30_000, 300_000)


def write(folder: Path, name: str) -> Results:
    """A run that is called `name`, such as ``w1 ici+``; its numbers are drawn, the same each time."""
    workload, scheme, *_ = name.split()
    # Of a page over the size of the network the first word is the number of hosts.
    packets, endless = workload in ("w1", "w2") or workload.isdigit(), workload in ("w3", "length")
    random = np.random.default_rng(zlib.crc32(name.encode()))
    isolating, marking = scheme.startswith(("ci", "ici")), scheme.endswith(("dcqcn", "ici+"))
    tables = {
        "flows": _flows(random, endless=packets or endless),
        "delivered": _delivered(random, marking=marking),
        "ports": _ports(random, isolating=isolating, marking=marking),
        "switches": _switches(random),
        "isolation": _isolation(random if isolating else None),
        "marks": _marks(random if marking else None),
    }
    if packets:
        tables |= _packets(random, marking=marking)
    tree = {"name": "tree", "start": "200us"} | ({"until": "500us"} if packets else {})
    ici = {"overflow": "20us", "persist": "2ms"}
    kind = {"ci+dcqcn": "ci", "ici+": "ici-plus"}.get(scheme, scheme) if isolating else "none"
    isolation = {"kind": kind, "ici-plus": ici}
    scenario = {
        "traffic": [{"name": "background"}, tree],
        "switch": {"isolation": isolation},
        "probe": {"sample": "50us"},
    }
    return Results(made_results.write(folder, tables, scenario, END))


def _flows(random: np.random.Generator, *, endless: bool) -> pl.DataFrame:
    count = 400
    start = random.integers(0, END // 2, count)
    fct = random.integers(2 * US, 200 * US, count)
    background = {
        "traffic": "background",
        "src": random.choice(HOSTS[2:], count),
        "dst": "h1",
        "size_bytes": random.choice(_SIZES, count),
        "start_ps": start,
        "fct_ps": fct,
        "finish_ps": start + fct,
        "received_bytes": 4096,
    }
    hot = {
        "traffic": "tree",
        "src": ["h2", "h3"],
        "dst": "h0",
        "size_bytes": [None, None] if endless else [8192, 8192],
        "start_ps": 200 * US,
        "fct_ps": [None, None] if endless else [90 * US, 110 * US],
        "finish_ps": [None, None] if endless else [290 * US, 310 * US],
        "received_bytes": random.integers(4096, 8192, 2),
    }
    both = pl.concat([pl.DataFrame(background), pl.DataFrame(hot)], how="vertical_relaxed").with_row_index("flow")
    index = {name: number for number, name in enumerate(HOSTS)}
    return both.with_columns(
        pl.col("src").replace_strict(index).alias("src_index"), pl.col("dst").replace_strict(index).alias("dst_index")
    )


def _delivered(random: np.random.Generator, *, marking: bool) -> pl.DataFrame:
    rows = [
        {
            "time_ps": period * BIN,
            "traffic": traffic,
            "wire_bytes": int(random.integers(1, 600_000)),
            "ce_packets": int(random.integers(0, 20)) if marking else 0,
            "cnps": int(random.integers(0, 9)) if marking else 0,
        }
        for period in range(END // BIN)
        for traffic in ("background", "tree")
    ]
    return pl.DataFrame(rows)


def _ports(random: np.random.Generator, *, isolating: bool, marking: bool) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "priority": priority,
                "pauses_sent": int(random.integers(1, 90)) if priority == 3 or (isolating and priority == 2) else 0,
                "ce_marks": int(random.integers(0, 90)) if marking else 0,
            }
            for priority in range(8)
        ]
    )


def _switches(random: np.random.Generator) -> pl.DataFrame:
    columns = ("allocations", "refusals", "mirror_refusals", "peak_slots", "cims_sent")
    sizes = {"peak_ingress_bytes": 51 * 4096, "peak_egress_bytes": 64 * 4096}
    return pl.DataFrame(
        [
            {"node": node, "node_index": 4 + number, **{name: int(random.integers(0, 40)) for name in columns}, **sizes}
            for number, node in enumerate(SWITCHES)
        ]
    )


def _isolation(random: np.random.Generator | None) -> pl.DataFrame:
    schema = {"time_ps": pl.Int64, "what": pl.String, "node_index": pl.Int64, "src": pl.String, "dst": pl.String}
    schema |= {"used_slots": pl.Int64}
    words = ("allocated", "refused", "released", "mirrored", "mirror-refused", "notified")
    rows = (
        []
        if random is None
        else [
            {
                "time_ps": time,
                "what": str(random.choice(words)),
                "node_index": int(random.integers(3, 6)),
                "src": str(random.choice(HOSTS[2:])),
                "dst": str(random.choice(HOSTS[:2])),
                "used_slots": int(random.integers(0, 32)),
            }
            for time in sorted(map(int, random.integers(200 * US, END, 60)))
        ]
    )
    return pl.DataFrame(rows, schema=schema)


def _marks(random: np.random.Generator | None) -> pl.DataFrame:
    times = [] if random is None else sorted(map(int, random.integers(200 * US, END, 30)))
    rows = [{"time_ps": time, "node_index": 4, "flow": 400} for time in times]
    return pl.DataFrame(rows, schema={"time_ps": pl.Int64, "node_index": pl.Int64, "flow": pl.UInt32})


def _packets(random: np.random.Generator, *, marking: bool) -> dict[str, pl.DataFrame]:
    count = 300
    left = random.integers(0, END // 2, count)
    names = {
        "flow": np.arange(count, dtype=np.uint32),
        "seq": 0,
        "traffic": random.choice(["background", "tree"], count),
    }
    injected = pl.DataFrame(names | {"time_ps": left, "made_ps": left - US})
    arrived = pl.DataFrame(names | {"time_ps": left + random.integers(US, 90 * US, count), "ce": marking})
    return {"injected": injected, "arrived": arrived}
