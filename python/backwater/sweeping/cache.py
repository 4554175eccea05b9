"""Runs that were done before, each in a folder named by its content. What is there is whole, or is not believed.

::

    <cache>/runs/3f/3f9a…/   run.json, tables, entry.json (the key, hashes of these files, what was measured)
    <cache>/making/…         runs under way, one folder each, with machine and process in its name

A run moves from one to the other by a single rename, when it is complete and hashed; whoever comes second throws its
own away. What a killed process left in `making` is removed by the next one on the same machine. No locks: any number of
processes may use a cache at a time, also on a file system that machines share.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater.errors import UsageError, require_folder
from backwater.results import Results
from backwater.sweeping import measured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backwater.sweeping.cells import Cell

_ENTRY = "entry.json"
#: After so long what another machine left in `making` is taken for abandoned.
_ABANDONED_S = 14 * 86_400


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
        self._remove_left()

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

    def place(self, cell: Cell) -> Path:
        """Where a run may write until it is complete."""
        return self.folder / "making" / f"{cell.key}.{_machine()}.{os.getpid()}.{threading.get_ident()}"

    def keep(self, cell: Cell, written: Path) -> Results:
        """Put a complete run into its place; if another process was quicker, its run is taken."""
        body = {
            "key": cell.key,
            "label": cell.label,
            "files": _files(written),
            "measured": measured.facts(Results(written)),
        }
        (written / _ENTRY).write_text(json.dumps({"sha256": _hash(body), "run": body}), encoding="utf-8")
        home = self._home(cell.key)
        home.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(3):
            try:
                written.rename(home)
            except OSError:
                if self.find(cell.key) is not None:
                    shutil.rmtree(written, ignore_errors=True)
                    break
            else:
                break
        else:
            raise UsageError(f"{home} cannot be made from {written}; clear the cache, or name another with --cache")
        return Results(home)

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
        aside = self.folder / "making" / f"{home.name}.{_machine()}.{os.getpid()}.{threading.get_ident()}-gone"
        try:
            home.rename(aside)
        except OSError:
            return
        shutil.rmtree(aside, ignore_errors=True)

    def _remove_left(self) -> None:
        for path in (self.folder / "making").iterdir():
            _, machine, process, _ = (*path.name.split("."), "", "", "", "")[:4]
            if machine == _machine():
                left = process.isdecimal() and not _alive(int(process))
            else:
                left = _age_s(path) > _ABANDONED_S
            if left:
                shutil.rmtree(path, ignore_errors=True)


def _whole(home: Path, key: str) -> Results | None:
    """A run that is complete, of this key, with the files that were hashed; None otherwise."""
    try:
        entry = _entry(home)
        if entry is None or entry["key"] != key or entry["files"] != _files(home):
            return None
        results = Results(home)
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


def _files(folder: Path) -> dict[str, Any]:
    """The hash of every file of a run."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.name != _ENTRY:
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _machine() -> str:
    return socket.gethostname().replace(".", "_")


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _age_s(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0
