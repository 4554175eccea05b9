"""A sweep from its plan to its tables: what is known is taken from the cache, what is missing is run."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from backwater._core import __version__
from backwater.common.atomic_files import Staged
from backwater.errors import UsageError, require_folder
from backwater.experiments import content_key, sweep_tables
from backwater.experiments.executor import Engine, Job, Outcome, Watcher, cores
from backwater.experiments.store import Cache, default_folder
from backwater.experiments.sweep_file import SweepPlan
from backwater.scenario.scenario import folder_name

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
class Sweep:
    """A plan with its runs. Every combination has been checked when this is made."""

    plan: SweepPlan
    jobs: Sequence[Job]
    cache: Cache
    overrides: tuple[str, ...] = ()
    outcomes: list[Outcome] = field(default_factory=list)
    #: Keys of runs that failed, or were stopped.
    failed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, plan: SweepPlan, cache: Cache, overrides: Sequence[str] = ()) -> Sweep:
        """Check every combination; raises `ScenarioError` if one cannot be run."""
        return cls(plan, [cache.place(job) for job in plan.keyed(overrides)], cache, tuple(overrides))

    def mine(self, shard: Shard | None) -> dict[str, Job]:
        """The runs of a shard, or all, by their keys: what is asked for twice is run once."""
        found: dict[str, Job] = {}
        for job in self.jobs if shard is None else shard.mine(self.jobs):
            found.setdefault(job.key, job)
        return found

    def missing(self, shard: Shard | None = None) -> list[Job]:
        """Runs that are not in the cache, or not as they were, in the order of the plan."""
        mine = self.mine(shard)
        with ThreadPoolExecutor(cores()) as pool:
            found = pool.map(self.cache.find, mine)
            return [job for job, results in zip(mine.values(), found, strict=True) if results is None]

    def run(self, missing: Sequence[Job], engine: Engine, watching: Watching) -> None:
        """Do runs; what became of each is in `outcomes`."""
        if not missing:
            return
        with watching(missing) as watcher:
            made = engine(missing, watcher=watcher)
        self.outcomes += made
        self.failed |= {outcome.job.key for outcome in made if outcome.error is not None}

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it."""
        return any(outcome.interrupted for outcome in self.outcomes)

    def frame(self) -> pl.DataFrame:
        """The table of all runs; those that failed have no measures."""
        keys = {job.key for job in self.jobs} - self.failed
        with ThreadPoolExecutor(cores()) as pool:
            found = pool.map(self.cache.measured, keys)
            rows = {key: facts["rows"] for key, facts in zip(keys, found, strict=True)}
        return sweep_tables.of(self.plan, self.jobs, rows)

    def caveats(self) -> list[str]:
        """What the runs have reservations about, each once."""
        keys = {job.key for job in self.jobs} - self.failed
        found = (self.cache.measured(key)["caveats"] for key in keys)
        return sorted({caveat for some in found for caveat in some})

    def write(self, made: pl.DataFrame, folder: Path) -> list[Path]:
        """The tables, and sweep.json: what was asked, and the key of each run."""
        require_folder(folder, "--out")
        files = sweep_tables.write(self.plan, made, folder)
        text = json.dumps(self._facts(), indent=1) + "\n"
        return [
            *files,
            sweep_tables.replaced(folder / "sweep.json", lambda part: part.write_text(text, encoding="utf-8")),
        ]

    def _facts(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "version": __version__,
            "core": content_key.core_build(),
            "file": plan.document.origin,
            "sweep": plan.document.tables,
            "set": list(self.overrides),
            "scenario": plan.scenario.origin,
            "scenario_text": plan.scenario.text,
            "runs": [
                {"values": list(job.sweep), "scheme": job.scheme, "seed": job.seed, "key": job.key} for job in self.jobs
            ],
        }

    def keep_runs(self, folder: Path) -> int:
        """Copy the results folder of each run to `folder`, each whole or not at all; says how many there are."""
        require_folder(folder, "--out")
        kept = 0
        for job in self.jobs:
            if not self.cache.has(job.key):
                continue
            kept += 1
            home = folder / folder_name(job.scenario, [*self.overrides, *job.sweep], job.seed, job.scheme)
            source = self.cache.open(job.key).folder
            with Staged(home) as staged:
                ignored = shutil.ignore_patterns("entry.json")
                shutil.copytree(source, staged.folder, ignore=ignored, dirs_exist_ok=True)
                staged.keep()
        return kept


@contextmanager
def cache_at(place: Path | None, *, wanted: bool = True) -> Iterator[Cache]:
    """The cache at a place, or at the usual one; if none is wanted, one that is gone afterwards."""
    if wanted:
        folder = place if place is not None else default_folder()
        option = "--cache" if place is not None else "BACKWATER_CACHE"
        yield Cache(folder, option)
        return
    if place is not None:
        raise UsageError("a place for the cache and no cache go not together: remove --cache or --no-cache")
    folder = Path(tempfile.mkdtemp(prefix="backwater-sweep-"))
    try:
        yield Cache(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
