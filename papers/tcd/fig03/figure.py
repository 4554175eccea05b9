"""Figure 3 (a, c): one congestion point. Queue, marks and sending rate of P2 under ECN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from backwater import measures

from papers.tcd.panels import draw_queue_and_rate
from papers.tcd.scene import MS, PRIORITY, US, Scene, settle, since

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from backwater.results import Results

__all__ = ["draw", "metrics", "settle"]

#: Over what the rates towards a port are means: about a tenth of the time for which P2 is paused again and again.
BIN_PS = 100 * US
#: The links of the hosts whose flows pass a port.
HOST_LINKS = {"P0": ("S0->T0", "S1->T0"), "P1": ("S2->T1",), "P2": ("S0->T0", "S1->T0", "S2->T1")}


def metrics(runs: Mapping[str, Results]) -> dict[str, float | bool | None]:
    scene = Scene(runs["ecn"])
    drained = scene.drained_ps()
    return {
        "fewest_off_periods": min(len(scene.off(port)) for port in ("P0", "P1", "P2")),
        "most_offered_gbps": most_offered_gbps(scene),
        "most_sent_to_gbps": most_sent_to_gbps(scene),
        "p2_most_arriving_gbps": most_sent_gbps(scene, ("P0", "P1")),
        "p2_peak_kb": scene.peak_bytes("P2") / 1e3,
        "ce_f0_at_p2": scene.marks("P2", "CE", "F0"),
        "ce_f1_at_p2": scene.marks("P2", "CE", "F1"),
        "ce_f2_at_p2": scene.marks("P2", "CE", "F2"),
        "p2_drains": drained is not None,
        "p2_gbps_after": None if drained is None else scene.sent_bps("P2", drained, drained + MS) / 1e9,
        "f1_fair_share_gbps": 40.0 / senders_through_p3(scene.run),
        "f0_start_us": (scene.start_ps("F0") - scene.bursts_ps) / US,
    }


def most_offered_gbps(scene: Scene) -> float:
    """The most that P0, P1 or P2 is offered at any time by configuration: F1's allowed rate, the rates of F0 and F2.

    P2 carries all three flows, the others fewer of them.
    """
    rates = scene.run.rates.filter(pl.col("traffic").cast(pl.String) == "F1")
    constant = [
        (float(entry["rate"].removesuffix("Gbps")), scene.start_ps(entry["name"]))
        for entry in scene.run.meta["scenario"]["traffic"]
        if entry["kind"] == "constant"
    ]
    others = [pl.when(pl.col("time_ps") >= start).then(rate).otherwise(0.0) for rate, start in constant]
    offered = rates.select((pl.col("rate_bps") / 1e9 + pl.sum_horizontal(others)).max())
    return float(offered.collect().item())


def most_sent_to_gbps(scene: Scene) -> float | None:
    """The most that hosts put on the wire towards P0, P1 or P2 in any 100 µs since the bursts started."""
    most = [rate for links in HOST_LINKS.values() if (rate := most_sent_gbps(scene, links)) is not None]
    return max(most) if len(most) == len(HOST_LINKS) else None


def most_sent_gbps(scene: Scene, ports: Sequence[str]) -> float | None:
    """The most that ports send together in any 100 µs since the bursts started; None if they were not sampled."""
    rates = [
        since(measures.send_rate(scene.run, port, PRIORITY, BIN_PS), scene.bursts_ps + BIN_PS).value for port in ports
    ]
    return float(np.sum(rates, axis=0).max() / 1e9) if all(len(rate) for rate in rates) else None


def senders_through_p3(run: Results) -> int:
    """How many hosts send to R1."""
    to_r1 = run.flows.filter(pl.col("dst").cast(pl.String) == "R1")
    return int(to_r1.select(pl.col("src").n_unique()).collect().item())


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    scene = Scene(seeds[0]["ecn"])
    draw_queue_and_rate(
        {"ECN": scene}, file, title="Figure 3 (a, c): one congestion point (P3), P2 under ECN", marks=True
    )
