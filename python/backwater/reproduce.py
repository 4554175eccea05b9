"""Reproducing a paper: every figure's runs over profiles and seeds, resumed where they stopped, judged by its claims.

Runs are kept by their content (:mod:`backwater.stored`): equal runs of two figures are done once, and a second call
redoes only what changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from backwater import stored
from backwater.claims import Judged, judge
from backwater.results import Results
from backwater.running import Job, Scenario, run_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from backwater.experiment import Figure, RunSpec
    from backwater.running import Outcome, Watcher


@dataclass(frozen=True)
class Cell:
    """One run of a figure at one profile and seed, and the job that does it."""

    figure: str
    profile: str
    seed: int
    run: str
    job: Job


@dataclass
class Plan:
    """All runs of a reproduction; `jobs` holds each distinct run once."""

    cells: list[Cell] = field(default_factory=list)
    jobs: dict[Path, Job] = field(default_factory=dict)

    def open_jobs(self) -> list[Job]:
        """The runs that are not yet done."""
        return [job for folder, job in self.jobs.items() if not stored.finished(folder)]


@dataclass(frozen=True)
class Reproduced:
    """One figure under one profile: its verdicts and its picture."""

    figure: Figure
    profile: str
    judged: tuple[Judged, ...]
    picture: Path | None
    runs: Mapping[int, Mapping[str, Results]]


def plan_first(
    figures: Sequence[Figure], profiles: Sequence[str], seeds: int | None, root: Path, *, quick: bool
) -> Plan:
    """The runs that settle values for other runs."""
    made = Plan()
    for figure, profile, seed in _combinations(figures, profiles, seeds, quick=quick):
        _add(made, root, figure, profile, seed, figure.experiment.first, {}, quick=quick)
    return made


def plan(
    figures: Sequence[Figure],
    profiles: Sequence[str],
    seeds: int | None,
    root: Path,
    *,
    quick: bool,
    first: Plan | None = None,
) -> Plan:
    """What there is to run; checks every scenario, so that bad input is found before the first of them starts.

    `first` is the plan of :func:`plan_first`, done. A seed whose first runs are not complete has no others.
    """
    made = Plan()
    for figure, profile, seed in _combinations(figures, profiles, seeds, quick=quick):
        values: dict[str, str] = {}
        if figure.experiment.first:
            done = _complete_seeds(figure, profile, first or Plan())
            if seed not in done:
                continue
            values = figure.module().settle(done[seed])
        _add(made, root, figure, profile, seed, figure.experiment.run, values, quick=quick)
    return made


def _combinations(
    figures: Sequence[Figure], profiles: Sequence[str], seeds: int | None, *, quick: bool
) -> Iterator[tuple[Figure, str, int]]:
    for figure in figures:
        count = seeds or figure.seeds(quick=quick)
        for profile in figure.profiles(profiles):
            for seed in range(1, count + 1):
                yield figure, profile, seed


def _add(
    made: Plan,
    root: Path,
    figure: Figure,
    profile: str,
    seed: int,
    specs: Sequence[RunSpec],
    values: Mapping[str, str],
    *,
    quick: bool,
) -> None:
    """Add one seed's runs, with `values` in the place of their names in braces."""
    common = figure.overrides(profile, quick=quick)
    for spec in specs:
        scenario = Scenario.load(figure.folder / spec.scenario)
        for name, own in spec.expand():
            if figure.skips(name, quick=quick):
                continue
            overrides = tuple(_filled(text, values) for text in (*common, *own))
            folder = stored.folder(root, scenario, overrides, seed)
            label = f"{figure.name} {profile} {name} seed {seed}"
            job = made.jobs.setdefault(folder, Job(label, scenario, overrides, seed, folder))
            made.cells.append(Cell(figure.name, profile, seed, name, job))


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def run(made: Plan, workers: int | None, watcher: Watcher | None) -> list[Outcome]:
    """Do the runs that are still open."""
    return run_jobs(made.open_jobs(), workers, watcher)


def evaluate(figure: Figure, profile: str, made: Plan, root: Path) -> Reproduced:
    """Judge a figure's claims from its finished seeds, and draw it."""
    by_seed = _complete_seeds(figure, profile, made)
    module = figure.module()
    analytic = not figure.experiment.run
    per_seed = [module.metrics(runs) for runs in ([{}] if analytic else by_seed.values())]
    picture = None
    if per_seed:
        picture = root / f"{figure.name}-{profile}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        module.draw(list(by_seed.values()), picture)
    judged = tuple(judge(claim, figure.name, profile, per_seed) for claim in figure.claims)
    return Reproduced(figure, profile, judged, picture, by_seed)


def _complete_seeds(figure: Figure, profile: str, made: Plan) -> dict[int, dict[str, Results]]:
    """The runs by seed and name, of the seeds whose runs are all complete."""
    cells = [cell for cell in made.cells if (cell.figure, cell.profile) == (figure.name, profile)]
    seeds: dict[int, dict[str, Results]] = {cell.seed: {} for cell in cells}
    for cell in cells:
        folder = cell.job.out
        if folder is not None and stored.finished(folder):
            seeds[cell.seed][cell.run] = Results(folder)
    runs = {cell.run for cell in cells}
    return {seed: found for seed, found in seeds.items() if found.keys() == runs}
