"""Figure 17 (b) with two hot I/O servers: mean MCT by message size under FECN, TCD and an oracle."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Seeds

from papers.tcd.fig17b.figure import draw_titled, metrics

__all__ = ["draw", "metrics"]


def draw(seeds: Seeds, file: Path) -> None:
    draw_titled(seeds, file, "MCT by size where half of the I/O clients have one of two servers, IB CC")
