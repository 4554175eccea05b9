"""Google_All and one burst, six schemes: the workload that the paper lists and shows no figure of."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Metrics, Runs, Seeds

from papers.ici import messages, panels_fct
from papers.ici.measured import of, told
from papers.ici.panels_messages import WITH_BURSTS, draw_grid
from papers.ici.times import fct


def metrics(runs: Runs) -> Metrics:
    by_scheme = of(runs, "w4")
    found = told({scheme: messages.network(run) for scheme, run in by_scheme.items()}) | messages.compare(by_scheme)
    found |= messages.shares(by_scheme, bursts=True)
    alone = fct(runs["w4 no burst"]).percentiles["p99"]
    return found | {
        "no_burst_p99_fct_us": alone,
        "ici+_p99_fct_over_no_burst": float(found["ici+_p99_fct_us"] or 0) / alone,
        "dcqcn_becns_over_ici+": messages.becn_gain(found, "dcqcn"),
    }


def draw(seeds: Seeds, file: Path) -> None:
    title = "Google_All and one burst of 100 000 packets at 0.2 ms"
    rows = (*WITH_BURSTS, *panels_fct.ROWS)
    draw_grid(rows, [of(runs, "w4") for runs in seeds], file, title=title)
