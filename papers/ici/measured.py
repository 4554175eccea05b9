"""What the figures of the ICI paper measure of a run: what trees and background get, marks and BECNs, times, tables.

Every scenario has two traffic entries: ``tree``, the flows of the hot sources (there may be several whose names begin
so), and another, the background (uniform packets, or the messages of Google_All). Throughput is that on the wire: the
paper's packets all have 4 KB. Runs are named after workload and scheme, such as ``w1 ici+``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from backwater.analysis import deliveries as hosts
from backwater.common.quantities import parse_time
from backwater.papers import Metrics, Runs
from backwater.results import Results
from backwater.results.measures import Series, end_ps

SCHEMES = ("none", "dcqcn", "ci", "ci+dcqcn", "ici", "ici+")
#: Those that isolate, and those that send BECNs.
ISOLATING = ("ci", "ci+dcqcn", "ici", "ici+")
NOTIFYING = ("dcqcn", "ci+dcqcn", "ici+")
TREE = "tree"
#: The period of the series, which is that of the scenarios' probes.
BIN_PS = 50_000_000
LINE_GBPS = 100
MS = 1_000_000_000
US = 1_000_000


def of(runs: Runs, workload: str) -> dict[str, Results]:
    """The runs of a workload by scheme."""
    return {scheme: runs[f"{workload} {scheme}"] for scheme in SCHEMES}


def _entry(run: Results) -> dict[str, Any]:
    return next(entry for entry in run.meta["scenario"]["traffic"] if entry["name"].startswith(TREE))


def offered(run: Results) -> tuple[int, int]:
    """From when until when the tree is offered; until the run's end, if it is without end or a burst."""
    entry = _entry(run)
    until = entry.get("until")
    return parse_time(entry["start"]), min(parse_time(until), end_ps(run)) if until else end_ps(run)


def _is_tree() -> pl.Expr:
    return pl.col("traffic").cast(pl.String).str.starts_with(TREE)


def half(tree: bool) -> pl.Expr:
    return _is_tree() if tree else ~_is_tree()


def _names(run: Results, *, tree: bool) -> list[str]:
    """The traffic entries of the tree, or those of the background."""
    names = [str(entry["name"]) for entry in run.meta["scenario"]["traffic"]]
    return [name for name in names if name.startswith(TREE) == tree]


def series(run: Results, column: str, *, tree: bool | None = None) -> Series:
    """A column of what hosts got per period, summed over hosts: of the tree, of the background, or of both.

    Times are the starts of the periods; there is a value for each.
    """
    return hosts.per_period(run, column, None if tree is None else _names(run, tree=tree))


def gbps(run: Results, *, tree: bool | None = None) -> Series:
    """Throughput over time, in Gbps."""
    found = series(run, "wire_bytes", tree=tree)
    return Series(found.time_ps, found.value * 8e3 / BIN_PS)


def throughput(run: Results, start: int, end: int, *, tree: bool | None = None) -> float:
    """Mean throughput from `start` to `end`, in Gbps; periods at the ends count by the part that is within."""
    found = gbps(run, tree=tree)
    low = np.clip(found.time_ps, start, end)
    high = np.clip(found.time_ps + BIN_PS, start, end)
    return float(np.sum(found.value * (high - low)) / (end - start))


def offered_gbps(run: Results, start: int, end: int) -> float:
    """What the background wants to send from `start` to `end`: the packets of messages that start then."""
    packet = 4096
    size = (pl.col("size_bytes") + packet - 1) // packet * packet
    here = run.flows.filter(half(tree=False), pl.col("start_ps").is_between(start, end, closed="left"))
    return float(here.select(size.sum()).collect().item()) * 8e3 / (end - start)


def roots(run: Results) -> int:
    """How many trees there are."""
    return int(run.flows.filter(half(tree=True)).select(pl.col("dst_index").n_unique()).collect().item())


def becns(run: Results) -> int:
    """BECNs (CNPs) that hosts sent."""
    return int(series(run, "cnps").value.sum())


def becn_peak(run: Results) -> int:
    """The most BECNs of any period."""
    return int(series(run, "cnps").value.max(initial=0))


def first_becn_us(run: Results) -> float | None:
    """How long after the tree's start, in µs, its first packet with CE arrived, for which there is a BECN at once."""
    start, _ = offered(run)
    marked = run.table("arrived").filter(half(tree=True), pl.col("ce")).select(pl.col("time_ps").min()).collect()
    first = marked["time_ps"].item()
    return None if first is None else (first - start) / US


def marks(run: Results) -> int:
    """Packets that switches marked."""
    return int(run.ports.select(pl.col("ce_marks").sum()).collect().item())


def victim_marks(run: Results) -> int:
    """Packets that arrived with CE, of the background."""
    return int(series(run, "ce_packets", tree=False).value.sum())


def pauses(run: Results) -> int:
    """PAUSEs that were sent, of all classes."""
    return sum(pauses_by_class(run).values())


def pauses_by_class(run: Results) -> dict[int, int]:
    """PAUSEs that were sent, by priority."""
    found = run.ports.group_by("priority").agg(pl.col("pauses_sent").sum()).sort("priority", descending=True).collect()
    return {int(priority): int(count) for priority, count in found.iter_rows() if count}


def unfinished(run: Results) -> int:
    """Messages of the background that are not done when the run ends."""
    table = run.flows.filter(half(tree=False))
    return int(table.select(pl.col("finish_ps").is_null().sum()).collect().item())


def makespan_ms(run: Results) -> float | None:
    """From the bursts' start until their last packet has arrived; None if one has not."""
    start, _ = offered(run)
    last = run.flows.filter(half(tree=True)).select(
        pl.when(pl.col("finish_ps").is_null().any()).then(None).otherwise(pl.col("finish_ps").max())
    )
    end = last.collect().item()
    return None if end is None else (end - start) / MS


def jain(run: Results) -> float:
    """Jain's index of what the hot sources got across: 1 if all got the same."""
    found = hosts.jain(run, _names(run, tree=True))
    return float("nan") if found is None else found


def switch_total(run: Results, column: str) -> int:
    """A column of the switches table, summed."""
    return int(run.table("switches").select(pl.col(column).sum()).collect().item())


def switch_peak(run: Results, column: str) -> int:
    """The largest value of a column of the switches table."""
    return int(run.table("switches").select(pl.col(column).max()).collect().item())


def refusals(run: Results) -> int:
    """How often a flow that qualified found no slot, at a switch or at one of its ingress ports."""
    return switch_total(run, "refusals") + switch_total(run, "mirror_refusals")


def _at_switches(run: Results) -> pl.LazyFrame:
    switches = run.table("switches").select("node_index")
    return run.table("isolation").join(switches, on="node_index", how="semi")


def refused_share(run: Results) -> float | None:
    """The share of flows, counted at each switch, that were refused an entry, of those that wanted one."""
    events = _at_switches(run).select("node_index", "src", "dst", what=pl.col("what").cast(pl.String))
    wanting = events.filter(pl.col("what").is_in(["allocated", "readmitted", "refused"]))
    flows = wanting.group_by("node_index", "src", "dst").agg(refused=(pl.col("what") == "refused").any())
    share = flows.select(pl.col("refused").mean()).collect().item()
    return None if share is None else float(share)


def entries_for_others(run: Results) -> int:
    """Entries that were made for flows that head elsewhere than to a root."""
    root = run.flows.filter(half(tree=True)).select(dst=pl.col("dst").cast(pl.String)).unique()
    made = _at_switches(run).filter(pl.col("what").cast(pl.String).is_in(["allocated", "readmitted"]))
    return made.select(dst=pl.col("dst").cast(pl.String)).join(root, on="dst", how="anti").collect().height


def slots(run: Results) -> Series:
    """Slots in use at the switch that uses most of them, per period."""
    events = _at_switches(run).select("node_index", "used_slots", period=pl.col("time_ps") // BIN_PS)
    at_end = events.group_by("node_index", "period", maintain_order=True).agg(
        peak=pl.col("used_slots").max(), last=pl.col("used_slots").last()
    )
    values = np.zeros(-(-end_ps(run) // BIN_PS))
    for _, rows in at_end.collect().group_by("node_index"):
        ordered = rows.sort("period")
        periods, last = ordered["period"].to_numpy().astype(np.int64), ordered["last"].to_numpy().astype(np.float64)
        # What is in use at the end of a period is in use until the next event.
        own = np.zeros_like(values)
        upto = np.append(periods[1:], len(values))
        for begin, end, value in zip(periods, upto, last, strict=True):
            own[begin:end] = value
        own[periods] = np.maximum(own[periods], ordered["peak"].to_numpy())
        values = np.maximum(values, own)
    return Series(np.arange(len(values), dtype=np.int64) * BIN_PS, values)


def marks_without_cause(run: Results) -> int:
    """Marks of ICI+ at a switch that had not just refused a flow, of flows that it had not isolated for long.

    How long is just and long stands in the scenario.
    """
    ici = run.meta["scenario"]["switch"]["isolation"]["ici-plus"]
    overflow, persist = parse_time(ici["overflow"]), parse_time(ici["persist"])
    ends = run.flows.select("flow", src=pl.col("src").cast(pl.String), dst=pl.col("dst").cast(pl.String))
    marked = run.marks.select("time_ps", "node_index", "flow").join(ends, on="flow").sort("time_ps")
    what = pl.col("what").cast(pl.String)
    events = _at_switches(run).with_columns(pl.col("src", "dst").cast(pl.String)).sort("time_ps")
    refused = events.filter(what == "refused").select("time_ps", "node_index", refused_ps="time_ps")
    made = events.filter(what.is_in(["allocated", "readmitted"]))
    made = made.select("time_ps", "node_index", "src", "dst", made_ps="time_ps")
    # All three are sorted; polars cannot see that within groups.
    found = marked.join_asof(refused, on="time_ps", by="node_index", check_sortedness=False).join_asof(
        made, on="time_ps", by=["node_index", "src", "dst"], check_sortedness=False
    )
    just = (pl.col("time_ps") - pl.col("refused_ps") <= overflow).fill_null(value=False)
    long = (pl.col("time_ps") - pl.col("made_ps") >= persist).fill_null(value=False)
    return int(found.select((~just & ~long).sum()).collect().item())


def over(above: float | None, below: float | None) -> float | None:
    """A quotient, or None where one of the two is missing or the lower one is 0."""
    return above / below if above is not None and below else None


def least(values: Sequence[float | None]) -> float | None:
    """The least of those that there are."""
    known = [value for value in values if value is not None]
    return min(known) if known else None


def most(values: Sequence[float | None]) -> float | None:
    """The largest of those that there are."""
    known = [value for value in values if value is not None]
    return max(known) if known else None


def common(run: Results) -> Metrics:
    """What is told of every run, whether a claim is about it or not."""
    found: Metrics = {
        "marks": marks(run),
        "victim_marks": victim_marks(run),
        "becns": becns(run),
        "becn_peak": becn_peak(run),
        "pauses": pauses(run),
        "jain": jain(run),
    }
    if run.meta["scenario"]["switch"]["isolation"]["kind"] != "none":
        found |= {
            "refusals": refusals(run),
            "allocations": switch_total(run, "allocations"),
            "entries_for_others": entries_for_others(run),
            "peak_slots": switch_peak(run, "peak_slots"),
            "cims": switch_total(run, "cims_sent"),
        }
    return found


def told(by_scheme: Mapping[str, Metrics]) -> Metrics:
    """Metrics by scheme as one table, named ``<scheme>_<metric>``."""
    return {f"{scheme}_{name}": value for scheme, found in by_scheme.items() for name, value in found.items()}
