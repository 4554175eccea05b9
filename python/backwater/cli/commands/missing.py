"""Runs of several schemes and seeds: those that no earlier call has finished are run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from backwater.experiments import estimate_tables
from backwater.experiments.executor import run_jobs
from backwater.experiments.progress import watching

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from backwater.experiments.executor import Job, Outcome


def run_missing(
    todo: Mapping[int, Mapping[str, Job]], done: Callable[[Path], bool], jobs: int | None, *, quiet: bool
) -> list[Outcome]:
    """Run the jobs whose folders are not `done`, `jobs` at a time, with a progress line unless `quiet`."""
    every = {job.out: job for by_scheme in todo.values() for job in by_scheme.values()}
    still = [job for folder, job in every.items() if folder is not None and not done(folder)]
    if not quiet:
        print(f"{len(every)} runs, {len(every) - len(still)} of them already done", file=sys.stderr)
        estimate_tables.say_if_long(still, jobs)
    with watching(still, quiet=quiet) as watcher:
        return run_jobs(still, jobs, watcher)
