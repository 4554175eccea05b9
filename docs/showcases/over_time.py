"""What victims and hot flows get over time, from the runs that `backwater compare` has left; those missing are run."""

from pathlib import Path

import numpy as np
from backwater import Results, comparison, deliveries, plot, schemes
from backwater.running import run_jobs

NAME = "isolation-and-tcd-one-tree"

SCHEMES = ("none", "ECN", "TCD", "ECN+ici", "TCD+ici", "ici+")
PANELS = (("background", "background: 48 hosts, 80 % load"), ("tree", "tree: 16 hosts to one"))


def runs() -> dict[str, Results]:
    """The first seed under each of SCHEMES."""
    listed = schemes.of_files([Path("scenarios") / f"{NAME}.toml"], only=SCHEMES)
    jobs = comparison.plan(listed, [1], Path("results/compare") / NAME)[1]
    run_jobs([job for job in jobs.values() if not comparison.done(job.out)])
    return {name: Results(job.out) for name, job in jobs.items()}


def draw(found: dict[str, Results], file: Path) -> None:
    """Two panels: throughput of the background and of the tree."""
    with plot.style():
        made = plot.figure(8.4, 3.1)
        for axes, (traffic, title) in zip(made.subplots(1, 2), PANELS, strict=True):
            for scheme in SCHEMES:
                series = deliveries.throughput(found[scheme], [traffic])
                edges = np.append(series.time_ps, series.time_ps[-1] + deliveries.period_ps(found[scheme])) / 1e9
                dashed = "--" if plot.is_isolated(scheme) else "-"
                colour = plot.SCHEME_COLOURS[scheme]
                axes.stairs(series.value / 1e9, edges, baseline=None, color=colour, ls=dashed, lw=1.3, label=scheme)
            axes.set_title(title)
            axes.set_xlabel("time [ms]")
            axes.set_ylabel("payload that arrives [Gbps]")
            axes.set_ylim(0)
            axes.set_xlim(0, 2.5)
        made.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
        plot.save(made, file)


if __name__ == "__main__":
    draw(runs(), Path("docs/showcases/one-tree-over-time.png"))
