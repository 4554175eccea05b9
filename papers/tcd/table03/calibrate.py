"""Finds the load of A0 to A14 at which the ECN row of Table 3 comes out, by bisection; the TCD row is never looked at.

    python papers/tcd/table03/calibrate.py [PROFILE]

Its result stands in ../victims.toml. The seeds here are none of those that `backwater reproduce` uses.
"""

from __future__ import annotations

import sys
from pathlib import Path

from backwater import experiment
from backwater.results import Results
from backwater.running import Job, Scenario, run_jobs

FOLDER = Path(__file__).parent
SEEDS = range(101, 121)
#: Where to look, and how fine: steps of a hundredth.
LOWEST, HIGHEST, STEP = 0.40, 1.20, 0.01


def ecn_percent(profile: str, load: float, out: Path) -> float:
    """The ECN row at a load, mean over the calibration's seeds."""
    figure = experiment.load(FOLDER)
    module = figure.module()
    spec = next(run for run in figure.experiment.run if run.name == "ecn")
    scenario = Scenario.load(FOLDER / spec.scenario)
    overrides = (*figure.overrides(profile, quick=False), *spec.set, f"traffic.A.load={load:.2f}")
    jobs = [
        Job(f"load {load:.2f} seed {seed}", scenario, overrides, seed, out / f"{profile}-{load:.2f}-s{seed}")
        for seed in SEEDS
    ]
    for outcome in run_jobs(jobs):
        if outcome.error is not None:
            raise outcome.error
    return sum(module.marked_percent(Results(job.out)) for job in jobs if job.out) / len(jobs)


def calibrate(profile: str, target: float, out: Path) -> float:
    """The load at which the ECN row is nearest to `target`."""
    low, high = round(LOWEST / STEP), round(HIGHEST / STEP)
    while high - low > 1:
        middle = (low + high) // 2
        percent = ecn_percent(profile, middle * STEP, out)
        print(f"{profile}: load {middle * STEP:.2f} of R1's link gives {percent:.1f} %", flush=True)
        low, high = (middle, high) if percent < target else (low, middle)
    ends = {load * STEP: abs(ecn_percent(profile, load * STEP, out) - target) for load in (low, high)}
    return min(ends, key=lambda load: ends[load])


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "authors"
    wanted = experiment.load(FOLDER).module().PAPER["ecn"]
    print(f"{chosen}: {calibrate(chosen, wanted, Path('results/calibrate')):.2f}")
