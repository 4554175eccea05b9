"""Figure 18 (b): the victims' mean FCT and marks over the size of the bursts, TIMELY alone and with TCD."""

from __future__ import annotations

from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds

from papers.tcd.victims import compare_bursts
from papers.tcd.victims_panels import draw_bursts

#: Label and colour of each scheme.
SCHEMES = {
    "timely": ("TIMELY", plot.SCHEME_COLOURS["TIMELY"]),
    "tcd": ("TIMELY+TCD", plot.SCHEME_COLOURS["TIMELY+TCD"]),
}


def metrics(runs: Runs) -> Measurements:
    return compare_bursts(runs, "timely")


def draw(seeds: Seeds, file: Path) -> None:
    draw_bursts(seeds, SCHEMES, file, title="Figure 18(b): victims over the size of the bursts, TIMELY")
