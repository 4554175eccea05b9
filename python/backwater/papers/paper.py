"""What is known of a paper as a whole: `paper.toml` in its folder."""

from __future__ import annotations

import fnmatch
from pathlib import Path

from pydantic import Field, model_validator

from backwater.errors import UsageError
from backwater.papers.definitions import Definition
from backwater.papers.files import Part, read_toml

#: What stands for every profile on the command line.
ALL = "all"


class Left(Part):
    """A part of the paper that is not looked at."""

    what: str
    why: str


class Profile(Part):
    """Settings under which a paper's figures run, such as its text read literally."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    about: str = Field("", description="What it is, in a few words.")
    base: str = Field("", description="The profile of the scenario files that it builds on; its own name if empty.")
    set: tuple[str, ...] = Field((), description="Overrides, before those of a figure.")
    runs: tuple[str, ...] = Field(("*",), description="Names of runs, or patterns with *, that `set` applies to.")
    default: bool = Field(True, description="Whether figures that do not say otherwise run under it.")
    quick: bool = Field(True, description="Whether a quick look at all profiles has it.")
    literal: bool = Field(False, description="Whether it takes the paper at its word: its verdicts come first.")

    def of(self, run: str) -> tuple[str, ...]:
        """What comes before all other overrides of a run."""
        own = self.set if any(fnmatch.fnmatchcase(run, pattern) for pattern in self.runs) else ()
        return (f'profile="{self.base or self.name}"', *own)


def _built_in() -> tuple[Profile, ...]:
    """The profiles of scenario files, for a paper that lists none."""
    names = {"authors": True, "ideal": True, "infiniband": False}
    return tuple(Profile.model_validate({"name": name, "default": default}) for name, default in names.items())


class Paper(Part):
    """Title and place of a paper, what of it is held by tests, and what is not looked at."""

    title: str
    short: str = Field(description="What it is called in headings, such as TCD.")
    authors: str = ""
    venue: str = ""
    link: str = ""
    about: str = Field("", description="In a sentence or two, what it says and how it is judged.")
    profile: tuple[Profile, ...] = Field(
        _built_in(),
        min_length=1,
        description="The settings under which its figures run, if not those of scenario files.",
    )
    left: tuple[Left, ...] = ()
    definition: tuple[Definition, ...] = ()

    @model_validator(mode="after")
    def _once(self) -> Paper:
        kinds = {"definition": [one.id for one in self.definition], "profile": [one.name for one in self.profile]}
        for kind, names in kinds.items():
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"{kind} {', '.join(twice)} is there twice")
        if ALL in kinds["profile"]:
            raise ValueError(f"no profile may be called {ALL!r}, which stands for all of them")
        return self

    @property
    def profiles(self) -> tuple[str, ...]:
        """The names of its profiles."""
        return tuple(profile.name for profile in self.profile)

    def chosen(self, name: str, *, quick: bool = False) -> tuple[str, ...]:
        """The profiles that `--profile NAME` stands for; raises UsageError for a name that there is not."""
        if name == ALL:
            return tuple(profile.name for profile in self.profile if profile.quick or not quick)
        if name not in self.profiles:
            raise UsageError(f"{self.short} has no profile {name!r}; there are: {', '.join((*self.profiles, ALL))}")
        return (name,)


def load(home: Path) -> Paper:
    """Read the paper of a folder such as ``papers/tcd``; without a file, only its name is known."""
    file = home / "paper.toml"
    if not file.is_file():
        return Paper.model_validate({"title": home.name.upper(), "short": home.name.upper()})
    return read_toml(file, Paper)
