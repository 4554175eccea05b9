"""Runs that were done before, each in a folder named by its content. What is there is whole, or is not believed.

::

    <cache>/runs/3f/3f9a…/   run.json, which has hashes of the tables; tables; entry.json (the key, what was measured)
    <cache>/making/…         runs under way, one folder each

A run moves from one to the other by a single rename, when it is complete; whoever comes second throws its own away. Any
number of processes may use a cache at a time, in containers too, and on a file system that machines share:
:mod:`backwater.staging` says how what a killed process left is told from what a living one writes.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater import staging
from backwater.errors import UsageError, require_folder
from backwater.results import Results
from backwater.sweeping import measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from backwater.sweeping.cells import Cell

_ENTRY = "entry.json"


def default_folder() -> Path:
    """``$BACKWATER_CACHE``, or ``backwater`` in ``$XDG_CACHE_HOME``, or in ``~/.cache``."""
    if own := os.environ.get("BACKWATER_CACHE"):
        return Path(own).absolute()
    # The XDG Base Directory Specification: paths that are not absolute are to be ignored.
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "backwater"


@dataclass
class Cache:
    """A folder of runs; `damaged` are the keys of entries that could not be believed, and were removed."""

    folder: Path
    option: str = "--cache"
    damaged: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for part in ("runs", "making"):
            require_folder(self.folder / part, self.option)
        staging.remove_left(self.folder / "making")

    def find(self, key: str) -> Results | None:
        """A run, if it is there and its files are what they were; a damaged one is removed."""
        home = self._home(key)
        if not home.is_dir():
            return None
        results = _whole(home, key)
        if results is None:
            self._remove(home)
            self.damaged.append(key)
            return None
        # When it was last of use, for `cache clear --older-than`.
        with suppress(OSError):
            os.utime(home / _ENTRY)
        return results

    def open(self, key: str) -> Results:
        """A run that is there; raises UsageError if it was removed since."""
        try:
            return Results(self._home(key))
        except UsageError:
            raise UsageError(
                f"run {key} was removed from {self.folder} meanwhile; give the same command again"
            ) from None

    def measured(self, key: str) -> dict[str, Any]:
        """What :func:`measured.facts` says of a run that is there, without a look at its tables."""
        entry = _entry(self._home(key))
        if entry is None or entry["measured"]["code"] != measured.code():
            return measured.facts(self.open(key))
        known: dict[str, Any] = entry["measured"]
        return known

    def has(self, key: str) -> bool:
        """Whether a run is there, without a look at its files."""
        return (self._home(key) / _ENTRY).is_file()

    def home(self, cell: Cell) -> Path:
        """Where a run will be."""
        return self._home(cell.key)

    def stage(self, cell: Cell) -> Callable[[Path], staging.Staged]:
        """What makes the folder that a run of the cache writes to until it is complete."""
        return partial(_Making, cache=self, cell=cell)

    def entries(self) -> Iterator[tuple[Path, int, float]]:
        """Folder, bytes, and time of last use of every run."""
        for home in sorted((self.folder / "runs").glob("??/*")):
            try:
                size = sum(file.stat().st_size for file in home.iterdir())
                used = (home / _ENTRY).stat().st_mtime
            except OSError:
                continue
            yield home, size, used

    def clear(self, older_s: float | None = None) -> tuple[int, int]:
        """Remove every run, or those not used for so long: how many, and their bytes. Runs under way are left alone."""
        count = freed = 0
        for home, size, used in list(self.entries()):
            if older_s is None or time.time() - used > older_s:
                self._remove(home)
                count, freed = count + 1, freed + size
        return count, freed

    def _home(self, key: str) -> Path:
        return self.folder / "runs" / key[:2] / key

    def _remove(self, home: Path) -> None:
        """At once for everybody who looks, whatever happens on the way."""
        staging.remove(home, self.folder / "making")


class _Making(staging.Staged):
    """A run on its way into a cache; one that is not complete is of no use there."""

    def __init__(self, home: Path, *, cache: Cache, cell: Cell) -> None:
        super().__init__(home, cache.folder / "making")
        self._cache, self._cell = cache, cell

    def keep(self) -> None:
        """Put a complete run into its place; if another process was quicker, its run is taken."""
        key = self._cell.key
        self.seal()
        body = {"key": key, "label": self._cell.label, "measured": measured.facts(Results(self.folder))}
        (self.folder / _ENTRY).write_text(json.dumps({"sha256": _hash(body), "run": body}), encoding="utf-8")
        self.place.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(3):
            try:
                self.folder.rename(self.place)
            except OSError:
                if self._cache.find(key) is not None:
                    return
            else:
                return
        raise UsageError(f"{self.place} cannot be made; clear the cache, or name another with --cache")

    def keep_partial(self) -> dict[str, Any] | None:
        """Nothing is kept."""
        return None


def _whole(home: Path, key: str) -> Results | None:
    """A run that is complete, of this key, with the tables that it wrote; None otherwise."""
    try:
        entry = _entry(home)
        if entry is None or entry["key"] != key:
            return None
        results = Results(home)
        for table in results.tables:
            results.check(table)
        files = {"run.json", _ENTRY, *(str(table["file"]) for table in results.tables.values())}
        if {path.name for path in home.iterdir()} != files:
            return None
    except (OSError, UsageError):
        return None
    return results if results.complete else None


def _entry(home: Path) -> dict[str, Any] | None:
    """What entry.json says, if it is what was written."""
    try:
        found = json.loads((home / _ENTRY).read_text(encoding="utf-8"))
        entry: dict[str, Any] = found["run"]
        return entry if found["sha256"] == _hash(entry) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _hash(body: Any) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
