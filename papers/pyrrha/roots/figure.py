"""Roots, and what is held for them: who is the root, how many queues it takes, and what messages beside it wait."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers import hop_by_hop

#: The port to the receiver.
ROOT = "leaf0->h0"
COUNTS = (4, 8, 16)
TREES = ("one", "two")
SCHEMES = ("PFC", "Pyrrha", "dst-PFC")


def roots(run: Results) -> list[str]:
    """The roots that frames of holds name, in the order of time."""
    held = pl.col("kind").cast(pl.String).str.contains("(?i)hold") & pl.col("paused").is_not_null()
    found = (
        run.table("frames")
        .filter(held & (pl.col("paused") != 0))
        .sort("time_ps")
        .select(pl.col("root").cast(pl.String))
    )
    return [root for root in found.collect()["root"] if root is not None]


def queues(run: Results) -> float:
    """The most isolation queues that a switch had at a time, over the ports of it that lead to the root."""
    return float(run.table("switches").select(pl.col("peak_slots").max()).collect().item() or 0)


def beside(run: Results) -> float | None:
    """The 99th percentile of the slowdown of messages beside the trees."""
    return hop_by_hop.p99(hop_by_hop.flows(run, "beside")["slowdown"])


def metrics(runs: Runs) -> Measurements:
    told = {count: roots(runs[f"{count} flows"]) for count in COUNTS}
    return {
        "first_root_is_the_receiver": all(bool(found) and found[0] == ROOT for found in told.values()),
        "other_roots": sum(len({*found} - {ROOT}) for found in told.values()),
        "queues_a_port": {f"{count} flows": queues(runs[f"{count} flows"]) for count in COUNTS},
        "beside_over_ideal": {
            f"{tree} tree{'s' if tree == 'two' else ''}": hop_by_hop.ratio(
                beside(runs[f"{tree} Pyrrha"]), beside(runs[f"{tree} dst-PFC"])
            )
            for tree in TREES
        },
        "pfc_over_ideal": {
            f"{tree} tree{'s' if tree == 'two' else ''}": hop_by_hop.ratio(
                beside(runs[f"{tree} PFC"]), beside(runs[f"{tree} dst-PFC"])
            )
            for tree in TREES
        },
    }


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Messages beside congestion trees", 6.5, 3.2) as made:
        axes = made.subplots()
        series = {
            scheme: [
                sum(beside(runs[f"{tree} {scheme}"]) or float("nan") for runs in seeds) / len(seeds) for tree in TREES
            ]
            for scheme in SCHEMES
        }
        hop_by_hop.bars(axes, ["one tree", "two trees"], series, "99th percentile of the slowdown")
        axes.set_yscale("log")
        axes.legend(fontsize=7)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    held = tuple(
        (
            f"{count}",
            hop_by_hop.over_seeds([float(len(roots(runs[f"{count} flows"]))) for runs in seeds]),
            hop_by_hop.over_seeds([float(len({*roots(runs[f"{count} flows"])})) for runs in seeds]),
            hop_by_hop.over_seeds([queues(runs[f"{count} flows"]) for runs in seeds]),
        )
        for count in COUNTS
    )
    waits = tuple(
        (tree, *(hop_by_hop.over_seeds([beside(runs[f"{tree} {scheme}"]) for runs in seeds]) for scheme in SCHEMES))
        for tree in TREES
    )
    return [
        NumberTable("one receiver", ("flows", "frames that hold", "roots", "most isolation queues at a switch"), held),
        NumberTable("messages beside: 99th percentile of the slowdown", ("trees", *SCHEMES), waits),
    ]
