"""Who does the runs that are missing: threads of this machine, which is what the core needs to use all cores of it.

The core gives the interpreter free while it runs, so threads are as quick as processes and start at once.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from backwater.running import Outcome, run_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from backwater import _core
    from backwater.running import Job, Watcher
    from backwater.sweeping.cache import Cache
    from backwater.sweeping.cells import Cell

    #: Runs cells, each of another key, and puts those that are complete into the cache.
    Engine = Callable[[Sequence[Cell], Cache, Watcher | None], list[Outcome]]


def here(workers: int | None = None) -> Engine:
    """The cores of this machine, `workers` runs at a time."""

    def run(cells: Sequence[Cell], cache: Cache, watcher: Watcher | None) -> list[Outcome]:
        jobs = [cell.job(cache.place(cell)) for cell in cells]
        keeper = Keeper(dict(zip(map(id, jobs), cells, strict=True)), cache, watcher)
        outcomes = run_jobs(jobs, workers, keeper)
        return [keeper.failed.get(id(outcome.job), outcome) for outcome in outcomes]

    return run


class Keeper:
    """Puts what is complete into the cache before anybody is told."""

    def __init__(self, cells: dict[int, Cell], cache: Cache, watcher: Watcher | None) -> None:
        self._cells, self._cache, self._watcher = cells, cache, watcher
        #: By job: runs that are done, but could not be kept.
        self.failed: dict[int, Outcome] = {}

    def started(self, job: Job) -> None:
        """A run begins."""
        if self._watcher:
            self._watcher.started(job)

    def advanced(self, job: Job, fraction: float, progress: _core.Progress) -> None:
        """A run is under way."""
        if self._watcher:
            self._watcher.advanced(job, fraction, progress)

    def finished(self, outcome: Outcome) -> None:
        """A run is over: complete, or of no use to a sweep."""
        place = outcome.job.out
        if place is not None and outcome.error is None:
            try:
                self._cache.keep(self._cells[id(outcome.job)], place)
            except KeyboardInterrupt as interrupt:
                shutil.rmtree(place, ignore_errors=True)
                if self._watcher:
                    self._watcher.finished(Outcome(outcome.job, None, interrupt))
                raise
            except Exception as error:  # noqa: BLE001  a run that cannot be kept must not take the others with it
                outcome = Outcome(outcome.job, None, error)
                self.failed[id(outcome.job)] = outcome
        if place is not None and outcome.error is not None:
            shutil.rmtree(place, ignore_errors=True)
        if self._watcher:
            self._watcher.finished(outcome)
