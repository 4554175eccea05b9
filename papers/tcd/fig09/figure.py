"""Figure 9: the flowchart of TCD, with how many packets took each path."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from backwater.analysis import plot
from backwater.common import quantities
from backwater.papers import Metrics, Runs, Seeds
from matplotlib.axes import Axes
from matplotlib.patches import Polygon

from papers.tcd import schematic
from papers.tcd.scene import US, settle, size_bytes
from papers.tcd.schematic import Decisions

__all__ = ["draw", "metrics", "settle"]


def followed(runs: Runs) -> Decisions:
    """The flowchart followed at P0 to P3 in all scenes, added up."""
    each = [schematic.follow(runs[scene], port) for scene in schematic.SCENES for port in schematic.PORTS]
    return Decisions(
        sum((one.paths for one in each), Counter()),
        sum(one.drawn for one in each),
        sum(one.other_codes for one in each),
        sum(one.other_states for one in each),
    )


def metrics(runs: Runs) -> Metrics:
    found = followed(runs)
    return {
        "decisions": found.paths.total(),
        "other_codes": found.other_codes,
        "other_states": found.other_states,
        "packets_on_the_rarest_path": min(found.paths[path] for path in schematic.PATHS),
        **{f"packets_{path.replace(' ', '_')}": found.paths[path] for path in schematic.PATHS},
        "marked_by_a_draw": found.drawn,
    }


def draw(seeds: Seeds, file: Path) -> None:
    found = followed(seeds[0])
    run = seeds[0]["one"]
    detector = run.meta["scenario"]["switch"]["detector"]
    limit = f"{schematic.max_ton_ps(run) / US:.1f} µs"
    with plot.picture(file, "Figure 9: the flowchart of TCD, with the packets that took each path", 11.6, 6.6) as made:
        axes = made.add_subplot()
        _draw_chart(axes, found, limit, size_bytes(detector["kmax"]), size_bytes(detector["tcd"]["low"]))
        total = found.paths.total()
        text = (
            f"P0 to P3 in three scenes, first seed: {total} packets. The run does not record paths.\n"
            "They follow from the frames on the wires (queue, code points) and from the ends of OFF periods.\n"
            f"Of the recorded code points {found.other_codes} differ from the flowchart's, of the recorded states "
            f"{found.other_states}."
        )
        axes.text(3.6, 1.55, text, fontsize=8, va="top")


def _draw_chart(axes: Axes, found: Decisions, limit: str, threshold: int, low: int) -> None:
    n = found.paths
    total = n.total()
    released = total - n["held"]
    masked = n["drained"] + n["waiting"] + n["not rising"] + n["rising"]
    over = n["not rising"] + n["rising"]
    k, least = quantities.size(threshold), quantities.size(low)
    _box(axes, 1.5, 9.4, f"a packet dequeues\n{total}")
    _ask(axes, 1.5, 7.8, f"$T_{{on}}$ < max($T_{{on}}$)\n= {limit}?")
    _ask(axes, 1.5, 5.4, "LAST_STATE\nundetermined?")
    _ask(axes, 1.5, 3.0, f"queue above the\nthreshold {k}?")
    _ask(axes, 6.0, 5.4, f"queue at the low\nthreshold {least}?")
    _ask(axes, 9.6, 5.4, "period T over?")
    _ask(axes, 9.6, 3.0, f"queue increased,\nabove {k}?")
    drawn = f"\n({found.drawn} of them CE by RED's draw)" if found.drawn else ""
    _box(axes, 6.0, 7.8, f"undetermined, mark UE\n{n['held']}", "undetermined")
    _box(axes, 1.5, 0.9, f"congestion, mark CE\n{n['congested']}", "congestion")
    _box(axes, 4.85, 3.0, f"non-congestion, no mark\n{n['clear']}{drawn}", "non-congestion")
    _box(axes, 6.0, 4.05, f"non-congestion, no mark\n{n['drained']}", "non-congestion")
    _box(axes, 9.6, 7.8, f"no verdict yet, no mark\n{n['waiting']}", "undetermined")
    _box(axes, 9.6, 0.9, f"congestion, mark CE\n{n['rising']}", "congestion")
    _box(axes, 7.2, 3.0, f"no verdict, no mark\n{n['not rising']}", "undetermined")
    edges = (
        ((1.5, 9.05), (1.5, 8.6), ""),
        ((2.9, 7.8), (5.22, 7.8), f"yes {n['held']}"),
        ((1.5, 7.0), (1.5, 6.2), f"no {released}"),
        ((2.9, 5.4), (4.6, 5.4), f"yes {masked}"),
        ((1.5, 4.6), (1.5, 3.8), f"no {released - masked}"),
        ((1.5, 2.2), (1.5, 1.3), f"yes {n['congested']}"),
        ((2.9, 3.0), (3.9, 3.0), f"no {n['clear']}"),
        ((6.0, 4.6), (6.0, 4.39), f"yes {n['drained']}"),
        ((7.4, 5.4), (8.2, 5.4), f"no {masked - n['drained']}"),
        ((9.6, 6.2), (9.6, 7.46), f"no {n['waiting']}"),
        ((9.6, 4.6), (9.6, 3.8), f"yes {over}"),
        ((9.6, 2.2), (9.6, 1.3), f"yes {n['rising']}"),
        ((8.2, 3.0), (7.85, 3.0), f"no {n['not rising']}"),
    )
    for start, stop, label in edges:
        axes.annotate(
            "",
            stop,
            start,
            arrowprops={"arrowstyle": "-|>", "lw": 1.2, "color": plot.BLACK, "shrinkA": 0, "shrinkB": 0},
        )
        middle = ((start[0] + stop[0]) / 2, (start[1] + stop[1]) / 2)
        upright = abs(start[0] - stop[0]) < 0.1
        shift = (5, 0) if upright else (0, 5)
        axes.annotate(
            label,
            middle,
            shift,
            textcoords="offset points",
            fontsize=8,
            fontweight="bold",
            ha="left" if upright else "center",
            va="center" if upright else "bottom",
        )
    axes.set_xlim(0, 11.2)
    axes.set_ylim(0.3, 9.9)
    axes.set_axis_off()


def _box(axes: Axes, x: float, y: float, text: str, state: str = "") -> None:
    colour = plot.STATE_COLOURS[state] if state else "white"
    box = {"boxstyle": "round,pad=0.4", "facecolor": colour, "edgecolor": plot.BLACK, "linewidth": 0.8}
    axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=box, zorder=3)


def _ask(axes: Axes, x: float, y: float, text: str) -> None:
    corners = [(x - 1.4, y), (x, y + 0.8), (x + 1.4, y), (x, y - 0.8)]
    axes.add_patch(Polygon(corners, facecolor="#E8EEF4", edgecolor=plot.BLACK, linewidth=0.8))
    axes.text(x, y, text, ha="center", va="center", fontsize=8)
