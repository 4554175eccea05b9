"""Figure 19: FCT slowdown by flow size in the fat tree, TIMELY against TIMELY with TCD."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds

from papers.tcd.slowdowns import compare
from papers.tcd.slowdowns_panels import Part, Printed, draw_slowdowns

#: What the paper's text prints, over a baseline that it does not define.
PRINTED = (
    Printed("hadoop", "timely", "p99", 50_000, 50.3),
    Printed("hadoop", "timely+tcd", "p99", 50_000, 36.6),
)
#: The gains that are taken apart: those that claims are about.
SHOWN = (
    Part("hadoop", "median", "under", "100KB"),
    Part("hadoop", "p99", "under", "50KB"),
    Part("hadoop", "p99", "from", "100KB"),
    Part("web-search", "median", "under", "1MB"),
    Part("web-search", "p99", "under", "1MB"),
    Part("web-search", "p99", "from", "1MB"),
)


def metrics(runs: Runs) -> Metrics:
    return compare(runs, "timely")


def draw(seeds: Seeds, file: Path) -> None:
    draw_slowdowns(seeds, "timely", PRINTED, SHOWN, file, title="Figure 19: FCT slowdown by flow size, TIMELY")
