"""The picture of a PUT stream: every packet and acknowledgement by time and sequence number, over the receive queue."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from backwater.analysis import plot
from backwater.analysis.put_trace import Trace
from backwater.common import quantities

_US = 1e6
#: Of each kind of event what it is called, its marker, size and colour; those drawn first lie below the others.
#: What happens at the target to packets is filled or crossed, what acknowledges points up or down.
LOOKS: dict[str, tuple[str, str, float, str]] = {
    "sent": ("sent", "o", 9, plot.BLUE),
    "resent": ("sent again", "s", 11, plot.ORANGE),
    "accepted": ("accepted", "|", 22, plot.GREEN),
    "out-of-order": ("dropped: one before it is missing", "x", 13, plot.GREY),
    "duplicate": ("dropped: accepted before", "+", 16, plot.GREY),
    "dropped": ("dropped: no room", "X", 26, plot.VERMILLION),
    "iack": ("ACK takes effect", "^", 11, plot.SKY),
    "marked": ("marked ACK (DACK and ACK) takes effect", "^", 13, plot.WINE),
    "dack": ("DACK takes effect", "v", 13, plot.PURPLE),
    "nack": ("NACK takes effect", "D", 26, plot.BLACK),
    "timeout": ("no ACK in time", "P", 24, plot.BLACK),
}
#: From free to halted: the darker, the less may be sent.
STATE_COLOURS = {"open": "#FFFFFF", "H1": "#D9D9D9", "H0": "#8A8A8A", "H-1": "#303030"}
_STATE_WORDS = {"open": "not halted", "H1": "H(1)", "H0": "H(0)", "H-1": "H(-1)"}


def draw(trace: Trace, file: Path, *, start_ps: int = 0, end_ps: int | None = None, title: str = "") -> Path:
    """Draw packets, halt states (if there are some) and the receive queue from `start_ps` until `end_ps`.

    Without an end: as many events as a picture can hold. The ending of `file` chooses the format.
    """
    end = trace.end_ps(start_ps) if end_ps is None else end_ps
    shown = trace.within(start_ps, max(end, start_ps + 1))
    states = trace.events.filter(pl.col("event") == "state", pl.col("time_ps") <= end)
    heights = [4.0, *([0.22] if states.height else []), 1.5]
    over = f"PUTs from {trace.src} to {trace.dst}: traffic {trace.traffic}, policy {trace.policy}"
    with plot.picture(
        file,
        title or over,
        plot.wide(8.6),
        (2.2 + sum(heights)) * plot.columns(4, 3) / 4,
        x=0.01,
        ha="left",
        fontsize=11,
        fontweight="bold",
    ) as made:
        grid: Any = made.subplots(len(heights), 1, sharex=True, gridspec_kw={"height_ratios": heights})
        packets(grid[0], shown)
        if states.height:
            halts(grid[1], states, end)
        queue(grid[-1], shown, end)
        grid[-1].set_xlim(start_ps / _US, max(end, start_ps + 1) / _US)
        grid[-1].set_xlabel("time [µs]")
        made.align_ylabels(grid)
        _legend(made, shown, states)
    return file


def packets(axes: Axes, trace: Trace) -> None:
    """The events of a trace by time and sequence number."""
    crowd = 0.6 if trace.events.height > 900 else 1.0 if trace.events.height > 300 else 1.7
    for event, (_, marker, size, colour) in LOOKS.items():
        found = trace.events.filter(pl.col("event") == event)
        axes.scatter(
            found["time_ps"].to_numpy() / _US,
            found["seq"].to_numpy(),
            s=size * crowd,
            marker=marker,
            color=colour,
            linewidths=0.9 if marker in "|x+" else 0,
            rasterized=found.height > 5000,
        )
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("sequence number")
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]) if trace.events["seq"].min() == 1 else None)


def halts(axes: Axes, states: pl.DataFrame, end_ps: int) -> None:
    """A strip of the halt states that the initiator went through until `end_ps`."""
    times = [0, *states["time_ps"].to_list(), end_ps]
    words = ["open", *states["state"].to_list()]
    for start, stop, word in zip(times[:-1], times[1:], words, strict=True):
        axes.axvspan(start / _US, stop / _US, color=STATE_COLOURS[word], lw=0)
    axes.set_yticks([])
    axes.set_ylabel("halt", rotation=0, ha="right", va="center")
    axes.grid(visible=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)
    axes.tick_params(axis="x", length=0)


def queue(axes: Axes, trace: Trace, end_ps: int) -> None:
    """The receive queue over time, with its threshold and its depth."""
    values = [0.0, *(trace.queue["queue_bytes"] / 1e3)]
    times = [0.0, *(trace.queue["time_ps"] / _US), end_ps / _US]
    axes.step(times, [*values, values[-1]], where="post", color=plot.BLUE, lw=1)
    axes.fill_between(times, [*values, values[-1]], step="post", color=plot.BLUE, alpha=0.15, lw=0)
    for bound, word, style in ((trace.depth, "depth", "-"), (trace.threshold, "threshold", "--")):
        if bound is not None:
            axes.axhline(bound / 1e3, color=plot.VERMILLION if word == "threshold" else plot.BLACK, lw=0.9, ls=style)
            axes.annotate(
                f"{word} {quantities.size(bound)}", (1, bound / 1e3), (-2, 3.5), xycoords=("axes fraction", "data"),
                textcoords="offset points", ha="right", fontsize=7,
            )  # fmt: skip
    axes.set_ylabel("receive queue\n[KB]")
    axes.set_ylim(0, 1.15 * max([*values, (trace.depth or 0) / 1e3, 1.0]))


def signs(events: Container[str]) -> list[Line2D]:
    """The signs of these events, for a legend."""
    return [
        Line2D([], [], ls="none", marker=marker, ms=size**0.5 + 1.5, color=colour, label=label,
               mew=1 if marker in "|x+" else 0)
        for event, (label, marker, size, colour) in LOOKS.items()
        if event in events
    ]  # fmt: skip


def _legend(made: Any, trace: Trace, states: pl.DataFrame) -> None:
    handles: list[Any] = [*signs(trace.events["event"].to_list())]
    if states.height:
        handles += [
            Patch(facecolor=STATE_COLOURS[word], edgecolor=plot.GREY, lw=0.5, label=_STATE_WORDS[word])
            for word in STATE_COLOURS
            if word == "open" or word in states["state"]
        ]
    made.legend(handles=handles, loc="outside lower center", ncols=plot.columns(4))
