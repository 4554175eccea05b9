"""How the outcomes of several schemes are shown: tables for the terminal, and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater import plot, quantity
from backwater.outcomes import OF_TRAFFIC

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from rich.table import Table

    from backwater.outcomes import Outcomes, Quantity
    from backwater.stats import Estimate

    #: A mean over seeds by scheme.
    ByScheme = Mapping[str, Estimate | None]


def tables(found: Outcomes) -> list[Table]:
    """Per traffic entry and scheme, and per scheme: mean over the seeds ± half of the 95 % confidence interval.

    The last one, of PUT streams and receive queues, is there if there are some.
    """
    from rich.table import Table

    over = f"mean of {found.seeds} seeds ± 95 % confidence interval" if found.seeds > 1 else "one seed"
    traffic = Table(title=f"Traffic under each scheme, {over}", title_justify="left", header_style="bold")
    traffic.add_column("traffic")
    traffic.add_column("scheme")
    for one in OF_TRAFFIC:
        traffic.add_column(one.heading, justify="right")
    for name, by_scheme in found.traffic.items():
        for index, (scheme, values) in enumerate(by_scheme.items()):
            traffic.add_row("" if index else name, scheme, *_cells(OF_TRAFFIC, values))
        traffic.add_section()
    traffic.caption = "\n".join((f"throughput: payload {_span(found)}; FCT: of the flows that finished", _MARKED))
    traffic.caption_justify = "left"
    network = Table(title=f"Network under each scheme, {over}", title_justify="left", header_style="bold")
    network.add_column("scheme")
    for one in found.quantities:
        network.add_column(one.heading, justify="right")
    for scheme, values in found.network.items():
        network.add_row(scheme, *_cells(found.quantities, values))
    names = {one.name for one in found.quantities}
    notes = ["PAUSEs of a priority: those that took effect; OFF: time for which they held ports, all together"]
    if "allocations" in names:
        notes.append("isolated: entries of congested-flow tables; refused: for want of a slot; CIMs: told upstream")
    notes += _twins(found)
    network.caption, network.caption_justify = "\n".join(notes), "left"
    return [traffic, network, *([_puts(found, over)] if found.puts else [])]


def _puts(found: Outcomes, over: str) -> Table:
    """Goodput, what was sent again and dropped, ACKs, fairness, receive queues."""
    from rich.table import Table

    names = {one.name for one in found.puts}
    title = "PUTs and receive queues" if "target_drops" in names else "Receive queues"
    made = Table(title=f"{title} under each scheme, {over}", title_justify="left", header_style="bold")
    made.add_column("scheme")
    for one in found.puts:
        made.add_column(one.heading, justify="right")
    for scheme, values in found.network.items():
        made.add_row(scheme, *_cells(found.puts, values))
    notes = [text for name, text in _NOTES.items() if name in names]
    if found.window is not None:
        notes.append(f"all of it from {' to '.join(map(quantity.time, found.window))}")
    made.caption, made.caption_justify = "\n".join(notes), "left"
    return made


#: What a column of the table of PUTs means.
_NOTES = {
    "goodput_bps": "goodput: payload that targets accepted; of the link: of the links to the targets",
    "target_drops": "dropped by hosts: arrivals for which there was no room, or out of order",
    "dacks": "NACKs, DACKs: those that took effect; a marked IACK is a DACK, too",
    "difference_percent": "largest difference of two initiators of a host: of what it accepted, as a share of its link",
    "holding_ps": "switch held: time for which slow hosts held ports of switches by flow control",
}


def _twins(found: Outcomes) -> list[str]:
    """Which schemes agree in every number, or in all but the slots that they took, and why if ICI+ is one of them."""
    lines = []
    left = list(found.network)
    while left:
        one, *left = left
        agree = {other: but for other in left if (but := _differs(found, one, other)) is not None}
        for but in dict.fromkeys(agree.values()):
            same = [other for other in agree if agree[other] == but]
            lines.append(f"{', '.join((one, *same[:-1]))} and {same[-1]} agree in every number{but}{_why(found, same)}")
        left = [other for other in left if other not in agree]
    return lines


def _differs(found: Outcomes, one: str, other: str) -> str | None:
    """What two schemes that agree differ in nevertheless; None if they do not agree."""
    if any(by_scheme.get(one) != by_scheme.get(other) for by_scheme in found.traffic.values()):
        return None
    first, second = found.network[one], found.network[other]
    names = {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}
    if names - {"peak_slots"}:
        return None
    return " but most slots" if names else ""


def _why(found: Outcomes, same: Sequence[str]) -> str:
    quiet = [name for name in same if name in found.guided and found.network[name]["ce_marks"].mean == 0]
    if not quiet:
        return ""
    return f": {quiet[0]} marks flows that a full table refused or that stay isolated for long, and there were none"


_MARKED = "CE, UE: share of the packets that arrived with it"


def _span(found: Outcomes) -> str:
    if found.window is None:
        return "from an entry's first start to its last finish, or to the end of the run"
    start, end = map(quantity.time, found.window)
    return f"that arrived from {start} to {end}"


def _cells(quantities: Sequence[Quantity], values: Mapping[str, Estimate]) -> list[str]:
    return [_cell(values.get(one.name), one.show) for one in quantities]


def _cell(value: Estimate | None, show: Callable[[float], str]) -> str:
    """A mean and half of its interval, the unit once: ``45.4 ± 4.6 µs``."""
    if value is None:
        return "-"
    mean = show(value.mean)
    if value.half_width is None or value.identical:
        return mean
    number, _, unit = mean.rpartition(" ") if not mean[-1].isdigit() else (mean, "", "")
    if not unit and "." not in number:  # a count, whose thousands are apart
        show = quantity.count if value.half_width >= 10 else quantity.three_digits
        return f"{mean} ± {show(value.half_width)}"
    width = value.half_width * float(number) / value.mean
    rounded = f"{width:.{len(number.partition('.')[2])}f}"
    return f"{number} ± {rounded if float(rounded) else f'{width:.1g}'} {unit}".rstrip()


def draw(found: Outcomes, file: Path, *, title: str) -> Path:
    """A row of panels per traffic entry, one for the network and one for PUTs, each with a bar per scheme.

    Panels with nothing but zeros are named below the title and not drawn.
    """
    every = [_of_entry(name, by_scheme) for name, by_scheme in found.traffic.items()]
    of_puts = [panel for panel in _of_puts(found) if not _is_zero(panel)]
    every += [_of_network(found), of_puts[:_ROW], of_puts[_ROW:]]
    # A row of PUTs, or of a network without PAUSEs, may have nothing to show; that of an entry keeps its place.
    rows = [[panel for panel in row if not _is_zero(panel)] for row in every]
    rows = [row for number, row in enumerate(rows) if row or number < len(found.traffic)]
    zeros = ", ".join(panel[0] for row in (*every, _of_puts(found)) for panel in row if _is_zero(panel))
    schemes = list(found.network)
    columns = max(len(row) for row in rows)
    with plot.style():
        made = plot.figure(2.0 + 2.35 * columns, (0.7 + 0.17 * len(schemes)) * len(rows) + 0.4)
        grid: Any = made.subplots(len(rows), columns, squeeze=False)
        for panels, row in zip(grid, rows, strict=True):
            for index, axes in enumerate(panels):
                if index >= len(row):
                    axes.set_axis_off()
                    continue
                heading, parts, unit, scale = row[index]
                _bars(axes, schemes, parts, scale, quantity.count if unit in _COUNTS else quantity.three_digits)
                if unit.startswith("%"):
                    axes.set_xlim(0, min(axes.get_xlim()[1], 128))
                    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= 100])
                axes.set_title(heading, fontsize=8.5)
                axes.set_xlabel(unit)
                if unit == _SLOWDOWN:
                    _logarithmic(axes)
                axes.set_yticks(range(len(schemes)), schemes if index == 0 else [""] * len(schemes))
        made.suptitle(f"{title}{zeros and chr(10)}{zeros and f'0 under all: {zeros}'}", x=0.01, ha="left", fontsize=10)
        return plot.save(made, file)


#: Panels in a row of PUTs.
_ROW = 3
#: The unit of panels with a logarithmic axis, which begins with 1.
_SLOWDOWN = "FCT (FCT alone = 1), logarithmic"
#: Units of what is counted.
_COUNTS = ("BECNs", "PAUSEs", "entries", "packets")


def _logarithmic(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    top = axes.get_xlim()[1]
    axes.set_xscale("log")
    axes.set_xlim(1, top**1.25)
    axes.xaxis.set_major_locator(LogLocator(numticks=5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


#: A heading, the parts of each bar, the unit, and what a value is divided by.
_Panel = tuple[str, "Sequence[ByScheme]", str, float]


def _is_zero(panel: _Panel) -> bool:
    known = [value.mean for part in panel[1] for value in part.values() if value is not None]
    return bool(known) and not any(known)


def _of_entry(name: str, by_scheme: Mapping[str, Mapping[str, Estimate]]) -> list[_Panel]:
    def of(key: str) -> ByScheme:
        return {scheme: values.get(key) for scheme, values in by_scheme.items()}

    rate, rate_unit = _scale(of("throughput_bps"), ((1e9, "Gbps"), (1e6, "Mbps"), (1, "bps")))
    panels: list[_Panel] = [(f"{name}: throughput", [of("throughput_bps")], rate_unit, rate)]
    if any(of("p99_slowdown").values()):
        panels.append((f"{name}: p99 slowdown", [of("p99_slowdown")], _SLOWDOWN, 1))
    panels.append((f"{name}: packets with CE", [of("ce_percent")], "%", 1))
    panels.append((f"{name}: BECNs", [of("becns")], "BECNs", 1))
    return panels


def _of_network(found: Outcomes) -> list[_Panel]:
    def of(key: str) -> ByScheme:
        return {scheme: values.get(key) for scheme, values in found.network.items()}

    lanes = [one.name for one in found.quantities if one.name.startswith("pauses_")]
    numbers = " and ".join(name.removeprefix("pauses_") for name in lanes)
    paler = f" (paler: {lanes[-1].removeprefix('pauses_')})" if len(lanes) == 2 else ""
    panels: list[_Panel] = []
    if lanes:
        word = "priority" if len(lanes) == 1 else "priorities"
        panels.append((f"PAUSEs of {word} {numbers}{paler}", [of(name) for name in lanes], "PAUSEs", 1))
    panels.append(("OFF, all ports", [of("paused_ps")], "ms", 1e9))
    names = {one.name for one in found.quantities}
    headings = {"allocations": "flows isolated (entries made)", "refusals": "entries refused"}
    return panels + [(text, [of(name)], "entries", 1) for name, text in headings.items() if name in names]


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
    from matplotlib.ticker import FuncFormatter, MaxNLocator

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
        spread = (known[0].half_width or 0) / scale if len(known) == 1 else 0.0
        if spread:
            axes.errorbar(left, place, xerr=spread, color=plot.GREY, capsize=1.5, lw=0.8)
        ends.append(left + spread)
        shown = quantity.count(left) if left >= 1000 else show(left)
        axes.annotate(
            shown if left else "0", (left + spread, place), (2, 0), textcoords="offset points", va="center", size=6.5
        )
    axes.set_xlim(0, 1.28 * max(ends) or 1)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}".replace(",", " ")))
    axes.set_ylim(len(schemes) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.tick_params(axis="y", length=0)
