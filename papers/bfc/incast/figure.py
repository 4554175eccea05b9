"""Incasts on one switch: the longest queue, and the share of the link, by the number of flows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers import hop_by_hop

#: On the wire for a packet of 1000 B, and how many make up a flow.
PACKET, PACKETS = 1076, 1000
GBPS = 100
#: What a link of 1 us takes in a round trip at that rate.
HOP = GBPS * 1000 // 8 * 2
PORT = "s->h0"
#: With more flows there are fewer queues than flows, whatever the profile.
MOST = 32


def share(run: Results, flows: int) -> float | None:
    """Of the link to the receiver, until the last byte is there."""
    done = hop_by_hop.whole(hop_by_hop.flows(run)["done_us"])
    return None if done is None else flows * PACKETS * PACKET * 8 / (GBPS * 1000) / max(done)


def counts(runs: Runs) -> list[int]:
    """How many flows the runs have, up to as many as there are queues."""
    return sorted(flows for flows in map(int, runs) if flows <= MOST)


def metrics(runs: Runs) -> Measurements:
    flows = counts(runs)
    peaks = [hop_by_hop.peak_bytes(runs[str(count)], PORT) for count in flows]
    bounds = [count * (HOP + 3 * PACKET) + HOP for count in flows]
    return {
        "buffer_exponent": float(np.polyfit(np.log(flows), np.log(peaks), 1)[0]),
        "link_share": {f"{count} flows": share(runs[str(count)], count) for count in flows},
        "bytes_over_bound": {
            f"{count} flows": peak / bound for count, peak, bound in zip(flows, peaks, bounds, strict=True)
        },
    }


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Incasts under BFC, on one switch", 8.0, 3.4) as made:
        left, right = made.subplots(1, 2)
        flows = sorted(map(int, seeds[0]))
        for runs in seeds:
            peaks = [hop_by_hop.peak_bytes(runs[str(count)], PORT) / 1000 for count in flows]
            left.plot(flows, peaks, "o-", color=plot.BLUE, ms=4)
            right.plot(
                flows, [share(runs[str(count)], count) or np.nan for count in flows], "o-", color=plot.BLUE, ms=4
            )
        left.plot(
            flows, [count * HOP / 1000 for count in flows], "--", color="0.5", label="a hop's bytes for each flow"
        )
        left.set(xscale="log", yscale="log", xlabel="flows", ylabel="longest queue [KB]")
        left.legend(fontsize=7)
        right.axhline(1, color="0.5", ls="--")
        right.set(xscale="log", xlabel="flows", ylabel="share of the link", ylim=(0, 1.05))


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for count in sorted(map(int, seeds[0])):
        runs = [seed[str(count)] for seed in seeds]
        rows.append(
            (
                str(count),
                hop_by_hop.over_seeds([hop_by_hop.peak_bytes(run, PORT) / 1000 for run in runs]),
                hop_by_hop.over_seeds([share(run, count) for run in runs], 3),
            )
        )
    return [NumberTable("by the number of flows", ("flows", "longest queue [KB]", "share of the link"), tuple(rows))]
