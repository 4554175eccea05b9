"""Figure 12 (InfiniBand): one congestion point under TCD. P2 and P1 go from undetermined to non-congestion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from backwater.results import Results

from papers.tcd.panels import INFINIBAND
from papers.tcd.scene import settle_twice as settle
from papers.tcd.transitions import draw_states, to_non_congestion

__all__ = ["draw", "metrics", "settle"]


def metrics(runs: Mapping[str, Results]) -> dict[str, float | bool | None]:
    return to_non_congestion(runs["tcd"])


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    title = "Figure 12 (InfiniBand): one congestion point, undetermined to non-congestion"
    draw_states(seeds[0]["tcd"], file, title=title, shown_ms=INFINIBAND.shown_ms)
