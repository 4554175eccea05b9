"""Endpoints slower than the paper's: r = 0.1 to 0.4, 2 KB, one sender and eight."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Family, Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from matplotlib.lines import Line2D

from papers.ec import authors
from papers.ec.beside import number
from papers.ec.compare import goodputs, resent, told, waste
from papers.ec.measured import POLICIES, points
from papers.ec.panels import LABELS, colour, known_line, legend_beside, line, seen

WORKLOADS = {"unicast": "one sender", "incast": "eight senders"}
SIZE = 2048


def metrics(runs: Runs) -> Measurements:
    values: Measurements = {}
    ratios: Family = {}
    for workload in WORKLOADS:
        found = points(runs, workload)
        values |= {f"{workload}_{name}": value for name, value in told(found).items()}
        values[f"{workload}_dack_resent"] = resent(found, "dack")
        ratios |= {f"{workload}, {at}": one for at, one in goodputs(found, "dack").items()}
    alone = points(runs, "unicast")
    own = waste(alone, [at for at in alone if at[0] == "opt"])
    return values | {"opt_resent_over_own": own, "dack_goodput_over_ideal": ratios}


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Below the paper's range: 2 KB", 8.5, 6) as made:
        grid = made.subplots(2, 2, sharex=True)
        for column, (workload, label) in zip(grid.T, WORKLOADS.items(), strict=True):
            every, known = [points(runs, workload) for runs in seeds], authors.below(workload)
            for number_of, policy in enumerate(POLICIES):
                look = {"colour": colour(policy), "marker": plot.marker(number_of)}
                line(column[0], every, policy, SIZE, lambda one: one.goodput, **look)
                line(column[1], every, policy, SIZE, lambda one: one.retransmission, **look)
                known_line(column[0], known, policy, SIZE, lambda one: one.goodput, **look)
                known_line(column[1], known, policy, SIZE, lambda one: one.retransmission, **look)
            column[0].set(title=f"goodput, {label}", ylim=(0, 0.42))
            column[1].set(title=f"retransmissions, {label}", ylim=(0, 1), xlabel="endpoint's rate r, share of the link")
        for axes in grid[:, 0]:
            axes.set_ylabel("share of the link")
        handles = [
            Line2D([], [], color=colour(one), marker=plot.marker(place), ms=4, label=LABELS[one])
            for place, one in enumerate(POLICIES)
        ]
        legend_beside(made, handles)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for workload, label in WORKLOADS.items():
        every = [points(runs, workload) for runs in seeds]
        for at, there in authors.below(workload).items():
            ours = [seen(every, at, lambda one: one.goodput), seen(every, at, lambda one: one.retransmission)]
            theirs = [number(there.goodput, "aborted"), number(there.retransmission, "aborted")]
            shown = (number(ours[0]), theirs[0], number(ours[1]), theirs[1])
            rows.append((label, LABELS[at[0]], f"{at[2]:g}", *shown))
    headings = ("workload", "policy", "r", "goodput", "reference", "retransmissions", "reference")
    return [
        NumberTable("ours and the authors' public simulator, as shares of the link", headings, tuple(rows), words=2)
    ]
