"""The runs of a comparison: every scheme at the same seeds, with the same network and the same traffic."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from backwater.analysis import same_traffic
from backwater.experiments.executor import Job, raise_first, run_jobs
from backwater.experiments.plan import keyed
from backwater.experiments.store import Store
from backwater.results import Results
from backwater.scenario.schemes import Scheme

#: What makes a run end when its flows are known.
_A_MOMENT = ("run.until=1ps", "fault=[]")


def plan(schemes: Sequence[Scheme], seeds: Sequence[int], kept: Store) -> dict[int, dict[str, Job]]:
    """The run of each scheme at each seed; equal settings share a run."""
    asked = (
        Job(f"{one.name} seed {seed}", one.scenario, one.overrides, seed, scheme=one.name)
        for seed in seeds
        for one in schemes
    )
    placed = [kept.place(job) for job in keyed(asked)]
    return {seed: {job.scheme: job for job in placed if job.seed == seed} for seed in seeds}


def finished(planned: Mapping[int, Mapping[str, Job]], kept: Store) -> list[dict[str, Results]]:
    """For each seed the results of the schemes under which it is complete."""
    found = ({name: kept.find(job) for name, job in by_scheme.items()} for by_scheme in planned.values())
    return [{name: run for name, run in one.items() if run is not None} for one in found]


def complete(planned: Mapping[int, Mapping[str, Job]], kept: Store) -> dict[str, list[Results]]:
    """By scheme, the results of the seeds that are complete under all; raises UsageError if their flows differ."""
    found: dict[str, list[Results]] = {}
    for runs, by_scheme in zip(finished(planned, kept), planned.values(), strict=True):
        if len(runs) == len(by_scheme):
            (first, run), *others = runs.items()
            for name, other in others:
                same_traffic.require_flows(first, run, name, other)
            for name, other in runs.items():
                found.setdefault(name, []).append(other)
    return found


def check_traffic(schemes: Sequence[Scheme], seed: int) -> None:
    """Raise UsageError unless every scheme has the same network and the same flows.

    The settings first, as two rates of a constant flow do not show in a list of flows; then the flows, found by
    running each scheme for a picosecond, in which nothing fails: faults begin later, and make no flows.
    """
    for scheme in schemes[1:]:
        same_traffic.require_settings(schemes[0], scheme)
    with tempfile.TemporaryDirectory() as folder:
        jobs = [
            Job(scheme.name, scheme.scenario, (*scheme.overrides, *_A_MOMENT), seed, Path(folder) / str(number))
            for number, scheme in enumerate(schemes)
        ]
        raise_first(run_jobs(jobs))
        runs = [Results(job.out) for job in jobs if job.out is not None]
        for scheme, run in zip(schemes[1:], runs[1:], strict=True):
            same_traffic.require_flows(schemes[0].name, runs[0], scheme.name, run)
