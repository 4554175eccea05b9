"""A results folder of GPCNeT made by hand: 2 test ranks and two congestors of 4 ranks, numbers to check in the head.

Alone a latency is 2 µs, a bandwidth 1000 MiB/s, an allreduce 10 µs; beside congestors 6 µs, 250 MiB/s and 50 µs.
The isolated tests end at 1 ms, the run at 2 ms. With `rounds` above 1 samples and NICs vary a little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import made_results
import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

US = 1_000_000
MIB = 1024 * 1024
#: Elapsed microseconds by phase and test.
ELAPSED = {
    "isolated": {"lat": 4, "bw": 2000, "allreduce": 10},
    "congested": {"lat": 12, "bw": 8000, "allreduce": 50},
}
ENDS = {"isolated": 1000 * US, "congested": 2000 * US}
#: Of each role its nodes and what a rank sends and gets, in MiB, root first.
ROLES = {"test": (2, 0, 0), "all-to-all": (4, 1, 1), "incast": (4, 0, 3)}
ENTRY = {
    "name": "gpcnet",
    "rings": 2,
    "warm-up-passes": 2,
    "congestor-size": "4KiB",
    "latency": {"size": "8B", "warm-up": 5, "timed": 2},
    "bandwidth": {"size": "128KiB", "messages": 8, "warm-up": 1, "timed": 2},
    "allreduce": {"size": "8B", "warm-up": 1, "timed": 2},
    "tests": ["latency", "bandwidth", "allreduce"],
    "mpi": {"eager": "16KiB", "send": "300ns", "receive": "300ns", "local": "500ns"},
}


def _timings() -> pl.DataFrame:
    rows = [
        {
            "start_ps": ENDS[phase] - us * US,
            "end_ps": ENDS[phase],
            "elapsed_ps": us * US,
            "rank": rank,
            "node": f"h{rank}",
            "traffic": "gpcnet",
            "role": "test",
            "series": f"{phase}/{test}",
            "label": ring,
        }
        for phase, tests in ELAPSED.items()
        for test, us in tests.items()
        for ring in range(1 if test == "allreduce" else 2)
        for rank in range(2)
        for _ in range(2)
    ]
    return pl.DataFrame(rows)


def ranks() -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for role, (nodes, _, _) in ROLES.items():
        for number in range(nodes):
            root = number == 0
            got = {"test": 0, "all-to-all": 1, "incast": 3 * root}[role]
            sent = {"test": 0, "all-to-all": 1, "incast": int(not root)}[role]
            rows.append(
                {
                    "rank": len(rows),
                    "node": f"h{len(rows)}",
                    "node_index": len(rows),
                    "traffic": "gpcnet",
                    "number": len(rows),
                    "role": role,
                    "finished_ps": 2000 * US if role == "test" else None,
                    "sent_messages": sent * 256,
                    "sent_bytes": sent * MIB,
                    "received_messages": got * 256,
                    "received_bytes": got * MIB,
                    "waited_ps": 100 * US,
                    "unexpected": 0,
                }
            )
    return pl.DataFrame(rows, schema_overrides={"finished_ps": pl.UInt64})


def flows(start_ps: int | None = None) -> pl.DataFrame:
    """Channels: endless flows from each host to the next, which carried one packet each."""
    hosts = sum(nodes for nodes, _, _ in ROLES.values())
    rows = [
        {
            "flow": number,
            "traffic": "gpcnet",
            "traffic_index": 0,
            "src": f"h{number}",
            "dst": f"h{(number + 1) % hosts}",
            "priority": 3,
            "size_bytes": None,
            "start_ps": start_ps,
            "finish_ps": None,
            "fct_ps": None,
            "ideal_fct_ps": None,
            "slowdown": None,
            "packets": 1,
            "received_bytes": 2048,
            "resent_packets": 0,
            "dropped_packets": 0,
            "ce_packets": 0,
            "ue_packets": 0,
            "cnps_ce": 0,
            "cnps_ue": 0,
        }
        for number in range(hosts)
    ]
    nulls = dict.fromkeys(("size_bytes", "start_ps", "finish_ps", "fct_ps", "ideal_fct_ps"), pl.UInt64)
    return pl.DataFrame(rows, schema_overrides=nulls | {"slowdown": pl.Float64})


def _ports() -> pl.DataFrame:
    shared = {
        "priority": 3,
        "sent_bytes": 1,
        "pauses": 0,
        "pauses_sent": 0,
        "paused_ps": 0,
        "ce_marks": 0,
        "ue_marks": 0,
    }
    shared |= {"rate_bps": 100_000_000_000, "congestion_ps": 0, "peak_queue_bytes": 0, "dropped_packets": 0}
    rows = [{"node": f"h{host}", "port": f"h{host}->s", "peer": "s"} for host in range(10)]
    return pl.DataFrame([row | shared for row in rows])


def write(folder: Path, *, kind: str = "gpcnet", seed: int = 1, tables: dict[str, pl.DataFrame] | None = None) -> Path:
    """Write it and return it; `tables` are further ones, or instead."""
    every = {"flows": flows(), "ports": _ports(), "timings": _timings(), "ranks": ranks()} | (tables or {})
    scenario = {
        "traffic": [ENTRY | {"kind": kind}],
        "host": {"throttle": {"kind": "pft", "pft": {"enter": 592, "escape": 672}}},
        "switch": {"flow-control": "credits", "credits": {"unit": "16B", "buffer": "64KiB"}},
        "probe": {"sample": "50us"},
        "run": {"seed": seed},
    }
    return made_results.write(folder, every, scenario, 2000 * US, seed=seed, totals={"pauses": 0})
