"""What is known of a paper as a whole: `paper.toml` in its folder."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from backwater.definitions import Definition  # noqa: TC001 (pydantic reads it at run time)
from backwater.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


class Left(BaseModel):
    """A part of the paper that is not reproduced."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    what: str
    why: str


class Paper(BaseModel):
    """Title and place of a paper, what of it is held by tests, and what is not reproduced."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    short: str = Field(description="What it is called in headings, such as TCD.")
    authors: str = ""
    venue: str = ""
    link: str = ""
    about: str = Field("", description="In a sentence or two, what it says and how it is reproduced.")
    left: tuple[Left, ...] = ()
    definition: tuple[Definition, ...] = ()

    @model_validator(mode="after")
    def _once(self) -> Paper:
        names = [definition.id for definition in self.definition]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"definition {', '.join(twice)} is there twice")
        return self


def load(home: Path) -> Paper:
    """Read the paper of a folder such as ``papers/tcd``; without a file, only its name is known."""
    file = home / "paper.toml"
    if not file.is_file():
        return Paper(title=home.name.upper(), short=home.name.upper(), about="")
    try:
        return Paper.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}") from None
