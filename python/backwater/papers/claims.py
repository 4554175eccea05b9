"""Claims of a paper: what it says, how we measure it, when that counts as holding, and the verdict.

A claim that differs is a result. Bounds stand in ``claims.toml`` beside the figure and are never widened to fit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from backwater.common.statistics import Estimate, estimate
from backwater.errors import UsageError
from backwater.papers.files import Part, read_toml

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_COMPARISON = re.compile(rf"(>=|<=|>|<|==)\s*({_NUMBER})")
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})")


class Bound(Part):
    """An interval of values for which a claim holds, written ``>= 500``, ``1.2..2.5``, ``== 0`` or ``true``."""

    text: str
    low: float = -math.inf
    high: float = math.inf
    strict: bool = False

    @classmethod
    def parse(cls, text: str) -> Bound:
        """Read a bound; raises ValueError with the forms that exist."""
        if text == "true":
            return cls(text=text, low=1, high=1)
        if match := _RANGE.fullmatch(text):
            low, high = float(match[1]), float(match[2])
            if low > high:
                raise ValueError(f"the range {text} is empty; write the smaller number first")
            return cls(text=text, low=low, high=high)
        if not (match := _COMPARISON.fullmatch(text)):
            raise ValueError(f"{text!r} is not a bound; write one of: >= 5, > 5, <= 5, < 5, == 5, 1.2..2.5, true")
        sign, number = match[1], float(match[2])
        low = -math.inf if sign.startswith("<") else number
        high = math.inf if sign.startswith(">") else number
        return cls(text=text, low=low, high=high, strict=sign in ("<", ">"))

    def admits(self, value: float) -> bool:
        """Whether a value lies within."""
        if self.strict:
            return self.low < value < self.high
        return self.low <= value <= self.high


def _parsed(value: object) -> object:
    return Bound.parse(value) if isinstance(value, str) else value


class Check(Part):
    """One measured number of a claim and its bound."""

    metric: str
    bound: Annotated[Bound, BeforeValidator(_parsed)]
    unit: str = ""


class Claim(Part):
    """One claim: `checks` must all hold. A claim with one check may write `metric`, `bound` and `unit` itself."""

    id: str
    text: str = Field(description="The claim in our words.")
    paper: str = Field(description="What the paper says or shows.")
    checks: tuple[Check, ...] = ()
    undecidable: str | None = Field(None, description="Why the text does not allow a verdict.")
    quick: str | None = Field(None, description="Why shrunk runs (``--quick``) do not allow a verdict.")
    notes: dict[str, str] = Field(default_factory=dict, description="Per profile: what is known about a difference.")

    @model_validator(mode="before")
    @classmethod
    def _single(cls, data: Any) -> Any:
        if isinstance(data, dict) and "metric" in data:
            check = {key: data[key] for key in ("metric", "bound", "unit") if key in data}
            rest = {key: value for key, value in data.items() if key not in check}
            return rest | {"checks": [check, *rest.get("checks", ())]}
        return data

    @model_validator(mode="after")
    def _decidable(self) -> Claim:
        if not self.checks and self.undecidable is None:
            raise ValueError(f"claim {self.id} has neither a metric with a bound nor `undecidable` with the reason")
        return self


class _File(Part):
    claim: tuple[Claim, ...]


def load(file: Path) -> tuple[Claim, ...]:
    """Read a claims.toml."""
    claims = read_toml(file, _File).claim
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise UsageError(f"{file}: claim {claim.id} is there twice")
        seen.add(claim.id)
    return claims


class Verdict(StrEnum):
    """What came of a claim."""

    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_DECIDABLE = "not decidable"
    NOT_RUN = "not run"
    NOT_CHECKED = "not checked here"


@dataclass(frozen=True)
class Measured:
    """One check and what was measured over the seeds; with `each`, every one of them must hold, not their mean."""

    check: Check
    value: Estimate | None
    each: bool = False

    @property
    def verdict(self) -> Verdict:
        """Whether the mean, or each value, lies within the bound."""
        if self.value is None:
            return Verdict.NOT_DECIDABLE
        judged = self.value.values if self.each else (self.value.mean,)
        return Verdict.HOLDS if all(map(self.check.bound.admits, judged)) else Verdict.DIFFERS

    @property
    def worst(self) -> float | None:
        """The value that lies farthest out, or nearest to the bound."""
        bound = self.check.bound
        return (
            min(self.value.values, key=lambda value: min(value - bound.low, bound.high - value)) if self.value else None
        )

    @property
    def borderline(self) -> bool:
        """Whether the bound cuts through the confidence interval, so that more seeds could turn the verdict."""
        if self.value is None:
            return False
        ends = (self.value.low, self.value.high)
        return any(self.check.bound.admits(end) != self.check.bound.admits(self.value.mean) for end in ends)


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict in one profile; `quick` for one of shrunk runs, of which the notes do not speak."""

    claim: Claim
    figure: str
    profile: str
    seeds: int
    measured: tuple[Measured, ...]
    verdict: Verdict
    quick: bool = False

    def of_quick_look(self) -> Judged:
        """The same of shrunk runs: without a verdict, where these do not allow one."""
        told = self.claim.quick is not None and self.verdict in (Verdict.HOLDS, Verdict.DIFFERS)
        return replace(self, quick=True, verdict=Verdict.NOT_DECIDABLE if told else self.verdict)

    @property
    def reason(self) -> str:
        """Why it is not decidable, or what is known about a difference."""
        if self.claim.undecidable and self.verdict is Verdict.NOT_DECIDABLE:
            return self.claim.undecidable
        if self.quick and self.claim.quick and self.verdict is Verdict.NOT_DECIDABLE:
            return self.claim.quick
        missing = [item.check.metric for item in self.measured if item.value is None]
        if self.verdict is Verdict.NOT_DECIDABLE and missing:
            return f"these runs do not show {', '.join(missing)}"
        if any(item.borderline for item in self.measured):
            note = "the bound lies within the confidence interval"
            return f"{note}; {self._note}" if self._note else note
        return self._note

    @property
    def _note(self) -> str:
        if self.verdict is not Verdict.DIFFERS or self.profile not in self.claim.notes:
            return ""
        return f"{'in the full run: ' if self.quick else ''}{self.claim.notes[self.profile]}"

    def as_json(self) -> dict[str, Any]:
        """Plain values, for claims.json."""
        return {
            "id": self.claim.id,
            "figure": self.figure,
            "profile": self.profile,
            "text": self.claim.text,
            "paper": self.claim.paper,
            "verdict": str(self.verdict),
            "reason": self.reason,
            "seeds": self.seeds,
            "checks": [
                {
                    "metric": item.check.metric,
                    "unit": item.check.unit,
                    "bound": item.check.bound.text,
                    "verdict": str(item.verdict),
                    "borderline": item.borderline,
                    "mean": item.value.mean if item.value else None,
                    "half_width_95": item.value.half_width if item.value else None,
                    "values": list(item.value.values) if item.value else [],
                }
                for item in self.measured
            ],
        }


def judge(
    claim: Claim,
    figure: str,
    profile: str,
    per_seed: Sequence[Mapping[str, float | bool | None]],
    *,
    each: bool = False,
) -> Judged:
    """The verdict on a claim from what a figure measured at each seed: by the mean, or with `each` in every one."""
    if not per_seed:
        return Judged(claim, figure, profile, 0, (), Verdict.NOT_RUN)
    measured = tuple(replace(_measure(check, figure, per_seed), each=each) for check in claim.checks)
    verdicts = {item.verdict for item in measured}
    if claim.undecidable is not None or Verdict.NOT_DECIDABLE in verdicts:
        verdict = Verdict.NOT_DECIDABLE
    else:
        verdict = Verdict.DIFFERS if Verdict.DIFFERS in verdicts else Verdict.HOLDS
    return Judged(claim, figure, profile, len(per_seed), measured, verdict)


def _measure(check: Check, figure: str, per_seed: Sequence[Mapping[str, float | bool | None]]) -> Measured:
    values: list[float] = []
    for metrics in per_seed:
        if check.metric not in metrics:
            known = ", ".join(sorted(metrics))
            raise UsageError(
                f"{figure}/figure.py measures no {check.metric!r}, which claims.toml names (it has {known})"
            )
        value = metrics[check.metric]
        if value is None or math.isnan(value):
            return Measured(check, None)
        values.append(float(value))
    return Measured(check, estimate(values))
