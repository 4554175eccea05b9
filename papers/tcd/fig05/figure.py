"""Figure 5: congestion trees that are isolated, overlapped and covered, with the states of their ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.analysis.blame import Blame
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results, measures
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from papers.tcd import schematic
from papers.tcd.scene import MS, PRIORITY, US

#: Where the nodes stand: senders on the left, receivers on the right.
PLACES = {
    "s1": (0, 3.4),
    "s2": (0, 2.6),
    "s3": (0, 1.6),
    "s4": (0, 0),
    "E1": (1, 3),
    "E2": (1, 1.6),
    "E3": (1, 0),
    "M1": (2.1, 2.4),
    "M2": (2.1, 0),
    "Ta": (3.2, 3),
    "Tb": (3.2, 0.6),
    "Ra": (4.3, 3.4),
    "Rc": (4.3, 2.6),
    "Rb": (4.3, 1),
}
FLOODS = {"a0–a5": (4.3, 1.8), "b0–b5": (4.3, 0.1)}
#: Per scene its ports: roots first (that of tree a, which is gone first, and that of tree b), then the leaves.
TREES = {
    "isolated": ("Ta->Ra", "Tb->Rb", "M1->Ta", "E1->M1", "M2->Tb", "E3->M2"),
    "overlapped": ("Ta->Ra", "Tb->Rb", "M1->Ta", "M1->Tb", "E1->M1"),
    "covered": ("Ta->Ra", "M1->Ta", "E1->M1", "E2->M1"),
}


def instants(run: Results) -> tuple[int, int]:
    """While both trees are there, and when tree a alone is gone: before its flood's end, and midway to the other's."""
    finishes = run.flows.group_by(pl.col("traffic").cast(pl.String)).agg(pl.col("finish_ps").max()).collect()
    ends = dict(finishes.iter_rows())
    first, second = ends["a"], ends.get("b") or measures.end_ps(run)
    return int(first) - 200 * US, (int(first) + int(second)) // 2


def states(run: Results, scene: str) -> tuple[dict[str, str], dict[str, str]]:
    """The states of a scene's ports at both instants."""
    both, later = ({port: schematic.state_at(run, port, time) for port in TREES[scene]} for time in instants(run))
    return both, later


def metrics(runs: Runs) -> Metrics:
    isolated, gone = states(runs["isolated"], "isolated")
    overlapped, first_gone = states(runs["overlapped"], "overlapped")
    covered, emerged = states(runs["covered"], "covered")
    return {
        "isolated_roots_congested": _all(isolated, ("Ta->Ra", "Tb->Rb"), "congestion"),
        "isolated_leaves_undetermined": _all(isolated, TREES["isolated"][2:], "undetermined"),
        "isolated_gone_tree_non_congested": _all(gone, ("Ta->Ra", "M1->Ta", "E1->M1"), "non-congestion"),
        "isolated_other_tree_stays": gone["Tb->Rb"] == "congestion"
        and _all(gone, ("M2->Tb", "E3->M2"), "undetermined"),
        "overlapped_roots_congested": _all(overlapped, ("Ta->Ra", "Tb->Rb"), "congestion"),
        "overlapped_leaf_stays_undetermined": "undetermined" == overlapped["E1->M1"] == first_gone["E1->M1"],
        "overlapped_own_leaf_non_congested": first_gone["M1->Ta"] == "non-congestion",
        "covered_root_undetermined": covered["M1->Ta"] == "undetermined",
        "covered_root_emerges": emerged["M1->Ta"] == "congestion",
    }


def _all(found: Mapping[str, str], ports: Sequence[str], state: str) -> bool:
    return all(found[port] == state for port in ports)


def proven(run: Results, time_ps: int) -> set[str]:
    """The ports that are roots at an instant by the chain of PAUSEs: their queue is long, and nobody holds them."""
    crowd = Blame(run).crowding.filter(~pl.col("is_held"), pl.col("start_ps") <= time_ps, pl.col("end_ps") > time_ps)
    names = Blame(run).queues.select("queue", "port")
    return set(crowd.join(names, on="queue")["port"].cast(pl.String))


def draw(seeds: Seeds, file: Path) -> None:
    runs = seeds[0]
    with plot.picture(
        file, "Figure 5: pairs of congestion trees, and what is left when tree a is gone", 12.6, 8.6
    ) as made:
        grid = made.subplots(3, len(TREES), height_ratios=[1.3, 1.3, 1])
        for column, scene in enumerate(TREES):
            run = runs[scene]
            for row, (time, found) in enumerate(zip(instants(run), states(run, scene), strict=True)):
                _draw_tree(grid[row][column], run, time, found)
                word = "both trees" if row == 0 else "tree a gone"
                title = f"({column + 1}) {scene}: {word}" if row == 0 else word
                grid[row][column].set_title(f"{title}, at {time / MS:.2f} ms")
            _draw_lanes(grid[2][column], run, scene)
        handles, labels = zip(*schematic.state_legend(), strict=True)
        proof = Line2D([], [], linestyle="none"), "“root”: proven by the chain of PAUSEs"
        made.legend((*handles, proof[0]), (*labels, proof[1]), loc="outside lower center", ncols=len(labels) + 1)


def _draw_tree(axes: Axes, run: Results, time_ps: int, found: Mapping[str, str]) -> None:
    roots = proven(run, time_ps)
    colours = {port: plot.STATE_COLOURS[state] for port, state in found.items()}
    labels = {port: "root" for port in found if port in roots}
    schematic.draw_network(axes, run, PLACES, colours, labels=labels, grouped=FLOODS)
    axes.set_xlim(-0.3, 4.8)
    axes.set_ylim(-0.4, 3.9)


def _draw_lanes(axes: Axes, run: Results, scene: str) -> None:
    ports = TREES[scene]
    for height, port in enumerate(reversed(ports)):
        plot.band(axes, schematic.ternary(run, port), (height + 0.45, height + 0.95))
        plot.off(axes, measures.off_intervals(run, port, PRIORITY), (height + 0.12, height + 0.4))
    for time in instants(run):
        axes.axvline(time / MS, color=plot.BLUE, ls=":", lw=1.2)
    axes.set_yticks(
        [height + 0.5 for height in range(len(ports))], [port.replace("->", " → ") for port in reversed(ports)]
    )
    axes.set_ylim(0, len(ports))
    axes.set_xlim(0, measures.end_ps(run) / MS)
    axes.set_xlabel("time [ms]")
    axes.grid(visible=False)
