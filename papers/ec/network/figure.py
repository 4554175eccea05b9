"""The round trip of one PUT of one byte: from when the initiator takes it up until its ACK has been processed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results

from papers.ec.measured import US


def parts_us(run: Results) -> dict[str, float]:
    """The parts of the round trip and how long they take, in µs."""
    table = run.table("puts").select(pl.col("event").cast(pl.String), pl.col("time_ps")).collect()
    at = {str(event): time / US for event, time in table.iter_rows()}
    start, acked = run.flows.select("start_ps", "acked_ps").collect().row(0)
    return {
        "staging": at["sent"] - start / US,
        "the frame on its way to the target": at["accepted"] - at["sent"],
        "its ACK on the way back, and processed": acked / US - at["iack-sent"],
    }


def metrics(runs: Runs) -> Metrics:
    start, acked = runs["put"].flows.select("start_ps", "acked_ps").collect().row(0)
    return {"round_trip_us": (acked - start) / US}


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "One PUT of one byte on an idle network", 8.5, 2.2) as made:
        axes = made.subplots()
        begin = 0.0
        for number, (label, width) in enumerate(parts_us(seeds[0]["put"]).items()):
            axes.barh(0, width, 0.6, left=begin, color=plot.CYCLE[number], alpha=0.75, label=f"{label}: {width:.3f} µs")
            begin += width
        axes.set(yticks=[], ylim=(-0.4, 0.4), xlim=(0, 8.2), xlabel="time since the initiator took the PUT up [µs]")
        axes.grid(visible=True, axis="x")
        made.legend(loc="outside lower center", ncols=3)
