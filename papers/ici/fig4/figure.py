"""Figure 4: FCTs of the messages of Google_All beside one congestion tree."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Measurements, Runs, Seeds

from papers.ici import messages
from papers.ici.measured import SCHEMES, of, over
from papers.ici.panels import draw_grid
from papers.ici.panels_fct import ROWS


def metrics(runs: Runs) -> Measurements:
    found = messages.compare(of(runs, "w3"))
    others = [scheme for scheme in SCHEMES if scheme != "ici+"]
    return found | {"ici+_p99_fct_over": {other: over(1.0, found[f"{other}_p99_fct_over_ici+"]) for other in others}}


def draw(seeds: Seeds, file: Path) -> None:
    title = "Figure 4: FCTs of Google_All's messages beside one congestion tree"
    draw_grid(ROWS, [of(runs, "w3") for runs in seeds], file, title=title)
