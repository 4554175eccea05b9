"""Where the time of a run went, by traffic entry, and what to change, in sentences: for the page's summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from backwater.analysis.blame import Blame
from backwater.common import quantities
from backwater.common.late import pl
from backwater.results import Results
from backwater.scenario import practice

#: What the parts of a flow's loss are called (docs/ground-truth.md), those of one kind together.
_PARTS = {
    "at the source": ("connection_wait_ps", "paced_ps", "nic_queue_ps"),
    "behind PAUSEs": ("nic_held_ps", "gate_ps", "backlog_ps"),
    "in queues": ("queue_ps",),
    "at slow hosts": ("drain_ps",),
    "out of order": ("reorder_wait_ps",),
}
#: A job or collective that takes so many times as long as alone was not slowed down.
_SLOWED = 1.05
#: Another traffic entry with so much of what went through a long queue is said to have filled it.
_FILLS = 0.5
#: A port with so much of the waits of a traffic entry is named.
_NAMED = 0.2
#: So many sentences are enough.
_MOST = 8


class Timed(NamedTuple):
    """What a collective or job took, and what it took alone, in picoseconds; None where that is not known."""

    traffic: str
    time_ps: float | None
    alone_ps: float | None


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
        "headings": ["traffic", "lost", *parts],
        "rows": [],
        "note": "Lost: FCT less that of the flow alone, summed over flows. Shares are of all waits of last packets.",
    }
    for row in found.iter_rows(named=True):
        waits = sum(row[name] for name in parts)
        shares = [f"{100 * row[name] / waits:.0f} %" if waits else "–" for name in parts]
        made["rows"].append([row["traffic"], quantities.time(row["lost_ps"]), *shares])
    return made


def _parts(blame: Blame) -> pl.DataFrame:
    sums = [pl.sum_horizontal(parts).clip(lower_bound=0).sum().alias(name) for name, parts in _PARTS.items()]
    finished = blame.flows.filter(pl.col("fct_ps").is_not_null())
    traffic = pl.col("traffic").cast(pl.String)
    found = finished.group_by(traffic).agg(pl.col("lost_ps").clip(lower_bound=0).sum(), *sums)
    scenario = blame.results.meta["scenario"]
    senders = [*scenario["traffic"], *scenario.get("job", [])]
    order = {entry["name"]: number for number, entry in enumerate(senders)}
    return found.sort(pl.col("traffic").replace_strict(order, return_dtype=pl.Int64))


def sentences(results: Results, found: Sequence[Timed], blame: Blame | None) -> list[str]:
    """What to change: what slowed jobs and collectives down, then the rules of good practice that are not kept."""
    slowed = list(_slowed(found, blame))
    return [*slowed, *(_pauses(results) if slowed else ()), *_rules(results.meta)][:_MOST]


def _slowed(found: Sequence[Timed], blame: Blame | None) -> Iterator[str]:
    for one in found:
        if one.time_ps is None or not one.alone_ps or one.time_ps < _SLOWED * one.alone_ps:
            continue
        told = f"{one.traffic} takes {quantities.three_digits(one.time_ps / one.alone_ps)} times as long as alone"
        where = None if blame is None else _worst_port(blame, one.traffic)
        if where is None:
            yield f"{told}."
            continue
        port, share, fed_by, of_it = where
        if (source := _at_source(blame, one.traffic)) > _FILLS:
            told += f": {100 * source:.0f} % of its messages' waits are at the source, by congestion control; "
            told += f"in the network {100 * share:.0f} % are at {port}"
        else:
            told += f": {100 * share:.0f} % of its messages' waits in the network are at {port}"
        if fed_by is None or of_it < _FILLS:
            yield f"{told}."
            continue
        yield (
            f"{told}. {fed_by} filled {100 * of_it:.0f} % of that port's long queue: send it to another host or in "
            "another priority, or let fewer send at once. Thresholds only shorten that queue."
        )


def _at_source(blame: Blame | None, traffic: str) -> float:
    """The share of the waits of an entry's messages at their source."""
    found = None if blame is None else _parts(blame).filter(pl.col("traffic") == traffic)
    if found is None or not found.height:
        return 0.0
    whole = sum(float(found[name][0]) for name in _PARTS)
    return float(found["at the source"][0]) / whole if whole else 0.0


def _worst_port(blame: Blame, traffic: str) -> tuple[str, float, str | None, float] | None:
    """The port where followed packets of an entry waited most, its share, who else filled it, and by how much."""
    mine = blame.flows.filter(pl.col("traffic").cast(pl.String) == traffic).select("flow")
    wait = (pl.col("end_ps") - pl.col("start_ps")).sum()
    waits = blame.waits.join(mine, on="flow").group_by("queue").agg(wait=wait).sort("wait", "queue", descending=True)
    whole = float(waits["wait"].sum() or 0)
    if not whole or waits["wait"][0] < _NAMED * whole:
        return None
    queue = waits["queue"][0]
    port = str(blame.queues.filter(pl.col("queue") == queue)["port"][0])
    fed = blame.feeding.filter(pl.col("root") == queue)
    by = fed.group_by(pl.col("traffic").cast(pl.String)).agg(packets=pl.col("packets").sum()).sort("packets", "traffic")
    if not by.height or by["traffic"][-1] == traffic:
        return port, waits["wait"][0] / whole, None, 0.0
    return port, waits["wait"][0] / whole, by["traffic"][-1], by["packets"][-1] / by["packets"].sum()


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
