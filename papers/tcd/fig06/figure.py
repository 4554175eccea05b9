"""Figure 6: the ternary states, how often ports made each transition, and how long they stayed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from backwater.analysis import plot
from backwater.common import quantities
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from papers.tcd import schematic
from papers.tcd.scene import US, settle

__all__ = ["draw", "metrics", "settle"]

#: The signs of the transitions, and the numbers that metrics have for them.
SIGNS = tuple(schematic.TRANSITIONS.values())
NUMBERS = {sign: number for number, sign in enumerate(SIGNS, 1)}
INTO, OUT_OF = "③⑥", "④⑤"


def counted(run: Results) -> Counter[str]:
    """How often ports P0 to P3 made each transition."""
    return Counter(sign for port in schematic.PORTS for _, sign in schematic.transitions(run, port))


def on_over_max_ton_us(run: Results, signs: str) -> list[float]:
    """At each of these transitions, how much longer than max(Ton) the port had been ON; negative if shorter."""
    found = []
    for port in schematic.PORTS:
        times = np.array([time for time, sign in schematic.transitions(run, port) if sign in signs], np.int64)
        found += (schematic.since_off_ps(run, port, times) - schematic.max_ton_ps(run)).tolist()
    return [over / US for over in found]


def metrics(runs: Runs) -> Metrics:
    total = sum((counted(runs[scene]) for scene in schematic.SCENES), Counter[str]())
    entries = [over for scene in schematic.SCENES for over in on_over_max_ton_us(runs[scene], INTO)]
    leaves = [over for scene in schematic.SCENES for over in on_over_max_ton_us(runs[scene], OUT_OF)]
    return {
        **{f"transitions_{number}": total[sign] for sign, number in NUMBERS.items()},
        "latest_entry_beyond_max_ton_us": max(entries),
        "earliest_leave_before_max_ton_us": -min(leaves),
    }


def residence(seeds: Seeds, state: str) -> list[float]:
    """The lengths of all stays in a state between two transitions, in microseconds."""
    stays = []
    for runs in seeds:
        for scene in schematic.SCENES:
            for port in schematic.PORTS:
                inner = schematic.ternary(runs[scene], port)[1:-1]
                stays += [(i.end_ps - i.start_ps) / US for i in inner if i.what == state]
    return stays


def draw(seeds: Seeds, file: Path) -> None:
    limit = f"{schematic.max_ton_ps(seeds[0]['one']) / US:.1f} µs"
    title = "Figure 6: the ternary states of ports P0 to P3, with what happened in three scenes"
    with plot.picture(file, title, 11.0, 5.6) as made:
        states, bars = made.subplots(1, 2, width_ratios=[1.55, 1])
        _draw_states(states, seeds, limit)
        _draw_counts(bars, seeds)


#: Where the states stand.
PLACES = {"non-congestion": (0.0, 0.0), "congestion": (4.0, 0.0), "undetermined": (2.0, 3.2)}
RADIUS = 0.62


def _draw_states(axes: Axes, seeds: Seeds, limit: str) -> None:
    total = sum((counted(runs[scene]) for runs in seeds for scene in schematic.SCENES), Counter[str]())
    for (before, after), sign in schematic.TRANSITIONS.items():
        (x0, y0), (x1, y1) = PLACES[before], PLACES[after]
        length = float(np.hypot(x1 - x0, y1 - y0))
        along, across = np.array([x1 - x0, y1 - y0]) / length, np.array([y0 - y1, x1 - x0]) / length
        start, stop = (np.array(PLACES[state]) + across * 0.2 for state in (before, after))
        reach = (RADIUS**2 - 0.2**2) ** 0.5 + 0.03
        start, stop = start + along * reach, stop - along * reach
        seen = total[sign] > 0
        style = {"arrowstyle": "-|>", "lw": 1.6, "color": plot.BLACK if seen else plot.GREY, "ls": "-" if seen else ":"}
        axes.annotate("", stop, start, arrowprops=style | {"shrinkA": 0, "shrinkB": 0})
        middle = (start + stop) / 2 + across * (0.24 if before[0] == after[0] or y0 == y1 else 0.36)
        text = f"{sign} {total[sign]}×"
        axes.text(*middle, text, ha="center", va="center", fontsize=10, fontweight="bold" if seen else "normal")
    for state, (x, y) in PLACES.items():
        axes.add_patch(Circle((x, y), RADIUS, facecolor=plot.STATE_COLOURS[state], edgecolor=plot.BLACK, zorder=3))
        name = "\n".join([state.replace("-", "-\n"), schematic.STATES[state]])
        axes.text(x, y, name, ha="center", va="center", fontsize=8, zorder=4)
        stays = residence(seeds, state)
        told = f"{len(stays)} stays, median {quantities.time(float(np.median(stays)) * US)}" if stays else "no stay"
        place = (x, y + RADIUS + 0.16) if y > 0 else (x, y - RADIUS - 0.2)
        axes.text(*place, told, ha="center", va="center", fontsize=8)
    conditions = (
        f"③ ⑥  $T_{{on}}$ < max($T_{{on}}$) = {limit}\n"
        "④ ⑤  $T_{on}$ ≥ max($T_{on}$), then ④ queue drained, ⑤ queue rises\n"
        "① ②  the queue above and below the threshold"
    )
    axes.text(2, -1.2, conditions, ha="center", va="top", fontsize=8)
    axes.set_xlim(-1.1, 5.1)
    axes.set_ylim(-2.2, 4.3)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(f"transitions of {len(seeds)} seeds together")


def _draw_counts(axes: Axes, seeds: Seeds) -> None:
    scenes = len(schematic.SCENES)
    for index, (scene, label) in enumerate(schematic.SCENES.items()):
        per_seed = [counted(runs[scene]) for runs in seeds]
        means = [float(np.mean([counts[sign] for counts in per_seed])) for sign in SIGNS]
        places = np.arange(len(SIGNS)) + (index - (scenes - 1) / 2) * 0.27
        drawn = axes.bar(places, means, width=0.25, color=plot.CYCLE[index], label=label)
        axes.bar_label(drawn, [f"{mean:.3g}" for mean in means], fontsize=7)
    axes.set_xticks(range(len(SIGNS)), SIGNS, fontsize=11)
    axes.set_ylabel("times per run, P0 to P3 together")
    axes.set_ylim(0, 1.35 * axes.get_ylim()[1])
    axes.legend(title="scene", loc="upper right")
    axes.set_title("the same by scene (mean over seeds)")
