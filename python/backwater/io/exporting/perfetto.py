"""A run as a trace that https://ui.perfetto.dev and chrome://tracing open (Trace Event Format, JSON).

A node is a process and an egress port a thread of it: when the port was paused, which state its detector saw, how long
its queue was. A flow is a span of the process of its source; marks are instants, left out beyond a number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from backwater.common import atomic_files
from backwater.common.late import pl
from backwater.results import Results

#: More instants make the browser slow; which were left out is said in the trace and on the terminal.
MARKS = 100_000
_PS_PER_US = 1_000_000

Event = dict[str, Any]


def write(run: Results, out: Path) -> tuple[int, int]:
    """Write the trace; returns how many events it has, and how many marks were left out."""
    left_out = max(0, _rows(run, "marks") - MARKS)
    number = 0
    with atomic_files.asked(out) as place, place.open("w", encoding="utf-8", newline="\n") as file:
        file.write('{"displayTimeUnit":"ns","traceEvents":[\n')
        for event in _events(run):
            _line(file, event, first=number == 0)
            number += 1
        about = {
            "digest": run.digest,
            "seed": run.meta["seed"],
            "version": run.meta["version"],
            "marks left out": left_out,
        }
        file.write(f'\n],"otherData":{json.dumps(about)}}}\n')
    return number, left_out


def _line(file: TextIO, event: Event, *, first: bool) -> None:
    file.write(("" if first else ",\n") + json.dumps(event, separators=(",", ":")))


def _rows(run: Results, table: str) -> int:
    return int(run.tables[table]["rows"]) if run.has(table) else 0


def _events(run: Results) -> Iterator[Event]:
    yield from _names(run)
    yield from _flows(run)
    end = int(run.meta["sim_time_ps"])
    if run.has("pauses"):
        yield from _spans(run, "pauses", "paused", _gate, end)
    if run.has("states"):
        yield from _spans(run, "states", "state", _detector, end)
    if run.has("samples"):
        yield from _queues(run)
    if run.has("marks"):
        yield from _marks(run)


def _time(ps: int) -> float:
    return ps / _PS_PER_US


def _gate(port: int, priority: int) -> int:
    """The thread of a port's gate; 0 is the node itself. Spans of one thread must not overlap: states have one."""
    return 1 + 2 * (8 * port + priority)


def _detector(port: int, priority: int) -> int:
    """The thread of what a port's detector says."""
    return _gate(port, priority) + 1


def _names(run: Results) -> Iterator[Event]:
    ports = run.ports.select("node_index", "node", "port_index", "port", "priority").collect()
    named: set[int] = set()
    for node, name, port, label, priority in ports.iter_rows():
        if node not in named:
            named.add(node)
            yield {"ph": "M", "name": "process_name", "pid": node, "args": {"name": name}}
        for thread, what in ((_gate(port, priority), "gate"), (_detector(port, priority), "detector")):
            shown = f"{label} priority {priority} {what}"
            yield {"ph": "M", "name": "thread_name", "pid": node, "tid": thread, "args": {"name": shown}}


def _flows(run: Results) -> Iterator[Event]:
    columns = ("flow", "traffic", "src_index", "dst", "size_bytes", "start_ps", "finish_ps", "slowdown")
    for row in run.flows.filter(_started()).select(columns).collect().iter_rows(named=True):
        end = row["finish_ps"] if row["finish_ps"] is not None else int(run.meta["sim_time_ps"])
        same = {
            "cat": "flow",
            "id": row["flow"],
            "pid": row["src_index"],
            "tid": 0,
            "name": f"{row['traffic']} to {row['dst']}",
        }
        about = {
            "flow": row["flow"],
            "size_bytes": row["size_bytes"],
            "slowdown": row["slowdown"],
            "finished": row["finish_ps"] is not None,
        }
        yield same | {"ph": "b", "ts": _time(row["start_ps"]), "args": about}
        yield same | {"ph": "e", "ts": _time(end)}


def _started() -> Any:
    """Flows that ever became ready."""
    return pl.col("start_ps").is_not_null()


def _spans(run: Results, table: str, column: str, thread: Callable[[int, int], int], end: int) -> Iterator[Event]:
    """From each change of a port to its next: when it was paused, or in which state its detector saw it."""
    open_: dict[tuple[int, int], tuple[int, Any]] = {}
    rows = run.table(table).select("node_index", "port_index", "priority", "time_ps", column).collect()
    for node, port, priority, time, value in rows.iter_rows():
        key = (node, thread(port, priority))
        if key in open_:
            yield from _span(key, *open_[key], time)
        open_[key] = (time, value)
    for key, (since, value) in open_.items():
        yield from _span(key, since, value, end)


def _span(key: tuple[int, int], since: int, value: Any, until: int) -> Iterator[Event]:
    # A gate that is open and a port without congestion are what there is no span for.
    if value is False or value == "non-congestion":
        return
    name = "paused" if value is True else str(value)
    span = {"ph": "X", "name": name, "cat": "gate" if value is True else "state"}
    yield span | {"pid": key[0], "tid": key[1], "ts": _time(since), "dur": _time(until - since)}


def _queues(run: Results) -> Iterator[Event]:
    before: dict[tuple[int, str], int] = {}
    columns = ("time_ps", "node_index", "port", "priority", "queue_bytes")
    for time, node, label, priority, size in run.samples.select(columns).collect().iter_rows():
        name = f"queue {label} priority {priority}"
        # A counter keeps its value: only changes are told.
        if before.get((node, name)) != size:
            before[node, name] = size
            yield {"ph": "C", "name": name, "pid": node, "ts": _time(time), "args": {"bytes": size}}


def _marks(run: Results) -> Iterator[Event]:
    columns = ("time_ps", "node_index", "port_index", "priority", "code", "flow", "seq")
    for time, node, port, priority, code, flow, seq in run.marks.select(columns).head(MARKS).collect().iter_rows():
        where = {"pid": node, "tid": _detector(port, priority)}
        yield {"ph": "i", "s": "t", "name": code, "ts": _time(time), "args": {"flow": flow, "seq": seq}} | where
