"""Figure 5: Google_All and four bursts, six schemes: throughput, BECNs, the table."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds

from papers.ici import messages, trees
from papers.ici.measured import marks_without_cause, of, refused_share, told
from papers.ici.panels_messages import WITH_BURSTS, draw_grid


def metrics(runs: Runs) -> Metrics:
    by_scheme = of(runs, "w5")
    found = told({scheme: messages.network(run) for scheme, run in by_scheme.items()})
    found |= messages.shares(by_scheme, bursts=True)
    for name, metric in (("hot", "hot_gbps"), ("throughput", "throughput_gbps"), ("makespan", "makespan_ms")):
        found[f"dcqcn_{name}_over_none"] = trees.ratio(found, metric, "dcqcn", "none")
    return found | {
        "ici_refused_share": refused_share(by_scheme["ici"]),
        "ici+_marks_without_cause": marks_without_cause(by_scheme["ici+"]),
        "ici+_becns_over_dcqcn": trees.ratio(found, "becns", "ici+", "dcqcn"),
    }


def draw(seeds: Seeds, file: Path) -> None:
    title = "Figure 5: Google_All and four bursts of 25 000 packets at 0.2 ms"
    draw_grid(WITH_BURSTS, [of(runs, "w5") for runs in seeds], file, title=title)
