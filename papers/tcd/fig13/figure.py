"""Figure 13: two congestion points under TCD. P2 goes from undetermined to congestion, P1 stays undetermined."""

from papers.tcd.panels import ETHERNET
from papers.tcd.scene import settle
from papers.tcd.transitions import Transition, to_congestion

__all__ = ["draw", "metrics", "settle"]

_FIGURE = Transition("Figure 13: two congestion points, P2 undetermined to congestion", to_congestion, ETHERNET)
metrics, draw = _FIGURE.metrics, _FIGURE.draw
