"""What went wrong in a run, when, what the network did about it, and what it cost."""

from __future__ import annotations

from typing import Any

from backwater.common import quantities
from backwater.common.late import pl
from backwater.results import Results

#: So many events of one fault are told one by one.
TOLD = 8

#: What an event is called in a sentence.
SAID = {
    "down": "down",
    "up": "up again",
    "detected": "noticed",
    "admitted": "used again",
    "rerouted": "new routes",
    "rate": "another rate",
    "storm": "PAUSE without end",
    "calm": "RESUME",
    "stopped": "stopped",
    "watchdog-triggered": "watchdog triggered",
    "watchdog-restored": "watchdog restored",
}


def of(results: Results) -> list[str]:
    """One line for each fault: its time line, and what was lost by it."""
    if not results.has("faults"):
        return []
    frame = results.faults.sort("time_ps").collect()
    return [_line(entry) for entry in frame.partition_by("fault", "kind", maintain_order=True)]


def _line(frame: pl.DataFrame) -> str:
    number, kind = frame["fault"][0], frame["kind"][0]
    name = f"fault {number} ({kind})" if number is not None else "PFC watchdog"
    parts = [part for part in (_events(frame.filter(pl.col("event") != "lost")), _cost(frame)) if part]
    return f"{name}: {'; '.join(parts)}"


def _events(frame: pl.DataFrame) -> str:
    groups = frame.group_by("time_ps", "event", maintain_order=True).agg(pl.col("node"), pl.col("port").first())
    told = [_event(row) for row in groups.head(TOLD).iter_rows(named=True)]
    if groups.height > TOLD:
        told.append(f"and {groups.height - TOLD} more events")
    return ", ".join(told)


def _event(row: dict[str, Any]) -> str:
    nodes = list(dict.fromkeys(row["node"]))
    if row["event"] == "rerouted":
        where = f"at {len(nodes)} switch{'es' if len(nodes) != 1 else ''}"
    elif row["event"] in ("detected", "admitted"):
        where = f"by {', '.join(nodes[:4])}"
    else:
        where = row["port"] if len(nodes) <= 2 and row["port"] else ", ".join(nodes[:4])
    return f"{quantities.time(row['time_ps'])} {SAID[row['event']]} {where}"


def _cost(frame: pl.DataFrame) -> str:
    lost = frame.filter(pl.col("event") == "lost")
    if lost.is_empty():
        return "no packet lost"
    packets, flows = int(lost["packets"].sum()), max(lost["flows"].to_list())
    first, last = min(lost["time_ps"].to_list()), max(lost["last_ps"].to_list())
    span = f"from {quantities.time(first)} to {quantities.time(last)}"
    return f"{packets} packet{'s' if packets != 1 else ''} lost {span}, of up to {flows} flows at one port"
