"""The runs of a comparison: every scheme at the same seeds, with the same network and the same traffic."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from backwater.analysis import same_traffic
from backwater.errors import UsageError
from backwater.experiments import store
from backwater.experiments.executor import Job, run_jobs
from backwater.results import Results
from backwater.scenario.schemes import Scheme


def plan(schemes: Sequence[Scheme], seeds: Sequence[int], root: Path) -> dict[int, dict[str, Job]]:
    """The run of each scheme at each seed; equal settings share a run."""
    kept = store.RunFolders(root)
    return {
        seed: {
            one.name: kept.place(Job(f"{one.name} seed {seed}", one.scenario, one.overrides, seed, scheme=one.name))
            for one in schemes
        }
        for seed in seeds
    }


def done(folder: Path) -> bool:
    """Whether a run is complete and its flows, all that is compared, can be read."""
    if not store.finished(folder):
        return False
    try:
        Results(folder).check("flows")
    except UsageError:
        return False
    return True


def complete(planned: Mapping[int, Mapping[str, Job]]) -> dict[str, list[Results]]:
    """By scheme, the results of the seeds that are complete under all; raises UsageError if their flows differ."""
    found: dict[str, list[Results]] = {}
    for by_scheme in planned.values():
        folders = {name: job.out for name, job in by_scheme.items() if job.out is not None}
        if all(done(folder) for folder in folders.values()):
            runs = {name: Results(folder) for name, folder in folders.items()}
            (first, run), *others = runs.items()
            for name, other in others:
                same_traffic.require_flows(first, run, name, other)
            for name, other in runs.items():
                found.setdefault(name, []).append(other)
    return found


def check_traffic(schemes: Sequence[Scheme], seed: int) -> None:
    """Raise UsageError unless every scheme has the same network and the same flows.

    The settings first, as two rates of a constant flow do not show in a list of flows; then the flows, found by
    running each scheme for a picosecond.
    """
    for scheme in schemes[1:]:
        same_traffic.require_settings(schemes[0], scheme)
    with tempfile.TemporaryDirectory() as folder:
        jobs = [
            Job(scheme.name, scheme.scenario, (*scheme.overrides, "run.until=1ps"), seed, Path(folder) / str(number))
            for number, scheme in enumerate(schemes)
        ]
        outcomes = run_jobs(jobs)
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
        runs = [Results(job.out) for job in jobs if job.out is not None]
        for scheme, run in zip(schemes[1:], runs[1:], strict=True):
            same_traffic.require_flows(schemes[0].name, runs[0], scheme.name, run)
