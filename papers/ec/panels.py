"""How the figures of the EC paper are drawn: a row of panels, with the reference hollow and dashed beside ours.

Lines are means over the seeds, with a bar from the least to the most where they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from backwater.analysis import plot
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from papers.ec.authors import COMMIT, Known
from papers.ec.measured import SIZES, Point, Window, mean

#: One seed's windows, of every seed.
Windows = Sequence[Mapping[Point, Window]]
Value = Callable[[Window], float]

LABELS = {"opt": "OPT", "aimd": "AIMD (TCP-like)", "dack": "DACK (the paper's)"}
SIZE_LABELS = {512: "512 B", 1024: "1 KB", 2048: "2 KB", 4096: "4 KB", 8192: "8 KB"}
SIZE_COLOURS = dict(zip(SIZES, (plot.BLUE, plot.ORANGE, plot.GREEN, plot.VERMILLION, plot.BLACK), strict=True))


def colour(policy: str) -> str:
    """A policy's colour, the same in every picture."""
    return plot.SCHEME_COLOURS[policy]


def line(axes: Axes, seeds: Windows, policy: str, size: int, value: Value, *, colour: str, marker: str) -> None:
    """A value of ours over what is swept."""
    swept = sorted({at[2] for one in seeds for at in one if at[:2] == (policy, size)})
    rows = [[value(one[policy, size, at]) for one in seeds if (policy, size, at) in one] for at in swept]
    means = [sum(row) / len(row) for row in rows]
    # The mean of equal numbers may lie a rounding beside them.
    low = [max(centre - min(row), 0.0) for centre, row in zip(means, rows, strict=True)]
    high = [max(max(row) - centre, 0.0) for centre, row in zip(means, rows, strict=True)]
    axes.errorbar(swept, means, (low, high), color=colour, marker=marker, ms=4, lw=1.3, elinewidth=0.9, clip_on=False)


def known_line(
    axes: Axes,
    known: Mapping[Point, Known],
    policy: str,
    size: int,
    value: Callable[[Known], float | None],
    *,
    colour: str,
    marker: str,
) -> None:
    """The same of the reference: hollow, dashed."""
    found = sorted((at[2], value(one)) for at, one in known.items() if at[:2] == (policy, size))
    # It has no numbers of some sizes.
    xs, ys = [x for x, y in found if y is not None], [y for _, y in found if y is not None]
    style = {"ms": 6.5, "lw": 0.8, "ls": (0, (4, 2)), "mfc": "none", "alpha": 0.75, "clip_on": False}
    axes.plot(xs, ys, color=colour, marker=marker, **style)


def size_handles(sizes: Iterable[int]) -> list[Line2D]:
    """Sizes by colour, for a legend."""
    return [
        Line2D([], [], color=SIZE_COLOURS[size], marker=plot.marker(SIZES.index(size)), ms=4, label=SIZE_LABELS[size])
        for size in sizes
    ]


def legend_beside(made: Figure, handles: Sequence[Line2D]) -> None:
    """A legend below the panels of what is ours, and what hollow means."""
    label = f"authors' simulator ({COMMIT})"
    hollow = Line2D([], [], color=plot.GREY, marker="o", ms=6.5, mfc="none", ls=(0, (4, 2)), lw=0.8, label=label)
    made.legend(handles=[*handles, hollow], loc="outside lower center", ncols=len(handles) + 1)


def seen(seeds: Windows, at: Point, value: Value) -> float | None:
    """The mean over seeds of a value at a point."""
    return mean(value(one[at]) for one in seeds if at in one)
