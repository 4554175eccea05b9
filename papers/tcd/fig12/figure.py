"""Figure 12: one congestion point under TCD. P2 and P1 go from undetermined to non-congestion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater import congestion_point

from papers.tcd.panels import SHOWN_MS
from papers.tcd.scene import MS, US, Scene, detector_bytes, settle, since

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from backwater.results import Results

__all__ = ["draw", "metrics", "settle"]


def metrics(runs: Mapping[str, Results]) -> dict[str, float | bool | None]:
    scene = Scene(runs["tcd"])
    ce_f1 = {port: scene.marks(port, "CE", "F1") for port in ("P0", "P2", "P3")}
    return {
        "p2_becomes_non_congestion": scene.becomes("P2", "non-congestion", never="congestion"),
        "p1_becomes_non_congestion": scene.becomes("P1", "non-congestion", never="congestion"),
        # With another reading of the scene P1 may never queue.
        "p2_peak_over_p1_peak": scene.peak_bytes("P2") / p1 if (p1 := scene.peak_bytes("P1")) else None,
        **while_draining(scene),
        "ce_f0_and_f2": scene.received("F0", "ce_packets") + scene.received("F2", "ce_packets"),
        "ue_f0": scene.received("F0", "ue_packets"),
        "ue_f2": scene.received("F2", "ue_packets"),
        "ce_f1_at_p3": ce_f1["P3"],
        "ce_f1_elsewhere": ce_f1["P0"] + ce_f1["P2"],
        "f0_start_us": (scene.start_ps("F0") - scene.bursts_ps) / US,
    }


def while_draining(scene: Scene) -> dict[str, float | None]:
    """From P2's last OFF period until its queue has drained: CE marks, and for how long the queue was above Kmax."""
    released, drained = scene.release_ps(), scene.drained_ps()
    if released is None or drained is None:
        return {"above_threshold_us": None, "ce_at_p2_while_draining": None}
    queue = since(scene.queue("P2"), released)
    above = queue.time_ps[queue.value > detector_bytes(scene.run, "kmax")]
    return {
        "above_threshold_us": float(above[-1] - released) / US if len(above) else 0.0,
        "ce_at_p2_while_draining": scene.marks("P2", "CE", begin_ps=released, end_ps=drained),
    }


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    run = seeds[0]["tcd"]
    bursts = Scene(run).bursts_ps
    congestion_point.draw(
        {"TCD": run},
        ["P2", "P1"],
        file,
        title="Figure 12: one congestion point, undetermined to non-congestion",
        origin_ps=bursts,
        end_ps=bursts + round(SHOWN_MS * MS),
    )
