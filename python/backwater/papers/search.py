"""Which values of what a paper leaves open make a claim of it hold, if any.

Points spread evenly over the open parameters of the claim's figure are run and judged over the same few seeds. Those
where the claim holds are candidates: a good seed may have made them. They are run again with seeds that no point was
found with, and only what holds there, with its whole interval, is said to be found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backwater._core import InvariantError, ScenarioError
from backwater.errors import UsageError
from backwater.experiments import sobol
from backwater.experiments.executor import Outcome
from backwater.papers import paper, paper_figure, reproduce, run_costs, search_space, sensitivity
from backwater.papers.claims import Claim, Judged, Verdict
from backwater.papers.open_parameters import Parameter
from backwater.papers.paper_figure import Figure
from backwater.papers.reproduce import Reproduction
from backwater.papers.search_space import Dimension, Left, Setting

#: The seed of the points.
SEED = 0
#: So many points are tried if nobody says otherwise, of a quick look, and at least: fewer say nothing about a region.
POINTS, QUICK_POINTS, FEWEST_POINTS, MOST_POINTS = 64, 16, 8, 100_000
#: Seeds of a candidate, none of which found it, if nobody says otherwise.
FRESH_SEEDS = 5
#: Does the runs of a plan that are not done, and says what they are for.
Runner = Callable[[Reproduction, str], Sequence[Outcome]]
#: What may come of a point.
VERDICTS = (Verdict.HOLDS, Verdict.OPEN, Verdict.DIFFERS, Verdict.NOT_RUN)


@dataclass(frozen=True)
class Look:
    """A point over some seeds: the claim's verdict, or why there is none."""

    judged: Judged | None
    why: str = ""

    @property
    def verdict(self) -> Verdict:
        """The claim's verdict; what the runs do not show leaves it open."""
        if self.judged is None:
            return Verdict.NOT_RUN
        return self.judged.verdict if self.judged.verdict in VERDICTS else Verdict.OPEN

    def value(self, metric: str) -> float | None:
        """The mean of a metric."""
        measured = self.judged.measured if self.judged else ()
        return next((one.value.mean for one in measured if one.value and one.check.metric == metric), None)


@dataclass
class Tried:
    """A point; `fresh` is there for those where the claim held at first. Ours has number 0 and no settings."""

    number: int
    settings: tuple[Setting, ...]
    first: Look
    fresh: Look | None = None

    @property
    def candidate(self) -> bool:
        """Whether the claim held at first: every mean is within its bound."""
        measured = self.first.judged.measured if self.first.judged else ()
        return bool(measured) and all(one.inside for one in measured)

    @property
    def last(self) -> Look:
        """With fresh seeds, where it was run with some."""
        return self.fresh or self.first

    @property
    def verdict(self) -> Verdict:
        """What came of it: by the fresh seeds where there are some."""
        if self.fresh is not None:
            return self.fresh.verdict
        if self.first.judged is None:
            return Verdict.NOT_RUN
        # What did not hold over the seeds of all points is not looked at any further.
        return Verdict.OPEN if self.candidate else Verdict.DIFFERS


@dataclass
class Search:
    """A claim under a profile, with what varies, and what was found."""

    system: str
    claim: Claim
    figure: Figure
    profile: str
    dimensions: list[Dimension]
    left: list[Left]
    root: Path
    quick: bool
    #: Seeds of every point, and of a candidate.
    count: int
    fresh_count: int
    #: Points that there are to be.
    points: int
    #: Runs of one point.
    runs_each: int
    #: CPU seconds by kind of run, of earlier calls.
    known: Mapping[str, float]
    ours: Tried = field(default_factory=lambda: Tried(0, (), Look(None)))
    tried: list[Tried] = field(default_factory=list)

    @property
    def seeds(self) -> range:
        """Those of every point."""
        return range(1, self.count + 1)

    @property
    def fresh_seeds(self) -> range:
        """Those of candidates."""
        return range(self.count + 1, self.count + 1 + self.fresh_count)

    @property
    def candidates(self) -> list[Tried]:
        """The points where the claim held at first."""
        return [one for one in self.tried if one.candidate]

    @property
    def found(self) -> list[Tried]:
        """The points where it holds with fresh seeds, too."""
        return [one for one in self.tried if one.verdict is Verdict.HOLDS]

    def drawn(self) -> list[tuple[Setting, ...]]:
        """The points, each once: with kinds alone there may be fewer than were asked for."""
        found: dict[tuple[str, ...], tuple[Setting, ...]] = {}
        for row in sobol.points(len(self.dimensions), self.points, SEED):
            point = tuple(one.at(float(share)) for one, share in zip(self.dimensions, row, strict=True))
            found.setdefault(tuple(setting.text for setting in point), point)
        return list(found.values())

    def cost(self, points: int, seeds: int) -> float:
        """CPU seconds that points take over so many seeds, about: as our own values do."""
        own = reproduce.plan_first([self.figure], (self.profile,), 1, self.root, quick=self.quick)
        later = 0.0
        if self.figure.experiment.first:
            # What these runs are depends on those before.
            specs = ((name, spec) for spec in self.figure.experiment.run for name, _ in spec.expand())
            later = sum(spec.cost for name, spec in specs if not self.figure.skips(name, quick=self.quick))
        else:
            own = reproduce.plan([self.figure], (self.profile,), 1, self.root, quick=self.quick)
        return points * seeds * (later + sum(job.cost for job in self.priced(own).jobs.values()))

    def priced(self, made: Reproduction) -> Reproduction:
        """A plan with what its runs take: as measured, else as estimated, else as the figure says of its full size."""
        made.jobs = {
            out: dataclasses.replace(job, cost=job.estimate.cpu_s) if job.estimate and job.estimate.known else job
            for out, job in made.jobs.items()
        }
        return run_costs.expected(made, self.known)

    def look(self, run: Runner) -> None:
        """Try our own values and every point, then the candidates again."""
        drawn = self.drawn()
        ours, *looks = self._look([(), *drawn], self.seeds, run, "runs of the points")
        self.ours = Tried(0, (), ours)
        self.tried = [
            Tried(number, point, one) for number, (point, one) in enumerate(zip(drawn, looks, strict=True), start=1)
        ]
        held = self.candidates
        again = self._look([one.settings for one in held], self.fresh_seeds, run, "runs with fresh seeds")
        for one, fresh in zip(held, again, strict=True):
            one.fresh = fresh

    def _look(self, points: Sequence[tuple[Setting, ...]], seeds: range, run: Runner, what: str) -> list[Look]:
        cases = [_Case(self._figure(point)) for point in points]
        for case in cases:
            case.plan(self, seeds, first=True)
        outcomes = list(
            run(sensitivity.together(case.first for case in cases), f"{what} that settle values for others")
        )
        for case in cases:
            case.plan(self, seeds, first=False)
        outcomes += run(sensitivity.together(case.made for case in cases), what)
        errors = {outcome.job.out: error for outcome in outcomes if (error := _of_point(outcome)) is not None}
        return [case.look(self, seeds, errors) for case in cases]

    def _figure(self, point: Sequence[Setting]) -> Figure:
        return dataclasses.replace(self.figure, variants=tuple(one.variant for one in point if one.variant))


@dataclass
class _Case:
    """A point on its way: the figure with its settings, and the plans of its runs."""

    figure: Figure
    first: Reproduction = field(default_factory=Reproduction)
    made: Reproduction = field(default_factory=Reproduction)
    why: str = ""

    def plan(self, search: Search, seeds: range, *, first: bool) -> None:
        """Plan its first runs, or its others; settings that go together nowhere are no mistake of the user's."""
        if self.why:
            return
        try:
            if first:
                self.first = reproduce.plan_first(
                    [self.figure], (search.profile,), seeds, search.root, quick=search.quick
                )
            else:
                self.made = reproduce.plan(
                    [self.figure], (search.profile,), seeds, search.root, quick=search.quick, first=self.first
                )
        except ScenarioError as error:
            self.why = _line(error)

    def look(self, search: Search, seeds: range, errors: dict[Path | None, BaseException]) -> Look:
        """Its verdict."""
        failed = next((errors[out] for out in (*self.first.jobs, *self.made.jobs) if out in errors), None)
        if self.why or failed is not None:
            return Look(None, self.why or _line(failed))
        found = reproduce.evaluate(self.figure, search.profile, self.made, None)
        judged = next(one for one in found.judged if one.claim.id == search.claim.id)
        if found.failure or judged.seeds < len(seeds) or judged.verdict is Verdict.NOT_DECIDABLE:
            return Look(None, found.failure or "; ".join(found.missing) or judged.reason)
        return Look(judged)


def _of_point(outcome: Outcome) -> BaseException | None:
    """The error of a run whose settings are to blame; others are raised."""
    error = outcome.error
    if error is None or isinstance(error, InvariantError | ScenarioError):
        return error
    raise error


def _line(error: BaseException | None) -> str:
    return next(iter(str(error).strip().splitlines()), "")


def prepare(
    system: str,
    claim: str,
    parameters: Sequence[Parameter],
    profile: str,
    root: Path,
    *,
    runs: int | None,
    seeds: int,
    fresh_seeds: int,
    quick: bool,
    known: Mapping[str, float],
) -> Search:
    """A search, ready to be done; raises UsageError for what cannot be searched for."""
    asked = paper.load(paper_figure.home(system)).chosen(profile)
    every = _figures(system, claim)
    figure = next((one for one in every if one.profiles(asked)), None)
    if figure is None:
        runs_under = "; ".join(f"{one.name} under {', '.join(one.experiment.profiles)}" for one in every)
        raise UsageError(f"--profile {profile}: {claim} is run otherwise: {runs_under}; give one of these")
    chosen, wanted = figure.profiles(asked), _searchable(figure, claim)
    (small,) = sensitivity.reduced([figure])
    dimensions, left = search_space.of(parameters, small, chosen[0], quick=quick)
    if not dimensions:
        others = "; ".join(f"{one.parameter}: {one.why}" for one in left)
        raise UsageError(
            f"--claim {claim}: none of the parameters {', '.join(one.id for one in parameters)} is open for "
            f"{figure.name} under {chosen[0]}{f' ({others})' if others else ''}; write "
            f'figures = ["{figure.name}"] into one of papers/{system}/sensitivity.toml'
        )
    specs = (*small.experiment.first, *small.experiment.run)
    names = [name for spec in specs for name, _ in spec.expand()]
    each = seeds * sum(not small.skips(name, quick=quick) for name in names)
    points = _points(claim, each, runs, quick=quick)
    return Search(
        system, wanted, small, chosen[0], dimensions, left, root, quick, seeds, fresh_seeds, points, each, known
    )


def _figures(system: str, claim: str) -> list[Figure]:
    """The figures that have a claim: on two fabrics these are two."""
    figures = paper_figure.discover(system)
    found = [figure for figure in figures if any(one.id == claim for one in figure.claims)]
    if not found:
        every = dict.fromkeys(one.id for figure in figures for one in figure.claims)
        raise UsageError(f"--claim {claim}: {system} has no claim of that name; it has: {', '.join(every)}")
    return found


def _searchable(figure: Figure, wanted: str) -> Claim:
    """The claim, if values can turn its verdict."""
    claim = next(one for one in figure.claims if one.id == wanted)
    if not claim.checks or claim.undecidable is not None:
        raise UsageError(
            f"--claim {wanted}: it has no verdict that values could turn ({claim.undecidable}); "
            "choose a claim with a bound"
        )
    if not figure.experiment.run:
        raise UsageError(
            f"--claim {wanted}: {figure.name} is computed from formulas, without runs; choose a claim of a figure "
            "that runs scenarios"
        )
    return claim


def _points(claim: str, each: int, runs: int | None, *, quick: bool) -> int:
    """How many points so many runs are enough for."""
    if runs is None:
        return QUICK_POINTS if quick else POINTS
    if not FEWEST_POINTS * each <= runs <= MOST_POINTS * each:
        usual = QUICK_POINTS if quick else POINTS
        raise UsageError(
            f"--runs {runs}: a point of {claim} takes {each} run{'s' if each > 1 else ''}, and a search tries "
            f"{FEWEST_POINTS} to {MOST_POINTS} points: give {FEWEST_POINTS * each} to {MOST_POINTS * each} runs, or "
            f"leave it out for {usual} points, {usual * each} runs"
        )
    return runs // each
