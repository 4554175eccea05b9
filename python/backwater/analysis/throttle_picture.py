"""The picture of throttles: used credits, rate and state of some NICs over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from backwater.analysis import plot, throttle
from backwater.errors import UsageError
from backwater.results import Results
from backwater.results.measures import end_ps

_MS = 1e9
#: As many NICs as a reader can tell apart.
MOST = 6


def chosen(nics: pl.DataFrame, names: Sequence[str] = ()) -> list[str]:
    """The NICs that are drawn: those named, or of each kind of sender the one that was held for longest.

    Raises UsageError for a host that has no throttle.
    """
    known = nics["nic"].to_list()
    for name in names:
        if name not in known:
            raise UsageError(f"--nics: there is no NIC {name!r}; there are {', '.join(known[:8])}, ...")
    if len(names) > MOST:
        raise UsageError(f"--nics: a picture holds {MOST} NICs at most, not {len(names)}")
    if names:
        return list(names)
    return nics.group_by("sends", maintain_order=True).agg(pl.col("nic").first())["nic"].head(MOST).to_list()


def draw(results: Results, file: Path, names: Sequence[str] = ()) -> Path:
    """Draw used credits c(t), the rate and the states of NICs; the ending of `file` chooses the format."""
    nics = throttle.by_nic(results)
    shown = chosen(nics, names)
    sends = dict(nics.select("nic", "sends").rows())
    title = "NICs that throttle themselves: credits, rates, states"
    with plot.picture(
        file, title, plot.wide(8.6), (4.9 + 0.24 * len(shown)) * plot.columns(4, 3) / 4, x=0.01, ha="left", fontsize=11
    ) as made:
        ratios = [2.0, 1.6, 0.24 * len(shown) + 0.1]
        grid: Any = made.subplots(3, 1, sharex=True, gridspec_kw={"height_ratios": ratios})
        for number, node in enumerate(shown):
            colour = plot.CYCLE[number]
            periods = throttle.over_time(results, node)
            _steps(grid[0], periods, "used_mean", 1.0, color=colour, label=f"{node} ({sends[node]})")
            _steps(grid[1], periods, "rate_bps", 1e9, color=colour)
            _states(grid[2], results, node, periods, (number, colour))
        _thresholds(grid[0], results)
        grid[0].set_ylabel("used credits c\n[mean of a period]")
        grid[0].set_ylim(bottom=0)
        grid[1].set_ylabel("rate of the NIC\n[Gbps]")
        grid[1].set_ylim(bottom=0)
        _lanes(grid[2], shown)
        grid[2].set_xlabel("time [ms]")
        grid[2].set_xlim(0, end_ps(results) / _MS)
        made.align_ylabels(grid)
        made.legend(loc="outside lower center", ncols=plot.columns(min(len(shown) + 2, 4), 2))
    return file


def _steps(axes: Axes, periods: pl.DataFrame, column: str, unit: float, **look: Any) -> None:
    """A value per period as steps; a period that is missing counts as nothing."""
    times: list[float] = []
    values: list[float] = []
    for start, stop, value in periods.select("start_ps", "end_ps", column).rows():
        if times and start > times[-1]:
            times += [times[-1], start]
            values += [0.0, 0.0]
        times += [start, stop]
        values += [value / unit, value / unit]
    axes.plot([time / _MS for time in times], values, lw=1, **look)


def _thresholds(axes: Axes, results: Results) -> None:
    for (name, value), style in zip(throttle.thresholds(results.meta["scenario"]).items(), (":", "--"), strict=False):
        axes.axhline(value, color=plot.BLACK, lw=0.9, ls=style, label=f"threshold {name} {value}")


def _states(axes: Axes, results: Results, node: str, periods: pl.DataFrame, look: tuple[int, str]) -> None:
    """When the NIC was in the congested state: exactly, if every change was recorded; else shaded by its share."""
    place, colour = look
    lane = (place + 0.12, 0.76)
    if results.has("throttle_states"):
        spans = congested_spans(results, node)
        axes.broken_barh([(start / _MS, (stop - start) / _MS) for start, stop in spans], lane, facecolors=colour, lw=0)
        return
    for start, stop, share in periods.select("start_ps", "end_ps", "congested").rows():
        if share > 0:
            width = (stop - start) / _MS
            axes.broken_barh([(start / _MS, width)], lane, facecolors=colour, alpha=min(1.0, share), lw=0)


def congested_spans(results: Results, node: str) -> list[tuple[int, int]]:
    """From when until when a NIC was in the congested state, of any lane, in picoseconds."""
    changes = throttle.throttled(results, "throttle_states").filter(pl.col("nic") == node)
    spans: list[tuple[int, int]] = []
    since: dict[int, int] = {}
    for time, lane, congested in (
        changes.sort("time_ps", maintain_order=True).select("time_ps", "lane", "congested").collect().rows()
    ):
        if congested:
            since.setdefault(lane, time)
        elif lane in since:
            spans.append((since.pop(lane), time))
    return sorted([*spans, *((start, end_ps(results)) for start in since.values())])


def _lanes(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks([number + 0.5 for number in range(len(names))], names)
    axes.set_ylim(len(names), 0)
    axes.set_ylabel("congested\nstate")
    axes.grid(visible=False)
