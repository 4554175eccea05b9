"""Progress of the runs of a call, for those who want to see it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from backwater.experiments.executor import Job, Watcher


def watching(jobs: Sequence[Job], *, progress: bool) -> AbstractContextManager[Watcher | None]:
    """Who is told how far the runs are: nobody without `progress`."""
    if not progress:
        return nullcontext()
    from backwater.experiments import progress as shown

    return shown.watching(jobs)
