"""Figure 15 (a): the victims' mean FCT by size, DCQCN with ECN against DCQCN with TCD."""

from __future__ import annotations

from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds

from papers.tcd.victims import compare_bins
from papers.tcd.victims_panels import draw_bins

ECN, TCD = plot.SCHEME_COLOURS["ECN"], plot.SCHEME_COLOURS["TCD"]
#: Label and colour of each run.
SCHEMES = {
    "ecn": ("DCQCN", ECN),
    "tcd": ("DCQCN+TCD", TCD),
    "ecn harsher": ("DCQCN, the cut of TCD", ECN),
    "tcd gentler": ("DCQCN+TCD, the cut of DCQCN", TCD),
}


def metrics(runs: Runs) -> Metrics:
    return compare_bins(runs, "ecn")


def draw(seeds: Seeds, file: Path) -> None:
    draw_bins(seeds, SCHEMES, file, title="Figure 15(a): victims' flows by size, DCQCN")
