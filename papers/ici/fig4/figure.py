"""Figure 4: FCTs of the messages of Google_All beside one congestion tree."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds

from papers.ici import messages
from papers.ici.measured import of
from papers.ici.panels import draw_grid
from papers.ici.panels_fct import ROWS


def metrics(runs: Runs) -> Metrics:
    return messages.compare(of(runs, "w3"))


def draw(seeds: Seeds, file: Path) -> None:
    title = "Figure 4: FCTs of Google_All's messages beside one congestion tree"
    draw_grid(ROWS, [of(runs, "w3") for runs in seeds], file, title=title)
