"""A sweep from its plan to its tables: what is known is taken from the cache, what is missing is run."""

from __future__ import annotations

import json
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater._core import __version__
from backwater.common.atomic_files import Staged
from backwater.errors import UsageError, require_folder
from backwater.experiments import cells, content_key
from backwater.experiments.cache import Cache, default_folder
from backwater.experiments.executor import cores
from backwater.scenario.scenario import folder_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import polars as pl

    from backwater.experiments.cells import Cell, Shard
    from backwater.experiments.engine import Engine
    from backwater.experiments.executor import Job, Outcome, Watcher
    from backwater.experiments.sweep_file import Plan

    #: Who is told how far some jobs are.
    Watching = Callable[[Sequence[Job]], AbstractContextManager[Watcher | None]]


@dataclass
class Sweep:
    """A plan with its runs. Every combination has been checked when this is made."""

    plan: Plan
    cells: Sequence[Cell]
    cache: Cache
    overrides: tuple[str, ...] = ()
    outcomes: list[Outcome] = field(default_factory=list)
    #: Keys of runs that failed, or were stopped.
    failed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, plan: Plan, cache: Cache, overrides: Sequence[str] = ()) -> Sweep:
        """Check every combination; raises `ScenarioError` if one cannot be run."""
        return cls(plan, cells.of(plan, overrides), cache, tuple(overrides))

    def mine(self, shard: Shard | None) -> dict[str, Cell]:
        """The runs of a shard, or all, by their keys: what is asked for twice is run once."""
        some = self.cells if shard is None else shard.mine(self.cells)
        return {cell.key: cell for cell in reversed(some)}

    def missing(self, shard: Shard | None = None) -> list[Cell]:
        """Runs that are not in the cache, or not as they were, in the order of the plan."""
        mine = sorted(self.mine(shard).values(), key=lambda cell: cell.number)
        with ThreadPoolExecutor(cores()) as pool:
            found = list(pool.map(lambda cell: self.cache.find(cell.key), mine))
        return [cell for cell, results in zip(mine, found, strict=True) if results is None]

    def run(self, missing: Sequence[Cell], engine: Engine, watching: Watching) -> None:
        """Do runs; what became of each is in `outcomes`."""
        if not missing:
            return
        # Of these jobs a watcher wants to know how many there are and what they cost.
        with watching([cell.job(self.cache) for cell in missing]) as watcher:
            made = engine(missing, self.cache, watcher)
        self.outcomes += made
        self.failed |= {cell.key for cell, outcome in zip(missing, made, strict=True) if outcome.error is not None}

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it."""
        return any(outcome.interrupted for outcome in self.outcomes)

    def frame(self) -> pl.DataFrame:
        """The table of all runs; those that failed have no measures."""
        from backwater.experiments import sweep_tables

        keys = {cell.key for cell in self.cells} - self.failed
        with ThreadPoolExecutor(cores()) as pool:
            found = pool.map(self.cache.measured, keys)
            rows = {key: facts["rows"] for key, facts in zip(keys, found, strict=True)}
        return sweep_tables.of(self.plan, self.cells, rows)

    def caveats(self) -> list[str]:
        """What the runs have reservations about, each once."""
        keys = {cell.key for cell in self.cells} - self.failed
        found = (self.cache.measured(key)["caveats"] for key in keys)
        return sorted({caveat for some in found for caveat in some})

    def write(self, made: pl.DataFrame, folder: Path) -> list[Path]:
        """The tables, and sweep.json: what was asked, and the key of each run."""
        from backwater.experiments import sweep_tables

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
                {"values": list(cell.texts), "scheme": cell.scheme, "seed": cell.seed, "key": cell.key}
                for cell in self.cells
            ],
        }

    def keep_runs(self, folder: Path) -> int:
        """Copy the results folder of each run to `folder`, each whole or not at all; says how many there are."""
        require_folder(folder, "--out")
        kept = 0
        for cell in self.cells:
            if not self.cache.has(cell.key):
                continue
            kept += 1
            home = folder / folder_name(cell.scenario, [*self.overrides, *cell.texts], cell.seed, cell.scheme)
            source = self.cache.open(cell.key).folder
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
