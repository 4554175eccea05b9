"""How the outcomes of several schemes are shown in the terminal: tables of what differs or is not nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rich.markup import escape
from rich.table import Table

from backwater.analysis.scheme_measures import OF_TRAFFIC, Outcomes
from backwater.common import percentiles, terminal
from backwater.common import quantities as quantity
from backwater.common.statistics import Estimate, with_interval
from backwater.results.catalogue import CATALOGUE, Measure

#: Means over seeds of a scheme, by name.
Means = Mapping[str, Estimate]
#: What a row is of, traffic entry and scheme or a scheme, and its values.
Row = tuple[tuple[str, ...], Means]

#: Of a traffic entry it is told also if it is zero under all schemes.
_ALWAYS = frozenset(("finished", "goodput_bps"))
#: Of PUTs, what stands in the first of two tables: what they got across, and how even.
_GOT = frozenset(("goodput_bps", "goodput_percent", "resent_packets", "resent_percent", "difference_percent", "jain"))


def tables(found: Outcomes) -> list[Table]:
    """Per traffic entry and scheme, and per scheme: mean over the seeds ± half of the 95 % confidence interval.

    Then of the network, of what PUTs got across, and of drops, ACKs and receive queues. Columns and rows without a
    value are left out, and so are columns of zeros, which are named below, and tables that have no column then.
    """
    over = f"mean of {found.seeds} seeds ± 95 % confidence interval" if found.seeds > 1 else "one seed"
    schemes: list[Row] = [((name,), values) for name, values in found.network.items()]
    got = [one for one in found.puts if one.name in _GOT]
    rest = [one for one in found.puts if one.name not in _GOT]
    of_acks = "Drops, ACKs and receive queues" if any(one.name == "target_drops" for one in rest) else "Receive queues"
    parts = [
        ("Traffic", _rows(found.traffic), OF_TRAFFIC, _of_traffic(found)),
        ("What was lost and sent again", _rows(found.traffic), found.losses, _NOTES),
        ("Network", schemes, found.quantities, _of_network(found)),
        ("PUTs", schemes, got, _NOTES),
        (of_acks, schemes, rest, _NOTES | {"nacks": _ACKS}),
    ]
    made: list[Table] = []
    for title, rows, quantities, notes in parts:
        known = [one for one in quantities if any(_has(one, values) for _, values in rows)]
        zero = [one.title for one in known if one.name not in _ALWAYS and _is_zero(one, rows)]
        shown = [one for one in known if one.title not in zero]
        if shown or not made:
            made.append(_table(f"{title} under each scheme, {over}", rows, known, shown, notes))
            zeros = f"0 under all: {', '.join(zero)}"
        else:
            zeros = f"{title}: 0 under all: {', '.join(zero)}"
        if zero:
            _note(made[-1], zeros)
    if any(name.startswith("p99") and name not in of for _, of in parts[0][1] for name in _instead(of)):
        _note(made[0], percentiles.note(99))
    names = {one.name for one in found.puts}
    if "target_drops" in names and "goodput_bps" not in names:
        _note(made[-1], "goodput, ACKs and fairness of PUTs need sums: --set probe.sample=10us")
    if found.window is not None and found.puts:
        _note(made[-1], f"all of PUTs from {' to '.join(map(quantity.time, found.window))}")
    for line in _twins(found):
        _note(made[-1], line)
    return made


def _rows(traffic: Mapping[str, Mapping[str, Means]]) -> list[Row]:
    return [((name, scheme), of) for name, by_scheme in traffic.items() for scheme, of in by_scheme.items()]


def _table(
    title: str,
    rows: Sequence[Row],
    known: Sequence[Measure],
    shown: Sequence[Measure],
    notes: Mapping[str, str],
) -> Table:
    """Rows by their labels, without those for which nothing is known; with notes on what is shown."""
    labels = ("traffic", "scheme")[-len(rows[0][0]) :]
    made = terminal.table(title, labels, (one.title for one in shown))
    before = ""
    for (*entry, scheme), values in rows:
        if not any(_has(one, values) for one in known):
            continue
        name = entry[0] if entry else ""
        if before and name != before:
            made.add_section()
        made.add_row(*("" if name == before else name for _ in entry), scheme, *_cells(shown, values))
        before = name
    for text in dict.fromkeys(notes[one.name] for one in shown if one.name in notes):
        _note(made, text)
    return made


def _instead(values: Means) -> list[str]:
    """The percentiles that a largest value stands for, if they are missing."""
    return [name for name, (_, largest) in percentiles.INSTEAD.items() if largest in values]


def _has(one: Measure, values: Means) -> bool:
    return one.name in values or one.name in _instead(values)


def _is_zero(one: Measure, rows: Sequence[Row]) -> bool:
    found = [values[one.name] for _, values in rows if one.name in values]
    return bool(found) and all(value.mean == 0 and not value.half_width for value in found)


def _note(table: Table, line: str) -> None:
    table.caption = "\n".join(part for part in (str(table.caption or ""), escape(line)) if part)


def _of_traffic(found: Outcomes) -> dict[str, str]:
    """What columns of traffic mean."""
    fct = "FCT: of the flows that finished"
    marks = "CE, UE: share of the packets that arrived with it"
    return {
        "application_ps": "application: done after, from the start of its traffic entry to its last message",
        "goodput_bps": _goodput(found),
        "median_fct_ps": fct,
        "p99_fct_ps": fct,
        "fairness": CATALOGUE["fairness"].footnote,
        "ce_percent": marks,
        "ue_percent": marks,
    }


def _of_network(found: Outcomes) -> dict[str, str]:
    footnotes = {one.name: one.footnote for one in found.quantities if one.footnote}
    return _NOTES | footnotes | {"paused_ps": _of_holds(*found.held_by)}


def _of_holds(what: str, lane: str) -> str:
    counted = {"PAUSEs": "those that took effect", "waits for credits": "how often credits ran out"}
    counts = counted.get(what, "; ".join(counted.values()))
    return f"{what} of a {lane}: {counts}; OFF: time for which they held ports, all together"


_ACKS = (
    "NACKs, DACKs, marked IACKs: those that took effect; a DACK repeats a number, under DACK because the receive queue "
    "is too full, which a mark says as well, and under every policy where a PUT came twice"
)
_UNFINISHED = (
    "unfinished: flows with an end that they did not come to, which FCT and slowdown are without; failed: those whose "
    "queue pair is in error after its last retry, which have finished if all had arrived"
)
#: What columns of the other tables mean.
_NOTES = {
    "allocations": "isolated: entries of congested-flow tables; refused: no slot was free; CIMs: messages upstream",
    "peak_slots": (
        "most slots: entries in use at a time at a switch; under BFC and PFC by destination queues of a port with "
        "packets, under Pyrrha isolation queues of a port, under Floodgate queues of destinations"
    ),
    "throttled_ps": (
        "throttled: time of NICs in the state Congested; held by throttles: time that packets waited for that alone; "
        "all NICs together"
    ),
    "goodput_bps": "goodput: payload that targets accepted; of the link: of the links to the targets",
    "target_drops": "dropped by hosts: arrivals for which there was no room, or out of order",
    "unfinished": _UNFINISHED,
    "dropped_packets": "dropped: what receivers did not take, out of order; dropped by switches is apart",
    "useful_percent": (
        "useful: payload that hosts got, each byte once, of all bytes that hosts sent, with headers and ACKs"
    ),
    "victims": "victims: flows that lost time behind held ports and fed no root; - where nothing can hold a port",
    "dacks": _ACKS,
    "difference_percent": "largest difference of two initiators of a host: of what it accepted, as a share of its link",
    "jain": "Jain: index of what the initiators of a host got across, 1 if all got the same",
    "holding_ps": "switch held: time for which slow hosts held ports of switches by flow control",
}


def _twins(found: Outcomes) -> list[str]:
    """Which schemes agree in every number, or in all but the slots that they took, and why if ICI+ is one of them."""
    lines = []
    left = list(found.network)
    while left:
        one, *left = left
        agree = {other: but for other in left if (but := _differs(found, one, other)) is not None}
        for but in dict.fromkeys(agree.values()):
            same = [other for other in agree if agree[other] == but]
            lines.append(f"{', '.join((one, *same[:-1]))} and {same[-1]} agree in every number{but}{_why(found, same)}")
        left = [other for other in left if other not in agree]
    return lines


def _differs(found: Outcomes, one: str, other: str) -> str | None:
    """What two schemes that agree differ in nevertheless; None if they do not agree."""
    if any(by_scheme.get(one) != by_scheme.get(other) for by_scheme in found.traffic.values()):
        return None
    first, second = found.network[one], found.network[other]
    names = {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}
    if names - {"peak_slots"}:
        return None
    return " but most slots" if names else ""


def _why(found: Outcomes, same: Sequence[str]) -> str:
    quiet = [name for name in same if name in found.guided and found.network[name]["ce_marks"].mean == 0]
    if not quiet:
        return ""
    return f": {quiet[0]} marks flows that a full table refused or that stay isolated for long, and there were none"


def _goodput(found: Outcomes) -> str:
    if found.window is None:
        return CATALOGUE["goodput_bps"].footnote
    start, end = map(quantity.time, found.window)
    return f"goodput: payload that arrived from {start} to {end}, each byte once"


def _cells(quantities: Sequence[Measure], values: Means) -> list[str]:
    counts = [round(count) for count in values["timed"].values] if "timed" in values else []
    return [percentiles.cell(one.name, values, counts, partial(_cell, show=one.show)) or "-" for one in quantities]


def _cell(value: Estimate, show: Callable[[float], str]) -> str:
    return show(value.mean) if value.identical else with_interval(value, show)
