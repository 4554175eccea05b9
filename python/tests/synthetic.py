"""A results folder made by hand: four ports, three traffic entries, numbers that a reader can check in the head.

P2 is paused from 0.1 to 0.6 ms in periods of 10 µs, undetermined meanwhile, judged until 0.8 ms, then free again; its
queue rises by 1 KB a µs to 500 KB at 0.6 ms and drains at the same pace. Under ECN the marks are CE, under TCD UE.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

US = 1_000_000
PORTS = {"P0": "T0->L0", "P1": "T1->L0", "P2": "L0->T2", "P3": "T2->R1"}
PRIORITY = 3


def _where(label: str) -> dict[str, Any]:
    return {"node": label.split("->")[0], "port": label, "node_index": 0, "port_index": 0, "priority": PRIORITY}


def _flows() -> pl.DataFrame:
    rows = [
        ("F0", 0, "S0", "R0", None, 0, None, 100, 100_000, 10, 5),
        ("F1", 1, "S1", "R1", None, 0, None, 200, 200_000, 20, 0),
        ("A", 2, "A0", "R1", 64_000, 0, 500 * US, 64, 64_000, 0, 0),
        ("A", 2, "A1", "R1", 64_000, 100 * US, 1000 * US, 64, 64_000, 0, 0),
    ]
    return pl.DataFrame(
        [
            {
                "flow": flow,
                "traffic": traffic,
                "traffic_index": index,
                "src": src,
                "dst": dst,
                "priority": PRIORITY,
                "size_bytes": size,
                "start_ps": start,
                "finish_ps": finish,
                "fct_ps": None if finish is None else finish - start,
                "ideal_fct_ps": None if size is None else 100 * US,
                "slowdown": None if finish is None else (finish - start) / (100 * US),
                "packets": packets,
                "received_bytes": received,
                "ce_packets": ce,
                "ue_packets": ue,
            }
            for flow, (traffic, index, src, dst, size, start, finish, packets, received, ce, ue) in enumerate(rows)
        ],
        schema_overrides={"size_bytes": pl.UInt64, "finish_ps": pl.UInt64, "fct_ps": pl.UInt64, "slowdown": pl.Float64},
    )


def _queue_bytes(name: str, us: int) -> int:
    if name == "P3":
        return 200_000 if us < 800 else 0
    peak = {"P0": 200, "P1": 150, "P2": 500}[name]
    shape = min(max(us - 100, 0), 500) - max(us - 600, 0)
    return max(shape, 0) * peak * 1000 // 500


def _samples() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "time_ps": us * US,
                **_where(label),
                "paused": False,
                "state": "non-congestion",
                "queue_bytes": _queue_bytes(name, us),
                "sent_bytes": us * 5000,
            }
            for us in range(0, 1500, 5)
            for name, label in PORTS.items()
        ]
    )


def _pauses() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"time_ps": us * US, **_where(PORTS[name]), "paused": (us // 5) % 2 == 0, "expired": False}
            for us in range(100, 600, 5)
            for name in ("P0", "P1", "P2")
        ]
    )


def _states(scheme: str) -> pl.DataFrame:
    if scheme == "ECN":
        steps = [(300, "congestion"), (700, "non-congestion")]
    else:
        steps = [(105, "undetermined"), (692, "judging"), (800, "non-congestion"), (1100, "congestion")]
    return pl.DataFrame(
        [{"time_ps": us * US, **_where(PORTS[name]), "state": state} for us, state in steps for name in ("P1", "P2")]
    )


def _marks(scheme: str) -> pl.DataFrame:
    code, begin = ("CE", 300) if scheme == "ECN" else ("UE", 105)
    return pl.DataFrame(
        [
            {
                "time_ps": us * US,
                **_where(PORTS[name]),
                "code": code,
                "flow": us % 2,
                "traffic": f"F{us % 2}",
                "seq": us,
                "queue_bytes": _queue_bytes(name, us),
            }
            for us in range(begin, 690, 3)
            for name in ("P1", "P2")
        ]
    )


def _ports() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                **_where(label),
                "priority": priority,
                "peer": label.split("->")[1],
                "rate_bps": 40_000_000_000,
                "packets": 1000,
                "sent_bytes": 1_020_000 if priority == PRIORITY else 64,
                "peak_queue_bytes": max(_queue_bytes(name, us) for us in range(1500)),
                "peak_ingress_bytes": 330_000,
                "pauses": 0 if name == "P3" else 50,
                "pauses_sent": 50,
                "paused_ps": 0 if name == "P3" else 250 * US,
                "ce_marks": 7,
                "ue_marks": 9,
                "non_congestion_ps": 805 * US,
                "congestion_ps": 0,
                "undetermined_ps": 587 * US,
                "judging_ps": 108 * US,
            }
            for name, label in PORTS.items()
            for priority in (PRIORITY, 7)
        ]
    )


def write(folder: Path, scheme: str = "TCD", *, seed: int = 1, status: str = "complete") -> Path:
    """Write the folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    frames = {
        "flows": _flows(),
        "ports": _ports(),
        "samples": _samples(),
        "pauses": _pauses(),
        "states": _states(scheme),
        "marks": _marks(scheme),
        "rates": pl.DataFrame(
            {"time_ps": [0, US], "flow": [1, 1], "traffic": ["F1", "F1"], "rate_bps": [40_000_000_000, 20_000_000_000]}
        ),
    }
    tables = {}
    for name, frame in frames.items():
        file = folder / f"{name}.parquet"
        frame.write_parquet(file)
        tables[name] = {"file": file.name, "rows": frame.height, "bytes": file.stat().st_size}
    meta = {
        "format": 3,
        "version": "0.1.0",
        "command": "synthetic",
        "scenario": {"run": {"seed": seed}},
        "seed": seed,
        "digest": "0123456789abcdef",
        "status": status,
        "sim_time_ps": 1500 * US,
        "wall_s": 0.5,
        "cpu_s": 0.5,
        "events": 1000,
        "packet_hops": 800,
        "threads": 1,
        "caveats": [],
        "aliases": PORTS,
        "totals": {"flows": 4, "finished": 2, "ce_packets": 30, "ue_packets": 5, "pauses": 150},
        "tables": tables,
    }
    (folder / "run.json").write_text(json.dumps(meta), encoding="utf-8")
    return folder
