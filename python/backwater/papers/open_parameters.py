"""What a paper leaves open, and how else it can be read: `papers/<system>/sensitivity.toml`."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, model_validator

from backwater.errors import UsageError
from backwater.papers import paper, paper_figure
from backwater.papers.files import Part, read_toml
from backwater.papers.paper_figure import Variant
from backwater.papers.search_values import Searched


class Reading(Variant):
    """Another reading of a parameter."""

    figures: tuple[str, ...] | None = Field(None, description="Those that it touches, if not those of its parameter.")
    profiles: tuple[str, ...] = Field((), description="The profiles under which it is run; those of its file if none.")


class Parameter(Part):
    """A parameter that the paper does not give: our reading, and the others; or why it cannot be varied."""

    id: str
    text: str = Field(description="What is open.")
    default: str = Field(description="Our reading.")
    figures: tuple[str, ...] = Field((), description="The figures that it touches.")
    fixed: str | None = Field(None, description="Why there is no other reading to run.")
    variant: tuple[Reading, ...] = ()
    search: tuple[Searched, ...] = Field((), description="What a search sets it to, if not to these readings.")
    unsearched: str | None = Field(None, description="Why a search leaves it as it is.")

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Parameter:
        if bool(self.variant or self.search) == (self.fixed is not None):
            raise ValueError(f"parameter {self.id} needs either [[parameter.variant]]s or `fixed` with the reason")
        names = [one.name for one in self.search]
        if len(names) > 1 and (len(set(names)) < len(names) or "" in names):
            raise ValueError(f"parameter {self.id} has several [[parameter.search]]: give each a name of its own")
        for reading in self.variant:
            if not (reading.figures or self.figures):
                raise ValueError(f"parameter {self.id}, {reading.name}: which figures?")
        return self


class _File(Part):
    seeds: int = Field(3, ge=1)
    profiles: tuple[str, ...] = Field((), description="The profiles under which readings are run; all if none.")
    parameter: tuple[Parameter, ...]


def load(system: str, only: Sequence[str] = ()) -> tuple[int, list[Parameter]]:
    """The number of seeds and the parameters of a paper; `only` picks some by id. Raises UsageError."""
    file = paper_figure.home(system) / "sensitivity.toml"
    try:
        read = read_toml(file, _File)
    except FileNotFoundError:
        raise UsageError(f"{system} has no {file.name}, which would list what the paper leaves open") from None
    names = [parameter.id for parameter in read.parameter]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{file}: parameter {name} is there twice")
    for name in only:
        if name not in names:
            raise UsageError(f"there is no parameter {name!r} of {system}; there are: {', '.join(names)}")
    known = read.profiles or paper.load(file.parent).profiles
    return read.seeds, [_whole(parameter, known) for parameter in read.parameter if not only or parameter.id in only]


def _whole(parameter: Parameter, known: tuple[str, ...]) -> Parameter:
    """The parameter with the profiles of each reading filled in."""
    variant = tuple(reading.model_copy(update={"profiles": reading.profiles or known}) for reading in parameter.variant)
    return parameter.model_copy(update={"variant": variant})
