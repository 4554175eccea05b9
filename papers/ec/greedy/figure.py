"""A source that never rests against one with random gaps, under the paper's policy: goodput by r and size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from matplotlib.lines import Line2D

from papers.ec.beside import number
from papers.ec.compare import goodputs, named, resent, told
from papers.ec.measured import SIZES, among, ceiling, points
from papers.ec.panels import SIZE_COLOURS, SIZE_LABELS, line, seen, size_handles

#: Workloads and how they are called.
SOURCES = {"greedy": "never rests", "unicast": "random gaps, load 1"}


def metrics(runs: Runs) -> Measurements:
    found = points(runs, "greedy")
    return told(found) | {
        "dack_goodput_over_ideal": goodputs(found, "dack", most_r=0.9),
        "dack_resent": resent(found, "dack"),
        "goodput_over_ceiling": {
            f"{at[0]}, {named(at)}": one.goodput / ceiling(at[1]) for at, one in found.items() if at[2] == 1
        },
    }


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "The paper's policy by source, one sender", 8.5, 3.8) as made:
        for axes, (workload, label) in zip(made.subplots(1, 2, sharey=True), SOURCES.items(), strict=True):
            every = [points(runs, workload) for runs in seeds]
            for size in SIZES:
                look = {"colour": SIZE_COLOURS[size], "marker": plot.marker(SIZES.index(size))}
                line(axes, every, "dack", size, lambda one: one.goodput, **look)
                axes.plot([1.03], [ceiling(size)], marker="_", ms=9, color=SIZE_COLOURS[size], clip_on=False)
            axes.axline((0.5, 0.5), slope=1, color=plot.GREY, lw=0.8, ls=":")
            axes.set(title=f"source: {label}", xlabel="endpoint's rate r, share of the link", xlim=(0.48, 1.04))
            axes.set_ylim(0.35, 1.02)
        made.axes[0].set_ylabel("goodput, share of the link")
        legend = size_handles(SIZES)
        legend.append(Line2D([], [], color=plot.GREY, marker="_", ls="none", ms=9, label="ceiling of the NIC"))
        made.legend(handles=legend, loc="outside lower center", ncols=len(legend))


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    greedy, random = ([points(runs, workload) for runs in seeds] for workload in SOURCES)
    ats = sorted({at for one in greedy for at in among(one, "dack", SIZES)}, key=lambda at: at[1:])
    rows = tuple(
        (
            SIZE_LABELS[at[1]],
            f"{at[2]:g}",
            number(seen(greedy, at, lambda one: one.goodput)),
            number(seen(random, at, lambda one: one.goodput)),
            number(ceiling(at[1])),
        )
        for at in ats
    )
    return [NumberTable("goodput by source", ("size", "r", *SOURCES.values(), "ceiling of the NIC"), rows)]
