"""Figure 12 (InfiniBand): one congestion point under TCD. P2 and P1 go from undetermined to non-congestion."""

from papers.tcd.panels import INFINIBAND
from papers.tcd.scene import settle_twice as settle
from papers.tcd.transitions import Transition, to_non_congestion

__all__ = ["draw", "metrics", "settle"]

_FIGURE = Transition(
    "Figure 12 (InfiniBand): one congestion point, undetermined to non-congestion", to_non_congestion, INFINIBAND
)
metrics, draw = _FIGURE.metrics, _FIGURE.draw
