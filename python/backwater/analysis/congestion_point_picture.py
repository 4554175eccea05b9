"""The picture of a congestion point: each port's queue over time, and under it OFF times, detector state and marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from backwater.analysis import pictures, plot
from backwater.results import Results, measures

# Heights of the lanes in the strip under a queue.
_LANES = {"OFF": (3.1, 4.0), "state": (2.1, 3.0), "CE": (1.1, 2.0), "UE": (0.1, 1.0)}


def draw(
    runs: Mapping[str, Results],
    ports: Sequence[str],
    file: Path,
    *,
    title: str,
    origin_ps: int = 0,
    end_ps: int | None = None,
) -> Path:
    """One column per run (its name is the column's title), one row per port; times in ms since `origin_ps`."""
    priority = measures.busiest_priority(next(iter(runs.values())))
    until = end_ps if end_ps is not None else max(measures.end_ps(run) for run in runs.values())
    # Letters of print need more room beside the lanes.
    strip = 1.4 if pictures.paper().width is None else 2.2
    # A single run needs the width of two for the legend, or nearly so.
    with plot.picture(
        file, title, max(8.6, 6.2 * len(runs)), 2.1 * len(ports) + 1.1, fontsize=12, fontweight="bold"
    ) as made:
        grid = made.subplots(
            2 * len(ports),
            len(runs),
            squeeze=False,
            sharex=True,
            gridspec_kw={"height_ratios": [3.2, strip] * len(ports), "hspace": 0.03},
        )
        for column, (scheme, run) in enumerate(runs.items()):
            for row, port in enumerate(ports):
                upper, strip = grid[2 * row][column], grid[2 * row + 1][column]
                _queue(upper, run, port, priority, scheme, origin_ps)
                _strip(strip, run, port, priority, origin_ps, last=row == len(ports) - 1)
                if row == 0:
                    upper.set_title(scheme)
            grid[-1][column].set_xlabel("time since the first burst [ms]" if origin_ps else "time [ms]")
        for row in range(len(ports)):
            _share_height([grid[2 * row][column] for column in range(len(runs))])
        grid[0][0].set_xlim(0, (until - origin_ps) / 1e9)
        handles, labels = zip(*plot.state_legend(), strict=True)
        made.legend(handles, labels, loc="outside lower center", ncols=plot.legend_columns(made, labels))
    return file


def _queue(axes: Axes, run: Results, port: str, priority: int, scheme: str, origin_ps: int) -> None:
    colour = plot.SCHEME_COLOURS.get(scheme, plot.BLACK)
    series = measures.queue(run, port, priority)
    plot.line(axes, series, unit=1e3, origin_ps=origin_ps, color=colour)
    axes.fill_between((series.time_ps - origin_ps) / 1e9, series.value / 1e3, color=colour, alpha=0.12, linewidth=0)
    axes.set_ylabel("queue [KB]")
    name = port if run.port(port) == port else f"{port}  ({run.port(port).replace('->', ' → ')})"
    axes.text(0.995, 0.97, name, transform=axes.transAxes, ha="right", va="top", fontweight="bold")
    axes.tick_params(labelbottom=False)


def _strip(axes: Axes, run: Results, port: str, priority: int, origin_ps: int, *, last: bool) -> None:
    axes.set_ylim(0, 4.1)
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    plot.off(axes, measures.off_intervals(run, port, priority), _LANES["OFF"], origin_ps=origin_ps)
    plot.band(axes, measures.state_intervals(run, port, priority), _LANES["state"], origin_ps=origin_ps)
    for code in ("CE", "UE"):
        times = measures.mark_times(run, port, priority, code)
        plot.ticks(axes, times, _LANES[code], plot.MARK_COLOURS[code], origin_ps=origin_ps)
    axes.set_yticks([sum(lane) / 2 for lane in _LANES.values()], list(_LANES))
    axes.tick_params(axis="y", length=0, labelsize=6.5)
    if not last:
        axes.tick_params(axis="x", length=0)


def _share_height(row: Sequence[Axes]) -> None:
    """One scale for all runs of a port, so that heights compare."""
    top = max(axes.get_ylim()[1] for axes in row)
    for axes in row:
        # Room for the port's name above the curve.
        axes.set_ylim(0, top * 1.15)
