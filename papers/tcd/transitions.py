"""What Figures 12 and 13 measure, on Ethernet and on InfiniBand: what TCD calls a port once it is let go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from backwater.analysis import congestion_point_picture
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results

from papers.tcd.panels import Network
from papers.tcd.scene import MS, US, Scene, detector_bytes, since


def to_non_congestion(run: Results) -> Metrics:
    """Figure 12: P2 and P1 are undetermined, then non-congestion."""
    scene = Scene(run)
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


def to_congestion(run: Results) -> Metrics:
    """Figure 13: P2 is undetermined, then congested; P1 stays undetermined."""
    scene = Scene(run)
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


@dataclass(frozen=True)
class Transition:
    """A figure of what TCD calls a port: its title, what is measured, and the network."""

    title: str
    measured: Callable[[Results], Metrics]
    network: Network

    def metrics(self, runs: Runs) -> Metrics:
        """What one seed's run measured."""
        return self.measured(runs["tcd"])

    def draw(self, seeds: Seeds, file: Path) -> None:
        """Queue, OFF periods, state and marks of P2 and P1."""
        run = seeds[0]["tcd"]
        bursts = Scene(run).bursts_ps
        end = bursts + round(self.network.shown_ms * MS)
        congestion_point_picture.draw({"TCD": run}, ["P2", "P1"], file, title=self.title, origin_ps=bursts, end_ps=end)
