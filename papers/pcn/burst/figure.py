"""Long flows into one host: when what they may send together is no more than the link."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers import hop_by_hop

LINK = 40e9
#: What PCN leaves free of the rate that it is told.
W_MIN = 1 / 128
#: Bits of a packet with its headers, and of a CNP, as the profile has them.
PACKET, CNP = 1030 * 8, 64 * 8
#: Of an empty network, in µs: four links, a packet twice, a CNP twice.
RTT = 4 + 2 * (PACKET + CNP) / LINK * 1e6


def told(run: Results) -> float | None:
    """When the first CNP that says that a flow is congested left, in µs."""
    congested = pl.col("kind").cast(pl.String).str.to_lowercase().str.contains("cnp") & (
        pl.col("echo").cast(pl.String).str.to_lowercase() == "ce"
    )
    found = run.table("frames").filter(congested).select(pl.col("sent_ps").min()).collect().item()
    return None if found is None else found / hop_by_hop.US


def sums(run: Results) -> pl.DataFrame:
    """What all flows may send together at each sample: `time_us`, `rate`."""
    found = run.table("rates").group_by("time_ps").agg(rate=pl.col("rate_bps").cast(pl.Float64).sum()).sort("time_ps")
    return found.select("rate", time_us=pl.col("time_ps") / hop_by_hop.US).collect()


def calm(run: Results) -> float | None:
    """When they might first send no more than the link after the first CNP, in µs."""
    first = told(run)
    if first is None:
        return None
    found = sums(run).filter((pl.col("time_us") >= first) & (pl.col("rate") <= LINK))["time_us"].min()
    return None if found is None else float(found)  # type: ignore[arg-type]


def rtts(run: Results) -> float | None:
    """From the first CNP until then, in RTTs."""
    first, then = told(run), calm(run)
    return None if first is None or then is None else (then - first) / RTT


def share(run: Results) -> float | None:
    """What a flow then has in the mean, over its share of the link less what PCN leaves free."""
    then = calm(run)
    if then is None:
        return None
    rate = sums(run).filter(pl.col("time_us") == then)["rate"].item()
    return float(rate) / (LINK * (1 - W_MIN))


def counts(runs: Runs) -> list[int]:
    """How many flows the runs under PCN have."""
    return sorted(int(name.split()[1]) for name in runs if name.startswith("PCN"))


def metrics(runs: Runs) -> Measurements:
    dcqcn = runs.get("DCQCN 2")
    return {
        "rtts_of_two": rtts(runs["PCN 2"]),
        "rtts_of_more": {f"{count} flows": rtts(runs[f"PCN {count}"]) for count in counts(runs) if count > 2},
        "share_of_the_advised_rate": {f"{count} flows": share(runs[f"PCN {count}"]) for count in counts(runs)},
        "rtts_under_dcqcn": None if dcqcn is None else rtts(dcqcn),
    }


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Long flows into one host under PCN", 7.0, 3.4) as made:
        axes = made.subplots()
        for number, count in enumerate(counts(seeds[0])):
            table = sums(seeds[0][f"PCN {count}"]).filter(pl.col("time_us") <= 200)
            axes.plot(
                table["time_us"],
                np.asarray(table["rate"]) / LINK,
                color=plot.CYCLE[number % len(plot.CYCLE)],
                label=f"{count} flows",
            )
        axes.axhline(1, color="0.5", ls="--")
        axes.set(xlabel="time [µs]", ylabel="all rates over the link", yscale="log")
        axes.legend(fontsize=7)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for name in seeds[0]:
        runs = [seed[name] for seed in seeds]
        peaks = [hop_by_hop.peak_bytes(run, "s->h0") / 1000 for run in runs]
        columns = ([told(run) for run in runs], [calm(run) for run in runs], [rtts(run) for run in runs], peaks)
        rows.append((name, *(hop_by_hop.over_seeds(values) for values in columns)))
    headings = (
        "scheme, flows",
        "first CNP after [µs]",
        "rates within the link after [µs]",
        "RTTs between",
        "longest queue [KB]",
    )
    return [NumberTable("from the first packet on", headings, tuple(rows))]
