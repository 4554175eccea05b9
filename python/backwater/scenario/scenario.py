"""A scenario: the text of its file, what it resolves to, its seeds, and what its results are called by."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from backwater import _core
from backwater.errors import UsageError, require_text


@dataclass
class _Kept:
    """What a scenario was read as last, and what that resolved to, each with its overrides."""

    read: tuple[tuple[str, ...], _core.Scenario] | None = None
    resolved: tuple[tuple[str, ...], dict[str, Any]] | None = None


@dataclass(frozen=True)
class Scenario:
    """The text of a scenario file and where it came from; paths in it are relative to `base_dir`."""

    text: str
    origin: str
    base_dir: Path
    #: Whether it has no file, so that nothing but its text tells it from others.
    nameless: bool = False
    #: What was read last, if that is kept: see :meth:`once`.
    kept: _Kept | None = field(default=None, compare=False, repr=False)

    @classmethod
    def load(cls, file: str | Path) -> Scenario:
        """Read a scenario file; its meaning is checked by :func:`validate` and at the start of a run."""
        path = Path(file)
        require_text(path.absolute())
        if path.suffix == ".py":
            raise UsageError(f"{path} is Python; name the scenario, a TOML file, that names it in cc.custom.function")
        try:
            text = _read(path).decode("utf-8")
        except FileNotFoundError:
            raise UsageError(f"there is no scenario file {path.absolute()}") from None
        except IsADirectoryError:
            raise UsageError(f"{path.absolute()} is a folder, not a scenario file") from None
        except PermissionError:
            raise UsageError(f"{path.absolute()} may not be read") from None
        except OSError as error:
            raise UsageError(f"{path.absolute()} cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{path} is not UTF-8 text (byte {error.start} is 0x{error.object[error.start]:02x}); save it as UTF-8"
            ) from None
        return cls(text, str(path), path.absolute().parent)

    @property
    def name(self) -> str:
        """What results are called by: the file's stem; of a scenario.toml, the one of its folder, the folder's name.

        One without a file is called by its content.
        """
        path = Path(self.origin)
        if self.nameless:
            return f"{path.stem}-{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"
        return path.stem if path.name != "scenario.toml" else path.absolute().parent.name or path.stem

    def once(self) -> Scenario:
        """The same for a command in which many ask the same: it is read once. Nobody may change what it resolves to."""
        return replace(self, kept=_Kept())

    def read(self, overrides: Sequence[str] = ()) -> _core.Scenario:
        """The core's handle of it: read once, for whoever has several questions. Raises `ScenarioError`."""
        given = tuple(overrides)
        if self.kept is not None and self.kept.read is not None and self.kept.read[0] == given:
            return self.kept.read[1]
        read = _core.Scenario(self.text, self.origin, self.base_dir, list(given))
        if self.kept is not None:
            self.kept.read = given, read
        return read

    def resolve(self, overrides: Sequence[str] = ()) -> dict[str, Any]:
        """The whole scenario with every default filled in; raises `ScenarioError` with a pointed message."""
        given = tuple(overrides)
        if self.kept is not None and self.kept.resolved is not None and self.kept.resolved[0] == given:
            return self.kept.resolved[1]
        resolved: dict[str, Any] = json.loads(self.read(given).resolved())
        if self.kept is not None:
            self.kept.resolved = given, resolved
        return resolved


def _read(path: Path) -> bytes:
    """The bytes of a file; of a named pipe too, unless nobody writes to it, which would mean waiting for ever."""
    if not path.is_fifo():
        return _core.read_input(path, _core.MOST_WRITTEN)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        first = pipe.read(1 << 16)
        if first == b"":
            raise UsageError(f"{path} is a pipe that nobody writes to")
        os.set_blocking(pipe.fileno(), True)
        read = [first or b""]
        while (more := pipe.read(1 << 20)) and sum(map(len, read)) <= _core.MOST_WRITTEN:
            read.append(more)
        if sum(map(len, read)) > _core.MOST_WRITTEN:
            raise UsageError(f"{path} gives more than {_core.MOST_WRITTEN} bytes: is it a scenario?")
        return b"".join(read)


def validate(scenario: str | Path, *, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Check a scenario file and return it with every default filled in."""
    return Scenario.load(scenario).resolve(overrides)


def folder_name(scenario: Scenario, overrides: Sequence[str], seed: int | None, scheme: str = "") -> str:
    """Name of a run's results folder: the scenario's, the scheme, what was overridden, the seed.

    `overrides` are those of the user; what a scheme sets is in its name. Of a key that is given more than once the last
    value is run, and named. What would not fit, or not survive, in the name of a folder is replaced by a hash.
    """
    last = {key.strip(): value.strip() for key, _, value in (text.partition("=") for text in overrides)}
    # The seed is named anyway; under --seeds it is not the one that was given.
    last.pop("run.seed", None)
    words = [*([scheme] if scheme else []), *(f"{key}-{value.strip(_QUOTES)}" for key, value in last.items())]
    changes = "".join(f"-{word}" for word in words)
    if len(changes) > 60 or not _is_plain(changes):
        own = f"-{scheme}" if 0 < len(scheme) < 40 and _is_plain(scheme) else ""
        changes = f"{own}-{hashlib.sha256(chr(10).join(words).encode()).hexdigest()[:8]}"
    shown = seed if seed is not None else scenario.resolve(overrides)["run"]["seed"]
    return f"{scenario.name}{changes}-s{shown}"


_QUOTES = "\"'"


def _is_plain(text: str) -> bool:
    return all(character.isalnum() or character in ".-_+" for character in text)


#: Seeds are 64-bit numbers.
MAX_SEED = 2**64 - 1
#: More runs than that are a mistake, and to list them alone would take the memory.
MOST_SEEDS = 100_000


def require_seeds(count: int) -> None:
    """Raise UsageError for more seeds than a command, or a call, may have."""
    if count > MOST_SEEDS:
        raise UsageError(
            f"seeds = {count}: at most {MOST_SEEDS}; begin further runs with --seed (seed in Python), where these end"
        )


def numbered(scenario: Scenario, overrides: Sequence[str], first: int | None, count: int) -> range:
    """The seeds of `count` runs, from `first` or from the scenario's own on; raises UsageError beyond the last."""
    require_seeds(count)
    begin = first if first is not None else int(scenario.resolve(overrides)["run"]["seed"])
    if begin + count - 1 > MAX_SEED:
        raise UsageError(f"{count} seeds from {begin} go beyond the last, 2**64 - 1; begin at {MAX_SEED - count + 1}")
    return range(begin, begin + count)
