"""The abstract's numbers: the best improvement of the median and of the 99th percentile in any bin of flow sizes."""

from __future__ import annotations

from pathlib import Path

from backwater.analysis import slowdown
from backwater.papers import Metrics, Runs, Seeds

from papers.tcd.slowdowns import PERCENTILES, WORKLOADS, best, name
from papers.tcd.slowdowns_panels import draw_gains

CONTROLLERS = ("dcqcn", "timely")
#: What the paper prints.
PAPER = {"median": 3.3, "p99": 2.0}


def metrics(runs: Runs) -> Metrics:
    found: Metrics = {}
    for controller in CONTROLLERS:
        for workload in WORKLOADS:
            schemes = (controller, f"{controller}+tcd")
            frames = [slowdown.flows(runs[name(workload, scheme)], base="analytic") for scheme in schemes]
            largest = best(frames[0], frames[1], slowdown.EDGES[workload])
            found |= {f"{workload}_{controller}_best_{of}_gain": gain for of, gain in largest.items()}
    for of in PERCENTILES:
        found[f"best_{of}_gain"] = max(float(found[key] or 0) for key in list(found) if key.endswith(f"{of}_gain"))
    return found


def draw(seeds: Seeds, file: Path) -> None:
    draw_gains(seeds, CONTROLLERS, PAPER, file, title="Headline: how many times better the slowdown is with TCD")
