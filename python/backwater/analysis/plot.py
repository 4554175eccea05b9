"""The house style of every figure: what is drawn in which colour, and how axes look.

Colours are those of Okabe and Ito (2008), which people with any kind of colour vision tell apart, and one of Paul Tol's
"muted" ones, far from all of them. A scheme, a detector state and a mark have the same colour in every figure.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from cycler import cycler
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from numpy.typing import NDArray

from backwater.analysis import pictures
from backwater.common import atomic_files
from backwater.common.standard_streams import printable
from backwater.results.measures import STATES, Interval, Series

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY = "#8A8A8A"
WINE = "#882255"
OLIVE, TEAL, INDIGO = "#999933", "#44AA99", "#332288"

#: One colour per way of detecting congestion, alone or with isolation; per controller, with it and without; per policy
#: of PUTs; the same on PFC; per strategy of PFT, whose best one stands for it.
SCHEME_COLOURS = {
    "ECN": BLUE,
    "TCD": PURPLE,
    "FECN": GREY,
    "NP-ECN": SKY,
    "none": BLACK,
    "DCQCN": BLUE,
    "DCQCN+TCD": PURPLE,
    "TIMELY": ORANGE,
    "TIMELY+TCD": GREEN,
    "Swift": WINE,
    "DCTCP": SKY,
    "HPCC": VERMILLION,
    "PCN": GREY,
    "IB CC": GREY,
    "IB CC+TCD": PURPLE,
    "dcqcn": BLUE,
    "ci": ORANGE,
    "ci+dcqcn": WINE,
    "ici": GREEN,
    "ici+": VERMILLION,
    "ici-plus": VERMILLION,
    "ECN+ici": BLUE,
    "NP-ECN+ici": SKY,
    "TCD+ici": PURPLE,
    "opt": ORANGE,
    "aimd": BLUE,
    "dack": GREEN,
    "PFC": SKY,
    "PFC+ECN": BLUE,
    "PFC+TCD": PURPLE,
    "PFC+opt": ORANGE,
    "PFC+dack": GREEN,
    "PUT+DACK": GREEN,
    "ICI+": GREEN,
    "BFC": BLACK,
    "dst-PFC": WINE,
    "Floodgate": OLIVE,
    "Pyrrha": TEAL,
    "IRN": SKY,
    "NSCC": VERMILLION,
    "RCCC": ORANGE,
    "NSCC+RCCC": WINE,
    "RECN": GREY,
    "FBICM": YELLOW,
    "CCFIT": PURPLE,
    "PFT": VERMILLION,
    "FT-FI": SKY,
    "FT-RI": BLUE,
    "AT-FI": ORANGE,
    "AT-RI": VERMILLION,
}
#: One colour per state of a port.
STATE_COLOURS = {"non-congestion": GREEN, "undetermined": YELLOW, "judging": SKY, "congestion": VERMILLION}
#: One colour per mark.
MARK_COLOURS = {"CE": VERMILLION, "UE": ORANGE}
#: One colour per verdict: those of the report on white (papers/report/templates/report.css).
VERDICT_COLOURS = {"holds": "#00704f", "differs": "#b34700", "open": "#7a5c00", "not run": "#5f5f5f"}
#: A port that flow control holds: paused, or without credits.
OFF_COLOUR = BLACK
#: For anything else that is counted off: flows, ports, sizes.
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, BLACK, WINE)
_COLOURS = (*CYCLE, GREY)


def _families(names: Sequence[str]) -> dict[str, str]:
    """Of more schemes than colours what each is a variant of: the last word of its name, if that has a colour."""
    if len(names) <= len(CYCLE):
        return {}
    last = {name: name.rpartition(" ")[2] for name in names}
    return {name: word for name, word in last.items() if name not in SCHEME_COLOURS and word in SCHEME_COLOURS}


def scheme_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each scheme: its own, or for one that has none the next that is free.

    Of more schemes than there are colours, variants of one have its colour; :func:`scheme_markers` tells them apart.
    """
    families = _families(names)
    if families:
        colours = scheme_colours([*dict.fromkeys(families.get(name, name) for name in names)])
        return {name: colours[families.get(name, name)] for name in names}
    taken = {SCHEME_COLOURS[name] for name in names if name in SCHEME_COLOURS}
    free = [colour for colour in CYCLE if colour not in taken] or list(CYCLE)
    others = [name for name in names if name not in SCHEME_COLOURS]
    own = {name: free[index % len(free)] for index, name in enumerate(others)}
    return {name: SCHEME_COLOURS.get(name) or own[name] for name in names}


def is_combined(name: str) -> bool:
    """Whether a scheme is another one with isolation, or on PFC: its bars are hatched, its lines dashed."""
    return name in SCHEME_COLOURS and (name.endswith("+ici") or name.startswith("PFC+"))


#: Dashes of schemes that often do the same, so that the one drawn last does not hide the others.
_DASHES: dict[str, tuple[int, tuple[float, ...]]] = {
    "ci+dcqcn": (0, (5, 1.5)),
    "ici": (0, (3, 1.5)),
    "ici+": (0, (1.2, 1.2)),
    "ici-plus": (0, (1.2, 1.2)),
}
_MARKERS = "os^Dv<>PXh*pdH8x"


def dashes(name: str) -> Any:
    """The line style of a scheme, for `ls=`."""
    return _DASHES.get(name) or ("--" if is_combined(name) else "-")


def marker(number: int) -> str:
    """The marker of what is at this place of a list."""
    return _MARKERS[number % len(_MARKERS)]


def scheme_markers(names: Sequence[str]) -> dict[str, str]:
    """A marker for each scheme: that of its colour, so that both tell it in every figure; of the next ones if taken."""
    families = _families(names)
    variants = [*dict.fromkeys(name.removesuffix(families[name]) for name in families)]
    if families.keys() == set(names) and len(variants) <= len(_MARKERS):
        return {name: _MARKERS[variants.index(name.removesuffix(families[name]))] for name in names}
    colours = scheme_colours(names)
    made: dict[str, str] = {}
    for name in names:
        own = _MARKERS[_COLOURS.index(colours[name])] if colours[name] in _COLOURS else _MARKERS[0]
        free = [one for one in _MARKERS if one not in made.values()] or [own]
        made[name] = own if own in free else free[-1]
    return made


_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.alpha": 0.6,
    "grid.color": "#D9D9D9",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "pdf.fonttype": 42,
    "savefig.dpi": 150,
    # Equal figures are equal files.
    "svg.hashsalt": "backwater",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


#: Letters in print, in points: as large as those of captions, and none too small to be read.
_SMALLEST, _LARGEST = 7.0, 9.0
#: What is other in print.
_PRINTED: dict[Any, Any] = {
    "axes.labelpad": 2.0,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.titlesize": 8,
    "axes.titleweight": "normal",
    "font.size": 8,
    "grid.linewidth": 0.4,
    "legend.fontsize": 7,
    "legend.handlelength": 1.6,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "savefig.dpi": 600,
    "xtick.labelsize": 7,
    "xtick.major.pad": 2.0,
    "ytick.labelsize": 7,
    "ytick.major.pad": 2.0,
}
#: More characters of a line do not fit into a picture.
_LONGEST_LINE = 160


def style() -> AbstractContextManager[None]:
    """A context in which figures are made in the house style, or as they are printed."""
    printed = {} if pictures.paper().width is None else _PRINTED
    return rc_context({**_STYLE, **printed, "axes.prop_cycle": cycler(color=CYCLE)})


class _Styled(Figure):
    """A figure that is written in the style in which it was made, whoever writes it: fonts are embedded whole."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._paper = pictures.paper()

    def savefig(self, *arguments: Any, **options: Any) -> None:
        """As of any figure."""
        with self._paper.printed(), style():
            if self._paper.width is not None:
                for text in self.findobj(Text):
                    text.set_fontsize(min(_LARGEST, max(_SMALLEST, text.get_fontsize())))
            with self._laid_out(options.get("dpi", rcParams["savefig.dpi"])):
                super().savefig(*arguments, **options)

    @contextmanager
    def _laid_out(self, dpi: float | str) -> Iterator[None]:
        """The figure, laid out at that resolution. To write a figure that has yet to be laid out draws it twice."""
        engine, own = self.get_layout_engine(), self.dpi
        if engine is None or isinstance(dpi, str):
            yield
            return
        self.dpi = dpi
        engine.execute(self)
        self.set_layout_engine(None)
        try:
            yield
        finally:
            self.dpi = own
            self.set_layout_engine(engine)


def figure(width: float = 7.0, height: float = 4.0) -> Figure:
    """An empty figure of that size in inches, laid out so that nothing overlaps. Make it inside :func:`style`.

    On paper it is as wide as that, and lower by as much, but not so low that letters of print do not fit.
    """
    printed = pictures.paper().width
    if printed is not None and printed != width:
        width, height = printed, height * max(0.7, min(1.0, printed / width))
    made = _Styled(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def columns(wide: int, narrow: int = 1) -> int:
    """How many panels, or names of a legend, stand beside each other: fewer in a column of a journal."""
    return narrow if pictures.paper().narrow else wide


#: So many letters of a legend fit into an inch, on the screen and in print; a sign takes as many as that.
_LETTERS, _LETTERS_IN_PRINT, _SIGN = 13, 17, 6


def legend_columns(made: Figure, labels: Sequence[str]) -> int:
    """How many of these names stand beside each other in a legend above or below a figure."""
    letters = _LETTERS if pictures.paper().width is None else _LETTERS_IN_PRINT
    fit = int(letters * made.get_figwidth() / (max(map(len, labels)) + _SIGN))
    return max(1, min(fit, len(labels)))


def wide(width: float) -> float:
    """The width of a picture in inches: of the paper, or this one."""
    return pictures.paper().width or width


@contextmanager
def picture(file: Path, title: str, width: float = 7.0, height: float = 4.0, **look: Any) -> Iterator[Figure]:
    """A figure with this title, to be drawn on within the block; at its end it is written to the file.

    `look` is how the title is written, by default in bold letters over the middle. On paper the caption has it.
    """
    with style():
        made = figure(width, height)
        yield made
        if pictures.paper().width is None:
            look = look or {"fontsize": 11, "fontweight": "bold"}
            # So many letters of a point's height fit into an inch.
            fit = int(made.get_figwidth() * (115 if "fontweight" in look else 132) / look.get("fontsize", 11))
            lines = (part for line in title.split("\n") for part in textwrap.wrap(line, fit) or [""])
            made.suptitle("\n".join(lines), **look)
        save(made, file)


def formats() -> list[str]:
    """The endings that a picture's file may have."""
    return sorted(FigureCanvasAgg.get_supported_filetypes())


def save(made: Figure, file: Path, *, about: str | None = None) -> Path:
    """Write a figure to a file, whole or not at all; the ending chooses the format (.png, .pdf, .svg).

    A PNG carries `about` as its description. Raises UsageError if it cannot be written.
    """
    for text in made.findobj(Text):
        text.set_text(_shown(text.get_text()))
    # Without dates and versions inside, equal figures are equal files.
    inside: dict[str, dict[str, Any]] = {
        ".png": {"Software": None, "Description": about},
        ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        ".svg": {"Date": None, "Creator": None},
    }
    with atomic_files.asked(file, "name another place for the picture") as part:
        made.savefig(part, metadata=inside.get(file.suffix.lower()))
    return file


def label(name: str, longest: int = 40) -> str:
    """A name that fits beside a picture: it may be long, and hold what no font has."""
    # The font has no signs for control characters.
    shown = re.sub("[\u2400-\u2426]", "\ufffd", printable(name))
    return shown if len(shown) <= longest else f"{shown[: longest // 2]}…{shown[-longest // 2 :]}"


def _shown(text: str) -> str:
    """A text that fits into a picture."""
    return "\n".join(label(line, _LONGEST_LINE) for line in text.split("\n"))


def line(axes: Axes, series: Series, *, unit: float, origin_ps: int = 0, **kwargs: Any) -> None:
    """A series over time in milliseconds since `origin_ps`; values are divided by `unit`."""
    axes.plot((series.time_ps - origin_ps) / 1e9, series.value / unit, **kwargs)


def band(axes: Axes, intervals: Sequence[Interval], lane: tuple[float, float], *, origin_ps: int = 0) -> None:
    """Intervals of detector states as coloured boxes between the two heights of `lane`."""
    for state in STATES:
        _boxes(axes, [i for i in intervals if i.what == state], lane, STATE_COLOURS[state], origin_ps)


def off(axes: Axes, intervals: Sequence[Interval], lane: tuple[float, float], *, origin_ps: int = 0) -> None:
    """OFF times of a port as dark boxes between the two heights of `lane`."""
    _boxes(axes, intervals, lane, OFF_COLOUR, origin_ps)


def _boxes(axes: Axes, intervals: Sequence[Interval], lane: tuple[float, float], colour: str, origin_ps: int) -> None:
    low, high = lane
    spans = [((i.start_ps - origin_ps) / 1e9, (i.end_ps - i.start_ps) / 1e9) for i in intervals]
    axes.broken_barh(spans, (low, high - low), facecolors=colour, linewidth=0)


def ticks(
    axes: Axes, times_ps: NDArray[np.int64], lane: tuple[float, float], colour: str, *, origin_ps: int = 0
) -> None:
    """One thin line per mark between the two heights of `lane`."""
    axes.vlines((times_ps - origin_ps) / 1e9, *lane, colors=colour, linewidth=0.35, alpha=0.7, rasterized=True)


def state_legend() -> Iterator[tuple[Any, str]]:
    """Handles and labels for the states, OFF and the two marks."""
    for state in STATES:
        yield Patch(facecolor=STATE_COLOURS[state]), state
    yield Patch(facecolor=OFF_COLOUR), "OFF (held)"
    for mark, colour in MARK_COLOURS.items():
        yield (
            Line2D([], [], color=colour, marker="|", linestyle="none", markersize=8, markeredgewidth=1.5),
            f"{mark} mark",
        )
