"""The load that Poisson arrivals of a run drew, beside the one that was asked for.

Few flows of a distribution with a long tail rarely offer its mean: one large flow more or less is a tenth of the load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backwater.common import quantities
from backwater.common.codes import Remark
from backwater.common.late import pl
from backwater.results import measures
from backwater.results.folder import Results

#: A load that differs by less from the one that was asked for is that load.
_CLOSE = 0.03


@dataclass(frozen=True)
class Load:
    """Of a traffic entry, over the capacity of the links of its sources while flows arrive."""

    asked: float
    drawn: float


def loads(results: Results) -> dict[str, Load]:
    """By traffic entry of Poisson arrivals, of which some came."""
    entries = [entry for entry in results.meta["scenario"].get("traffic", []) if entry.get("kind") == "poisson"]
    rates = host_rates(results) if entries else {}
    found = {}
    for entry in entries:
        load = _of(results, entry, rates)
        if load is not None:
            found[entry["name"]] = load
    return found


def host_rates(results: Results) -> dict[int, int]:
    """What the links of each host out of its server carry together, in bit/s; of runs that do not tell, nothing."""
    hosts, within = measures.hosts(results), measures.scale_up(results)
    ports = results.ports.filter(pl.col("node_index").is_in(hosts)).unique(["node_index", "port_index"])
    if within:
        ports = ports.filter(~pl.col("peer").cast(pl.String).is_in(within))
    return dict(ports.group_by("node_index").agg(pl.col("rate_bps").sum()).collect().iter_rows()) if hosts else {}


def _of(results: Results, entry: Mapping[str, Any], rates: Mapping[int, int]) -> Load | None:
    start = quantities.parse_time(entry.get("start", "0s"))
    end = min(int(results.meta["sim_time_ps"]), quantities.parse_time(entry["until"]) if "until" in entry else 2**63)
    mine = results.flows.filter(pl.col("traffic").cast(pl.String) == entry["name"], pl.col("start_ps") < end)
    last, offered = (
        mine.select(pl.col("start_ps").max(), _counted(entry, results.meta["scenario"]).sum()).collect().row(0)
    )
    sources = rates if entry.get("from") == "*" else mine.select(pl.col("src_index").unique()).collect()["src_index"]
    # Where a number of flows ends the arrivals, they last until the last one.
    span = (end if "until" in entry else int(last or 0)) - start
    capacity = sum(rates.get(source, 0) for source in sources)
    if span <= 0 or not capacity or not offered:
        return None
    return Load(float(entry["load"]), float(offered) * 8e12 / (span * capacity))


def _counted(entry: Mapping[str, Any], scenario: Mapping[str, Any]) -> pl.Expr:
    """The bytes of a flow that the load counts."""
    size = pl.col("size_bytes")
    if entry.get("load-counts", "payload") == "payload":
        return size
    packet = scenario["packet"]
    payload, header = (quantities.parse_size(packet[key]) for key in ("payload", "header"))
    packets = (size + payload - 1) // payload
    return packets * (payload + header) if packet.get("padded") else size + packets * header


def note(traffic: str, asked: float, drawn: Sequence[float]) -> Remark | None:
    """What is told of one seed or several, if the load of one is another than asked for."""
    if all(abs(one / asked - 1) <= _CLOSE for one in drawn):
        return None
    mean, *ends = map(quantities.three_digits, (sum(drawn) / len(drawn), min(drawn), max(drawn)))
    told = f"{mean} on average over {len(drawn)} seeds ({' to '.join(ends)})" if len(drawn) > 1 else mean
    said = f"{traffic}: the arrivals that were drawn offer a load of {told}; asked for: {asked:g}"
    return Remark("note", "drawn-load", said)
