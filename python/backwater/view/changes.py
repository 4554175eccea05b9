"""Where the time of a run went, by traffic entry, and what to change, in sentences: for the page's summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from backwater.analysis.blame import Blame
from backwater.analysis.critical.brief import Brief
from backwater.common import quantities
from backwater.common.late import pl
from backwater.results import Results, measures
from backwater.scenario import practice, senders

#: What the parts of a flow's loss are called (docs/ground-truth.md), those of one kind together.
_PARTS = {
    "at the source": ("connection_wait_ps", "paced_ps", "nic_queue_ps"),
    "until sent again": ("recovery_ps",),
    "behind PAUSEs": ("nic_held_ps", "gate_ps", "backlog_ps"),
    "in queues": ("queue_ps",),
    "at slow hosts": ("drain_ps",),
    "out of order": ("reorder_wait_ps",),
}
#: A job or collective that takes so many times as long as alone was not slowed down.
_SLOWED = 1.05
#: Another traffic entry with so much of what went through a long queue is said to have filled it.
_FILLS = 0.5
#: One that alone takes so many times its ideal is slow without others.
_FAR = 1.5
_LESS_MARKS = (
    "Congestion control paces who is marked. Fewer flows on a link are marked less: try another placement, or "
    "switch.load-balancing."
)
#: So many sentences are enough.
_MOST = 8


class Timed(NamedTuple):
    """What a collective or job took, alone and at best, in picoseconds; None where that is not known."""

    traffic: str
    time_ps: float | None
    alone_ps: float | None
    ideal_ps: float | None = None
    #: What made it late when it was alone.
    why_alone: str = ""


def table(blame: Blame) -> dict[str, Any]:
    """A table of the page's summary: for each traffic entry what its flows lost, and where.

    Shares are of all waits of its finished flows, together; a flow waits alone, too, where its own packets follow each
    other.
    """
    found = _parts(blame)
    # Where nobody lost anything is no column.
    parts = [name for name in _PARTS if found.height and found[name].sum()]
    made: dict[str, Any] = {
        "title": "Where the time went",
        "headings": ["traffic", "lost, mean", *parts],
        "rows": [],
        "note": "Lost: FCT less that of the flow alone, mean over flows. Shares are of all waits of last packets.",
    }
    for row in found.iter_rows(named=True):
        waits = sum(row[name] for name in parts)
        shares = [f"{100 * row[name] / waits:.0f} %" if waits else "–" for name in parts]
        made["rows"].append([row["traffic"], quantities.time(row["lost_ps"]), *shares])
    return made


def _parts(blame: Blame) -> pl.DataFrame:
    sums = [pl.sum_horizontal(parts).clip(lower_bound=0).sum().alias(name) for name, parts in _PARTS.items()]
    timed = measures.timed_flows(blame.results).filter(pl.col("fct_ps").is_not_null()).select("flow").collect()
    finished = blame.flows.join(timed, on="flow", how="semi")
    traffic = pl.col("traffic").cast(pl.String)
    found = finished.group_by(traffic).agg(pl.col("lost_ps").clip(lower_bound=0).mean().fill_null(0.0), *sums)
    scenario = blame.results.meta["scenario"]
    order = {name: number for number, name in enumerate(senders.names(scenario))}
    return found.sort(pl.col("traffic").replace_strict(order, return_dtype=pl.Int64))


def sentences(results: Results, found: Sequence[Timed], late: Mapping[str, Brief]) -> list[str]:
    """What to change: what slowed jobs and collectives down, then the rules of good practice that are not kept.

    `late` is what made each of them late, by its name.
    """
    alone = [sentence for one in found if (sentence := _alone(one))]
    slow = [one for one in found if one.time_ps and one.alone_ps and one.time_ps >= _SLOWED * one.alone_ps]
    slowed = [_slowed(one, late.get(one.traffic)) for one in slow]
    paced = any(late[one.traffic].how == "paced" for one in slow if one.traffic in late)
    marked = [_LESS_MARKS] if paced or any("pacing" in sentence for sentence in alone) else []
    return [*slowed, *alone, *marked, *(_pauses(results) if slowed else ()), *_rules(results.meta)][:_MOST]


def _slowed(one: Timed, late: Brief | None) -> str:
    """How much longer it takes than alone, and what to do about another entry that filled its queue."""
    told = f"{one.traffic} takes {quantities.three_digits((one.time_ps or 0) / (one.alone_ps or 1))} times as long as "
    told += "alone."
    if late is None or late.how == "paced" or late.others is None or late.others[1] < _FILLS:
        return told
    where = f"the queue of {next(iter(late.ports))}" if late.ports else "its queue"
    return (
        f"{told} Send {late.others[0]} to another host or in another priority, or let fewer send at once: thresholds "
        f"only shorten {where}."
    )


def slow_alone(one: Timed) -> bool:
    """Whether it takes much longer than it must, without any other traffic."""
    return bool(one.alone_ps and one.ideal_ps) and (one.alone_ps or 0.0) >= _FAR * (one.ideal_ps or 0.0)


def _alone(one: Timed) -> str:
    """Why it is slow without any other traffic; empty if it is not."""
    if not slow_alone(one) or not one.alone_ps or not one.ideal_ps:
        return ""
    times = quantities.three_digits(one.alone_ps / one.ideal_ps)
    told = f"{one.traffic} is slow already alone: {quantities.time(one.alone_ps)} are {times} times its ideal of "
    told += quantities.time(one.ideal_ps)
    if not one.why_alone:
        return f"{told}."
    return f"{told}; {one.why_alone}."


def _pauses(results: Results) -> Iterator[str]:
    scenario = results.meta["scenario"]
    if scenario["switch"].get("flow-control") != "pfc":
        return
    if results.meta["totals"]["pauses"]:
        yield "Ports were paused: backwater advise says which thresholds of ECN and PFC suit this traffic."
    else:
        yield "There was no PAUSE: more buffer and other thresholds of PFC change nothing here."


def _rules(meta: Mapping[str, Any]) -> Iterator[str]:
    # The other profiles are published systems: what a paper has is not to be changed.
    if meta["scenario"].get("profile") != "roce":
        return
    for one in practice.of(meta["scenario"], {"network": meta["network"]}):
        if not one.good:
            what = f" Set {', '.join(text.replace('=', ' = ', 1) for text in one.set)}." if one.set else ""
            yield f"Good practice, {one.rule}: {one.told}.{what} Source: {one.source}."
