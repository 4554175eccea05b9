"""Sensitivity of a paper's claims to what the paper leaves open: `papers/<system>/sensitivity.toml`.

Each parameter is set to its other readings, one at a time, and the figures that it touches are run and judged again. A
claim flips if its verdict is another one than with our reading, over the same seeds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backwater._core import __version__
from backwater.errors import UsageError
from backwater.papers import paper_figure, reproduce, sensitivity_findings
from backwater.papers.claims import Judged, Verdict
from backwater.papers.open_parameters import Parameter, Reading
from backwater.papers.paper_figure import Figure
from backwater.papers.report.text import ours
from backwater.papers.reproduce import Reproduced, Reproduction
from backwater.papers.sensitivity_findings import Check, Finding, Flip


@dataclass
class Case:
    """Figures with our readings (`parameter` None), or with one other reading, and their runs."""

    parameter: Parameter | None
    reading: Reading | None
    figures: list[Figure]
    profiles: tuple[str, ...]
    first: Reproduction = field(default_factory=Reproduction)
    plan: Reproduction = field(default_factory=Reproduction)


def cases(system: str, parameters: Sequence[Parameter], profiles: Sequence[str]) -> list[Case]:
    """What there is to run: our readings of every figure that is touched, then each other reading."""
    found: list[Case] = []
    for parameter in parameters:
        for reading in parameter.variant:
            wanted = tuple(profile for profile in profiles if profile in reading.profiles)
            figures = reduced(paper_figure.discover(system, reading.figures or parameter.figures))
            varied = [dataclasses.replace(figure, variants=(reading,)) for figure in figures if figure.profiles(wanted)]
            found.append(Case(parameter, reading, varied, wanted))
    touched = {figure.name: figure for case in found for figure in case.figures}
    plain = [dataclasses.replace(figure, variants=()) for figure in touched.values()]
    return [Case(None, None, plain, tuple(profiles)), *found]


def reduced(figures: Sequence[Figure]) -> list[Figure]:
    """The figures without the runs that no claim needs, and as small as each says."""
    return [dataclasses.replace(figure, reduced=figure.experiment.sensitivity) for figure in figures]


def plan_first(all_cases: Sequence[Case], seeds: int | None, root: Path, *, quick: bool) -> Reproduction:
    """The runs that settle values for others, of all cases together."""
    for case in all_cases:
        case.first = reproduce.plan_first(case.figures, case.profiles, seeds, root, quick=quick)
    return together(case.first for case in all_cases)


def plan(all_cases: Sequence[Case], seeds: int | None, root: Path, *, quick: bool) -> Reproduction:
    """The other runs, of all cases together."""
    for case in all_cases:
        case.plan = reproduce.plan(case.figures, case.profiles, seeds, root, quick=quick, first=case.first)
    return together(case.plan for case in all_cases)


def together(plans: Iterable[Reproduction]) -> Reproduction:
    """The runs of several plans."""
    whole = Reproduction()
    for one in plans:
        whole = Reproduction(one.kept, jobs=one.jobs | whole.jobs)
    return whole


def judge(all_cases: Sequence[Case]) -> list[Finding]:
    """What flips: one finding per parameter, reading, profile and figure. Raises UsageError if ours does not work."""
    plain, *varied = all_cases
    ours_judged = dict(_judged(plain))
    failures = [
        f"{figure} {profile} could not be measured: {made.failure}"
        for (figure, profile), made in ours_judged.items()
        if made.failure
    ]
    if failures:
        raise UsageError(f"with our own readings {'; '.join(failures)}")
    return [
        _finding(case.parameter, case.reading, ours_judged[key], made)
        for case in varied
        for key, made in _judged(case)
        if case.parameter is not None and case.reading is not None
    ]


def _judged(case: Case) -> Iterator[tuple[tuple[str, str], Reproduced]]:
    """Every figure of a case under every profile, measured and judged."""
    for figure in case.figures:
        for profile in figure.profiles(case.profiles):
            yield (figure.name, profile), reproduce.evaluate(figure, profile, case.plan, None)


def _finding(parameter: Parameter, reading: Reading, before: Reproduced, after: Reproduced) -> Finding:
    """One figure under one profile with another reading, against our own."""
    old = {one.claim.id: one for one in before.judged}
    pairs = [(old[one.claim.id], one) for one in after.judged]
    run = [(was, now) for was, now in pairs if Verdict.NOT_RUN not in (was.verdict, now.verdict)]
    name = f"{after.figure.name} {after.profile}"
    missing = [f"{name} could not be measured: {after.failure}"] if after.failure else []
    if not missing and len(run) < len(pairs):
        missing = [f"{name} is not run"]
    return Finding(
        parameter=parameter.id,
        reading=reading.name,
        set=reading.set,
        profile=after.profile,
        figure=after.figure.name,
        version=__version__,
        build=sensitivity_findings.build(),
        seeds=min((min(was.seeds, now.seeds) for was, now in run), default=0),
        smaller=after.figure.shrunk(quick=False),
        claims=len(run),
        missing=tuple(missing),
        flips=tuple(_flip(was, now) for was, now in run if was.verdict is not now.verdict),
        verdicts=tuple(check for was, now in run for check in _checks(was, now)),
    )


def _flip(old: Judged, new: Judged) -> Flip:
    numbers = [
        f"{after.check.metric.replace('_', ' ')}: {ours(was)} → {ours(after)}"
        for was, after in zip(old.measured, new.measured, strict=True)
        if was.verdict is not after.verdict
    ]
    return Flip(
        claim=new.claim.id,
        figure=new.figure,
        profile=new.profile,
        before=str(old.verdict),
        after=str(new.verdict),
        numbers="; ".join(numbers),
    )


def _checks(old: Judged, new: Judged) -> Iterator[Check]:
    for was, after in zip(old.measured, new.measured, strict=True):
        yield Check(
            figure=new.figure,
            claim=new.claim.id,
            profile=new.profile,
            metric=after.check.metric,
            unit=after.check.unit,
            bound=after.check.bound.text,
            before=str(old.verdict),
            after=str(new.verdict),
            before_mean=was.value.mean if was.value else None,
            before_half_width_95=was.value.half_width if was.value else None,
            after_mean=after.value.mean if after.value else None,
            after_half_width_95=after.value.half_width if after.value else None,
        )
