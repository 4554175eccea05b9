"""Runs that are asked for together: a store has some of them, an engine does the others, all of them or a shard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from backwater.errors import UsageError
from backwater.experiments.executor import Engine, Job, Outcome, Watcher, cores
from backwater.experiments.store import Store

_Store = TypeVar("_Store", bound=Store)
#: Who is told how far some jobs are.
Watching = Callable[[Sequence[Job]], AbstractContextManager[Watcher | None]]


@dataclass(frozen=True)
class Shard:
    """The `one`-th of `of` parts, counted from 1."""

    one: int
    of: int

    def mine(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Every `of`-th run, so that all shards have some of each kind, whatever is done already."""
        return jobs[self.one - 1 :: self.of]


def parse_shard(text: str) -> Shard:
    """`i/n`, counted from 1; raises UsageError otherwise.

    >>> parse_shard("2/4")
    Shard(one=2, of=4)
    """
    one, sign, of_ = text.partition("/")
    right = sign and one.isascii() and one.isdecimal() and of_.isascii() and of_.isdecimal() and len(of_) < 10
    if not right or not 1 <= int(one) <= int(of_):
        raise UsageError(
            f"--shard {text}: write i/n with i from 1 to n, such as 1/4; in a Slurm array from 1 to n that is "
            "--shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
        )
    return Shard(int(one), int(of_))


@dataclass
class Batch(Generic[_Store]):
    """Runs with their places in a store; `outcomes` is what became of those that were not there."""

    jobs: Sequence[Job]
    store: _Store
    outcomes: list[Outcome] = field(default_factory=list, init=False)

    def mine(self, shard: Shard | None = None) -> dict[str, Job]:
        """The runs of a shard, or all, by their keys: what is asked for twice is run once."""
        found: dict[str, Job] = {}
        for job in self.jobs if shard is None else shard.mine(self.jobs):
            found.setdefault(job.key, job)
        return found

    def missing(self, shard: Shard | None = None) -> list[Job]:
        """Runs that are not in the store, or not as they were, in the order of the plan."""
        mine = self.mine(shard).values()
        with ThreadPoolExecutor(cores()) as pool:
            found = pool.map(self.store.find, mine)
            return [job for job, results in zip(mine, found, strict=True) if results is None]

    def run(self, missing: Sequence[Job], engine: Engine, watching: Watching) -> None:
        """Do runs; what became of each is in `outcomes`."""
        if missing:
            with watching(missing) as watcher:
                self.outcomes += engine(missing, watcher=watcher)

    @property
    def failed(self) -> set[str]:
        """Keys of runs that failed, or were stopped."""
        return {outcome.job.key for outcome in self.outcomes if outcome.error is not None}

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it."""
        return any(outcome.interrupted for outcome in self.outcomes)
