"""What an application takes alone: the same run, seed and network, in which only its entry sends (`run.only`).

These runs are kept in the cache of sweeps: the same scenario and seed are not run alone twice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from backwater._core import ScenarioError
from backwater.errors import UsageError
from backwater.experiments.batch import Batch
from backwater.experiments.executor import Job, run_jobs
from backwater.experiments.plan import keyed
from backwater.experiments.progress import watching
from backwater.experiments.store import Cache, default_folder
from backwater.experiments.sweep import cache_at
from backwater.results import Results, measures
from backwater.scenario.scenario import Scenario

#: By name of an application, the run in which it was alone.
Alone = Mapping[str, Results]

#: What a run alone need not record.
_QUIET = ("probe.marks=false", "probe.pauses=false", "probe.states=false", "probe.blame=false")


@contextmanager
def runs(pairs: Sequence[tuple[Job, Results]], workers: int | None, *, quiet: bool) -> Iterator[list[Alone]]:
    """For each complete run with other traffic, the runs alone of its applications; to be read within the block.

    A run that did not come to its end is none.
    """
    planned: list[dict[str, Job]] = []
    for job, results in pairs:
        scenario = results.meta["scenario"]
        wanted = measures.applications(scenario) + measures.jobs(scenario)
        if not (measures.has_others(results) and results.complete):
            wanted = []
        planned.append(dict(zip(wanted, keyed(_alone(job, results, name) for name in wanted), strict=True)))
    todo = [job for jobs in planned for job in jobs.values()]
    if not todo:
        yield [{} for _ in planned]
        return
    with _cache() as cache:
        batch = Batch([cache.place(job) for job in todo], cache)
        batch.run(batch.missing(), partial(run_jobs, workers=workers), partial(watching, quiet=quiet))
        for outcome in batch.outcomes:
            if outcome.error is not None:
                why = str(outcome.error) or type(outcome.error).__name__
                print(f"note: {outcome.job.label}: no time alone ({why.splitlines()[0]})", file=sys.stderr)
        found = ({name: cache.find(job) for name, job in jobs.items()} for jobs in planned)
        yield [{name: run for name, run in of_one.items() if run is not None} for of_one in found]


def kept(results: Results, names: Sequence[str]) -> Alone:
    """Of these applications of a run the runs alone that the cache has; nothing is run."""
    meta = results.meta
    known = {"scenario_text", "overrides", "base"} <= meta.keys()
    if not (known and measures.has_others(results) and default_folder().is_dir()):
        return {}
    scenario = Scenario(str(meta["scenario_text"]), str(results.folder / "run.json"), Path(meta["base"]))
    job = Job("", scenario, tuple(map(str, meta["overrides"])))
    try:
        jobs = keyed(_alone(job, results, name) for name in names)
        cache = Cache(default_folder(), "BACKWATER_CACHE")
    except (ScenarioError, UsageError):
        # Its files are gone, or it was made by a version that had other keys.
        return {}
    found = ((name, cache.find(one)) for name, one in zip(names, jobs, strict=True))
    return {name: run for name, run in found if run is not None}


def _cache() -> AbstractContextManager[Cache]:
    """The usual cache; where it cannot be written, one that is gone afterwards, as the run itself is done."""
    try:
        Cache(default_folder(), "BACKWATER_CACHE")
    except UsageError as error:
        print(f"note: times alone are not kept ({error})", file=sys.stderr)
        return cache_at(None, wanted=False)
    return cache_at(None)


def _alone(job: Job, results: Results, name: str) -> Job:
    seed = int(results.meta["seed"])
    overrides = (*job.overrides, *_QUIET, f'run.only=["{name}"]')
    return replace(job, label=f"{name} alone, seed {seed}", overrides=overrides, seed=seed, sweep=())
