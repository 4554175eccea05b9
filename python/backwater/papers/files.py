"""The files of a paper: what is wrong in one is told with its name."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from backwater.errors import UsageError


class Part(BaseModel):
    """A file, or a table of one: a key that it does not have is refused, and nothing changes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


_Part = TypeVar("_Part", bound=Part)


def read_toml(file: Path, kind: type[_Part]) -> _Part:
    """Read a TOML file; raises UsageError for one that is wrong, and FileNotFoundError."""
    try:
        return kind.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}") from None


def read_json(file: Path, kind: type[_Part], todo: str) -> _Part | None:
    """Read a JSON file that a command wrote; None if there is none. Raises UsageError for a damaged one."""
    try:
        return kind.model_validate_json(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise UsageError(f"{file} is damaged or of another version ({where}: {first['msg']}); {todo}") from None
