"""Finds the load of A0 to A14 at which the row of Table 3 without TCD comes out, by bisection; no run has TCD.

    python -m papers.tcd.calibrate [PROFILE]

Its results stand in victims.toml and victims-ib.toml. The seeds here are none of those that `backwater reproduce` uses.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from backwater.experiments.executor import Job, raise_first, run_jobs
from backwater.papers import paper_figure
from backwater.results import Results
from backwater.scenario.scenario import Scenario

from papers.tcd.marked import marked_percent

#: The folder of the table's rows by profile.
FOLDERS = {"authors": "table03", "ideal": "table03", "infiniband": "table03-ib"}
SEEDS = range(101, 121)
#: Where to look, and how fine: steps of a hundredth.
LOWEST, HIGHEST, STEP = 0.10, 1.20, 0.01


def figure_of(profile: str) -> paper_figure.Figure:
    """The table's rows under a profile."""
    return paper_figure.load(Path(__file__).parent / FOLDERS[profile])


def percent_marked(profile: str, load: float, out: Path) -> float:
    """The row without TCD at a load, mean over the calibration's seeds."""
    figure = figure_of(profile)
    rows: Any = figure.module()
    spec = next(run for run in figure.experiment.run if run.name == rows.ROWS.plain)
    scenario = Scenario.load(figure.folder / spec.scenario)
    overrides = (*figure.overrides(profile, spec.name, quick=False), *spec.set, f"traffic.A.load={load:.2f}")
    jobs = [
        Job(f"load {load:.2f} seed {seed}", scenario, overrides, seed, out / f"{profile}-{load:.2f}-s{seed}")
        for seed in SEEDS
    ]
    raise_first(run_jobs(jobs))
    return sum(marked_percent(Results(job.out)) for job in jobs if job.out) / len(jobs)


def calibrate(profile: str, target: float, out: Path) -> float:
    """The load at which the row is nearest to `target`."""
    low, high = round(LOWEST / STEP), round(HIGHEST / STEP)
    while high - low > 1:
        middle = (low + high) // 2
        percent = percent_marked(profile, middle * STEP, out)
        print(f"{profile}: load {middle * STEP:.2f} of R1's link gives {percent:.1f} %", flush=True)
        low, high = (middle, high) if percent < target else (low, middle)
    ends = {load * STEP: abs(percent_marked(profile, load * STEP, out) - target) for load in (low, high)}
    return min(ends, key=lambda load: ends[load])


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "authors"
    of: Any = figure_of(chosen).module()
    print(f"{chosen}: {calibrate(chosen, of.ROWS.paper[of.ROWS.plain], Path('results/calibrate')):.2f}")
