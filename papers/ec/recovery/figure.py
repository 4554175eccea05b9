"""How soon after congestion the paper's policy sends at line rate again, and how soon its halt is over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from backwater.analysis import plot, put_picture, put_trace
from backwater.analysis.put_trace import Trace
from backwater.papers import Metrics, Runs, Seeds
from matplotlib.lines import Line2D

from papers.ec.measured import HEADER, LINK_BYTES_PER_NS, NS, US
from papers.ec.traces import OPEN, only

CHANGE_US, END_US = 200, 400
FRAME_PS = (2048 + HEADER) / LINK_BYTES_PER_NS * NS
#: So many packets one after the other are back to back.
ROW = 8
CASES = {"link": "as fast as the link", "twice": "twice as fast as the link"}


def back_to_back_us(trace: Trace) -> float:
    """From the change until the first of eight packets that leave one after the other."""
    times = only(trace, "sent").filter(pl.col("time_ps") >= CHANGE_US * US)["time_ps"].to_list()
    spans = zip(times, times[ROW - 1 :], strict=False)
    starts = [first for first, last in spans if last - first <= (ROW - 1) * FRAME_PS * 1.001]
    return (starts[0] if starts else END_US * US) / US - CHANGE_US


def open_us(trace: Trace) -> float:
    """From the change until the halt is over."""
    states = only(trace, "state").filter(pl.col("time_ps") >= CHANGE_US * US, pl.col("state") == OPEN)
    first = states["time_ps"].to_list()
    return (first[0] if first else END_US * US) / US - CHANGE_US


def metrics(runs: Runs) -> Metrics:
    values: Metrics = {}
    for case in CASES:
        trace = put_trace.of(runs[case])
        values |= {f"{case}_back_to_back_us": back_to_back_us(trace), f"{case}_open_us": open_us(trace)}
    return values


def draw(seeds: Seeds, file: Path) -> None:
    begin, end = 180 * US, 260 * US
    with plot.picture(file, "After congestion: the paper's policy, 2 KB", 10.5, 5.6) as made:
        grid: Any = made.subplots(2, 2, sharex=True, gridspec_kw={"height_ratios": (3, 1.2)})
        for (above, below), (case, label) in zip(grid.T, CASES.items(), strict=True):
            shown = put_trace.of(seeds[0][case]).within(begin, end)
            put_picture.packets(above, shown)
            put_picture.queue(below, shown, end)
            for axes in (above, below):
                axes.axvline(CHANGE_US, color=plot.BLACK, lw=0.9, ls="--")
            above.set(title=f"endpoint {label} from 200 µs on")
            below.set(xlabel="time [µs]", xlim=(begin / US, end / US))
        looks = {event: put_picture.LOOKS[event] for event in ("sent", "accepted", "iack", "marked", "dack")}

        handles = [
            Line2D([], [], ls="none", marker=marker, color=colour, ms=size**0.5 + 1.5, label=name)
            for name, marker, size, colour in looks.values()
        ]
        made.legend(handles=handles, loc="outside lower center", ncols=len(handles))
