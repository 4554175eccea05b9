"""What is written appears whole or not at all: it has another name first, and is renamed.

Results folders, runs of a cache, tables and pictures are made this way, and no other.

A folder under way is called ``.NAME.MACHINE.TOKEN.part`` and stands beside its place. Who writes it holds a lock on it
(`flock` of the folder itself), which the system lets go when that process ends, however it ends. So whoever writes to
the same place next finds out by the lock, and removes what a killed process left. A lock does not ask for process ids,
which mean nothing in another container. It counts on one machine only, which is known by the boot id of its kernel:
what another machine left on a shared folder, or this one before it was started again, or on a file system without such
locks (folders on NFS), is removed when it has not been written to for two weeks.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

from backwater import _core
from backwater.errors import UsageError, reason, require_text

#: How folders under way are called.
_UNDER_WAY = re.compile(r"\.(?P<name>.*)\.(?P<machine>[0-9a-f]{8})\.[0-9a-f]{12}\.part")
#: After so long what nobody can tell anything of is taken for abandoned.
_ABANDONED_S = 14 * 86_400
#: So long a writer waits for another one that is putting its folder into the same place.
_PATIENCE_S = 10.0
#: What a file name may have of bytes, less what is added to it here.
_LONGEST = 200
#: Of Linux: paths count from the working folder, and renameat2 lets two names change places.
_HERE, _EXCHANGE = -100, 2
#: What stands in a results folder besides tables: a page, and flows that were given as a table.
_OF_RUNS = ("run.json", "view.html", "inputs")


class Staged:
    """A folder under way, for the results of one run; `place` is where it goes. Leaving it throws it away."""

    def __init__(self, place: Path, room: Path | None = None) -> None:
        require_text(place.absolute())
        # A symbolic link stays one: what it leads to is replaced.
        self.place = Path(os.path.realpath(place))
        if self.place.exists() and not self.place.is_dir():
            raise UsageError(f"{place} is a file; results need a folder, so name another place")
        room = room or self.place.parent
        try:
            room.mkdir(parents=True, exist_ok=True)
            if self.place.is_dir() and not os.access(self.place, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            remove_left(room)
            self.folder, self._lock = _made(room, self.place.name)
        except OSError as error:
            raise UsageError(
                f"the results folder {place} cannot be made ({reason(error)}); make room for it, or name another place"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Throw away what was not kept."""
        # First the files, then the lock: else another process could find a folder that nobody holds.
        if self._lock is not None or self.folder.exists():
            shutil.rmtree(self.folder, ignore_errors=True)
        self._unlock()

    def keep(self) -> None:
        """Put the folder into its place, instead of an earlier run; of several writers the last one is there whole."""
        try:
            self.seal()
            self._put()
        except OSError as error:
            raise UsageError(
                f"{self.place} cannot be written ({reason(error)}); name another place for the results"
            ) from None
        finally:
            self._unlock()

    def keep_partial(self) -> dict[str, Any] | None:
        """Keep what an interrupted run had, if it got as far as to write its run.json; returns that."""
        file = self.folder / "run.json"
        if not file.is_file():
            return None
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        self.keep()
        return kept

    def seal(self) -> dict[str, Any]:
        """Note the hash of every table in run.json, and one of its own text, and return what it says then."""
        file = self.folder / "run.json"
        meta: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for table in meta["tables"].values():
            table["sha256"] = hash_of(self.folder / table["file"])
        meta["check"] = ""
        text = json.dumps(meta, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        meta["check"] = hashlib.sha256(text.encode()).hexdigest()
        with whole(file) as part:
            part.write_text(text.replace('\n  "check": ""', f'\n  "check": "{meta["check"]}"', 1), encoding="utf-8")
        return meta

    def elsewhere(self) -> Path | None:
        """Where the folder goes instead, if what is in its place is to be kept. Nobody else writes there now."""
        return None

    def _put(self) -> None:
        while True:
            try:
                self.folder.rename(self.place)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
                    raise
            else:
                return
            with _turn(self.place) as there:
                if not there:
                    continue
                if (elsewhere := self.elsewhere()) is not None:
                    self.place = elsewhere
                    continue
                if _is_run(self.place) and not _works_in(self.place):
                    with suppress(OSError):
                        self._swap()
                        return
                self._fill()
                return

    def _swap(self) -> None:
        """The folder against the one in its place, at once; that one is removed."""
        try:
            _exchange(self.folder, self.place)
        except OSError:
            # A file system that cannot: for a moment nothing is there.
            aside = self.folder.with_name(_name(self.place.name))
            self.place.rename(aside)
            self.folder.rename(self.place)
            shutil.rmtree(aside, ignore_errors=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _fill(self) -> None:
        """File by file, where the folder must stay: it has files of somebody else, is mounted, or is worked in."""
        run = self.place / "run.json"
        # It goes first and comes back last, so that it never describes other tables than those beside it.
        run.unlink(missing_ok=True)
        for path in self.place.iterdir():
            if _of_run(path.name):
                _removed(path)
        for path in sorted(self.folder.iterdir(), key=lambda path: path.name == run.name):
            path.replace(self.place / path.name)
        self.folder.rmdir()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def under_way(place: Path) -> list[Path]:
    """Folders of runs for this place that are not complete: under way, or left by a process that was killed."""
    try:
        entries = [(path, _UNDER_WAY.fullmatch(path.name)) for path in place.absolute().parent.iterdir()]
    except OSError:
        return []
    return sorted(path for path, match in entries if match and match["name"] == _short(place.absolute().name))


def is_under_way(path: Path) -> bool:
    """Whether a path is, or lies in, a folder under way."""
    return any(_UNDER_WAY.fullmatch(part) for part in path.parts)


def remove_left(room: Path) -> None:
    """Remove the folders under way in `room` whose processes are no more."""
    for path in room.iterdir():
        match = _UNDER_WAY.fullmatch(path.name)
        if match is None or not path.is_dir():
            continue
        known, lock = _locked(path) if match["machine"] == _machine() else (False, None)
        if (lock is not None) if known else _age_s(path) > _ABANDONED_S:
            shutil.rmtree(path, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove(folder: Path, room: Path) -> None:
    """Remove a folder at once for everybody who looks, by way of `room`, whatever happens meanwhile."""
    aside = room / _name(folder.name)
    try:
        folder.rename(aside)
    except OSError:
        return
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """A place to write a file to, which becomes `file` at the end of the block; a file of its own for each writer."""
    # The ending stays: it chooses formats.
    made = file.with_name(_name(file.name) + file.suffix)
    try:
        yield made
        made.replace(file)
    except OSError as error:
        # What writes to an open file does not say which one, and nobody knows the name that it has meanwhile.
        raise OSError(error.errno or errno.EIO, reason(error), str(file)) from None
    except Exception as error:
        if type(error).__module__ == "polars.exceptions":  # which wraps what the system said
            raise OSError(errno.EIO, reason(error), str(file)) from None
        raise
    finally:
        with suppress(OSError):
            made.unlink()


@contextmanager
def asked(file: Path, todo: str = "name another place with --out") -> Iterator[Path]:
    """The same for a file that somebody asked for, in a folder that is made: raises UsageError with what would do."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole(file) as made:
            yield made
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({reason(error)}); {todo}") from None


def write_asked(file: Path, write_to: Callable[[Path], Any]) -> Path:
    """The same by a function that writes to a place."""
    with asked(file) as made:
        write_to(made)
    return file


def write_text(file: Path, text: str) -> None:
    """Write a file whole, or raise OSError that names it."""
    with whole(file) as part:
        part.write_text(text, encoding="utf-8")


def hash_of(file: Path) -> str:
    """SHA-256 of a file: of a gigabyte in less than a second where the processor has instructions for it."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _exchange(one: Path, other: Path) -> None:
    """Let two folders change places in one step, where the system can (Linux); raises OSError otherwise."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None or rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _made(room: Path, name: str) -> tuple[Path, int | None]:
    """A new folder under way, and its lock; None where there are no locks."""
    while True:
        folder = room / _name(name)
        folder.mkdir()
        known, lock = _locked(folder)
        # Between the two another process may have taken it for one that was left.
        if lock is not None or not known:
            return folder, lock
        with suppress(OSError):
            folder.rmdir()


def _locked(folder: Path) -> tuple[bool, int | None]:
    """Whether it is known who holds a folder, and the lock if nobody did and the folder is still there."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True, None
    except OSError:
        return False, None
    known = True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(folder.stat(), os.fstat(lock)):
            return True, lock
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        known = False
    os.close(lock)
    return known, None


@contextmanager
def _turn(place: Path) -> Iterator[bool]:
    """One writer at a time in a folder; false if it went away meanwhile.

    Patience has an end, as a child of a writer that is gone may hold its lock.
    """
    end, known, lock = time.monotonic() + _PATIENCE_S, True, None
    while known and lock is None and time.monotonic() < end and place.is_dir():
        known, lock = _locked(place)
        if known and lock is None:
            time.sleep(0.01)
    try:
        yield place.is_dir()
    finally:
        if lock is not None:
            os.close(lock)


def _is_run(place: Path) -> bool:
    """Whether a folder has nothing but what runs write."""
    return all(_of_run(path.name) for path in place.iterdir())


def _of_run(name: str) -> bool:
    return name in _OF_RUNS or name.removesuffix(".part") in _tables()


@cache
def _tables() -> frozenset[str]:
    """The files of all tables."""
    return frozenset(f"{entry['table']}.parquet" for entry in json.loads(_core.dictionary()))


def _works_in(place: Path) -> bool:
    """Whether this process works in a folder, which would then lead nowhere."""
    try:
        return Path.cwd().is_relative_to(place)
    except OSError:
        return True


def _removed(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _name(of: str) -> str:
    return f".{_short(of)}.{_machine()}.{secrets.token_hex(6)}.part"


def _short(name: str) -> str:
    """A file name, cut where more would not fit."""
    return os.fsencode(name)[:_LONGEST].decode("utf-8", "ignore")


@cache
def _machine() -> str:
    """The kernel that runs this process, in whatever container: 8 hexadecimal digits."""
    try:
        known = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except (OSError, ValueError):
        known = socket.gethostname()
    return hashlib.sha256(known.encode()).hexdigest()[:8]


def _age_s(path: Path) -> float:
    """How long ago a folder, or a file in it, was written to."""
    try:
        return time.time() - max(one.stat().st_mtime for one in (path, *path.iterdir()))
    except OSError:
        return 0.0
