"""The map of a search: where the claim holds over the two parameters that matter most, and its number by the first."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from backwater.analysis import plot
from backwater.papers import search_findings
from backwater.papers.claims import Check, Verdict
from backwater.papers.report.text import bound
from backwater.papers.search import VERDICTS, Search, Tried
from backwater.papers.search_space import Dimension
from backwater.papers.search_values import shown

_MARKERS = {Verdict.HOLDS: "o", Verdict.OPEN: "D", Verdict.DIFFERS: "x", Verdict.NOT_RUN: "."}
#: So many characters fit beside an axis.
_LABEL = 48
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def draw(search: Search, file: Path) -> None:
    """Draw it to a file."""
    check = search_findings.deciding(search)
    places = search_findings.first_two(search, search_findings.effects(search, check.metric))
    with plot.picture(file, _title(search), 5 * len(places) if len(places) > 1 else 6, 4.8) as made:
        if len(places) > 1:
            map_axes, number_axes = made.subplots(1, 2)
            _map(map_axes, search, places)
        else:
            number_axes = made.subplots()
        _numbers(number_axes, search, places[0], check)
        handles, names = number_axes.get_legend_handles_labels()
        made.legend(handles, names, loc="outside lower center", ncols=3)


def _title(search: Search) -> str:
    quick = ", a quick look" if search.quick else ""
    return f"{search.claim.id} under {search.profile} holds at {len(search.found)} of {len(search.tried)} points{quick}"


def _map(axes: Axes, search: Search, places: Sequence[int]) -> None:
    across, up = (search.dimensions[place] for place in places)
    for verdict, some in _by_verdict(search).items():
        spots = [[one.settings[place].share for one in some] for place in places]
        axes.scatter(*spots, **_look(verdict))
    ours = [share for one in (across, up) if (share := one.share_of(one.ours)) is not None]
    if len(ours) == len(places):
        axes.plot(ours[:1], ours[1:], **_OURS)
    _axis(axes.xaxis, axes.axvline, across)
    _axis(axes.yaxis, axes.axhline, up)
    _paper(axes.axvline, across)
    _paper(axes.axhline, up)
    others = len(search.dimensions) - 2
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    projected = f"; {others} other{'s' if others > 1 else ''} projected" if others else ""
    axes.set_title(f"the two that matter most{projected}", fontweight="normal", fontsize=9)
    axes.grid(visible=False)


def _numbers(axes: Axes, search: Search, place: int, check: Check) -> None:
    dimension = search.dimensions[place]
    for verdict, some in _by_verdict(search).items():
        across = [one.settings[place].share for one in some]
        # A point that could not be run has no number, and stands in the legend alone.
        numbers = [math.nan if (value := one.first.value(check.metric)) is None else value for one in some]
        axes.scatter(across, numbers, label=f"{_WORDS[verdict]} ({len(some)})", **_look(verdict))
    low, high = axes.get_ylim()
    ours = dimension.share_of(dimension.ours)
    value = search.ours.first.value(check.metric)
    if ours is not None and value is not None:
        axes.plot([ours], [value], label="our setting", **_OURS)
        low, high = min(low, value), max(high, value)
    # A bound that no point comes near is on the picture, too.
    for end in (check.bound.low, check.bound.high):
        if math.isfinite(end):
            low, high = min(low, end), max(high, end)
    margin = 0.04 * (high - low)
    inside = [max(low - margin, check.bound.low), min(high + margin, check.bound.high)]
    axes.axhspan(
        *inside, color=plot.VERDICT_COLOURS["holds"], alpha=0.13, lw=0, label=f"bound: {bound(check.bound.text)}"
    )
    if inside[0] == inside[1]:
        axes.axhline(inside[0], color=plot.VERDICT_COLOURS["holds"], lw=1)
    _axis(axes.xaxis, axes.axvline, dimension)
    _paper(axes.axvline, dimension, label="the paper's, or what it cites")
    axes.set(xlim=(-0.03, 1.03), ylim=(low - margin, high + margin))
    unit = f" [{check.unit}]" if check.unit else ""
    axes.set_ylabel(f"{check.metric.replace('_', ' ')}{unit}")
    seeds = "seed 1" if search.count == 1 else f"seeds 1 to {search.count}"
    several = len(search.claim.checks)
    among = f"; one of {several} numbers of the claim" if several > 1 else ""
    axes.set_title(f"each point with {seeds}{among}", fontweight="normal", fontsize=9)


_WORDS = {
    Verdict.HOLDS: "holds with fresh seeds",
    Verdict.OPEN: "held at first, open with fresh seeds",
    Verdict.DIFFERS: "differs",
    Verdict.NOT_RUN: "could not be run",
}
_OURS: dict[str, Any] = {"color": plot.BLACK, "marker": "P", "ms": 9, "ls": "none", "mec": "white", "zorder": 5}


def _look(verdict: Verdict) -> dict[str, Any]:
    return {
        "c": plot.VERDICT_COLOURS[verdict],
        "marker": _MARKERS[verdict],
        "s": 26,
        "zorder": 4 if verdict is Verdict.HOLDS else 3,
    }


def _by_verdict(search: Search) -> dict[Verdict, list[Tried]]:
    """The points by what came of them; verdicts that none has are left out."""
    found = {verdict: [one for one in search.tried if one.verdict is verdict] for verdict in VERDICTS}
    return {verdict: some for verdict, some in found.items() if some}


def _axis(axis: Any, line: Any, dimension: Dimension) -> None:
    if dimension.kinds:
        count = len(dimension.kinds)
        # Where a point stands between two of these lines means nothing.
        for place in range(1, count):
            line(place / count, color=plot.GREY, lw=0.5, zorder=1)
        width = max(8, 40 // count)
        names = ["\n".join(textwrap.wrap(plot.label(name, 3 * width), width)) for name in dimension.kinds]
        axis.set_ticks([(place + 0.5) / count for place in range(count)], names)
        axis.set_tick_params(length=0)
    else:
        axis.set_ticks(_TICKS, [shown(dimension.at(share).text) for share in _TICKS])
    scale = " (log)" if dimension.bounds and dimension.bounds.log else ""
    about = dimension.name if dimension.name.endswith(dimension.about) else f"{dimension.name}: {dimension.about}"
    axis.set_label_text(plot.label(about, _LABEL) + scale)


def _paper(line: Any, dimension: Dimension, **more: Any) -> None:
    share = dimension.share_of(dimension.paper)
    if share is not None:
        line(share, color=plot.GREY, ls="--", lw=1, **more)
