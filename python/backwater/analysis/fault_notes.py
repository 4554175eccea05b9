"""What went wrong in a run, when, what the network did about it, and what it cost."""

from __future__ import annotations

from typing import Any

from backwater.analysis import fault_costs
from backwater.common import quantities
from backwater.common.late import pl
from backwater.results import Results

#: Of so many faults there is a line.
MOST = 20

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
    """One line for each fault: its time line, and what it cost; of many for those that lost most packets."""
    lines = [line(fault) for fault in fault_costs.of(results, MOST)]
    if len(lines) == MOST:
        rest = results.faults.select(pl.struct("fault", "kind").n_unique()).collect().item() - MOST
        lines += [f"faults: {quantities.count(rest)} more, which lost no more packets each"] if rest else []
    return lines + _without_effect(results)


def _without_effect(results: Results) -> list[str]:
    """The same of faults that nothing is recorded of."""
    entries = results.meta["scenario"].get("fault", [])
    met: set[int] = set()
    if results.has("faults"):
        met.update(results.faults.select("fault").drop_nulls().unique().collect()["fault"].to_list())
    rest = [number for number in range(len(entries)) if number not in met]
    lines = [f"fault {number} ({entries[number]['kind']}): {_why_not(results, entries[number])}" for number in rest]
    more = len(lines) - MOST
    return lines[:MOST] + (
        [f"faults: {quantities.count(more)} more that lost nothing and changed nothing"] if more > 0 else []
    )


def _why_not(results: Results, entry: dict[str, Any]) -> str:
    at = entry.get("at", "0s")
    begin = min(quantities.parse_time(str(one)) for one in (at if isinstance(at, list) else [at]))
    return "no packet lost by it" if begin < results.meta["sim_time_ps"] else "the run ended before it began"


def line(fault: fault_costs.Fault) -> str:
    """A fault in one line."""
    name = f"fault {fault.number} ({fault.kind})" if fault.number is not None else "PFC watchdog"
    return f"{name}: {'; '.join([part for part in (_events(fault.events), *cost(fault)) if part])}"


def cost(fault: fault_costs.Fault) -> list[str]:
    """What it cost: packets, flows, and how long goodput was down."""
    return [_packets(fault), _flows(fault), _goodput(fault)]


def _events(frame: pl.DataFrame) -> str:
    groups = frame.group_by("time_ps", "event", maintain_order=True).agg(
        pl.col("node"), pl.col("port").first(), pl.col("packets").sum()
    )
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
    if row["event"] == "replayed":
        packets = quantities.counted(row["packets"], "packet")
        return f"from {quantities.time(row['time_ps'])} {packets} sent again by {where}"
    return f"{quantities.time(row['time_ps'])} {SAID[row['event']]} {where}"


def _packets(fault: fault_costs.Fault) -> str:
    lost = fault.lost
    if lost.is_empty():
        return "no packet lost"
    first, last = min(lost["time_ps"].to_list()), max(lost["last_ps"].to_list())
    span = f"from {quantities.time(first)} to {quantities.time(last)}"
    return f"{quantities.counted(fault.packets, 'packet')} lost {span}"


def _flows(fault: fault_costs.Fault) -> str:
    if fault.flows is None:
        return ""
    number, ended = fault.flows.height, fault.flows["finish_ps"].drop_nulls().len()
    if not number:
        return "" if fault.lost.height else "no flow that it concerns was under way"
    what = f"{quantities.counted(number, 'flow')} {'lost packets' if fault.lost.height else 'under way there'}"
    finished = (
        f"{quantities.count(ended)} finished" if ended < number else "all finished" if number > 1 else "it finished"
    )
    slow = "" if fault.slowdown is None else f", median slowdown {fault.slowdown:.3g}"
    return f"{what}, {finished}{slow}{_compared(fault.comparison)}"


def _compared(found: fault_costs.Comparison | None) -> str:
    if found is None:
        return ""
    mine = "half or more not finished" if found.slowdown is None else f"{found.slowdown:.3g}"
    told = (
        f"{quantities.count(found.flows)} that began meanwhile {mine}, {quantities.count(found.like)} like them before"
    )
    return f" ({told} {found.usual:.3g}: {_chance(found.chance)})"


def _chance(share: float) -> str:
    """How often chance alone does what is told."""
    if share > fault_costs.CHANCE:
        return "may be chance"
    return f"by chance in {'less than 0.1' if share < 0.001 else f'at most {100 * share:.2g}'} % of runs"


def _goodput(fault: fault_costs.Fault) -> str:
    found = fault.recovery
    if found is None:
        return ""
    which = f"goodput of {quantities.counted(found.receivers, 'receiver')}"
    if found.empty:
        return (
            f"whether {which} was down cannot be told, as {quantities.count(found.empty)} of {found.before} periods of "
            f"{quantities.time(found.period_ps)} before were empty: take a longer probe.sample"
        )
    than = f"the least of {found.before} periods of {quantities.time(found.period_ps)} before"
    if found.down_ps is None or found.missing is None:
        return f"{which} never below {than} for {quantities.counted(found.row, 'period')} in a row"
    until = (
        "not up again while there were flows"
        if found.up_ps is None
        else f"up again {quantities.time(found.up_ps)} after the fault"
    )
    less = f"on average by {100 * found.missing:.0f} % of their mean"
    return f"{which} below {than}, {less}, {until} ({_chance(found.chance)})"
