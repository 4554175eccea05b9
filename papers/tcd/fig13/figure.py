"""Figure 13: two congestion points under TCD. P2 goes from undetermined to congestion, P1 stays undetermined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater import congestion_point

from papers.tcd.panels import SHOWN_MS
from papers.tcd.scene import MS, US, Scene, settle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from backwater.results import Results

__all__ = ["draw", "metrics", "settle"]


def metrics(runs: Mapping[str, Results]) -> dict[str, float | bool | None]:
    scene = Scene(runs["tcd"])
    released, judged = scene.release_ps(), verdict_ps(scene)
    after = scene.end_ps if judged is None else judged
    return {
        "p2_becomes_congestion": judged is not None and scene.states("P2")[-1].what == "congestion",
        "ce_f0_before_verdict": scene.marks("P2", "CE", "F0", end_ps=after),
        "ce_f0_after_verdict": scene.marks("P2", "CE", "F0", begin_ps=after),
        "ce_f2_after_verdict": scene.marks("P2", "CE", "F2", begin_ps=after),
        "p1_undetermined_percent_after": (
            None if released is None else 100 * scene.share_in_state("P1", "undetermined", released)
        ),
        "p2_release_ms": None if released is None else scene.since_bursts_ms(released),
        "p2_verdict_ms": None if judged is None else scene.since_bursts_ms(judged),
        "f0_start_us": (scene.start_ps("F0") - scene.bursts_ps) / US,
    }


def verdict_ps(scene: Scene) -> int | None:
    """When P2 is first called congested after its last OFF period."""
    released = scene.release_ps()
    if released is None:
        return None
    return next((i.start_ps for i in scene.states("P2", released) if i.what == "congestion"), None)


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    run = seeds[0]["tcd"]
    bursts = Scene(run).bursts_ps
    congestion_point.draw(
        {"TCD": run},
        ["P2", "P1"],
        file,
        title="Figure 13: two congestion points, P2 undetermined to congestion",
        origin_ps=bursts,
        end_ps=bursts + round(SHOWN_MS * MS),
    )
