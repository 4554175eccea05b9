"""Where packets wait: at the first switch, whose credits NICs count, and further in, where nobody counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results
from backwater.results.measures import end_ps

SCENES = {"incast": "incast of 23 and bystanders", "gpcnet": "GPCNeT beside congestors"}
CASES = ("none", "AT-RI 18", "AT-RI 20", "AT-RI 22")
LEVELS = {
    "first": "edge switch,\nfor a spine",
    "spine": "spine,\nfor an edge switch",
    "last": "edge switch,\nfor its node",
}
#: The first level holds what nodes sent, which is what their NICs count; the others lie further in.
FURTHER = ("spine", "last")


def waiting(run: Results) -> dict[str, float]:
    """Mean bytes that wait at each level, all its queues together, in the second half of a run, in KB."""
    port = pl.col("port").cast(pl.String)
    level = (
        pl.when(port.str.contains(r"^s0\..*->s1\."))
        .then(pl.lit("first"))
        .when(port.str.starts_with("s1."))
        .then(pl.lit("spine"))
        .otherwise(pl.lit("last"))
    )
    late = pl.col("time_ps") >= end_ps(run) // 2
    table = run.samples.filter(late).group_by("time_ps", level=level).agg(pl.col("queue_bytes").sum())
    found = table.group_by("level").agg(pl.col("queue_bytes").mean()).collect()
    known = dict(found.iter_rows())
    return {one: float(known.get(one) or 0) / 1e3 for one in LEVELS}


def metrics(runs: Runs) -> Metrics:
    values: Metrics = {}
    for scene in SCENES:
        if f"{scene} none" not in runs:
            continue
        none = waiting(runs[f"{scene} none"])
        for case in CASES[1:]:
            found = waiting(runs[f"{scene} {case}"])
            name = f"{scene}_{case.split()[-1]}"
            values[f"{name}_first_over_none"] = found["first"] / none["first"]
            further = [sum(one[level] for level in FURTHER) for one in (found, none)]
            values[f"{name}_further_over_none"] = further[0] / further[1]
    return values


def draw(seeds: Seeds, file: Path) -> None:
    colours = dict(zip(CASES, (plot.BLACK, plot.VERMILLION, plot.PURPLE, plot.SKY), strict=True))
    scenes = [scene for scene in SCENES if f"{scene} none" in seeds[0]]
    with plot.picture(
        file, "Where packets wait; NICs count what waits on the left", 5.2 * len(scenes) + 0.5, 3.8
    ) as made:
        grid: Any = made.subplots(1, len(scenes), squeeze=False)[0]
        for axes, scene in zip(grid, scenes, strict=True):
            for number, case in enumerate(CASES):
                found = waiting(seeds[0][f"{scene} {case}"])
                at = [place + (number - 1.5) * 0.2 for place in range(len(LEVELS))]
                axes.bar(at, list(found.values()), 0.18, color=colours[case], label=_label(case))
            axes.set_xticks(range(len(LEVELS)), list(LEVELS.values()))
            axes.tick_params(axis="x", length=0)
            axes.set(title=SCENES[scene], ylabel="bytes waiting, all queues [KB]")
        handles, labels = grid[0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside lower center", ncols=len(CASES))


def _label(case: str) -> str:
    return "no throttling" if case == "none" else case.replace(" ", ", m = ")


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = [
        (title, _label(case), *(f"{value:.0f}" for value in waiting(run).values()))
        for scene, title in SCENES.items()
        for case in CASES
        if (run := seeds[0].get(f"{scene} {case}")) is not None
    ]
    headings = ("", "", *(name.replace("\n", " ") for name in LEVELS.values()))
    return [NumberTable("KB that wait, means over the second half of a run", headings, tuple(rows), words=2)]
