"""The theorems of the appendix: what switches hold in an incast without Floodgate and with it, beside the equations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers import hop_by_hop

#: Hosts of a rack, and cores.
N, K2 = 16, 4
#: What a flow brings, headers included.
BDP = 60 * 1076
#: 1.5 round trips of 1200 ns and 10 us at 400 Gbps.
WINDOW = (1200 * 3 // 2 + 10_000) * 400 // 8
LAST = "leaf0->h0"


def counts(runs: Runs) -> list[int]:
    """The numbers of racks that send, of these runs."""
    return sorted(int(name) for name in runs if name.isdigit())


def last_tor(run: Results) -> float:
    """The longest queue to the receiver, in bytes."""
    return hop_by_hop.peak_bytes(run, LAST)


def waiting(run: Results, tier: str) -> dict[str, float]:
    """The most that waited for a window at each switch of a tier, in bytes."""
    node = pl.col("node").cast(pl.String)
    found = run.table("windows").filter(node.str.starts_with(tier)).group_by(node).agg(pl.col("voq_bytes").max())
    return {str(name): float(most) for name, most in found.collect().rows()}


def cores(run: Results) -> float:
    """The most that a core held, in the mean of the cores: its queue to the last rack and what waits for a window."""
    named = pl.col("node").cast(pl.String)
    held = run.samples.filter(pl.col("port").cast(pl.String).str.ends_with("->leaf0"), pl.col("priority") == 3)
    queues = held.select("time_ps", "queue_bytes", node=named).sort("time_ps").collect()
    waits = pl.DataFrame(schema={"time_ps": pl.UInt64, "node": pl.String, "voq_bytes": pl.UInt32})
    if run.has("windows"):
        waits = run.table("windows").select("time_ps", "voq_bytes", node=named).sort("time_ps").collect()
    both = queues.join_asof(waits, on="time_ps", by="node", check_sortedness=False)
    total = pl.col("queue_bytes").cast(pl.Int64) + pl.col("voq_bytes").fill_null(0).cast(pl.Int64)
    return float(both.group_by("node").agg(most=total.max())["most"].mean() or 0)  # type: ignore[arg-type]


def sources(run: Results) -> float:
    """The most that waited for a window at a ToR of sources, in the mean of them."""
    found = waiting(run, "leaf")
    return sum(found.values()) / len(found) if found else 0.0


def done(run: Results) -> float | None:
    """When the last flow came to its end, in µs."""
    found = hop_by_hop.whole(hop_by_hop.flows(run)["done_us"])
    return None if found is None else max(found)


def voqs(run: Results) -> float:
    """How often a destination got a queue to wait in."""
    return float(run.table("switches").select(pl.col("allocations").sum()).collect().item())


def most(run: Results, *, windows: bool) -> float:
    """The most that any switch held, by the three parts that the appendix looks at."""
    return max(last_tor(run), cores(run), sources(run) if windows else 0.0)


def metrics(runs: Runs) -> Measurements:
    racks = counts(runs)
    plain = {k1: runs[f"{k1}"] for k1 in racks}
    own = {k1: runs[f"{k1} Floodgate"] for k1 in racks}
    large = 39 if 39 in racks else None
    return {
        "last_tor_over_equation": {f"K1 = {k1}": last_tor(run) / (BDP * k1 * (N - 1)) for k1, run in plain.items()},
        "core_over_equation": {f"K1 = {k1}": cores(run) / (BDP * (k1 - 1) * N / K2) for k1, run in plain.items()},
        "floodgate_last_tor_over_bound": {f"K1 = {k1}": last_tor(run) / (WINDOW * K2) for k1, run in own.items()},
        "floodgate_core_over_bound": {f"K1 = {k1}": cores(run) / (WINDOW * k1 / K2) for k1, run in own.items()},
        "floodgate_source_tor_over_equation": {
            f"K1 = {k1}": sources(run) / (N * BDP - WINDOW) for k1, run in own.items()
        },
        "floodgate_growth": most(own[9], windows=True) / most(own[3], windows=True),
        "reduction": None if large is None else most(plain[large], windows=False) / most(own[large], windows=True),
        "done_over_without": {f"K1 = {k1}": hop_by_hop.ratio(done(own[k1]), done(plain[k1])) for k1 in racks},
        "voqs_apart": voqs(runs["apart Floodgate"]),
        "apart_over_without": hop_by_hop.ratio(
            hop_by_hop.mean(hop_by_hop.flows(runs["apart Floodgate"])["fct_us"]),
            hop_by_hop.mean(hop_by_hop.flows(runs["apart"])["fct_us"]),
        ),
    }


def draw(seeds: Seeds, file: Path) -> None:
    racks = counts(seeds[0])
    with plot.picture(file, "An incast of K1 racks: what the last ToR holds", 6.5, 3.4) as made:
        axes = made.subplots()
        for name, suffix, colour in (("without", "", plot.BLUE), ("with Floodgate", " Floodgate", plot.VERMILLION)):
            for number, runs in enumerate(seeds):
                values = [last_tor(runs[f"{k1}{suffix}"]) / 1e6 for k1 in racks]
                axes.plot(racks, values, "o", color=colour, ms=5, label=name if number == 0 else None)
        axes.plot(racks, [BDP * k1 * (N - 1) / 1e6 for k1 in racks], "--", color=plot.BLUE, label="equation (4)")
        axes.plot(racks, [WINDOW * K2 / 1e6] * len(racks), "--", color=plot.VERMILLION, label="bound (12)")
        axes.set(xscale="log", yscale="log", xlabel="racks of sources, K1", ylabel="longest queue [MB]")
        axes.legend(fontsize=7)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for k1 in counts(seeds[0]):
        for name, windows in ((f"{k1}", False), (f"{k1} Floodgate", True)):
            runs = [seed[name] for seed in seeds]
            cells = [
                [last_tor(run) / 1000 for run in runs],
                [cores(run) / 1000 for run in runs],
                [sources(run) / 1000 if windows else 0.0 for run in runs],
                [done(run) for run in runs],
            ]
            rows.append((name, *(hop_by_hop.over_seeds(one) for one in cells)))
    headings = ("racks", "last ToR [KB]", "a core [KB]", "a ToR of sources [KB]", "done after [µs]")
    return [NumberTable("what switches hold", headings, tuple(rows))]
