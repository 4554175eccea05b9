"""What victims and hot flows get over time, from the runs that `backwater compare` has left; those missing are run."""

import argparse
from pathlib import Path

import numpy as np
from backwater import Results
from backwater.analysis import deliveries, plot
from backwater.experiments import comparison
from backwater.experiments.executor import run_jobs
from backwater.experiments.progress import watching
from backwater.experiments.store import RunFolders
from backwater.scenario import schemes

NAME = "isolation-and-tcd-one-tree"
ROOT = Path(__file__).parents[2]

SCHEMES = ("none", "ECN", "TCD", "ECN+ici", "TCD+ici", "ici+")
PANELS = (("background", "background: 48 hosts, 80 % load"), ("tree", "tree: 16 hosts to one (grey: while offered)"))
#: From when until when the tree is offered, in milliseconds.
OFFERED = (0.2, 1.2)
#: Of so many samples of 20 us a step is the mean: in one alone a slow source has a packet or none.
SAMPLES = 5
#: Three schemes draw the same line in turn where they do the same.
DASHES = {"ECN+ici": (0, (2, 4)), "TCD+ici": (2, (2, 4)), "ici+": (4, (2, 4))}


def runs(folder: Path) -> dict[str, Results]:
    """The first seed under each of SCHEMES, in the folder of `backwater compare`."""
    listed = schemes.of_files([ROOT / "scenarios" / f"{NAME}.toml"], only=SCHEMES)
    kept = RunFolders(folder, needed=("flows",))
    planned = comparison.plan(listed, [1], kept)
    missing = [job for job in planned[1].values() if kept.find(job) is None]
    with watching(missing, quiet=False) as watcher:
        run_jobs(missing, watcher=watcher)
    return {name: runs[0] for name, runs in comparison.complete(planned, kept).items()}


def draw(found: dict[str, Results], file: Path) -> None:
    """Two panels: goodput of the background and of the tree."""
    with plot.style():
        made = plot.figure(8.4, 3.4)
        for axes, (traffic, title) in zip(made.subplots(1, 2), PANELS, strict=True):
            axes.axvspan(*OFFERED, color="#EEEEEE", lw=0)
            for scheme in SCHEMES:
                series = deliveries.goodput(found[scheme], [traffic])
                means = [series.value[at : at + SAMPLES].mean() / 1e9 for at in range(0, len(series.value), SAMPLES)]
                step = SAMPLES * deliveries.period_ps(found[scheme]) / 1e9
                look = {"color": plot.SCHEME_COLOURS[scheme], "ls": DASHES.get(scheme, "-"), "label": scheme}
                axes.stairs(means, np.arange(len(means) + 1) * step, baseline=None, lw=1.6, **look)
            axes.set_title(title)
            axes.set_xlabel("time [ms]")
            axes.set_ylabel("payload that arrives [Gbps]")
            axes.set_ylim(0)
            axes.set_xlim(0, 2.5)
        made.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(SCHEMES), handlelength=5)
        plot.save(made, file)


def main() -> None:
    """Draw it and say where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("results/compare") / NAME, help="folder of `compare`")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("one-tree-over-time.png"), help="picture")
    options = parser.parse_args()
    draw(runs(options.runs), options.out)
    print(f"written: {options.out}; runs: {options.runs}")


if __name__ == "__main__":
    main()
