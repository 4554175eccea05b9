"""The round trip of one PUT of one byte: from the initiator's staging to the effect of its ACK."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from backwater import plot

from papers.ec.measured import NS, OVERHEAD_NS, US

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from backwater.results import Results

    from papers.ec.measured import Metrics

#: How the parts of the way are called, by the event that ends them.
PARTS = {"sent": "staging", "accepted": "frame to the target", "iack-sent": "", "iack": "ACK back and its processing"}


def parts_us(run: Results) -> dict[str, float]:
    """When each event of the PUT was, in µs since the initiator took it up."""
    events = run.table("puts").select(pl.col("event").cast(pl.String), pl.col("time_ps")).sort("time_ps").collect()
    return {str(event): time / US for event, time in events.iter_rows()}


def metrics(runs: Mapping[str, Results]) -> Metrics:
    # The flow starts at 0: its packet goes through the staging first.
    found = parts_us(runs["put"])
    return {"round_trip_us": found["iack"], "staging_us": found["sent"], "expected_staging_us": OVERHEAD_NS * NS / US}


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    found = parts_us(seeds[0]["put"])
    with plot.style():
        made = plot.figure(8.5, 1.9)
        axes = made.subplots()
        begin = 0.0
        for number, (event, label) in enumerate(PARTS.items()):
            width = found[event] - begin
            axes.barh(0, width, 0.6, left=begin, color=plot.CYCLE[number], alpha=0.75)
            if width > 1:
                axes.text(begin + width / 2, 0, f"{label}\n{width:.3f} µs", ha="center", va="center", fontsize=8)
            elif label:
                axes.annotate(
                    f"{label} {1000 * width:.0f} ns", (begin + width, 0.3), (4, 6), textcoords="offset points", size=7
                )
            begin = found[event]
        axes.set(yticks=[], ylim=(-0.4, 0.75), xlabel="time since the PUT was taken up [µs]")
        axes.grid(visible=True, axis="x")
        made.suptitle("One PUT of one byte on an idle network", fontsize=11, fontweight="bold")
        plot.save(made, file)
