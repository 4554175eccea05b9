"""Runs that were done before, found by the keys of their content: a second call does only what changed.

A `Store` is one of two: `RunFolders` has results folders with names for people, of a comparison or a reproduction.
`Cache` is that of sweeps, each run in a folder named by its key; what is there is whole, or is not believed::

    <cache>/runs/3f/3f9a…/   run.json, which has hashes of the tables; tables; entry.json (the key, what was measured)
    <cache>/making/…         runs under way, one folder each

A run moves from one to the other by a single rename, when it is complete; whoever comes second throws its own away. Any
number of processes may use a cache at a time, in containers too, and on a file system that machines share:
:mod:`backwater.common.atomic_files` says how what a killed process left is told from what a living one writes.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from backwater.common import atomic_files
from backwater.errors import UsageError, reason, require_folder
from backwater.experiments import sweep_measures
from backwater.experiments.executor import Job
from backwater.results import Results
from backwater.scenario.scenario import folder_name

_ENTRY = "entry.json"
#: In a folder of tables: whose it is, the absolute paths of files.
_OF = ".made-of"
#: What a Parquet file begins and ends with.
_MAGIC = b"PAR1"


def default_folder() -> Path:
    """``$BACKWATER_CACHE``, or ``backwater`` in ``$XDG_CACHE_HOME``, or in ``~/.cache``."""
    if own := os.environ.get("BACKWATER_CACHE"):
        return Path(own).absolute()
    # The XDG Base Directory Specification: paths that are not absolute are to be ignored.
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "backwater"


class Store(Protocol):
    """Where runs are kept that were done, by the keys of their content."""

    def place(self, job: Job) -> Job:
        """A job that keeps its run here."""

    def find(self, job: Job) -> Results | None:
        """The run that a job asks for, if it is here and whole."""


@dataclass
class Cache:
    """A folder of runs; `damaged` are the keys of entries that could not be believed, and were removed."""

    folder: Path
    option: str = "--cache"
    damaged: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for part in ("runs", "making"):
            require_folder(self.folder / part, self.option)
        atomic_files.remove_left(self.folder / "making")

    def find(self, job: Job) -> Results | None:
        """A run, if it is there and its files are what they were; a damaged one is removed."""
        return self.of_key(job.key)

    def of_key(self, key: str) -> Results | None:
        """The same by its key."""
        home = self.home(key)
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
            return Results(self.home(key))
        except UsageError:
            raise UsageError(
                f"run {key} was removed from {self.folder} meanwhile; give the same command again"
            ) from None

    def measured(self, key: str) -> dict[str, Any]:
        """What :func:`measured.facts` says of a run that is there, without a look at its tables."""
        entry = _entry(self.home(key))
        if entry is None or entry["measured"]["code"] != sweep_measures.code():
            return sweep_measures.facts(self.open(key))
        known: dict[str, Any] = entry["measured"]
        return known

    def has(self, key: str) -> bool:
        """Whether a run is there, without a look at its files."""
        return (self.home(key) / _ENTRY).is_file()

    def home(self, key: str) -> Path:
        """Where a run is, or will be."""
        return self.folder / "runs" / key[:2] / key

    def place(self, job: Job) -> Job:
        """A job that keeps its run here, once it is complete."""
        return replace(job, out=self.home(job.key), stage=partial(_Making, cache=self, key=job.key, label=job.label))

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

    def _remove(self, home: Path) -> None:
        """At once for everybody who looks, whatever happens on the way."""
        atomic_files.remove(home, self.folder / "making")


class _Making(atomic_files.Staged):
    """A run on its way into a cache; one that is not complete is of no use there."""

    def __init__(self, home: Path, *, cache: Cache, key: str, label: str) -> None:
        super().__init__(home, cache.folder / "making")
        self._cache, self._key, self._label = cache, key, label

    def keep(self) -> None:
        """Put a complete run into its place; if another process was quicker, its run is taken."""
        self.seal()
        body = {"key": self._key, "label": self._label, "measured": sweep_measures.facts(Results(self.folder))}
        atomic_files.write_text(self.folder / _ENTRY, json.dumps({"sha256": _hash(body), "run": body}))
        self.place.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(3):
            try:
                self.folder.rename(self.place)
            except OSError:
                if self._cache.of_key(self._key) is not None:
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


class OfFile(atomic_files.Staged):
    """The results folder of a scenario file, whose name it has: results of a file of that name elsewhere are kept."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._asked = self.place

    def elsewhere(self) -> Path | None:
        """The same name with a hash of the file's folder, where another file's results are."""
        own, there = (_base(folder) for folder in (self.folder, self.place))
        if own is None or there is None or own == there or not _has_file(Path(there), self.place.name):
            return None
        # It was told apart already: of two folders with one hash the later run is kept.
        return None if self.place != self._asked else _told_apart(self.place, own)


def _base(run: Path) -> str | None:
    """The folder of the scenario file of a run, if it is known."""
    try:
        base = json.loads((run / "run.json").read_text(encoding="utf-8"))["base"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return base if isinstance(base, str) else None


def _has_file(base: Path, name: str) -> bool:
    """Whether a folder still has the scenario file that gave results their name; it may have been moved with them."""
    try:
        return any(name.startswith(f"{file.stem}-") for file in base.glob("*.toml"))
    except OSError:
        return False


def _told_apart(folder: Path, of: str) -> Path:
    return folder.with_name(f"{folder.name}-{hashlib.sha256(of.encode()).hexdigest()[:8]}")


@dataclass(frozen=True)
class OwnFolder:
    """A folder of tables that is called after the files that say what is done: `place` is it, or one beside it."""

    place: Path
    asked: Path
    files: tuple[Path, ...]

    @classmethod
    def of(cls, asked: Path, *files: Path) -> OwnFolder:
        """The folder `asked`; another one if that has what other files of the same names made."""
        own = cls(asked, asked, tuple(file.absolute() for file in files))
        return replace(own, place=_told_apart(asked, own._told)) if own._is_others() else own

    def claim(self) -> None:
        """Make the folder and write down whose it is; raises UsageError if another command was quicker.

        The user is told if it is not the one that has the name.
        """
        require_folder(self.place, "--out")
        mark = self.place / _OF
        try:
            with mark.open("x", encoding="utf-8") as made:
                made.write(self._told)
        except FileExistsError:
            if not self._is_others():
                atomic_files.write_text(mark, self._told)
        except OSError as error:
            raise OSError(error.errno, reason(error), str(mark)) from None
        if self._is_others():
            told = f"{self.place} was taken for another file of this name meanwhile"
            raise UsageError(f"{told}; give the same command again")
        if self.place != self.asked:
            told = f"{self.asked} is that of another file of this name, and is kept"
            print(f"note: {told}; what this one makes is in {self.place}", file=sys.stderr)

    @property
    def _told(self) -> str:
        return "\n".join(map(str, self.files))

    def _is_others(self) -> bool:
        try:
            owner = (self.place / _OF).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return False
        # Files that are no more were moved, perhaps with their results.
        return owner != self._told and all(Path(file).is_file() for file in owner.splitlines())


@dataclass
class RunFolders:
    """Runs below a folder, each in one with a name for people; those that lack a table of `needed` are done again."""

    root: Path
    needed: tuple[str, ...] = ()
    _places: dict[str, Path] = field(default_factory=dict)

    def place(self, job: Job) -> Job:
        """A job with its results folder.

        The hash at its end says which run it is, the words before it are for people: a run that another scheme has, or
        has done, keeps its folder.
        """
        key, seed = job.key[:12], job.seed or 0
        if key not in self._places:
            runs = self.root / "runs"
            own = runs / f"{folder_name(job.scenario, (), seed, job.scheme)}-{key}"
            self._places[key] = min(runs.glob(f"*-s{seed}-{key}"), default=own)
        return replace(job, out=self._places[key])

    def find(self, job: Job) -> Results | None:
        """A run that is complete, with what is needed of it; None otherwise."""
        if job.out is None or not finished(job.out):
            return None
        results = Results(job.out)
        try:
            for table in self.needed:
                results.check(table)
        except (UsageError, KeyError):
            return None
        return results


def finished(run: Path) -> bool:
    """Whether a results folder holds a complete run, with every table whole; one that does not is to be run again."""
    try:
        found = Results(run)
        return found.complete and all(
            _is_parquet(run / table["file"], table["bytes"]) for table in found.tables.values()
        )
    except (OSError, UsageError):
        return False


def _is_parquet(file: Path, size: int | None) -> bool:
    """Whether a Parquet file has its size and its two ends: a copy that broke off, or a full disk, shows there."""
    with file.open("rb") as table:
        begin = table.read(len(_MAGIC))
        end = table.seek(0, os.SEEK_END)
        if begin != _MAGIC or end < 2 * len(_MAGIC) or size not in (None, end):
            return False
        table.seek(-len(_MAGIC), os.SEEK_END)
        return table.read() == _MAGIC
