"""The abstract's numbers: how far the median and the 99th percentile improve in each bin of flow sizes."""

from __future__ import annotations

from pathlib import Path

from backwater.analysis import slowdown
from backwater.papers import Measurements, Runs, Seeds

from papers.tcd.slowdowns import PERCENTILES, WORKLOADS, by_bin, name
from papers.tcd.slowdowns_panels import draw_gains

CONTROLLERS = ("dcqcn", "timely")
#: What the paper prints.
PAPER = {"median": 3.3, "p99": 2.0}


def metrics(runs: Runs) -> Measurements:
    found: dict[str, dict[str, float | None]] = {of: {} for of in PERCENTILES}
    for controller in CONTROLLERS:
        for workload in WORKLOADS:
            schemes = (controller, f"{controller}+tcd")
            frames = [slowdown.flows(runs[name(workload, scheme)], base="analytic") for scheme in schemes]
            for of, gains in by_bin(frames[0], frames[1], slowdown.EDGES[workload]).items():
                found[of] |= {f"{workload} {controller} {place}": gain for place, gain in gains.items()}
    return {f"{of}_gain_by_bin": gains for of, gains in found.items()}


def draw(seeds: Seeds, file: Path) -> None:
    draw_gains(seeds, CONTROLLERS, PAPER, file, title="Headline: how many times better the slowdown is with TCD")
