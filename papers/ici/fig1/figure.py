"""Figure 1: one congestion tree, six schemes: throughput, BECNs and marks over time, packet latency, FCT."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Measurements, Runs, Seeds

from papers.ici import panels_trees, trees
from papers.ici.measured import first_becn_us, of
from papers.ici.panels import draw_grid


def metrics(runs: Runs) -> Measurements:
    found = trees.compare(of(runs, "w1"))
    for other in ("ci", "ici", "dcqcn"):
        found[f"ci+dcqcn_throughput_over_{other}"] = trees.ratio(found, "throughput_gbps", "ci+dcqcn", other)
    return found | trees.over_others(found) | {"dcqcn_first_becn_us": first_becn_us(runs["w1 dcqcn"])}


def draw(seeds: Seeds, file: Path) -> None:
    title = "Figure 1: one congestion tree of 16 sources, 0.2 to 1.2 ms"
    draw_grid(panels_trees.ROWS, [of(runs, "w1") for runs in seeds], file, title=title)
