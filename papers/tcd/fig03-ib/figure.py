"""Figure 3 (b, d): one congestion point. Queue, marks and sending rate of P2 under FECN."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds

from papers.tcd.panels import INFINIBAND, draw_queue_and_rate
from papers.tcd.scene import Scene
from papers.tcd.scene import settle_twice as settle
from papers.tcd.spreading import one_point

__all__ = ["draw", "metrics", "settle"]


def metrics(runs: Runs) -> Metrics:
    return one_point(runs["fecn"])


def draw(seeds: Seeds, file: Path) -> None:
    scene = Scene(seeds[0]["fecn"])
    title = "Figure 3 (b, d): one congestion point (P3), P2 under FECN"
    draw_queue_and_rate({"FECN": scene}, file, title=title, marks=True, network=INFINIBAND)
