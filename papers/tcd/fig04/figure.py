"""Figure 4 (a, c): two congestion points. P2's queue does not tell them from one while PFC holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from papers.tcd.panels import draw_queue_and_rate
from papers.tcd.scene import MS, US, Scene, settle, since

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from backwater.results import Results
    from numpy.typing import NDArray

__all__ = ["draw", "metrics", "settle"]

ONE = "ecn of Figure 3"
#: Where the paper finds both queues the same, in milliseconds after the start of the bursts.
SAME_MS = (1.0, 1.5)


def metrics(runs: Mapping[str, Results]) -> dict[str, float | bool | None]:
    scene, one = Scene(runs["ecn"]), Scene(runs[ONE])
    released = scene.release_ps()
    if released is None:
        return dict.fromkeys(
            (
                "p2_release_ms",
                "p2_least_queue_after_kb",
                "p2_gbps_after",
                "mean_difference_percent",
                "largest_difference_percent",
            )
        )
    differ = differences(scene, one)
    return {
        "p2_release_ms": scene.since_bursts_ms(released),
        "p2_least_queue_after_kb": float(since(scene.queue("P2"), released).value.min()) / 1e3,
        "p2_gbps_after": scene.sent_bps("P2", released, scene.end_ps) / 1e9,
        "mean_difference_percent": None if differ is None else float(np.mean(differ)) * 100,
        "largest_difference_percent": None if differ is None else float(np.max(differ)) * 100,
        "f0_start_us": (scene.start_ps("F0") - scene.bursts_ps) / US,
    }


def differences(two: Scene, one: Scene) -> NDArray[np.float64] | None:
    """By how much P2's queue differs between two and one congestion point at each sample, relative to the latter.

    None if that is empty at some instant.
    """
    both = []
    for scene in (two, one):
        queue = scene.queue("P2")
        inside = (queue.time_ps >= scene.bursts_ps + SAME_MS[0] * MS) & (
            queue.time_ps <= scene.bursts_ps + SAME_MS[1] * MS
        )
        both.append(queue.value[inside])
    return np.abs(both[0] - both[1]) / both[1] if both[1].all() else None


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    scenes = {
        "two congestion points (Figure 4)": Scene(seeds[0]["ecn"]),
        "one congestion point (Figure 3)": Scene(seeds[0][ONE]),
    }
    draw_queue_and_rate(scenes, file, title="Figure 4 (a, c): P2 under ECN, beside Figure 3", marks=False)
