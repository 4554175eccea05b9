"""§5.2.2: the victims' mean MCT and marks over the size of the bursts, IB CC with FECN and with TCD."""

from __future__ import annotations

from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds

from papers.tcd.messages import MCT
from papers.tcd.victims import compare_bursts
from papers.tcd.victims_panels import draw_bursts

#: Label and colour of each scheme.
SCHEMES = {name: (label, plot.SCHEME_COLOURS[label]) for name, label in (("fecn", "IB CC"), ("tcd", "IB CC+TCD"))}


def metrics(runs: Runs) -> Measurements:
    return compare_bursts(runs, "fecn")


def draw(seeds: Seeds, file: Path) -> None:
    title = "§5.2.2: victims' messages over the size of the bursts, IB CC"
    draw_bursts(seeds, SCHEMES, file, title=title, shown=MCT)
