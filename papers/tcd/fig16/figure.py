"""Figure 16: FCT slowdown by flow size in the fat tree, DCQCN with ECN against DCQCN with TCD."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Measurements, Runs, Seeds

from papers.tcd.slowdowns import compare
from papers.tcd.slowdowns_panels import Part, Printed, draw_slowdowns

#: What the paper's text prints, over a baseline that it does not define.
PRINTED = (
    Printed("hadoop", "dcqcn", "median", 80_000, 10.8),
    Printed("hadoop", "dcqcn+tcd", "median", 80_000, 3.6),
    Printed("web-search", "dcqcn", "median", 500_000, 4.6),
    Printed("web-search", "dcqcn+tcd", "median", 500_000, 2.5),
)
#: The gains that are taken apart: those that claims are about.
SHOWN = (
    Part("hadoop", "median", "under", "80KB"),
    Part("hadoop", "p99", "under", "50KB"),
    Part("hadoop", "p95", "from", "100KB"),
    Part("web-search", "median", "under", "500KB"),
    Part("web-search", "p99", "under", "500KB"),
    Part("web-search", "p99", "from", "1MB"),
)


def metrics(runs: Runs) -> Measurements:
    return compare(runs, "dcqcn")


def draw(seeds: Seeds, file: Path) -> None:
    draw_slowdowns(seeds, "dcqcn", PRINTED, SHOWN, file, title="Figure 16: FCT slowdown by flow size, DCQCN")
