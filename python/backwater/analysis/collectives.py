"""What a collective operation took, beside what it takes at best and what it took alone.

Bandwidths are those of NCCL-tests (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md): algorithm bandwidth is S / t,
with the size S of the whole operation; bus bandwidth is that times a factor of the operation, so that it compares with
the rate of a NIC, whatever the number of ranks.

The ideal is arithmetic (:func:`ideal_ps`): the bytes that one NIC has to send one after the other, with headers, at its
rate; for every step that waits for the one before, the latency of a message; and the host latency between two steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.common import quantities
from backwater.results import measures
from backwater.results.measures import has_others

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.results import Results

#: The algorithm of each operation if an entry names none.
DEFAULTS = {
    "all-reduce": "ring",
    "reduce-scatter": "ring",
    "all-gather": "ring",
    "all-to-all": "linear",
    "moe-all-to-all": "linear",
    "broadcast": "tree",
}


def steps(op: str, algorithm: str, n: int, size: int) -> list[list[int]]:
    """The messages that are sent one after the other on the way that takes longest: a list for each step of `n` ranks.

    The messages of a step are posted together by one rank; a step waits for the one before.
    """
    doublings = n.bit_length() - 1  # of the largest power of two in n
    fold = [[size]] if n != 1 << doublings else []
    depth = (n - 1).bit_length()
    part = math.ceil(size / n)
    match op, algorithm:
        case "all-reduce", "ring":
            return [[part]] * (2 * (n - 1))
        case "all-reduce", "recursive-doubling":
            return [*fold, *[[size]] * doublings, *fold]
        case "all-reduce", "halving-doubling":
            halves = [[math.ceil(size / 2**number)] for number in range(1, doublings + 1)]
            return [*fold, *halves, *reversed(halves), *fold]
        case "all-reduce", "tree":
            return [[size]] * (2 * depth)
        case "reduce-scatter", _:
            return [[part]] * (n - 1)
        case "all-gather", "recursive-doubling":
            return [[size << number] for number in range(doublings)]
        case "all-gather", _:
            return [[size]] * (n - 1)
        case "all-to-all", "pairwise":
            return [[size]] * (n - 1)
        case "broadcast", "tree":
            return [[size]] * depth
        case _:
            return [[size] * (n - 1)]


def bandwidth(op: str, n: int, size: int) -> tuple[int, float]:
    """The size S of the whole operation and the factor of its bus bandwidth, as NCCL-tests have them.

    There the size of an all-gather and of an all-to-all is what a rank has of all ranks together.
    """
    share = (n - 1) / n
    return {
        "all-reduce": (size, 2 * share),
        "reduce-scatter": (size, share),
        "all-gather": (n * size, share),
        "all-to-all": (n * size, share),
        "moe-all-to-all": (size, share),
        "broadcast": (size, 1.0),
    }[op]


@dataclass(frozen=True)
class Measured:
    """The iterations of a collective. Times are means over those that came to their end; None without any."""

    traffic: str
    op: str
    algorithm: str
    size: str
    ranks: int
    iterations: int
    done: int
    time_ps: float | None
    least_ps: int | None
    greatest_ps: int | None
    ideal_ps: float | None
    alone_ps: float | None
    algorithm_bps: float | None
    bus_bps: float | None
    line_rate_bps: int

    def values(self) -> dict[str, Any]:
        """For JSON."""
        share = None if self.bus_bps is None else 100 * self.bus_bps / self.line_rate_bps
        return vars(self) | {"bus_percent_of_line_rate": share}


def of(results: Results, alone: Mapping[str, Results] | None = None) -> list[Measured]:
    """Each collective of a run; `alone` are runs in which the traffic entry of that name sent alone."""
    if not results.has("collectives"):
        return []
    times = _times(results)
    entries = {entry["name"]: entry for entry in results.meta["scenario"]["traffic"]}
    found = []
    for name, row in times.items():
        entry, scenario = entries[name], results.meta["scenario"]
        op, size = entry["op"], quantities.parse_size(str(entry["size"]).replace(" ", ""))
        algorithm = entry.get("algorithm") or DEFAULTS[op]
        flows = results.flows.filter(pl.col("traffic").cast(pl.String) == name)
        ranks = pl.concat([flows.select(pl.col(end).cast(pl.String).alias("host")) for end in ("src", "dst")])
        n = int(ranks.select(pl.col("host").n_unique()).collect().item())
        rate = _line_rate(results, flows)
        whole, factor = bandwidth(op, n, size)
        algorithmic = 8e12 * whole / row["mean"] if row["mean"] else None
        beside = _times(alone[name]).get(name) if alone and name in alone else None
        found.append(
            Measured(
                name,
                op,
                algorithm,
                str(entry["size"]),
                n,
                row["len"],
                row["done"],
                row["mean"],
                row["least"],
                row["most"],
                _ideal(scenario, entry, flows, (op, algorithm, n, size), rate),
                None if beside is None else beside["mean"],
                algorithmic,
                None if algorithmic is None else algorithmic * factor,
                rate,
            )
        )
    return found


def _times(results: Results) -> dict[str, dict[str, Any]]:
    took = pl.col("elapsed_ps")
    rows = (
        results.collectives.group_by(pl.col("traffic").cast(pl.String), maintain_order=True)
        .agg(pl.len(), done=took.count(), mean=took.mean(), least=took.min(), most=took.max())
        .collect()
    )
    return {row["traffic"]: row for row in rows.to_dicts()}


def _line_rate(results: Results, flows: pl.LazyFrame) -> int:
    """The rate of the slowest NIC of the ranks, in bit/s."""
    hosts = flows.select(pl.col("src").cast(pl.String).unique()).collect()["src"].to_list()
    ports = results.ports.filter(pl.col("node").cast(pl.String).is_in(hosts))
    return int(ports.select(pl.col("rate_bps").min()).collect().item())


def ideal_ps(
    sent: Sequence[Sequence[int]], rate: float, packet: tuple[int, int], latency_ps: float, host_latency_ps: float
) -> float:
    """Bytes at line rate, with headers, plus a latency for each step and the host's between two of them.

    `packet` is payload and header of a packet; a message has at least one.
    """
    bits = 8 * sum(on_the_wire(size, packet) for step in sent for size in step)
    return bits * 1e12 / rate + len(sent) * latency_ps + (len(sent) - 1) * host_latency_ps


def on_the_wire(size: int, packet: tuple[int, int]) -> int:
    """Bytes of a message with the headers of its packets."""
    payload, header = packet
    size = max(size, 1)
    return size + math.ceil(size / payload) * header


def _ideal(
    scenario: Mapping[str, Any],
    entry: Mapping[str, Any],
    flows: pl.LazyFrame,
    what: tuple[str, str, int, int],
    rate: int,
) -> float | None:
    op, algorithm, n, size = what
    settings = scenario["packet"]
    if settings.get("padded"):
        return None
    packet = (quantities.parse_size(settings["payload"]), quantities.parse_size(settings["header"]))
    host = quantities.parse_time(entry["host-latency"]) if "host-latency" in entry else 0
    wire = pl.col("size_bytes") + (pl.col("size_bytes") / packet[0]).ceil() * packet[1]
    # What a message takes alone, less the time in which its bytes leave: delays, and the last packet at every hop.
    beyond = pl.col("ideal_fct_ps").cast(pl.Float64) - wire * 8e12 / rate
    least, mean = flows.select(least=beyond.min(), mean=beyond.mean()).collect().row(0)
    if least is None:
        return None
    # Where all ranks send and receive in each step, some chain of them has the mean latency or more; else the least.
    even = algorithm in ("ring", "pairwise") or (algorithm.endswith("doubling") and n.bit_count() == 1)
    if op == "moe-all-to-all":
        return _uneven(flows, entry, rate, packet, least, host, n if algorithm == "pairwise" else 2)
    return ideal_ps(steps(op, algorithm, n, size), rate, packet, mean if even else least, host)


def _uneven(
    flows: pl.LazyFrame,
    entry: Mapping[str, Any],
    rate: int,
    packet: tuple[int, int],
    latency: float,
    host: int,
    ranks: int,
) -> float:
    """Of an all-to-all that is uneven: the bytes of the NIC that sends or receives most, over its iterations."""
    wire = (pl.col("size_bytes") + (pl.col("size_bytes") / packet[0]).ceil() * packet[1]).sum()
    most = [
        flows.group_by(pl.col(end).cast(pl.String))
        .agg(wire.alias("bytes"))
        .select(pl.col("bytes").max())
        .collect()
        .item()
        for end in ("src", "dst")
    ]
    rounds = ranks - 1
    bits: float = 8e12 * max(most) / rate
    return bits / int(entry["iterations"]) + rounds * latency + (rounds - 1) * host


def lines(found: Sequence[Measured], others: bool) -> list[str]:
    """Two lines for each: its time beside the ideal and its time alone; its bandwidths.

    `others`: whether other traffic was there, without which it was alone.
    """
    made = []
    for one in found:
        told = f"{one.traffic}: {one.op} of {one.size}, {one.ranks} ranks, {one.algorithm}"
        if one.time_ps is None:
            made.append(f"{told}: no iteration came to its end")
            continue
        time = quantities.time(one.time_ps)
        if one.iterations > 1:
            spread = f"{quantities.time(one.least_ps or 0)} to {quantities.time(one.greatest_ps or 0)}"
            time = f"{time} on average, {spread}, {one.done} of {one.iterations} iterations"
        made.append(f"{told}: {time}{_beside(one, others)}")
        if one.bus_bps is not None and one.algorithm_bps is not None:
            share = 100 * one.bus_bps / one.line_rate_bps
            made.append(
                f"{one.traffic}: algorithm bandwidth {quantities.rate(one.algorithm_bps)}, bus bandwidth "
                f"{quantities.rate(one.bus_bps)}, {quantities.three_digits(share)} % of the line rate of "
                f"{quantities.rate(one.line_rate_bps)}"
            )
    return made


def _beside(one: Measured, others: bool) -> str:
    """``; ideal 1.20 ms (1.5 times); alone 1.54 ms (2.4 times)``."""
    told = ""
    time = one.time_ps or 0.0
    if one.ideal_ps:
        told += f"; ideal {quantities.time(one.ideal_ps)}, {quantities.three_digits(time / one.ideal_ps)} times that"
    if one.alone_ps:
        return (
            told + f"; alone {quantities.time(one.alone_ps)}, {quantities.three_digits(time / one.alone_ps)} times that"
        )
    return told + ("" if others else "; it was alone")


def as_json(results: Results, alone: Mapping[str, Results]) -> dict[str, Any]:
    """The applications of a run, and its collectives, for ``run --json``; empty without any."""
    starts = measures.application_starts(results.meta["scenario"])
    applications = [
        {
            "traffic": name,
            "start_ps": starts[name],
            "time_ps": took,
            "alone_ps": measures.application_times(alone[name])[name] if name in alone else None,
            "other_traffic": has_others(results),
        }
        for name, took in measures.application_times(results).items()
    ]
    found = [one.values() for one in of(results, alone)]
    return ({"applications": applications} if applications else {}) | ({"collectives": found} if found else {})
