"""Faults in the page: when and where something was wrong, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backwater.analysis import fault_costs, fault_notes
from backwater.analysis.fault_costs import Fault
from backwater.common import quantities
from backwater.common.late import pl
from backwater.results import Results
from backwater.view.encode import Columns
from backwater.view.lanes import Lanes

#: Of so many faults there is a lane, and a mark at the places.
MOST = 8

#: What stands in the intervals of each kind; the first ones take nothing and send nothing meanwhile.
DEAD = {"link-down": "down", "switch-down": "down", "host-stop": "stopped"}
_WORDS = DEAD | {
    "link-slow": "slow",
    "loss": "loses frames",
    "gray": "loses packets",
    "pause-storm": "PAUSE without end",
    "watchdog": "PAUSE not obeyed",
}
_BEGIN = ("down", "storm", "stopped", "watchdog-triggered")
_END = ("up", "calm", "watchdog-restored")

#: A node, or the two ends of a link, and from when to when something was wrong there.
Wrong = tuple[tuple[str, ...], int, int]


def add(columns: Columns, results: Results, nodes: Sequence[str], lanes: Lanes, tick_ps: int) -> list[dict[str, Any]]:
    """Put the places into the columns and the lanes into `lanes`; returns the block `faults` of the header."""
    numbers = {name: number for number, name in enumerate(nodes)}
    rows: list[tuple[int, ...]] = []
    told: list[dict[str, Any]] = []
    for fault in fault_costs.of(results, MOST):
        name = _name(fault)
        lane = lanes.lane(name, fault_notes.line(fault))
        for start, end in dict.fromkeys((start, end) for _, start, end in _wrong(results, fault)):
            lanes.span(lane, start, end, _WORDS[fault.kind])
        noticed = list(_pairs(fault.events, ("detected",), ("admitted",), _end(results)))
        inner = lanes.lane("noticed", f"{name}: from when switches noticed it", lane) if noticed else -1
        for start, end in noticed:
            lanes.span(inner, start, end, "left out by its switches")
        for place, start, end in _wrong(results, fault):
            ends = [numbers.get(node, -1) for node in (*place, "")[:2]]
            if ends[0] >= 0:
                rows.append((len(told), *ends, start // tick_ps, end // tick_ps))
        cost = [part for part in fault_notes.cost(fault) if part]
        told.append({"name": name, "kind": fault.kind, "dead": fault.kind in DEAD, "cost": cost})
    frame = pl.DataFrame(rows, schema=["fault", "node", "peer", "start", "end"], orient="row").cast(pl.Int64)
    for column in ("fault", "node", "peer", "start"):
        columns.add(f"faults.{column}", frame[column].to_numpy())
    columns.add("faults.length", (frame["end"] - frame["start"]).to_numpy())
    return told


def _name(fault: Fault) -> str:
    return "PFC watchdog" if fault.number is None else f"fault {fault.number}: {fault.kind}"


def _end(results: Results) -> int:
    return int(results.meta["sim_time_ps"])


def _wrong(results: Results, fault: Fault) -> Iterator[Wrong]:
    """When and where something was wrong."""
    end = _end(results)
    if fault.number is None:
        for (port,), events in fault.events.sort("port", "time_ps").group_by("port", maintain_order=True):
            for start, until in _pairs(events, _BEGIN, _END, end):
                yield tuple(str(port).split("->")), start, until
        return
    entry: Mapping[str, Any] = results.meta["scenario"]["fault"][fault.number]
    place = tuple(entry.get("link") or [entry.get("switch") or entry["host"]])
    if fault.kind == "link-slow":
        times = fault.events["time_ps"].unique().sort().to_list()
        for start, until in zip(times[::2], [*times[1::2], end], strict=False):
            yield place, start, until
    elif fault.events.height:
        for start, until in _pairs(fault.events, _BEGIN, _END, end):
            yield place, start, until
    else:
        until = end if entry.get("until") is None else min(end, quantities.parse_time(entry["until"]))
        yield place, quantities.parse_time(entry.get("at", "0ps")), until


def _pairs(events: pl.DataFrame, begin: tuple[str, ...], end: tuple[str, ...], last: int) -> Iterator[tuple[int, int]]:
    """Intervals from events that begin them to the next that ends them; both ends of a link have one at an instant."""
    starts, ends = (
        events.filter(pl.col("event").is_in(list(words)))["time_ps"].unique().sort().to_list() for words in (begin, end)
    )
    for start in starts:
        yield start, next((time for time in ends if time > start), last)
