"""Congestion isolation in numbers: hot destinations and victims, what congested-flow tables did, marks, PAUSEs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.markup import escape
from rich.table import Table

from backwater.analysis import deliveries
from backwater.common import quantities, terminal
from backwater.common.late import np, pl
from backwater.common.statistics import estimate, with_interval
from backwater.results import Results, measures
from backwater.results.measures import Series, end_ps

Numbers = dict[str, int | None]

#: Kinds of traffic whose flows were placed by whoever wrote the scenario; those of the other kinds are drawn.
_PLACED = ("supply", "flow", "long-lived", "constant", "bursts", "incast")
#: What an event that makes an entry is called.
MADE = ("allocated", "readmitted")
#: Kinds whose switches have regions and, with isolation, a table of congested flows; the others have queues.
_WITH_REGIONS = ("none", "ci", "ici", "ici-plus")


def applies(results: Results) -> bool:
    """Whether there is something to tell: the switches have combined queueing, the one with regions and isolation."""
    return "isolation" in results.meta and measures.isolation(results.meta["scenario"]) in _WITH_REGIONS


def hot(results: Results) -> pl.DataFrame:
    """The hot destinations: hosts that flows of one placed traffic entry (not drawn ones) head for from several hosts.

    Columns ``dst_index``, ``dst``, ``traffic`` and ``sources``.
    """
    entries = results.meta["scenario"].get("traffic", [])
    placed = [number for number, entry in enumerate(entries) if entry.get("kind") in _PLACED]
    return (
        results.flows.filter(pl.col("traffic_index").is_in(placed))
        .group_by("dst_index", "traffic_index")
        .agg(pl.col("dst", "traffic").first().cast(pl.String), sources=pl.col("src_index").n_unique())
        .filter(pl.col("sources") > 1)
        .sort("traffic_index", "dst_index")
        .select("dst_index", "dst", "traffic", "sources")
        .collect()
    )


def numbers(results: Results) -> Numbers:
    """What a table of runs shows of one: counts over the run; None where the run cannot tell.

    ``becns`` that reached senders and ``becn_peak`` of a period (with `probe.delivered`), ``marks`` (packets that
    arrived with CE) and ``victim_marks`` (those that did not head for a hot destination), ``pauses`` sent and
    ``cfq_pauses`` of the congested-flow priority, ``cims``, ``entries``, ``entries_elsewhere`` (for other than hot
    destinations, with `probe.isolation`), ``refusals`` (of entries and of mirrors) and ``peak_slots``.
    """
    destinations = hot(results)["dst_index"].implode()
    ce = pl.col("ce_packets")
    victims = ce.filter(~pl.col("dst_index").is_in(destinations))
    becns = pl.col("cnps_ce").sum() + pl.col("cnps_ue").sum()
    found: Numbers = (
        results.flows.select(becns=becns, marks=ce.sum(), victim_marks=victims.sum()).collect().row(0, named=True)
    )
    if not len(destinations.item()):
        found["victim_marks"] = None
    found["becn_peak"] = int(deliveries.becns(results).value.max()) if results.has("delivered") else None
    return found | _pauses(results) | _tables(results)


def _pauses(results: Results) -> Numbers:
    isolation = results.meta["scenario"].get("switch", {}).get("isolation") or {}
    sent = results.ports.group_by("priority").agg(pl.col("pauses_sent").sum()).collect()
    by_priority = dict(sent.iter_rows())
    cfq = isolation.get("cfq-priority") if isolation.get("kind", "none") != "none" else None
    return {"pauses": sum(by_priority.values()), "cfq_pauses": None if cfq is None else by_priority.get(cfq, 0)}


def _tables(results: Results) -> Numbers:
    sums: Mapping[str, int] = results.meta.get("isolation", {})
    isolation = results.meta["scenario"].get("switch", {}).get("isolation") or {}
    if not sums or isolation.get("kind", "none") == "none":
        return dict.fromkeys(("cims", "entries", "entries_elsewhere", "refusals", "peak_slots"))
    return {
        "cims": sums["cims"],
        "entries": sums["allocations"],
        "entries_elsewhere": entries_elsewhere(results) if results.has("isolation") else None,
        "refusals": sums["refusals"] + sums["mirror_refusals"],
        "peak_slots": sums["peak_slots"],
    }


def at_switches(results: Results) -> pl.LazyFrame:
    """The events of switches, without those of NICs that isolate."""
    return results.isolation.join(
        results.switches.select("node_index"), on="node_index", how="semi", maintain_order="left"
    )


def entries_elsewhere(results: Results) -> int:
    """Entries that switches made for flows that do not head for a hot destination: false alarms, or innocent flows.

    Entries whose key has no destination are not counted.
    """
    made = at_switches(results).filter(pl.col("what").cast(pl.String).is_in(MADE), pl.col("dst").is_not_null())
    known = hot(results)["dst"].implode()
    return int(made.select((~pl.col("dst").cast(pl.String).is_in(known)).sum()).collect().item())


def events(results: Results, what: str) -> Series:
    """How often something happened to the tables of switches, per period of :func:`.deliveries.period_ps`.

    `what` is a word of the column of that name, such as ``refused`` or ``notified`` (a CIM).
    """
    period = deliveries.period_ps(results)
    here = at_switches(results).filter(pl.col("what").cast(pl.String) == what)
    found = here.group_by(pl.col("time_ps") // period).agg(events=pl.len()).collect()
    values = np.zeros(max(-(-end_ps(results) // period), 1))
    np.add.at(
        values, found["time_ps"].to_numpy().astype(np.int64).clip(max=len(values) - 1), found["events"].to_numpy()
    )
    return Series(np.arange(len(values), dtype=np.int64) * period, values)


def slots(results: Results) -> Series:
    """The most slots in use at a time at any one switch, per period: what was taken before it counts, too."""
    period = deliveries.period_ps(results)
    periods = max(-(-end_ps(results) // period), 1)
    here = at_switches(results).with_columns(period=(pl.col("time_ps") // period).clip(upper_bound=periods - 1))
    found = here.group_by("node_index", "period", maintain_order=True).agg(
        peak=pl.col("used_slots").max(), last=pl.col("used_slots").last()
    )
    nodes = results.switches.select("node_index")
    every = nodes.join(pl.LazyFrame({"period": range(periods)}, schema={"period": pl.UInt64}), how="cross")
    typed = found.with_columns(pl.col("period").cast(pl.UInt64))
    filled = every.join(typed, on=["node_index", "period"], how="left").sort("node_index", "period")
    before = pl.col("last").forward_fill().over("node_index").shift(1).over("node_index")
    used = filled.select("period", used=pl.max_horizontal("peak", before).fill_null(0))
    most = used.group_by("period").agg(pl.col("used").max()).sort("period").collect()["used"]
    return Series(np.arange(periods, dtype=np.int64) * period, most.to_numpy().astype(np.float64))


#: Key of :func:`numbers`, heading.
COLUMNS = (
    ("becns", "BECNs"),
    ("becn_peak", "peak"),
    ("marks", "CE packets"),
    ("victim_marks", "of victims"),
    ("pauses", "PAUSEs"),
    ("cfq_pauses", "of the CFQs"),
    ("cims", "CIMs"),
    ("entries", "entries"),
    ("entries_elsewhere", "elsewhere"),
    ("refusals", "refused"),
    ("peak_slots", "most slots"),
)


def table(runs: Mapping[str, Sequence[Results]], title: str = "Congestion and isolation") -> Table:
    """One row per name: means over its complete runs, with 95 % confidence intervals of several."""
    named = len(runs) > 1
    found = {name: [numbers(run) for run in of_name if run.complete] for name, of_name in runs.items()}
    known = [key for key, _ in COLUMNS if any(one[key] is not None for all_ in found.values() for one in all_)]
    headings = (heading for key, heading in COLUMNS if key in known)
    made = terminal.table(title, ["run"] if named else [], headings)
    for name, of_name in found.items():
        cells = []
        for key in known:
            values = [value for one in of_name if (value := one[key]) is not None]
            cells.append(with_interval(estimate(values, key), quantities.count) if values else "-")
        made.add_row(*([escape(name)] if named else []), *cells)
    made.caption = _words(runs)
    return made


def _words(runs: Mapping[str, Sequence[Results]]) -> str:
    every = [run for of_name in runs.values() for run in of_name]
    lines = []
    if any(run.has("delivered") for run in every):
        lines.append(f"peak: most BECNs in {quantities.time(deliveries.period_ps(every[0]))}")
    where = hot(every[0]) if every else pl.DataFrame()
    if where.height:
        names = ", ".join(where["dst"].unique(maintain_order=True))
        entries = ", ".join(where["traffic"].unique(maintain_order=True))
        lines.append(f"victims: packets to other hosts than {names}, which several hosts send to ({entries})")
    if any(_isolates(run) for run in every):
        lines += [
            "of the CFQs: PAUSEs of the priority of isolated flows; CIMs: messages upstream about a flow",
            "entries: made in the congested-flow tables (CFT) of all switches; elsewhere: for other hosts than those",
            "refused: no slot was free; most slots: in use at a time at any one switch",
        ]
    return "\n".join(lines)


def _isolates(run: Results) -> bool:
    isolation = run.meta["scenario"].get("switch", {}).get("isolation") or {}
    return bool(isolation.get("kind", "none") != "none")
