"""Reproducing a paper: every figure's runs over profiles and seeds, resumed where they stopped, judged by its claims.

Runs are kept by their content (:mod:`backwater.experiments.store`): equal runs of two figures are done once, and a
second call redoes only what changed. The plan of a call is written beside its report (`runs.json`), so that the report
can be made again from what there is, without running and by another build.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from backwater.analysis import pictures
from backwater.experiments.executor import Job
from backwater.experiments.plan import keyed
from backwater.experiments.store import RunFolders, finished
from backwater.papers import Measurement, Runs, Seeds
from backwater.papers.claims import Judged, judge
from backwater.papers.number_tables import NumberTable
from backwater.papers.paper_figure import Figure, RunSpec
from backwater.results import Results

#: The end of the name of a picture that is made for print.
PRINTED = "-printed"
#: Seeds from 1 on, so many of them, or as many as each figure says; or these.
AskedSeeds = int | range | None


@dataclass(frozen=True)
class FigureRun:
    """One run of a figure at one profile and seed: where its results are, and what it runs."""

    figure: str
    profile: str
    seed: int
    run: str
    folder: Path
    scenario: str
    overrides: tuple[str, ...]


@dataclass
class Reproduction:
    """All runs of a reproduction; `jobs` holds each distinct run once.

    `seeds` says how many were asked for, by figure and profile; `blocked` names the seeds whose other runs are not
    known because their first runs are not done.
    """

    #: Where its runs are, of a plan that is to be done.
    kept: RunFolders = field(default_factory=lambda: RunFolders(Path()))
    cells: list[FigureRun] = field(default_factory=list)
    jobs: dict[Path, Job] = field(default_factory=dict)
    seeds: dict[tuple[str, str], int] = field(default_factory=dict)
    blocked: list[tuple[str, str, int]] = field(default_factory=list)

    def of(self, figure: str, profile: str) -> list[FigureRun]:
        """The runs of a figure under a profile."""
        return [cell for cell in self.cells if (cell.figure, cell.profile) == (figure, profile)]


@dataclass(frozen=True)
class Reproduced:
    """One figure under one profile: its verdicts, its picture, and what is missing.

    `runs` holds the seeds whose runs are all complete, `asked` is how many seeds there should be, `missing` names the
    runs that are not complete, and `failure` says why nothing could be measured or drawn. `tables` stand below the
    picture.
    """

    figure: Figure
    profile: str
    judged: tuple[Judged, ...]
    picture: Path | None
    runs: Mapping[int, Runs]
    asked: int = 0
    cells: tuple[FigureRun, ...] = ()
    missing: tuple[str, ...] = ()
    failure: str = ""
    tables: tuple[NumberTable, ...] = ()


def plan_first(
    figures: Sequence[Figure], profiles: Sequence[str], seeds: AskedSeeds, root: Path, *, quick: bool
) -> Reproduction:
    """The runs that settle values for other runs."""
    made, asked = Reproduction(RunFolders(root)), list[tuple[FigureRun, Job]]()
    for figure, profile, seed in _combinations(made, figures, profiles, seeds, quick=quick):
        asked += _runs(figure, profile, seed, figure.experiment.first, {}, root, quick=quick)
    return _keep(made, asked)


def plan(
    figures: Sequence[Figure],
    profiles: Sequence[str],
    seeds: AskedSeeds,
    root: Path,
    *,
    quick: bool,
    first: Reproduction | None = None,
) -> Reproduction:
    """What there is to run; checks every scenario, so that bad input is found before the first of them starts.

    `first` is the plan of :func:`plan_first`, done. A seed whose first runs are not complete has no others.
    """
    made, asked = Reproduction(RunFolders(root)), list[tuple[FigureRun, Job]]()
    done: dict[tuple[str, str], dict[int, dict[str, Results]]] = {}
    for figure, profile, seed in _combinations(made, figures, profiles, seeds, quick=quick):
        values: dict[str, str] = {}
        if figure.experiment.first:
            key = (figure.name, profile)
            if key not in done:
                done[key] = complete_seeds((first or Reproduction()).of(*key))
            if seed not in done[key]:
                made.blocked.append((figure.name, profile, seed))
                continue
            values = figure.module().settle(done[key][seed])
        asked += _runs(figure, profile, seed, figure.experiment.run, values, root, quick=quick)
    return _keep(made, asked)


def _combinations(
    made: Reproduction, figures: Sequence[Figure], profiles: Sequence[str], seeds: AskedSeeds, *, quick: bool
) -> Iterator[tuple[Figure, str, int]]:
    for figure in figures:
        each = seeds if isinstance(seeds, range) else range(1, (seeds or figure.seeds(quick=quick)) + 1)
        for profile in figure.profiles(profiles):
            made.seeds[figure.name, profile] = len(each)
            for seed in each:
                yield figure, profile, seed


def _runs(
    figure: Figure,
    profile: str,
    seed: int,
    specs: Sequence[RunSpec],
    values: Mapping[str, str],
    root: Path,
    *,
    quick: bool,
) -> Iterator[tuple[FigureRun, Job]]:
    """One seed's runs, with `values` in the place of their names in braces; they have no folders yet."""
    for spec in specs:
        if all(figure.skips(name, quick=quick) for name, _ in spec.expand()):
            continue
        scenario = figure.scenario(spec, root)
        for name, own in spec.expand():
            if figure.skips(name, quick=quick):
                continue
            common = figure.overrides(profile, name, quick=quick)
            smaller = figure.smaller(spec, quick=quick)
            overrides = tuple(_filled(text, values) for text in (*common, *own, *smaller, *figure.last(name)))
            cell = FigureRun(figure.name, profile, seed, name, Path(), spec.scenario, overrides)
            label = f"{figure.name} {profile} {name} seed {seed}"
            yield cell, Job(label, scenario, overrides, seed, cost=spec.cost)


def _keep(made: Reproduction, asked: Sequence[tuple[FigureRun, Job]]) -> Reproduction:
    """The plan with these runs and their folders."""
    for (cell, _), job in zip(asked, keyed(job for _, job in asked), strict=True):
        placed = made.kept.place(job)
        if placed.out is not None:
            made.jobs.setdefault(placed.out, placed)
            made.cells.append(replace(cell, folder=placed.out))
    return made


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def evaluate(figure: Figure, profile: str, made: Reproduction, root: Path | None) -> Reproduced:
    """Judge a figure's claims from its finished seeds, and draw it to `root` unless that is None.

    Within a context of :class:`pictures.Paper` there is a picture for that paper, too.

    What figure.py raises is kept as `failure`: the other figures, and hours of runs, must not be lost for it.
    """
    cells = made.of(figure.name, profile)
    by_seed = complete_seeds(cells)
    analytic = not figure.experiment.run
    picture, failure = None, ""
    file = None if root is None else root / f"{figure.name}-{profile}.png"
    if file is not None:
        # A picture of other runs must not stand beside this report.
        file.unlink(missing_ok=True)
    judged = _judged(figure, profile, [])
    tables: tuple[NumberTable, ...] = ()
    try:
        module = figure.module()
        unmeasured = figure.unmeasured()
        per_seed = [unmeasured | dict(module.metrics(runs)) for runs in ([{}] if analytic else by_seed.values())]
        judged = _judged(figure, profile, per_seed)
        if per_seed and file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            _draw(module, list(by_seed.values()), file)
            picture = file
            tables = tuple(getattr(module, "tables", _no_tables)(list(by_seed.values())))
    except Exception as error:  # noqa: BLE001
        failure = _told(error)
    return Reproduced(
        figure,
        profile,
        judged,
        picture,
        by_seed,
        asked=made.seeds.get((figure.name, profile), 0),
        cells=tuple(cells),
        missing=_missing(made, figure.name, profile),
        failure=failure,
        tables=tables,
    )


def _draw(module: Any, seeds: Seeds, file: Path) -> None:
    """The picture of the report; and if it is asked for otherwise, one of that format and width beside it."""
    with pictures.Paper().printed():
        module.draw(seeds, file)
    paper = pictures.paper()
    if paper != pictures.Paper():
        module.draw(seeds, paper.named(file.with_name(f"{file.stem}{PRINTED}")))


def _judged(figure: Figure, profile: str, per_seed: Sequence[Mapping[str, Measurement]]) -> tuple[Judged, ...]:
    """Every claim's verdict; nothing is drawn in a figure without runs."""
    certain, literal = not figure.experiment.run, figure.is_literal(profile)
    found = (judge(claim, figure.name, profile, per_seed, each=claim.each, certain=certain) for claim in figure.claims)
    return tuple(replace(one, literal=literal) for one in found)


def _no_tables(_: Seeds) -> tuple[NumberTable, ...]:
    return ()


def _told(error: Exception) -> str:
    """An error of a figure.py in one line, with the place in a file of the paper where it arose."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "papers" in Path(frame.filename).parts]
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def _missing(made: Reproduction, figure: str, profile: str) -> tuple[str, ...]:
    """The runs that a figure lacks, in words."""
    by_seed: dict[int, list[str]] = {}
    for cell in made.of(figure, profile):
        if not finished(cell.folder):
            by_seed.setdefault(cell.seed, []).append(cell.run)
    found = [f"seed {seed}: {', '.join(runs)}" for seed, runs in sorted(by_seed.items())]
    blocked = sorted(seed for name, of, seed in made.blocked if (name, of) == (figure, profile))
    return (*found, *(f"seed {seed}: every run, as its first runs are not done" for seed in blocked))


def complete_seeds(cells: Sequence[FigureRun]) -> dict[int, dict[str, Results]]:
    """The runs by seed and name, of the seeds whose runs are all complete."""
    seeds: dict[int, dict[str, Results]] = {cell.seed: {} for cell in cells}
    for cell in cells:
        if finished(cell.folder):
            seeds[cell.seed][cell.run] = Results(cell.folder)
    runs = {cell.run for cell in cells}
    return {seed: found for seed, found in seeds.items() if found.keys() == runs}
