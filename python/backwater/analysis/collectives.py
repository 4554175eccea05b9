"""What a collective operation took, beside what it takes at best and what it took alone.

Bandwidths are those of NCCL-tests (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md): algorithm bandwidth is S / t,
with the size S of the whole operation; bus bandwidth is that times a factor of the operation, so that it compares with
the rate of a NIC, whatever the number of ranks.

The ideal is arithmetic, and nothing can be faster. It is the greater of two times: what the busiest NIC needs for its
bytes at its own rate, and what messages need that wait for each other, each alone in the network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backwater.common import quantities
from backwater.common.late import pl
from backwater.results import Results, measures
from backwater.results.measures import has_others

#: The algorithm of each operation if an entry names none.
DEFAULTS = {
    "all-reduce": "ring",
    "reduce-scatter": "ring",
    "all-gather": "ring",
    "all-to-all": "linear",
    "moe-all-to-all": "linear",
    "broadcast": "tree",
}


def steps(op: str, algorithm: str, n: int, size: int, within: int = 1) -> list[int]:
    """Messages that wait for each other on the longest way through a collective of `n` ranks: their least sizes.

    `within` are the ranks of a group of a hierarchical one.
    """
    doublings = n.bit_length() - 1  # of the largest power of two in n
    fold = [size] if n != 1 << doublings else []
    depth = (n - 1).bit_length()
    match op, algorithm:
        case "all-reduce", "ring":
            return [size // n] * (2 * (n - 1))
        case "all-reduce", "recursive-doubling":
            return [*fold, *[size] * doublings, *fold]
        case "all-reduce", "halving-doubling":
            halves = [size >> number for number in range(1, doublings + 1)]
            return [*fold, *halves, *reversed(halves), *fold]
        case "all-reduce", "tree":
            return [size] * (2 * depth)
        case "all-reduce", "hierarchical":
            around, groups = [size // within] * (within - 1), n // within
            return [*around, *[size // within // groups] * (2 * (groups - 1)), *around]
        case "reduce-scatter", "hierarchical":
            groups = n // within
            return [*[size // within] * (within - 1), *[size // within // groups] * (groups - 1)]
        case "all-gather", "hierarchical":
            groups = n // within
            return [*[size] * (groups - 1), *[groups * size] * (within - 1)]
        case "all-to-all", "hierarchical":
            groups = n // within
            return [*[groups * size] * min(within - 1, 1), *[within * size] * min(groups - 1, 1)]
        case "moe-all-to-all", "hierarchical":
            return [1] * (min(within - 1, 1) + min(n // within - 1, 1))
        case "reduce-scatter", _:
            return [size // n] * (n - 1)
        case "all-gather", "recursive-doubling":
            return [size << number for number in range(doublings)]
        case ("all-gather", _) | ("all-to-all", "pairwise"):
            return [size] * (n - 1)
        case "moe-all-to-all", "pairwise":
            return [1] * (n - 1)
        case "broadcast", "tree":
            return [size] * depth
        case "moe-all-to-all", _:
            return [1]
        case _:
            return [size]


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
        flows = results.flows.filter(pl.col("traffic").cast(pl.String) == name).with_columns(group=pl.lit(0))
        nics = rates(results, flows)
        n = nics.height
        rate = int(nics.select(pl.col("rate").min()).item())
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
                ideal(scenario, entry, flows, (op, algorithm, n, size, within(scenario, entry)), nics),
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


def rates(results: Results, flows: pl.LazyFrame) -> pl.DataFrame:
    """Of each rank the rate of its NICs together, in bit/s; its scale-up switch, if it has one, and the rate there."""
    hosts = pl.concat([flows.select(pl.col(end).cast(pl.String).alias("host")) for end in ("src", "dst")]).unique()
    ports = results.ports.unique(["node_index", "port_index"]).with_columns(pl.col("node", "peer").cast(pl.String))
    within, rate = pl.col("peer").is_in(measures.scale_up(results)), pl.col("rate_bps").cast(pl.Int64)
    ports = ports.group_by(pl.col("node").alias("host")).agg(
        rate=rate.filter(~within).sum(),
        server=pl.col("peer").filter(within).first(),
        inner_rate=rate.filter(within).sum(),
    )
    return hosts.join(ports, on="host").collect()


def within(scenario: Mapping[str, Any], entry: Mapping[str, Any]) -> int:
    """Ranks of a group of a hierarchical collective: by default the GPUs of a server."""
    return int(entry.get("within") or scenario["topology"].get("gpus", 1))


def ideal(
    scenario: Mapping[str, Any],
    entry: Mapping[str, Any],
    flows: pl.LazyFrame,
    what: tuple[str, str, int, int, int],
    rates: pl.DataFrame,
) -> float | None:
    """What the messages of a collective take at best, in picoseconds; `entry` has `host-latency` and `iterations`.

    The `group` of `flows` is that of the ranks that do it together, `n` each; all groups do it at once.
    """
    op, algorithm, n, *_ = what
    if scenario["packet"].get("padded"):
        return None
    host = quantities.parse_time(entry["host-latency"]) if "host-latency" in entry else 0
    iterations = int(entry["iterations"])
    one_by_one = steps(*what)
    between = (len(one_by_one) - 1) * host
    # All ranks send and receive in each step, so that the chains of messages share them out: some chain has the mean.
    rings = algorithm in ("ring", "pairwise") or (algorithm == "hierarchical" and not op.endswith("all-to-all"))
    even = rings or (algorithm.endswith("doubling") and n.bit_count() == 1)
    took = pl.col("ideal_fct_ps").cast(pl.Float64)
    if even:
        longest = took.sum() / n / iterations
    else:
        longest = pl.sum_horizontal(*(took.filter(pl.col("size_bytes") >= size).min() for size in one_by_one))
    chains = flows.group_by("group").agg(chain=longest)
    chain: float | None = chains.select(pl.col("chain").max()).collect().item()
    if chain is None:
        return None
    busiest = busiest_ps(scenario["packet"], flows, rates, iterations)
    return max(chain + between, busiest + (between if even else 0))


def busiest_ps(settings: Mapping[str, Any], flows: pl.LazyFrame, rates: pl.DataFrame, iterations: int) -> float:
    """What the NICs of a rank take in an iteration that need most time for what they send or receive.

    Before its first bit comes in, or after its last bit has left, a packet is on the other links. What stays in a
    server goes by the link to its scale-up switch, and is counted on its own.
    """
    payload, header = quantities.parse_size(settings["payload"]), quantities.parse_size(settings["header"])
    size = pl.max_horizontal(pl.col("size_bytes"), 1).cast(pl.Float64)
    packets = (size / payload).ceil()
    before = (packets - 1) * (payload + header) * 8e12  # what its sender sends ahead of the last packet
    last = (size - (packets - 1) * payload + header) * 8e12
    ends = ("src", "dst")
    rate = {
        end: rates.lazy().select(pl.col("host").alias(end), pl.exclude("host").name.prefix(f"{end}_")) for end in ends
    }
    joined = flows.with_columns(pl.col(*ends).cast(pl.String)).join(rate["src"], on="src").join(rate["dst"], on="dst")
    inner = (pl.col("src_server") == pl.col("dst_server")).fill_null(value=False)
    by = [pl.when(inner).then(f"{end}_inner_rate").otherwise(f"{end}_rate").alias(f"{end}_rate") for end in ends]
    joined = joined.with_columns(*by, inner=inner)
    under_way = pl.col("ideal_fct_ps").cast(pl.Float64) - pl.col("ideal_wait_ps") - before / pl.col("src_rate")
    times = [
        joined.group_by(end, "inner")
        .agg(
            (pl.sum_horizontal(before, last) / pl.col(f"{end}_rate")).sum() / iterations
            + (under_way - last / pl.col(f"{end}_rate")).min()
        )
        .select(pl.exclude(end, "inner").max())
        .collect()
        .item()
        for end in ends
    ]
    return float(max(times))


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
