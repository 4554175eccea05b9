"""Figure 18 (a): the victims' mean FCT by size, TIMELY alone against TIMELY with TCD."""

from __future__ import annotations

from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds

from papers.tcd.victims import compare_bins
from papers.tcd.victims_panels import draw_bins

PLAIN, TCD = plot.SCHEME_COLOURS["TIMELY"], plot.SCHEME_COLOURS["TIMELY+TCD"]
#: Label and colour of each run.
SCHEMES = {
    "timely": ("TIMELY", PLAIN),
    "tcd": ("TIMELY+TCD", TCD),
    "timely harsher": ("TIMELY, the cut of TCD", PLAIN),
    "tcd gentler": ("TIMELY+TCD, the cut of TIMELY", TCD),
}


def metrics(runs: Runs) -> Metrics:
    return compare_bins(runs, "timely")


def draw(seeds: Seeds, file: Path) -> None:
    draw_bins(seeds, SCHEMES, file, title="Figure 18(a): victims' flows by size, TIMELY")
