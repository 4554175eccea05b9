"""Makes the report of a plan: measures and draws every figure from the runs that there are, and writes the files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from backwater.errors import UsageError
from backwater.papers import (
    definitions,
    open_parameters,
    paper,
    paper_figure,
    provenance,
    sensitivity_findings,
    timing,
)
from backwater.papers.definitions import Held
from backwater.papers.manifest import Manifest
from backwater.papers.report import facts as own
from backwater.papers.report.write import write
from backwater.papers.reproduce import Reproduced, evaluate
from backwater.papers.timing import Spent, Timing

_T = TypeVar("_T")


@dataclass(frozen=True)
class Made:
    """A report: what was judged, the files, with a clock where the time went in a sentence, and what was left out.

    `marks` are what a reader must know before citing it.
    """

    figures: list[Reproduced]
    definitions: list[Held]
    written: list[Path]
    time: str | None
    warnings: list[str]
    marks: list[str]


def make(manifest: Manifest, folder: Path, root: Path, clock: Timing | None) -> Made:
    """Evaluate every figure and write the report to `folder`.

    `root` holds what the whole reproduction shares, such as the sensitivity runs. What cannot be read of them is left
    out, and said.
    """
    clock_of_call = clock or timing.Timing()
    with clock_of_call.phase("measuring and drawing"):
        figures = paper_figure.discover(manifest.system, manifest.figures, given=manifest.given)
        found = [
            evaluate(figure, profile, manifest.plan, folder)
            for figure in figures
            for profile in figure.profiles(manifest.profiles)
        ]
    if manifest.quick:
        found = [replace(item, judged=tuple(one.of_quick_look() for one in item.judged)) for item in found]
    home = paper_figure.home(manifest.system)
    warnings: list[str] = []
    spent = clock.write(folder) if clock is not None else _or_warn(lambda: timing.read(folder), warnings)
    about = paper.load(home)
    facts = [*own.about(), *_facts(manifest, about, found, spent)]
    with clock_of_call.phase("report"):
        told = _or_warn(lambda: sensitivity_of(manifest, root), warnings)
        held = _definitions(manifest, about, home)
        runs = {run.folder for item in found for by_name in item.runs.values() for run in by_name.values()}
        marks = provenance.marks(root, runs, provenance.tree())
        written = write(found, folder, about, facts, held, quick=manifest.quick, sensitivity=told, marks=marks)
    if clock is None:
        return Made(found, held, written, None, warnings, marks)
    return Made(found, held, [*written, folder / timing.FILE], timing.line(clock.write(folder)), warnings, marks)


def _definitions(manifest: Manifest, about: paper.Paper, home: Path) -> list[Held]:
    """The definitions of the paper; a report on some of its figures is not about them."""
    every = {figure.name for figure in paper_figure.discover(manifest.system, ())}
    return definitions.look_up(about.definition, home.parents[1]) if every <= set(manifest.figures) else []


def sensitivity_of(manifest: Manifest, root: Path) -> dict[str, Any] | None:
    """What the sensitivity runs below `root` found, by the paper's file as it is now; None if there is nothing."""
    found = sensitivity_findings.read(sensitivity_findings.place(root, quick=manifest.quick))
    if not found:
        return None
    _, parameters = open_parameters.load(manifest.system)
    return sensitivity_findings.told(found, parameters, quick=manifest.quick)


def _or_warn(read: Callable[[], _T], warnings: list[str]) -> _T | None:
    try:
        return read()
    except UsageError as error:
        warnings.append(f"left out of the report: {error}")
        return None


def _facts(manifest: Manifest, of: paper.Paper, found: list[Reproduced], spent: Spent | None) -> list[tuple[str, str]]:
    versions = sorted(
        {str(run.meta["version"]) for item in found for runs in item.runs.values() for run in runs.values()}
    )
    # Figures share runs, and each counts once.
    every = {run.folder: run for item in found for runs in item.runs.values() for run in runs.values()}
    cpu = sum(float(run.meta.get("cpu_s", 0.0)) for run in every.values())
    seeds = sorted(set(manifest.plan.seeds.values()))
    counts = " or ".join(map(str, seeds)) if seeds else "none"
    facts = [
        ("profiles", "; ".join(f"{one.name}: {one.about}" for one in of.profile if one.name in manifest.profiles)),
        ("seeds", f"{counts} per figure, from 1 on"),
        (
            "runs",
            f"{len(every)} complete, {timing.duration(cpu)} of CPU time in the engine, version {', '.join(versions)}",
        ),
        ("reproduce", manifest.command),
    ]
    if spent is not None and spent.runs:
        facts.append(("last call", timing.line(spent)))
    return facts
