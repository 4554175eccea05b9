"""A results folder made by hand: two hosts send to h0 (the entry tree), one to another host.

120 µs in periods of 50 µs.

The switch s isolates with a table of two slots. Host n1, which takes part, has an entry, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import made_results
import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

US = 1_000_000


def _flows() -> pl.DataFrame:
    rows = [
        # entry, source, destination, size, start, finish, received, packets with CE, CNPs
        (1, 1, 0, None, 0, None, 300_000, 8, 3),
        (1, 2, 0, None, 0, None, 100_000, 4, 2),
        (0, 3, 4, 1_000, 10, 15, 1_000, 1, 1),
        (0, 3, 4, 1_000, 20, 30, 1_000, 0, 0),
        (0, 3, 4, 9_000, 30, 70, 9_000, 0, 0),
    ]
    return pl.DataFrame(
        [
            {
                "flow": flow,
                "traffic": ["background", "tree"][entry],
                "traffic_index": entry,
                "src": f"h{src}",
                "dst": f"h{dst}",
                "src_index": src,
                "dst_index": dst,
                "priority": 3,
                "size_bytes": size,
                "start_ps": start * US,
                "finish_ps": None if finish is None else finish * US,
                "fct_ps": None if finish is None else (finish - start) * US,
                "slowdown": None if finish is None else 1.0,
                "packets": received // 1_000,
                "received_bytes": received,
                "ce_packets": ce,
                "ue_packets": 0,
                "cnps_ce": cnps,
                "cnps_ue": 0,
            }
            for flow, (entry, src, dst, size, start, finish, received, ce, cnps) in enumerate(rows)
        ],
        schema_overrides={"size_bytes": pl.UInt64, "traffic_index": pl.UInt16, "dst_index": pl.UInt32},
    )


def _delivered() -> pl.DataFrame:
    rows = [
        (0, 0, "tree", 200_000, 2),
        (0, 4, "background", 2_000, 1),
        (50, 0, "tree", 100_000, 3),
        (50, 4, "background", 9_000, 0),
        (100, 0, "tree", 100_000, 0),
    ]
    return pl.DataFrame(
        [
            {
                "time_ps": time * US,
                "node_index": node,
                "traffic": traffic,
                "received_bytes": payload,
                "wire_bytes": payload * 2,
                "packets": payload // 1_000,
                "cnps": cnps,
            }
            for time, node, traffic, payload, cnps in rows
        ]
    )


def _isolation() -> pl.DataFrame:
    rows = [
        (5, "allocated", 9, "h1", "h0", 1),
        (6, "allocated", 9, "h3", "h4", 2),
        (6, "allocated", 1, "h1", "h0", 1),
        (7, "refused", 9, "h2", "h0", 2),
        (8, "notified", 9, "h1", "h0", 2),
        (60, "released", 9, "h3", "h4", 1),
        (61, "readmitted", 9, "h2", "h0", 2),
        (119, "refused", 9, "h5", "h0", 2),
    ]
    return pl.DataFrame(
        [
            {"time_ps": time * US, "what": what, "node_index": node, "src": src, "dst": dst, "used_slots": used}
            for time, what, node, src, dst, used in rows
        ],
        schema_overrides={"node_index": pl.UInt32},
    )


def _packets() -> tuple[pl.DataFrame, pl.DataFrame]:
    injected = pl.DataFrame(
        {
            "flow": [2, 3, 4, 0],
            "seq": [0, 0, 0, 7],
            "traffic": ["background", "background", "background", "tree"],
            "made_ps": [10 * US, None, 30 * US, 100 * US],
            "time_ps": [11 * US, 20 * US, 30 * US, 119 * US],
        }
    )
    arrived = pl.DataFrame(
        {"flow": [2, 4, 3], "seq": [0, 0, 0], "ce": [True, False, False], "time_ps": [15 * US, 32 * US, 30 * US]}
    )
    return injected, arrived


def write(folder: Path, *, kind: str = "ici-plus", cnps: bool = True) -> Path:
    """Write it; without isolation the switch has no table, without `cnps` no BECN was sent."""
    isolates = kind != "none"
    injected, arrived = _packets()
    ports = pl.DataFrame({"priority": [3, 2, 7], "pauses_sent": [5, 7 if isolates else 0, 0], "sent_bytes": [9, 9, 9]})
    flows = _flows()
    tables = {
        "flows": flows if cnps else flows.with_columns(cnps_ce=pl.lit(0)),
        "ports": ports,
        "delivered": _delivered(),
        "injected": injected,
        "arrived": arrived,
        "isolation": _isolation(),
        "switches": pl.DataFrame({"node": ["s"], "node_index": [9]}, schema_overrides={"node_index": pl.UInt32}),
    }
    sums = dict.fromkeys(("allocations", "readmissions", "refusals", "mirror_refusals", "peak_slots", "cims"), 0)
    if isolates:
        sums |= {"allocations": 3, "readmissions": 1, "refusals": 2, "mirror_refusals": 4, "peak_slots": 2, "cims": 1}
    scenario = {
        "run": {"seed": 1},
        "probe": {"sample": "50us"},
        "switch": {"isolation": {"kind": kind, "cfq-priority": 2}},
        "traffic": [{"name": "background", "kind": "poisson"}, {"name": "tree", "kind": "supply"}],
    }
    return made_results.write(folder, tables, scenario, 120 * US, totals={"pauses": 12}, isolation=sums)
