"""Makes the report of a plan: measures and draws every figure from the runs that there are, and writes the files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from backwater import experiment, paper, timing
from backwater.report import facts as own
from backwater.report.write import write
from backwater.reproduce import evaluate

if TYPE_CHECKING:
    from pathlib import Path

    from backwater.manifest import Manifest
    from backwater.reproduce import Reproduced
    from backwater.timing import Timing


def make(
    manifest: Manifest, folder: Path, root: Path, clock: Timing | None
) -> tuple[list[Reproduced], list[Path], str | None]:
    """Evaluate every figure and write the report to `folder`; also, with a clock, where the time went in a sentence.

    `root` holds what the whole reproduction shares, such as the sensitivity runs.
    """
    clock_of_call = clock or timing.Timing()
    with clock_of_call.phase("measuring and drawing"):
        figures = experiment.discover(manifest.system, manifest.figures)
        found = [
            evaluate(figure, profile, manifest.plan, folder)
            for figure in figures
            for profile in figure.profiles(manifest.profiles)
        ]
    home = experiment.home(manifest.system)
    spent = clock.write(folder) if clock is not None else _spent(folder)
    facts = [*own.about(), *_facts(manifest, found, spent)]
    with clock_of_call.phase("report"):
        told = sensitivity(root, quick=manifest.quick)
        written = write(found, folder, paper.load(home), facts, quick=manifest.quick, sensitivity=told)
    if clock is None:
        return found, written, None
    return found, [*written, folder / "timing.json"], timing.line(clock.write(folder))


def sensitivity(root: Path, *, quick: bool) -> dict[str, Any] | None:
    """What the sensitivity runs below `root` found, if there are any."""
    file = root / ("sensitivity-quick" if quick else "sensitivity") / "sensitivity.json"
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def _spent(folder: Path) -> dict[str, Any] | None:
    """The timing of the call that did the runs."""
    try:
        found: dict[str, Any] = json.loads((folder / "timing.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def _facts(manifest: Manifest, found: list[Reproduced], spent: dict[str, Any] | None) -> list[tuple[str, str]]:
    versions = sorted(
        {str(run.meta["version"]) for item in found for runs in item.runs.values() for run in runs.values()}
    )
    # Figures share runs, and each counts once.
    every = {run.folder: run for item in found for runs in item.runs.values() for run in runs.values()}
    cpu = sum(float(run.meta.get("cpu_s", 0.0)) for run in every.values())
    seeds = sorted(set(manifest.plan.seeds.values()))
    counts = " or ".join(map(str, seeds)) if seeds else "none"
    facts = [
        ("profiles", "; ".join(f"{name}: {_PROFILES[name]}" for name in manifest.profiles if name in _PROFILES)),
        ("seeds", f"{counts} per figure, from 1 on"),
        (
            "runs",
            f"{len(every)} complete, {timing.duration(cpu)} of CPU time in the engine, version {', '.join(versions)}",
        ),
        ("reproduce", manifest.command),
    ]
    if spent is not None and spent["runs"]:
        facts.append(("last call", timing.line(spent)))
    return facts


_PROFILES = {
    "authors": "the settings of the authors' simulator",
    "ideal": "the paper's text read literally",
}
