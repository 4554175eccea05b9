"""Runs of which an earlier call may have finished some: the others are run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from pathlib import Path

from backwater.experiments import estimate_tables
from backwater.experiments.executor import Job, Outcome, run_jobs
from backwater.experiments.progress import watching


def run_missing(
    jobs: Collection[Job],
    done: Callable[[Path], bool],
    workers: int | None,
    *,
    quiet: bool,
    what: str = "runs",
    warned: bool = False,
) -> list[Outcome]:
    """Run the jobs whose folders are not `done`, `workers` at a time: of equal ones one, the longest first.

    Unless `quiet` there is a progress line, and if `warned` a word before runs that take long.
    """
    every = {job.out: job for job in jobs}
    still = [job for folder, job in every.items() if folder is not None and not done(folder)]
    # So that no core waits for the last of them.
    still.sort(key=lambda job: -job.cost)
    if not quiet:
        print(f"{len(every)} {what}, {len(every) - len(still)} of them already done", file=sys.stderr)
        if warned:
            estimate_tables.say_if_long(still, workers)
    with watching(still, quiet=quiet) as watcher:
        return run_jobs(still, workers, watcher)
