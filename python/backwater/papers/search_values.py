"""What a search may set a parameter to, as `papers/<system>/sensitivity.toml` says: a range, or a list of kinds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from backwater.common.quantities import three_digits
from backwater.experiments import axis_values
from backwater.experiments.axis_values import Quantity
from backwater.experiments.tuning_file import Parameter
from backwater.papers.files import Part
from backwater.papers.paper_figure import Variant

#: A value as a scenario takes it.
Given = bool | int | float | str


@dataclass(frozen=True)
class Bounds:
    """A range; a share of it from 0 to 1 stands for a value. Of whole numbers each has the same share."""

    low: Quantity
    high: Quantity
    log: bool

    def at(self, share: float) -> Given:
        """The value at a share, as a scenario takes it."""
        low, high = self._ends()
        number = low * (high / low) ** share if self.log else low + share * (high - low)
        within = min(max(number, float(self.low.number)), float(self.high.number))
        value: Given = Parameter("", (), self.low, self.high, self.log).value(within)
        return value

    def share_of(self, value: Given) -> float | None:
        """The share at which a value lies; None if it is outside, or in another unit."""
        found = axis_values.quantity(value)
        if found is None or found.unit != self.low.unit or not self.low.number <= found.number <= self.high.number:
            return None
        low, high = self._ends()
        number = float(found.number)
        return math.log(number / low) / math.log(high / low) if self.log else (number - low) / (high - low)

    def _ends(self) -> tuple[float, float]:
        half = 0.5 if self.low.whole and self.high.whole else 0.0
        return float(self.low.number) - half, float(self.high.number) + half


class Searched(Part):
    """What a search may set a parameter to, and where that comes from."""

    name: str = Field("", description="What is set, if its parameter has several of these.")
    set: tuple[str, ...] = Field(min_length=1, description="Overrides; {} stands for the value.")
    runs: tuple[str, ...] = Field(("*",), description="Names of runs, or patterns with *, that it applies to.")
    range: tuple[int | float | str, int | float | str] | None = Field(
        None, description="Lowest and highest value, in the same unit."
    )
    scale: Literal["linear", "log"] = Field("linear", description="`log` tries small values as densely as large ones.")
    kinds: tuple[Given, ...] = Field((), description="Instead of a range.")
    ours: Given | dict[str, Given] = Field(description="Our value, or one by profile, and `other`.")
    paper: Given | None = Field(None, description="What the paper, or what it cites, has, if it has a value.")
    source: str = Field(min_length=1, description="Where the ends of the range, or the kinds, come from.")
    figures: tuple[str, ...] | None = Field(None, description="Those that it touches, if not those of its parameter.")
    profiles: tuple[str, ...] = Field((), description="The profiles under which it is searched; all if none.")

    @model_validator(mode="after")
    def _consistent(self) -> Searched:
        own = f"search of {self.name or self.set[0]}"
        if (self.range is None) == (not self.kinds):
            raise ValueError(f"{own}: give either range = [lowest, highest] or kinds = [one, another]")
        if not any("{}" in text for text in self.set):
            raise ValueError(f"{own}: set = {list(self.set)} has no {{}} where the value goes; write 'key={{}}'")
        if self.kinds and len(set(map(told, self.kinds))) < max(2, len(self.kinds)):
            raise ValueError(f"{own}: kinds = {list(self.kinds)} has to list two or more, each once")
        bounds = self.bounds(own)
        ours = list(self.ours.values()) if isinstance(self.ours, dict) else [self.ours]
        given = [("ours", value) for value in ours] + ([] if self.paper is None else [("paper", self.paper)])
        for word, value in given:
            if bounds is None and told(value) not in map(told, self.kinds):
                raise ValueError(f"{own}: {word} = {value!r} is none of kinds = {list(self.kinds)}; add it there")
            if bounds is not None and bounds.share_of(value) is None:
                raise ValueError(f"{own}: {word} = {value!r} is not within range = {list(self.range or ())}; widen it")
        return self

    def bounds(self, own: str = "") -> Bounds | None:
        """The range, if it is one; raises ValueError if its ends are none."""
        if self.range is None:
            return None
        low, high = map(axis_values.quantity, self.range)
        own = f"{own}: range = {list(self.range)}"
        if low is None or high is None or low.unit != high.unit:
            raise ValueError(f'{own}: give two numbers, or two texts with the same unit, such as ["50us", "200us"]')
        if not low.number < high.number:
            raise ValueError(f"{own}: the first has to be below the second; exchange them")
        if self.scale == "log" and low.number <= 0:
            raise ValueError(f'{own}: scale = "log" needs a range above 0')
        return Bounds(low, high, self.scale == "log")

    def ours_under(self, profile: str) -> Given | None:
        """Our value under a profile, if there is one."""
        return self.ours.get(profile, self.ours.get("other")) if isinstance(self.ours, dict) else self.ours

    def variant(self, value: Given) -> Variant:
        """The overrides that set a value."""
        text = told(value)
        return Variant(name=text, runs=self.runs, set=tuple(one.replace("{}", text) for one in self.set))


def told(value: Given) -> str:
    """A value as `--set` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def shown(text: str) -> str:
    """A value for people: whole, or with three digits at most.

    >>> shown("707.107us"), shown("16KB"), shown("0.0273938"), shown("0.6"), shown("burst")
    ('707 µs', '16 KB', '0.0274', '0.6', 'burst')
    """
    found = axis_values.quantity(text)
    if found is None:
        return text
    number = str(found.number) if found.whole else f"{float(three_digits(float(found.number))):g}"
    return f"{number} {found.unit.replace('us', 'µs')}".rstrip()
