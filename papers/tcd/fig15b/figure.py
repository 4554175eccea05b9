"""Figure 15 (b): the victims' mean FCT and marks over the size of the bursts, DCQCN with ECN and with TCD."""

from __future__ import annotations

from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds

from papers.tcd.victims import compare_bursts
from papers.tcd.victims_panels import draw_bursts

#: Label and colour of each scheme.
SCHEMES = {"ecn": ("DCQCN", plot.SCHEME_COLOURS["ECN"]), "tcd": ("DCQCN+TCD", plot.SCHEME_COLOURS["TCD"])}


def metrics(runs: Runs) -> Measurements:
    return compare_bursts(runs, "ecn")


def draw(seeds: Seeds, file: Path) -> None:
    draw_bursts(seeds, SCHEMES, file, title="Figure 15(b): victims over the size of the bursts, DCQCN")
