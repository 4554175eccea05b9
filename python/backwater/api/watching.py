"""Progress of the runs of a call, for those who want to see it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from backwater.experiments import progress as shown
from backwater.experiments.executor import Job, Watcher


def watching(jobs: Sequence[Job], *, progress: bool) -> AbstractContextManager[Watcher | None]:
    """Who is told how far the runs are: nobody without `progress`."""
    if not progress:
        return nullcontext()

    return shown.watching(jobs)
