"""What Figures 3 and 4 measure, on Ethernet and on InfiniBand: a queue that another port's congestion has piled up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from backwater.papers import Metrics
from backwater.results import Results, measures
from numpy.typing import NDArray

from papers.tcd.scene import MS, PRIORITY, US, Scene, since

#: Over what the rates towards a port are means: about a tenth of the time for which P2 is paused again and again.
BIN_PS = 100 * US
#: The links of the hosts whose flows pass a port.
HOST_LINKS = {"P0": ("S0->T0", "S1->T0"), "P1": ("S2->T1",), "P2": ("S0->T0", "S1->T0", "S2->T1")}
#: Which part of the signalling of an InfiniBand link is data: 8b/10b (InfiniBand specification).
DATA_OF_SIGNALLING = 0.8


def one_point(run: Results) -> Metrics:
    """Figure 3: P3 is the only congestion point."""
    scene = Scene(run)
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
        "ce_f0_at_p0": scene.marks("P0", "CE", "F0"),
        "ce_f2_at_p1": scene.marks("P1", "CE", "F2"),
        "p2_drains": drained is not None,
        "p2_gbps_after": None if drained is None else scene.sent_bps("P2", drained, drained + MS) / 1e9,
        "f1_fair_share_gbps": signalling_gbps(run, "P3") / senders_through_p3(run),
        "f0_start_us": (scene.start_ps("F0") - scene.bursts_ps) / US,
    }


def two_points(two: Results, one: Results, same_ms: tuple[float, float]) -> Metrics:
    """Figure 4: P2 is congested, too; `same_ms` is when the paper finds its queue the same as with one point."""
    scene = Scene(two)
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
    differ = differences(scene, Scene(one), same_ms)
    return {
        "p2_release_ms": scene.since_bursts_ms(released),
        "p2_least_queue_after_kb": float(since(scene.queue("P2"), released).value.min()) / 1e3,
        "p2_gbps_after": scene.sent_bps("P2", released, scene.end_ps) / 1e9,
        "mean_difference_percent": None if differ is None else float(np.mean(differ)) * 100,
        "largest_difference_percent": None if differ is None else float(np.max(differ)) * 100,
        "f0_start_us": (scene.start_ps("F0") - scene.bursts_ps) / US,
    }


def differences(two: Scene, one: Scene, same_ms: tuple[float, float]) -> NDArray[np.float64] | None:
    """By how much P2's queue differs between two and one congestion point at each sample, relative to the latter.

    None if that is empty at some instant.
    """
    both = []
    for scene in (two, one):
        queue = scene.queue("P2")
        inside = (queue.time_ps >= scene.bursts_ps + same_ms[0] * MS) & (
            queue.time_ps <= scene.bursts_ps + same_ms[1] * MS
        )
        both.append(queue.value[inside])
    return np.abs(both[0] - both[1]) / both[1] if both[1].all() else None


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


def signalling_gbps(run: Results, port: str) -> float:
    """The rate of a port's link as the paper names it: on InfiniBand it is that of the signalling, not of the data."""
    data = float(measures.by_port(run, [port], PRIORITY)["rate_bps"].item()) / 1e9
    return data / DATA_OF_SIGNALLING if measures.under_credits(run.meta["scenario"]) else data


def senders_through_p3(run: Results) -> int:
    """How many hosts send to R1."""
    to_r1 = run.flows.filter(pl.col("dst").cast(pl.String) == "R1")
    return int(to_r1.select(pl.col("src").n_unique()).collect().item())
