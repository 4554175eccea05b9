"""Figure 4 (b, d): two congestion points. P2's queue does not tell them from one while it lacks credits."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds

from papers.tcd.panels import INFINIBAND, draw_queue_and_rate
from papers.tcd.scene import Scene
from papers.tcd.scene import settle_twice as settle
from papers.tcd.spreading import two_points

__all__ = ["draw", "metrics", "settle"]

ONE = "fecn of Figure 3"
#: Where the paper finds both queues the same, in milliseconds after the start of the bursts.
SAME_MS = (2.6, 4.0)


def metrics(runs: Runs) -> Metrics:
    return two_points(runs["fecn"], runs[ONE], SAME_MS)


def draw(seeds: Seeds, file: Path) -> None:
    scenes = {
        "two congestion points (Figure 4)": Scene(seeds[0]["fecn"]),
        "one congestion point (Figure 3)": Scene(seeds[0][ONE]),
    }
    title = "Figure 4 (b, d): P2 under FECN, beside Figure 3"
    draw_queue_and_rate(scenes, file, title=title, marks=False, network=INFINIBAND)
