"""Figure 6: FCTs of the messages of Google_All beside four bursts."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds

from papers.ici import messages, trees
from papers.ici.measured import of
from papers.ici.panels import draw_grid
from papers.ici.panels_fct import ROWS


def metrics(runs: Runs) -> Metrics:
    by_scheme = of(runs, "w5")
    found = messages.compare(by_scheme) | messages.shares(by_scheme, bursts=True)
    for other in ("ici", "dcqcn"):
        found[f"ici+_throughput_over_{other}"] = trees.ratio(found, "throughput_gbps", "ici+", other)
    return found


def draw(seeds: Seeds, file: Path) -> None:
    title = "Figure 6: FCTs of Google_All's messages beside four bursts"
    draw_grid(ROWS, [of(runs, "w5") for runs in seeds], file, title=title)
