"""Claims of a paper: what it says, how we measure it, when that counts as holding, and the verdict.

A claim that differs is a result. Bounds stand in ``claims.toml`` beside the figure and are never widened to fit.

A number has the 95 % interval of its mean over seeds (Student's t): inside the bound the claim holds, outside it
differs, and where the interval straddles the bound the claim is open. An exact bound (``== 0``, ``true``) is met by
every seed, or one seed refutes it. A single seed has no interval, so it decides nothing but what is certain:
arithmetic, settings and texts, in which nothing is drawn. Equal numbers at every seed are an interval without width.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from backwater.common.statistics import Estimate, estimate
from backwater.errors import UsageError
from backwater.papers import Family, Measurement
from backwater.papers.bounds import Bound
from backwater.papers.files import Part, read_toml
from backwater.papers.kinds import Kind


def _parsed(value: object) -> object:
    return Bound.parse(value) if isinstance(value, str) else value


class Check(Part):
    """One measured number of a claim and its bound."""

    metric: str
    bound: Annotated[Bound, BeforeValidator(_parsed)]
    unit: str = ""
    over: Literal["every", "some"] = Field(
        "every", description="Of several numbers of one name (points, bins), which must lie within."
    )


class Claim(Part):
    """One claim: `checks` must all hold. A claim with one check may write `metric`, `bound` and `unit` itself."""

    id: str
    kind: Kind = Field(description="What it is about; that of its file if it does not say.")
    headline: bool = Field(False, description="Whether the abstract or the conclusion of the paper states it.")
    chosen: dict[str, str] = Field(
        default_factory=dict,
        description="Per profile, or for `all`: which constant was chosen on this very row, and where.",
    )
    text: str = Field(description="The claim in our words.")
    paper: str = Field(description="What the paper says or shows.")
    checks: tuple[Check, ...] = ()
    undecidable: str | None = Field(None, description="Why the text does not allow a verdict.")
    each: bool = Field(False, description="Whether it is about one run: every seed must hold, not their mean.")
    quick: str | None = Field(None, description="Why shrunk runs (``--quick``) do not allow a verdict.")
    notes: dict[str, str] = Field(default_factory=dict, description="Per profile: what is known about a difference.")

    @model_validator(mode="before")
    @classmethod
    def _single(cls, data: Any) -> Any:
        if isinstance(data, dict) and "metric" in data:
            check = {key: data[key] for key in ("metric", "bound", "unit", "over") if key in data}
            rest = {key: value for key, value in data.items() if key not in check}
            return rest | {"checks": [check, *rest.get("checks", ())]}
        return data

    @model_validator(mode="after")
    def _decidable(self) -> Claim:
        if not self.checks and self.undecidable is None:
            raise ValueError(f"claim {self.id} has neither a metric with a bound nor `undecidable` with the reason")
        if self.kind is Kind.BY_CONSTRUCTION:
            raise ValueError(f"claim {self.id}: say what was chosen, and where, by `chosen.all` or `chosen.<profile>`")
        if self.headline and self.kind is not Kind.RESULT:
            raise ValueError(f"claim {self.id} is a headline, but no result")
        return self

    def kind_in(self, profile: str) -> Kind:
        """Its kind under a profile: by construction where a constant was chosen on it."""
        return Kind.BY_CONSTRUCTION if self.chosen.keys() & {profile, EVERYWHERE} else self.kind


#: What stands for every profile in `chosen`.
EVERYWHERE = "all"


class _File(Part):
    claim: tuple[Claim, ...]

    @model_validator(mode="before")
    @classmethod
    def _of_one_kind(cls, data: Any) -> Any:
        """A file may say the kind of all claims that do not say theirs."""
        if not (isinstance(data, dict) and isinstance(data.get("claim"), list)):
            return data
        rest = {key: value for key, value in data.items() if key != "kind"}
        if "kind" not in data:
            return rest
        claims = [{"kind": data["kind"]} | one if isinstance(one, dict) else one for one in data["claim"]]
        return rest | {"claim": claims}


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
    OPEN = "open"
    NOT_DECIDABLE = "not decidable"
    NOT_RUN = "not run"
    NOT_CHECKED = "not checked here"


@dataclass(frozen=True)
class Measured:
    """One check and what was measured over the seeds.

    With `each`, every seed must hold, not their mean. `certain` is what nothing is drawn in. Of several numbers
    (points, bins) `family` has each with its name, and `value` is the one that decides; their intervals are so much
    wider that 95 % is the chance that all are right (Bonferroni).
    """

    check: Check
    value: Estimate | None
    each: bool = False
    certain: bool = False
    family: tuple[tuple[str, Estimate], ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Where the interval lies; of several, by what the check asks of them."""
        if self.value is None:
            return Verdict.NOT_DECIDABLE
        verdicts = {self.of(value) for _, value in self.family} or {self.of(self.value)}
        decides, otherwise = (
            (Verdict.HOLDS, Verdict.DIFFERS) if self.check.over == "some" else (Verdict.DIFFERS, Verdict.HOLDS)
        )
        if decides in verdicts:
            return decides
        return otherwise if verdicts == {otherwise} else Verdict.OPEN

    def of(self, value: Estimate) -> Verdict:
        """Where the interval of one number lies."""
        bound = self.check.bound
        single = len(value.values) == 1 and not self.certain and not self.each
        if self.each or bound.exact:
            verdict = Verdict.HOLDS if all(map(bound.admits, value.values)) else Verdict.DIFFERS
            return Verdict.OPEN if single else verdict
        low, high = (min(value.values), max(value.values)) if value.identical else (value.low, value.high)
        if single or not (bound.covers(low, high) or bound.misses(low, high)):
            return Verdict.OPEN
        return Verdict.HOLDS if bound.covers(low, high) else Verdict.DIFFERS

    @property
    def worst(self) -> float | None:
        """The value that lies farthest out, or nearest to the bound."""
        bound = self.check.bound
        return (
            min(self.value.values, key=lambda value: min(value - bound.low, bound.high - value)) if self.value else None
        )

    @property
    def name(self) -> str:
        """Of several numbers, that of the one that decides."""
        return next((name for name, value in self.family if value is self.value), "")

    @property
    def inside(self) -> bool:
        """Whether the mean lies within the bound, whatever its interval."""
        return self.value is not None and self.check.bound.admits(self.value.mean)


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict in one profile; `quick` for one of shrunk runs, of which the notes do not speak.

    `literal` says that the profile takes the paper at its word.
    """

    claim: Claim
    figure: str
    profile: str
    seeds: int
    measured: tuple[Measured, ...]
    verdict: Verdict
    quick: bool = False
    literal: bool = False

    def of_quick_look(self) -> Judged:
        """The same of shrunk runs: without a verdict, where these do not allow one."""
        told = self.claim.quick is not None and self.verdict in (Verdict.HOLDS, Verdict.DIFFERS, Verdict.OPEN)
        return replace(self, quick=True, verdict=Verdict.NOT_DECIDABLE if told else self.verdict)

    @property
    def kind(self) -> Kind:
        """What kind of claim it is under its profile."""
        return self.claim.kind_in(self.profile)

    @property
    def word(self) -> str:
        """Its verdict; of a kind that is not counted, with that kind."""
        return str(self.verdict) if self.kind.counts else f"{self.kind} ({self.verdict})"

    @property
    def reason(self) -> str:
        """Why it is not decidable or open, what was chosen, or what is known about a difference."""
        chosen = self.claim.chosen.get(self.profile, self.claim.chosen.get(EVERYWHERE, ""))
        return "; ".join(text for text in (chosen, self._of_verdict) if text)

    @property
    def _of_verdict(self) -> str:
        if self.claim.undecidable and self.verdict is Verdict.NOT_DECIDABLE:
            return self.claim.undecidable
        if self.quick and self.claim.quick and self.verdict is Verdict.NOT_DECIDABLE:
            return self.claim.quick
        missing = [item.check.metric for item in self.measured if item.value is None]
        if self.verdict is Verdict.NOT_DECIDABLE and missing:
            return f"these runs do not show {', '.join(missing)}"
        return "; ".join(text for text in (self._open, self._note) if text)

    @property
    def _open(self) -> str:
        if self.verdict is not Verdict.OPEN:
            return ""
        if self.seeds == 1:
            place = "within" if all(item.inside for item in self.measured) else "outside"
            return f"one seed has no interval; it lies {place} the bound"
        return "the 95 % interval straddles the bound"

    @property
    def _note(self) -> str:
        if self.verdict not in (Verdict.DIFFERS, Verdict.OPEN) or self.profile not in self.claim.notes:
            return ""
        return f"{'in the full run: ' if self.quick else ''}{self.claim.notes[self.profile]}"

    def as_json(self) -> dict[str, Any]:
        """Plain values, for claims.json."""
        return {
            "id": self.claim.id,
            "figure": self.figure,
            "profile": self.profile,
            "literal": self.literal,
            "kind": str(self.kind),
            "headline": self.claim.headline,
            "counted": self.kind.counts,
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
                    "of": item.name,
                    "among": len(item.family) or 1,
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
    per_seed: Sequence[Mapping[str, Measurement]],
    *,
    each: bool = False,
    certain: bool = False,
) -> Judged:
    """The verdict on a claim from what a figure measured at each seed: by the mean, or with `each` in every one.

    With `certain` nothing is drawn in it: a figure without runs.
    """
    if not per_seed:
        return Judged(claim, figure, profile, 0, (), Verdict.NOT_RUN)
    certain = certain or claim.kind.certain
    measured = tuple(replace(_measure(check, figure, per_seed), each=each, certain=certain) for check in claim.checks)
    verdicts = {item.verdict for item in measured}
    if claim.undecidable is not None or Verdict.NOT_DECIDABLE in verdicts:
        verdict = Verdict.NOT_DECIDABLE
    else:
        verdict = next((one for one in (Verdict.DIFFERS, Verdict.OPEN) if one in verdicts), Verdict.HOLDS)
    return Judged(claim, figure, profile, len(per_seed), measured, verdict)


def _measure(check: Check, figure: str, per_seed: Sequence[Mapping[str, Measurement]]) -> Measured:
    found: list[Measurement] = []
    for metrics in per_seed:
        if check.metric not in metrics:
            known = ", ".join(sorted(metrics))
            raise UsageError(
                f"{figure}/figure.py measures no {check.metric!r}, which claims.toml names (it has {known})"
            )
        found.append(metrics[check.metric])
    families = [one for one in found if isinstance(one, dict)]
    if families:
        return _of_family(check, families)
    values = [float(one) for one in found if isinstance(one, float | int) and not math.isnan(one)]
    return Measured(check, estimate(values) if len(values) == len(found) else None)


def _of_family(check: Check, seeds: Sequence[Family]) -> Measured:
    """Several numbers of one name: those that every seed has, each with an interval that allows for their number."""
    names = [name for name in seeds[0] if all(_known(one.get(name)) for one in seeds)]
    found = tuple((name, estimate([float(one[name] or 0) for one in seeds], among=len(names))) for name in names)
    if not found:
        return Measured(check, None)
    whole = Measured(check, found[0][1], family=found)
    outermost = max if check.over == "some" else min
    _, value = outermost(
        (one for one in found if whole.of(one[1]) is whole.verdict),
        key=lambda one: min(one[1].mean - check.bound.low, check.bound.high - one[1].mean),
    )
    return replace(whole, value=value)


def _known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
