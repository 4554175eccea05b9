"""Figure 3 (a, c): one congestion point. Queue, marks and sending rate of P2 under ECN."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds

from papers.tcd.panels import ETHERNET, draw_queue_and_rate
from papers.tcd.scene import Scene, settle
from papers.tcd.spreading import one_point

__all__ = ["draw", "metrics", "settle"]


def metrics(runs: Runs) -> Metrics:
    return one_point(runs["ecn"])


def draw(seeds: Seeds, file: Path) -> None:
    scene = Scene(seeds[0]["ecn"])
    title = "Figure 3 (a, c): one congestion point (P3), P2 under ECN"
    draw_queue_and_rate({"ECN": scene}, file, title=title, marks=True, network=ETHERNET)
