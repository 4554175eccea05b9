"""How the outcomes of several schemes are drawn: a panel with a bar per scheme for each quantity."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from backwater.analysis import pictures, plot
from backwater.analysis.scheme_measures import Outcomes
from backwater.common import quantities
from backwater.common.statistics import Estimate
from backwater.results.catalogue import CATALOGUE

#: A mean over seeds by scheme.
ByScheme = Mapping[str, Estimate | None]


def draw(found: Outcomes, file: Path, *, title: str) -> Path:
    """A row of panels per traffic entry, one for losses, the network and PUTs each; a bar per scheme in each panel.

    Panels with nothing but zeros are named below the title and not drawn.
    """
    every = [
        _of_entry(name, by_scheme, windowed=found.window is not None, arrives=name in found.arrivals)
        for name, by_scheme in found.traffic.items()
    ]
    of_puts = [panel for panel in _of_puts(found) if not _is_zero(panel)]
    network = [panel for panel in _of_network(found) if not _is_zero(panel)]
    # Rows of the network are no longer than the others.
    long = max(_ROW, *(len(row) for row in every))
    every += [_of_losses(found), *(network[at : at + long] for at in range(0, len(network), long))]
    every += [of_puts[:_ROW], of_puts[_ROW:]]
    # A row of PUTs, or of a network without PAUSEs, may have nothing to show; that of an entry keeps its place.
    rows = [[panel for panel in row if not _is_zero(panel)] for row in every]
    rows = [row for number, row in enumerate(rows) if row or number < len(found.traffic)]
    zeros = ", ".join(
        panel[0] for row in (*every, _of_network(found), _of_puts(found)) for panel in row if _is_zero(panel)
    )
    schemes = list(found.network)
    if pictures.paper().width is not None:
        # As many panels beside each other as have room for their titles, right of the names.
        names = max(len(plot.label(scheme)) for scheme in schemes) / _LETTERS_OF_NAMES
        fit = 1 if pictures.paper().narrow else max(1, int((plot.wide(0) - names) / _PANEL))
        rows = [row[at : at + fit] for row in rows for at in range(0, len(row), fit)]
    columns = max(len(row) for row in rows)
    width = plot.wide(2.0 + 2.35 * columns)
    lines = [title, *(textwrap.wrap(f"0 under all: {zeros}", int(_LETTERS * width)) if zeros else ())]
    height = (0.7 + 0.17 * len(schemes)) * len(rows) + 0.4 + 0.15 * (len(lines) - 1)
    with plot.picture(file, "\n".join(lines), width, height, x=0.01, ha="left", fontsize=10) as made:
        grid: Any = made.subplots(len(rows), columns, squeeze=False)
        for panels, row in zip(grid, rows, strict=True):
            for index, axes in enumerate(panels):
                if index >= len(row):
                    axes.set_axis_off()
                    continue
                heading, parts, unit, scale = row[index]
                _bars(axes, schemes, parts, scale, quantities.count if unit in _COUNTS else quantities.three_digits)
                if unit.startswith("%"):
                    axes.set_xlim(0, min(axes.get_xlim()[1], 128))
                    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= 100])
                axes.set_title(heading, fontsize=8.5)
                axes.set_xlabel("slowdown, log." if unit == _SLOWDOWN and pictures.paper().width else unit)
                if unit == _SLOWDOWN:
                    _logarithmic(axes)
                axes.set_yticks(
                    range(len(schemes)),
                    [plot.label(scheme) for scheme in schemes] if index == 0 else [""] * len(schemes),
                )
    return file


#: So many letters of a title fit into an inch.
_LETTERS = 13
#: So many letters of the names of schemes fit into an inch of paper, and so many inches a panel needs.
_LETTERS_OF_NAMES, _PANEL = 15, 1.9
#: Panels in a row of PUTs.
_ROW = 3
#: Up to where a logarithmic axis has more numbers than the powers of 10.
_DECADE = 10
#: The unit of panels with a logarithmic axis, which begins with 1.
_SLOWDOWN = "FCT (FCT alone = 1), logarithmic"
#: Units of what is counted.
_COUNTS = (
    "BECNs",
    "PAUSEs",
    "waits for credits",
    "PAUSEs or waits for credits",
    "entries",
    "packets",
    "flows",
    "frames",
)


def _logarithmic(axes: Axes) -> None:
    top = axes.get_xlim()[1]
    axes.set_xscale("log")
    axes.set_xlim(1, top**1.25)
    # Within a decade there are numbers between its ends.
    axes.xaxis.set_major_locator(LogLocator(numticks=5) if top > _DECADE else LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


#: A heading, the parts of each bar, the unit, and what a value is divided by.
_Panel = tuple[str, "Sequence[ByScheme]", str, float]


def _is_zero(panel: _Panel) -> bool:
    known = [value.mean for part in panel[1] for value in part.values() if value is not None]
    return bool(known) and not any(known)


def _of_entry(
    name: str, by_scheme: Mapping[str, Mapping[str, Estimate]], *, windowed: bool, arrives: bool
) -> list[_Panel]:
    """Of flows that come at a given load the payload up to the last finish says little: slowdowns tell that."""

    def of(key: str) -> ByScheme:
        return {scheme: values.get(key) for scheme, values in by_scheme.items()}

    panels: list[_Panel] = []
    if any(of("application_ps").values()):
        time, time_unit = _scale(of("application_ps"), ((1e9, "ms"), (1e6, "µs"), (1e3, "ns")))
        panels.append((f"{name}: application done after", [of("application_ps")], time_unit, time))
    slowdown = "p99_slowdown" if any(of("p99_slowdown").values()) else "max_slowdown"
    if windowed or not arrives or not any(of(slowdown).values()):
        rate, rate_unit = _scale(of("goodput_bps"), ((1e9, "Gbps"), (1e6, "Mbps"), (1, "bps")))
        aside = "" if windowed else f", {CATALOGUE['goodput_bps'].aside}"
        panels.append((f"{name}: goodput", [of("goodput_bps")], f"{rate_unit}{aside}", rate))
    if any(of("p99_slowdown").values()) or (arrives and any(of(slowdown).values())):
        panels.append((f"{name}: {CATALOGUE[slowdown].title}", [of(slowdown)], _SLOWDOWN, 1))
    panels.append((f"{name}: packets with CE", [of("ce_percent")], "%", 1))
    panels.append((f"{name}: BECNs", [of("becns")], "BECNs", 1))
    return panels


def _of_network(found: Outcomes) -> list[_Panel]:
    def of(key: str) -> ByScheme:
        return {scheme: values.get(key) for scheme, values in found.network.items()}

    lanes = [one.name for one in found.quantities if one.name.startswith("pauses_")]
    numbers = " and ".join(name.removeprefix("pauses_") for name in lanes)
    paler = " (paler)" if len(lanes) == 2 else ""
    panels: list[_Panel] = []
    if lanes:
        what, word = found.held_by
        some = word if len(lanes) == 1 else {"priority": "priorities"}.get(word, f"{word}s")
        panels.append((f"{what} of {some} {numbers}{paler}", [of(name) for name in lanes], what, 1))
    panels.append(("OFF, all ports", [of("paused_ps")], "ms", 1e9))
    names = {one.name for one in found.quantities}
    headings = {"allocations": "flows isolated (entries made)", "refusals": "entries refused"}
    panels += [(text, [of(name)], "entries", 1) for name, text in headings.items() if name in names]
    panels += [panel for name, panel in _held(of).items() if name in names]
    return panels


def _held(of: Callable[[str], ByScheme]) -> dict[str, _Panel]:
    """What was held back: whom, how rightly, and what it took."""
    time, unit = _scale(of("wrongly_held_ps"), ((1e12, "s"), (1e9, "ms"), (1e6, "µs")))
    return {
        "victims": ("victims", [of("victims")], "flows", 1),
        "held_precision_percent": ("of what was held: rightly", [of("held_precision_percent")], "%", 1),
        "held_recall_percent": ("of what was to be held: held", [of("held_recall_percent")], "%", 1),
        "wrongly_held": ("flows held wrongly", [of("wrongly_held")], "flows", 1),
        "wrongly_held_ps": ("held wrongly, all flows", [of("wrongly_held_ps")], unit, time),
        "holds_sent": ("frames that hold", [of("holds_sent")], "frames", 1),
        "peak_queue_bytes": ("longest queue", [of("peak_queue_bytes")], "KB", 1e3),
    }


def _of_losses(found: Outcomes) -> list[_Panel]:
    """What switches dropped, what that made sources send again, and how many flows it kept from their end."""

    def of(name: str, key: str) -> ByScheme:
        return {scheme: values.get(key) for scheme, values in found.traffic[name].items()}

    if not found.losses:
        return []
    dropped: ByScheme = {scheme: values.get("switch_drops") for scheme, values in found.network.items()}
    panels: list[_Panel] = [("dropped by switches", [dropped], "packets", 1)]
    trimmed: ByScheme = {scheme: values.get("trims") for scheme, values in found.network.items()}
    panels += [("trimmed by switches", [trimmed], "packets", 1)] if any(trimmed.values()) else []
    panels += [(f"{name}: sent again", [of(name, "resent_packets")], "packets", 1) for name in found.traffic]
    return panels + [(f"{name}: unfinished", [of(name, "unfinished")], "flows", 1) for name in found.traffic]


def _of_puts(found: Outcomes) -> list[_Panel]:
    names = {one.name for one in found.puts}
    return [
        (text, [{scheme: values.get(name) for scheme, values in found.network.items()}], unit, scale)
        for name, (text, unit, scale) in _PUT_PANELS.items()
        if name in names
    ]


#: Of a quantity of PUTs its panel's heading, unit, and what a value is divided by.
_PUT_PANELS = {
    "goodput_percent": ("PUT goodput", "% of the link", 1.0),
    "resent_percent": ("PUTs sent again", "% of all sent", 1.0),
    "target_drops": ("dropped by hosts", "packets", 1.0),
    "switch_drops": ("dropped by switches", "packets", 1.0),
    "difference_percent": ("largest difference", "% of the link", 1.0),
    "receive_peak_bytes": ("peak receive queue", "KB", 1e3),
}


def _scale(values: ByScheme, units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    top = max((value.mean for value in values.values() if value is not None), default=0)
    return next(((size, unit) for size, unit in units if top >= size), units[-1])


def _bars(
    axes: Axes, schemes: Sequence[str], parts: Sequence[ByScheme], scale: float, show: Callable[[float], str]
) -> None:
    """One bar per scheme from top to bottom, in parts beside each other, its number, and its interval as a whisker."""
    colours = plot.scheme_colours(schemes)
    ends = [0.0]
    for place, scheme in enumerate(schemes):
        values = [part.get(scheme) for part in parts]
        known = [value for value in values if value is not None]
        if not known:
            axes.annotate("–", (0, place), (3, 0), textcoords="offset points", va="center", size=7)
            continue
        left = 0.0
        for number, value in enumerate(values):
            width = 0.0 if value is None else value.mean / scale
            look: dict[str, Any] = {
                "hatch": "////" if plot.is_combined(scheme) else "",
                "alpha": 0.4 if number else 1.0,
            }
            axes.barh(place, width, 0.72, left=left, facecolor=colours[scheme], edgecolor="white", lw=0, **look)
            left += width
        only = known[0]
        below, above = ((only.mean - only.low) / scale, (only.high - only.mean) / scale) if len(known) == 1 else (0, 0)
        if below or above:
            axes.errorbar(left, place, xerr=([below], [above]), color=plot.GREY, capsize=1.5, lw=0.8)
        ends.append(left + above)
        shown = quantities.count(left) if left >= 1000 else show(left)
        axes.annotate(
            shown if left else "0", (left + above, place), (2, 0), textcoords="offset points", va="center", size=6.5
        )
    axes.set_xlim(0, 1.28 * max(ends) or 1)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}".replace(",", " ")))
    axes.set_ylim(len(schemes) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.tick_params(axis="y", length=0)
