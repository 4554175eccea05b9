"""Figure 13 (InfiniBand): two congestion points. P2 goes from undetermined to congestion, P1 stays undetermined."""

from papers.tcd.panels import INFINIBAND
from papers.tcd.scene import settle_twice as settle
from papers.tcd.transitions import Transition, to_congestion

__all__ = ["draw", "metrics", "settle"]

_FIGURE = Transition(
    "Figure 13 (InfiniBand): two congestion points, P2 undetermined to congestion", to_congestion, INFINIBAND
)
metrics, draw = _FIGURE.metrics, _FIGURE.draw
