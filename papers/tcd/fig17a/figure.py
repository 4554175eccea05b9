"""Figure 17 (a): the victims' mean MCT by size, IB CC with FECN against IB CC with TCD."""

from __future__ import annotations

from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds

from papers.tcd.messages import MCT, compare_messages
from papers.tcd.victims_panels import draw_bins

FECN, TCD = plot.SCHEME_COLOURS["IB CC"], plot.SCHEME_COLOURS["IB CC+TCD"]
#: Label and colour of each run.
SCHEMES = {
    "fecn": ("IB CC", FECN),
    "tcd": ("IB CC+TCD", TCD),
    "fecn harsher": ("IB CC, the step of TCD", FECN),
    "tcd gentler": ("IB CC+TCD, the step of IB CC", TCD),
}


def metrics(runs: Runs) -> Metrics:
    return compare_messages(runs)


def draw(seeds: Seeds, file: Path) -> None:
    draw_bins(seeds, SCHEMES, file, title="Figure 17(a): victims' messages by size, IB CC", shown=MCT)
