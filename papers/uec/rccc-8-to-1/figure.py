"""RCCC, 8192 hosts, 8:1: published times, and ours."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.uec_rows import Row

from papers.uec import family

ROWS: tuple[Row, ...] = ()


def metrics(runs: Runs) -> Metrics:
    return family.metrics(runs)


def draw(seeds: Seeds, file: Path) -> None:
    family.draw(ROWS, seeds, file, "RCCC, 8192 hosts, 8:1")
