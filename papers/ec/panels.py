"""How the figures of the EC paper are drawn: a row of panels, with the reference hollow and dashed beside ours.

Lines are means over the seeds, with a bar from the least to the most where they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from backwater.analysis import plot
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from papers.ec.authors import COMMIT, Known
from papers.ec.measured import POLICIES, SIZES, Point, Window, mean

#: One seed's windows, of every seed.
Seeds = Sequence[Mapping[Point, Window]]
Value = Callable[[Window], float]

LABELS = {"opt": "OPT", "aimd": "AIMD (TCP-like)", "dack": "DACK (the paper's)"}
SIZE_LABELS = {512: "512 B", 1024: "1 KB", 2048: "2 KB", 4096: "4 KB", 8192: "8 KB"}
SIZE_COLOURS = dict(zip(SIZES, (plot.BLUE, plot.ORANGE, plot.GREEN, plot.VERMILLION, plot.BLACK), strict=True))


def colour(policy: str) -> str:
    """A policy's colour, the same in every picture."""
    return plot.SCHEME_COLOURS[policy]


def line(axes: Axes, seeds: Seeds, policy: str, size: int, value: Value, *, colour: str, marker: str) -> None:
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
    xs, ys = zip(*((x, y) for x, y in found if y is not None), strict=True)
    axes.plot(
        xs, ys, color=colour, marker=marker, ms=6.5, lw=0.8, ls=(0, (4, 2)), mfc="none", alpha=0.75, clip_on=False
    )


def by_policy(
    rows: Sequence[tuple[str, Value, Callable[[Known], float | None], float]],
    seeds: Seeds,
    known: Mapping[Point, Known],
    file: Path,
    *,
    title: str,
    xlabel: str,
    sizes: Sequence[int] = SIZES,
    diagonal: bool = True,
    log: bool = False,
) -> None:
    """A panel per policy, a line per size, in rows of what is shown: label, ours, the reference's, the axis's end."""
    with plot.style():
        made = plot.figure(10.5, 2.9 * len(rows) + 0.9)
        grid = made.subplots(len(rows), len(POLICIES), squeeze=False, sharex=True)
        for line_of_axes, (label, ours, theirs, top) in zip(grid, rows, strict=True):
            for axes, policy in zip(line_of_axes, POLICIES, strict=True):
                for size in sizes:
                    look = {"colour": SIZE_COLOURS[size], "marker": plot.marker(SIZES.index(size))}
                    line(axes, seeds, policy, size, ours, **look)
                    known_line(axes, known, policy, size, theirs, **look)
                if diagonal and label.startswith("goodput"):
                    axes.axline((0, 0), slope=1, color=plot.GREY, lw=0.8, ls=":")
                axes.set_title(f"{LABELS[policy]}: {label}" if len(rows) > 1 else LABELS[policy])
                axes.set_ylim(0, top)
                if log:
                    axes.set_xscale("log", base=2)
        for axes in grid[:, 0]:
            axes.set_ylabel("share of the link" if len(rows) > 1 else f"{rows[0][0]},\nshare of the link")
        for axes in grid[-1]:
            axes.set_xlabel(xlabel)
        swept = sorted({at[2] for one in seeds for at in one} | {at[2] for at in known})
        ticks = [f"{one:g}" for one in swept]
        for axes in grid.flat:
            axes.set_xticks(swept, ticks)
            axes.minorticks_off()
            axes.set_xlim(swept[0] / (1.1 if log else 1), swept[-1] * (1.1 if log else 1))
        sizes_legend(made, sizes)
        made.suptitle(title, fontsize=11, fontweight="bold")
        plot.save(made, file)


def sizes_legend(made: object, sizes: Iterable[int]) -> None:
    """Sizes by colour, and what hollow means, below the panels."""
    handles = [
        Line2D([], [], color=SIZE_COLOURS[size], marker=plot.marker(SIZES.index(size)), ms=4, label=SIZE_LABELS[size])
        for size in sizes
    ]
    hollow = {"color": plot.GREY, "marker": "o", "ms": 6.5, "mfc": "none", "ls": (0, (4, 2)), "lw": 0.8}
    handles.append(Line2D([], [], label=f"authors' simulator ({COMMIT})", **hollow))  # type: ignore[arg-type]
    made.legend(handles=handles, loc="outside lower center", ncols=len(handles))  # type: ignore[attr-defined]


def seen(seeds: Seeds, at: Point, value: Value) -> float | None:
    """The mean over seeds of a value at a point."""
    return mean(value(one[at]) for one in seeds if at in one)
