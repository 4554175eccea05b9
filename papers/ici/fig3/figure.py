"""Figure 3: Google_All and one congestion tree, six schemes: throughput, BECNs, how long the run takes."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds

from papers.ici import messages, trees
from papers.ici.measured import least, most, of, over, told
from papers.ici.panels_messages import ROWS, draw_grid


def metrics(runs: Runs) -> Metrics:
    by_scheme = of(runs, "w3")
    found = told({scheme: messages.network(run) for scheme, run in by_scheme.items()})
    found |= messages.shares(by_scheme, bursts=False)
    lengths = [trees.number(found, f"{scheme}_run_ms") for scheme in by_scheme]
    return found | {
        "dcqcn_becns_over_ici+": messages.becn_gain(found, "dcqcn"),
        "ci+dcqcn_becns_over_ici+": messages.becn_gain(found, "ci+dcqcn"),
        "unfinished_messages": sum(int(found[f"{scheme}_unfinished"] or 0) for scheme in by_scheme),
        "longest_run_over_shortest": over(most(lengths), least(lengths)),
    }


def draw(seeds: Seeds, file: Path) -> None:
    title = "Figure 3: Google_All and one congestion tree without end"
    draw_grid(ROWS, [of(runs, "w3") for runs in seeds], file, title=title)
