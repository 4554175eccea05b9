"""Who does the runs that are missing: threads of this machine, which is what the core needs to use all cores of it.

The core gives the interpreter free while it runs, so threads are as quick as processes and start at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.experiments.executor import run_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from backwater.experiments.cache import Cache
    from backwater.experiments.cells import Cell
    from backwater.experiments.executor import Outcome, Watcher

    #: Runs cells, each of another key, and puts those that are complete into the cache.
    Engine = Callable[[Sequence[Cell], Cache, Watcher | None], list[Outcome]]


def here(workers: int | None = None) -> Engine:
    """The cores of this machine, `workers` runs at a time."""

    def run(cells: Sequence[Cell], cache: Cache, watcher: Watcher | None) -> list[Outcome]:
        return run_jobs([cell.job(cache) for cell in cells], workers, watcher)

    return run
