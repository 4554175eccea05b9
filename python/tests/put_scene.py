"""A results folder made by hand: h1, h2 and h3 send PUTs of 1 KB to h0, for 100 µs in periods of 50 µs.

The link of h0 carries 80 Gbps: 500 000 bytes in a period. h1 gets across 200 000 and 100 000 bytes, h2 100 000
and 150 000, h3 nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import made_results
import polars as pl
from backwater.analysis import puts

if TYPE_CHECKING:
    from pathlib import Path

US = 1_000_000
ACKS = ("iacks", "marked_iacks", "dacks", "nacks")


def _end(side: str, src: int, period: int, **counts: int) -> dict[str, Any]:
    """A row of the table of streams."""
    what = {"side": side, "src": f"h{src}", "dst": "h0", "priority": 3, "kind": 0}
    when = {"start_ps": 50 * period * US, "end_ps": 50 * (period + 1) * US}
    return when | what | dict.fromkeys((*puts.COUNTS, *ACKS), 0) | counts


def _streams() -> pl.DataFrame:
    def sent(src: int, period: int, new: int, again: int, **acks: int) -> dict[str, Any]:
        wire = {"sent_bytes": 1100 * new, "resent_bytes": 1100 * again}
        return _end("initiator", src, period, sent_packets=new, resent_packets=again, **wire, **acks)

    def got(src: int, period: int, packets: int, **drops: int) -> dict[str, Any]:
        return _end("target", src, period, accepted_packets=packets, accepted_bytes=1000 * packets, **drops)

    return pl.DataFrame(
        [
            sent(1, 0, 210, 0, iacks=190, marked_iacks=20, dacks=5),
            got(1, 0, 200, iacks=150, dacks=30, nacks=9),
            sent(1, 1, 90, 100, nacks=2),
            got(1, 1, 100, dropped_packets=10, out_of_order_packets=80),
            sent(2, 0, 100, 0),
            got(2, 0, 100),
            sent(2, 1, 150, 0, timeouts=1),
            got(2, 1, 150, duplicate_packets=4),
            sent(3, 0, 25, 0),
            sent(3, 1, 0, 25),
        ]
    )


def _flows() -> pl.DataFrame:
    rows = [(1, 300, 100, 90), (2, 250, 0, 0), (3, 0, 25, 50)]
    return pl.DataFrame(
        [
            {
                "flow": number,
                "traffic": "put",
                "traffic_index": 0,
                "src": f"h{src}",
                "dst": "h0",
                "priority": 3,
                "size_bytes": None,
                "start_ps": 0,
                "finish_ps": None,
                "fct_ps": None,
                "slowdown": None,
                "packets": packets,
                "received_bytes": 1000 * packets,
                "resent_packets": resent,
                "dropped_packets": dropped,
                "ce_packets": 0,
                "ue_packets": 0,
                "cnps_ce": 0,
                "cnps_ue": 0,
            }
            for number, (src, packets, resent, dropped) in enumerate(rows)
        ],
        schema_overrides=dict.fromkeys(("size_bytes", "finish_ps", "fct_ps"), pl.UInt64) | {"slowdown": pl.Float64},
    )


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
    shared |= {"rate_bps": 80_000_000_000, "congestion_ps": 0, "peak_queue_bytes": 0}
    rows = [{"node": "s", "port": f"s->h{host}", "peer": f"h{host}"} for host in range(4)]
    rows += [{"node": f"h{host}", "port": f"h{host}->s", "peer": "s"} for host in range(4)]
    drops = {"s->h0": 7}
    return pl.DataFrame([row | shared | {"dropped_packets": drops.get(row["port"], 0)} for row in rows])


def _endpoints() -> pl.DataFrame:
    rows = [(0, 67_584, 0, 0), (1, 40_000, 10, 3 * US)]
    return pl.DataFrame(
        [
            {
                "start_ps": 50 * period * US,
                "end_ps": 50 * (period + 1) * US,
                "node": "h0",
                "peak_bytes": peak,
                "dropped_packets": dropped,
                "holding_ps": holding,
            }
            for period, peak, dropped, holding in rows
        ]
    )


def _puts() -> pl.DataFrame:
    """A packet that is accepted, one that is dropped, one behind it, and both again; times in units of 0.1 µs."""
    rows = [
        (0, "sent", 1, None, "none"),
        (2, "sent", 2, None, "none"),
        (4, "sent", 3, None, "none"),
        (40, "accepted", 1, 2112, "none"),
        (42, "dropped", 2, 2112, "none"),
        (43, "nack-sent", 1, 2112, "none"),
        (44, "out-of-order", 3, 2112, "none"),
        (50, "processed", 1, 0, "none"),
        (80, "nack", 1, None, "none"),
        (80, "state", 0, None, "H-1"),
        (81, "resent", 2, None, "none"),
        (83, "resent", 3, None, "none"),
        (120, "accepted", 2, 2112, "none"),
        (121, "marked-sent", 2, 2112, "none"),
        (124, "accepted", 3, 4224, "none"),
        (125, "dack-sent", 2, 4224, "none"),
        (160, "marked", 2, None, "none"),
        (160, "state", 0, None, "H0"),
        (164, "dack", 2, None, "none"),
        (170, "iack", 3, None, "none"),
        (170, "state", 0, None, "open"),
    ]
    words = {"flow": 0, "traffic": "put", "src": "h1", "dst": "h0", "window": None}
    at_target = ("accepted", "processed", "dropped", "out-of-order", "nack-sent", "marked-sent", "dack-sent")
    return pl.DataFrame(
        [
            {"time_ps": time * US // 10, "event": event, "node": "h0" if event in at_target else "h1"}
            | {"seq": seq, "queue_bytes": queue, "state": state}
            | words
            for time, event, seq, queue, state in rows
        ],
        schema_overrides={"queue_bytes": pl.UInt64, "window": pl.UInt64},
    )


def write(folder: Path, *, without: tuple[str, ...] = (), transport: str = "put") -> Path:
    """Write it, without some of its tables."""
    tables = {"flows": _flows(), "ports": _ports(), "streams": _streams(), "endpoints": _endpoints(), "puts": _puts()}
    for name in without:
        del tables[name]
    entry = {"name": "put", "kind": "supply", "transport": transport}
    dack = {"policy": "dack", "dack": {"threshold": "8992B"}}
    scenario = {"traffic": [entry], "host": {"queue": "80992B"}, "put": dack, "probe": {"sample": "50us"}}
    return made_results.write(folder, tables, scenario, 100 * US, totals={"pauses": 0})
