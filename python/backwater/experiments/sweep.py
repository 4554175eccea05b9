"""A sweep from its plan to its tables: what is known is taken from the cache, what is missing is run."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater._core import __version__
from backwater.common.atomic_files import Staged, write_asked
from backwater.common.late import pl
from backwater.errors import UsageError, require_folder
from backwater.experiments import content_key, sweep_tables
from backwater.experiments.batch import Batch
from backwater.experiments.executor import cores
from backwater.experiments.plan import Plan
from backwater.experiments.store import Cache, default_folder
from backwater.scenario.scenario import folder_name


@dataclass
class Sweep(Batch[Cache]):
    """A plan with its runs. Every combination has been checked when this is made."""

    plan: Plan
    overrides: tuple[str, ...] = ()

    @classmethod
    def of(cls, plan: Plan, cache: Cache, overrides: Sequence[str] = ()) -> Sweep:
        """Check every combination; raises `ScenarioError` if one cannot be run."""
        return cls([cache.place(job) for job in plan.keyed(overrides)], cache, plan, tuple(overrides))

    def frame(self) -> pl.DataFrame:
        """The table of all runs; those that failed have no measures."""
        keys = {job.key for job in self.jobs} - self.failed
        with ThreadPoolExecutor(cores()) as pool:
            found = pool.map(self.store.measured, keys)
            rows = {key: facts["rows"] for key, facts in zip(keys, found, strict=True)}
        return sweep_tables.of(self.plan, self.jobs, (rows.get(job.key, ()) for job in self.jobs))

    def caveats(self) -> list[str]:
        """What the runs have reservations about, each once."""
        keys = {job.key for job in self.jobs} - self.failed
        found = (self.store.measured(key)["caveats"] for key in keys)
        return sorted({caveat for some in found for caveat in some})

    def write(self, made: pl.DataFrame, folder: Path) -> list[Path]:
        """The tables, and sweep.json: what was asked, and the key of each run."""
        require_folder(folder, "--out")
        files = sweep_tables.write(made, folder)
        text = json.dumps(self._facts(), indent=1) + "\n"
        return [
            *files,
            write_asked(folder / "sweep.json", lambda part: part.write_text(text, encoding="utf-8")),
        ]

    def _facts(self) -> dict[str, Any]:
        plan = self.plan
        return {
            "version": __version__,
            "core": content_key.core_build(),
            **plan.asked,
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
            if not self.store.has(job.key):
                continue
            kept += 1
            home = folder / folder_name(job.scenario, [*self.overrides, *job.sweep], job.seed, job.scheme)
            source = self.store.open(job.key).folder
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
