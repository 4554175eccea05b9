"""Figure 4 (a, c): two congestion points. P2's queue does not tell them from one while PFC holds it."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds

from papers.tcd.panels import ETHERNET, draw_queue_and_rate
from papers.tcd.scene import Scene, settle
from papers.tcd.spreading import two_points

__all__ = ["draw", "metrics", "settle"]

ONE = "ecn of Figure 3"
#: Where the paper finds both queues the same, in milliseconds after the start of the bursts.
SAME_MS = (1.0, 1.5)


def metrics(runs: Runs) -> Metrics:
    return two_points(runs["ecn"], runs[ONE], SAME_MS)


def draw(seeds: Seeds, file: Path) -> None:
    scenes = {
        "two congestion points (Figure 4)": Scene(seeds[0]["ecn"]),
        "one congestion point (Figure 3)": Scene(seeds[0][ONE]),
    }
    title = "Figure 4 (a, c): P2 under ECN, beside Figure 3"
    draw_queue_and_rate(scenes, file, title=title, marks=False, network=ETHERNET)
