"""Results of a run as the figures of the EC paper want them, small and made up: streams to one host, by period."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import made_results
import numpy as np
import polars as pl
from backwater import Results

if TYPE_CHECKING:
    from pathlib import Path

US = 1_000_000
PERIOD = 50 * US
END = 2500 * US
FRAME = 2112
COUNTS = (
    "sent_packets", "sent_bytes", "resent_packets", "resent_bytes", "accepted_packets", "accepted_bytes",
    "dropped_packets", "out_of_order_packets", "duplicate_packets", "nacks", "timeouts",
)  # fmt: skip
#: Periods of the start, and of the window after the warm-up.
STARTS = (0, 50, 400, 2250, 2300, 2450)
EVENT = {"time_ps": pl.Int64, "seq": pl.Int64, "event": pl.String, "queue_bytes": pl.Int64, "state": pl.String}


def stream(start_us: int, src: str, side: str, **counts: int) -> dict[str, Any]:
    """One row of the table of streams."""
    row = {"start_ps": start_us * US, "end_ps": start_us * US + PERIOD, "side": side, "src": src}
    return row | dict.fromkeys(COUNTS, 0) | counts


def queue(start_us: int, drained: int, peak: int) -> dict[str, Any]:
    """One row of the table of receive queues."""
    return {"start_ps": start_us * US, "drained_bytes": drained, "peak_bytes": peak}


def results(folder: Path, drain: str, end: int = END, **tables: pl.DataFrame) -> Results:
    """A run with these tables and an endpoint of this rate."""
    scenario = {
        "host": {"drain": drain},
        "put": {"policy": "opt"},
        "traffic": [{"name": "put", "transport": "put"}],
    }
    return Results(made_results.write(folder, tables, scenario, end))


def write(folder: Path, name: str, drain: str) -> Results:
    """A run that is called `name`, such as ``incast dack 2KiB 51.2Gbps``; its numbers are drawn, the same each time."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    lossy = " dack " not in f"{name} "
    senders = [f"h{number}" for number in range(1, 9 if "incast" in name or "depth" in name else 2)]
    rows, queues = [], []
    for start in STARTS:
        for src in senders:
            sent, resent = int(random.integers(50, 90)), int(random.integers(1, 40)) if lossy else 0
            accepted = max(sent - resent, 1)
            first = stream(start, src, "initiator", sent_packets=sent, sent_bytes=sent * FRAME, nacks=resent // 4)
            rows.append(first | {"resent_packets": resent, "resent_bytes": resent * FRAME})
            told = {"accepted_packets": accepted, "accepted_bytes": accepted * 2048, "dropped_packets": resent // 2}
            rows.append(stream(start, src, "target", **told))
        queues.append(queue(start, int(random.integers(200_000, 320_000)), int(random.integers(20_000, 80_992))))
    flows = pl.DataFrame({"start_ps": [0], "acked_ps": [8 * US]})
    queue_table = pl.DataFrame(queues)
    return results(folder, drain, streams=pl.DataFrame(rows), endpoints=queue_table, puts=puts(random), flows=flows)


def puts(random: np.random.Generator) -> pl.DataFrame:
    """Events of a stream of 100 packets, a few of which are dropped and sent again."""
    rows: list[tuple[int, int, str, int | None, str | None]] = []
    for seq in range(1, 101):
        at = seq * 330_000
        rows.append((at, seq, "sent", None, None))
        lost = seq > 40 and random.random() < 0.1
        rows.append((at + 4 * US, seq, "dropped" if lost else "accepted", 60_000 + 100 * (seq % 7), None))
        if lost:
            rows += [(at + 4 * US, seq, "nack-sent", 60_000, None), (at + 8 * US, seq - 1, "nack", None, None)]
            rows.append((at + 9 * US, seq, "resent", None, None))
    rows += [(5 * US, 9, "iack-sent", 9000, None), (5_150_000, 10, "marked-sent", 9000, None)]
    rows += [(9_310_000, 0, "state", None, "H-1"), (8 * US, 1, "iack", None, None)]
    found = pl.DataFrame(rows, schema=EVENT, orient="row")
    node = pl.when(pl.col("queue_bytes").is_null()).then(pl.lit("h1")).otherwise(pl.lit("h0"))
    return found.with_columns(src=pl.lit("h1"), dst=pl.lit("h0"), traffic=pl.lit("put"), node=node)
