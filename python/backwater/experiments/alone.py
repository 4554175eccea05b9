"""What an application takes alone: the same run, seed and network, in which only its entry sends (`run.only`)."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from backwater.experiments.executor import Job, run_jobs
from backwater.experiments.progress import watching
from backwater.results import Results, measures

#: By name of an application, the run in which it was alone.
Alone = Mapping[str, Results]

#: What a run alone need not record.
_QUIET = ("probe.marks=false", "probe.pauses=false", "probe.states=false", "probe.blame=false")


@contextmanager
def runs(pairs: Sequence[tuple[Job, Results]], workers: int | None, *, quiet: bool) -> Iterator[list[Alone]]:
    """For each complete run with other traffic, the runs alone of its applications; gone at the end of the block.

    A run that did not come to its end is none.
    """
    with tempfile.TemporaryDirectory(prefix="backwater-alone-") as folder:
        planned: list[dict[str, Job]] = []
        for number, (job, results) in enumerate(pairs):
            scenario = results.meta["scenario"]
            wanted = measures.applications(scenario) + measures.jobs(scenario)
            if not (measures.has_others(results) and results.complete):
                wanted = []
            planned.append({name: _alone(job, results, name, Path(folder) / f"{number}-{name}") for name in wanted})
        todo = [job for jobs in planned for job in jobs.values()]
        if todo:
            with watching(todo, quiet=quiet) as watcher:
                outcomes = run_jobs(todo, workers, watcher)
            done = {outcome.job.out for outcome in outcomes if outcome.error is None}
            for outcome in outcomes:
                if outcome.error is not None:
                    why = str(outcome.error) or type(outcome.error).__name__
                    print(f"note: {outcome.job.label}: no time alone ({why.splitlines()[0]})", file=sys.stderr)
        yield [
            {name: Results(job.out) for name, job in jobs.items() if job.out is not None and job.out in done}
            for jobs in planned
        ]


def _alone(job: Job, results: Results, name: str, folder: Path) -> Job:
    seed = int(results.meta["seed"])
    overrides = (*job.overrides, *_QUIET, f'run.only=["{name}"]')
    return replace(job, label=f"{name} alone, seed {seed}", overrides=overrides, seed=seed, out=folder, sweep=())
