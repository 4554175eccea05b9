"""Runs of which an earlier call may have finished some: the others are run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial

from backwater.experiments import estimate_tables
from backwater.experiments.batch import Batch
from backwater.experiments.executor import Job, Outcome, run_jobs
from backwater.experiments.progress import watching
from backwater.experiments.store import Store


def run_missing(
    jobs: Iterable[Job], kept: Store, workers: int | None, *, quiet: bool, what: str = "runs", warned: bool = False
) -> list[Outcome]:
    """Run the jobs that are not kept, `workers` at a time: of equal ones one.

    Unless `quiet` there is a progress line, and if `warned` a word before runs that take long.
    """
    batch = Batch(list(jobs), kept)
    every, missing = len(batch.mine()), batch.missing()
    if not quiet:
        counted = what.replace("runs", "run", 1) if every == 1 else what
        print(f"{every} {counted}, {every - len(missing)} of them already done", file=sys.stderr)
        if warned:
            estimate_tables.say_if_long(missing, workers)
    batch.run(missing, partial(run_jobs, workers=workers), partial(watching, quiet=quiet))
    return batch.outcomes
