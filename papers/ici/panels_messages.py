"""How Figures 3 and 5 are drawn, and the single burst."""

from __future__ import annotations

from backwater.results.measures import end_ps

from papers.ici import measured
from papers.ici.measured import MS
from papers.ici.panels import (
    BECNS,
    JAIN,
    MARKS,
    REFUSALS,
    SLOTS,
    VICTIMS,
    background,
    bars,
    becns_and_peaks,
    draw_grid,
    hot,
    pauses_by_lane,
)

#: Throughput is drawn as the mean over so many periods of 50 µs.
PERIODS = 5
LENGTH = bars(lambda run: end_ps(run) / MS, "until everything has arrived", "length of the run [ms]")
MAKESPAN = bars(measured.makespan_ms, "until the last hot packet has arrived", "time [ms]")

#: The panels of Figure 3, and with MAKESPAN those of Figure 5.
ROWS = (
    (background(PERIODS), hot(PERIODS), BECNS, MARKS),
    (becns_and_peaks, VICTIMS, pauses_by_lane, SLOTS),
    (LENGTH, REFUSALS, JAIN),
)
WITH_BURSTS = (*ROWS[:-1], (*ROWS[-1], MAKESPAN))

__all__ = ["ROWS", "WITH_BURSTS", "draw_grid"]
