"""Names and colours that the pictures of the PFT paper share."""

from __future__ import annotations

from collections.abc import Sequence

from backwater.analysis import plot
from matplotlib import colormaps

from papers.pft.measured import NONE, STRATEGIES

#: Black is no throttling, as in the paper; a colour for each strategy, in every figure.
COLOURS = {NONE: plot.BLACK, "FT-FI": plot.SKY, "FT-RI": plot.BLUE, "AT-FI": plot.ORANGE, "AT-RI": plot.VERMILLION}
LABELS = {NONE: "no throttling"} | {name: name for name in STRATEGIES}


def colour(name: str) -> str:
    """Of a strategy, or of no throttling."""
    return COLOURS[name.removesuffix(" available")]


def ramp(count: int) -> list[tuple[float, float, float, float]]:
    """So many colours from dark to light, for one curve per value of a parameter."""
    return [colormaps["viridis"](0.05 + 0.85 * place / max(count - 1, 1)) for place in range(count)]


def mean(values: Sequence[float]) -> float:
    """Over seeds."""
    return sum(values) / len(values)


def spread(values: Sequence[float]) -> str:
    """The mean over seeds, and the range if there are several."""
    return f"{mean(values):.2f}" + (f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else "")
