"""Settings that make a measure small or large, found by Optuna, and judged on seeds that were not tuned on.

The search is a function of its file alone: each batch of trials is asked for when all before it are told, whatever ran
where. So nothing needs to be stored of it but its runs, which the cache has: a tuning that was interrupted is gone
through again, and takes its runs from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

from backwater import extras
from backwater._core import InvariantError, ScenarioError
from backwater.common.statistics import Estimate, estimate
from backwater.errors import UsageError
from backwater.experiments.batch import Batch
from backwater.experiments.executor import Engine, Job, Outcome
from backwater.experiments.store import Cache
from backwater.experiments.tuning_file import Task
from backwater.scenario.toml_writer import value_text

#: So many complete trials tell which parameters matter, less are an accident.
_ENOUGH = 10


@dataclass(frozen=True)
class Trial:
    """One setting that was tried: the objective over the seeds, or why there is none."""

    number: int
    values: Mapping[str, Any]
    objective: Estimate | None
    why: str = ""

    def overrides(self) -> list[str]:
        """As ``--set`` takes them."""
        return [f"{key}={value_text(value)}" for key, value in self.values.items()]


@dataclass
class Tuning:
    """A task with the engine and the cache that do it; `trials` are those that are over."""

    task: Task
    engine: Engine
    cache: Cache
    trials: list[Trial] = field(default_factory=list)
    #: The scenario as it is, on the seeds of the trials.
    before: Estimate | None = None
    importance: dict[str, float] = field(default_factory=dict)
    #: The version of Optuna that searched.
    optuna: str = ""
    #: Runs that were done for it, and those that the cache had.
    done: int = 0
    cached: int = 0

    def search(self, told: Callable[[Trial, Trial | None], None]) -> None:
        """Try settings; raises KeyboardInterrupt if somebody stops a run."""
        optuna = extras.load("optuna", "tuning needs Optuna, which is not installed: {}")
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna = str(optuna.__version__)
        task = self.task
        self._require_possible()
        self.before = self.point({}, task.seeds)
        sampler = optuna.samplers.TPESampler(seed=task.search_seed, constant_liar=True)
        direction = "maximize" if task.maximize else "minimize"
        study = optuna.create_study(direction=direction, sampler=sampler)
        while len(self.trials) < task.trials:
            asked = [study.ask() for _ in range(min(task.batch, task.trials - len(self.trials)))]
            points = [{one.key: _suggested(trial, one) for one in task.parameters} for trial in asked]
            for trial, made in zip(asked, self._tried(points), strict=True):
                state = optuna.trial.TrialState
                if made.objective is None:
                    study.tell(trial, state=state.FAIL)
                else:
                    study.tell(trial, made.objective.mean)
                self.trials.append(made)
                told(made, self.best)
        if sum(trial.objective is not None for trial in self.trials) >= _ENOUGH:
            # Of one value of the objective, or of one parameter's, it cannot tell.
            with suppress(ValueError, RuntimeError, ImportError):
                self.importance = dict(optuna.importance.get_param_importances(study))

    @property
    def best(self) -> Trial | None:
        """The best trial so far, of equals the first."""
        found = [(trial.objective.mean, trial) for trial in self.trials if trial.objective is not None]
        pick = max if self.task.maximize else min
        return pick(found, key=lambda pair: pair[0])[1] if found else None

    def point(self, values: Mapping[str, Any], seeds: Sequence[int]) -> Estimate:
        """The objective of one setting; raises what went wrong."""
        asked = self.task.plan(values, seeds).keyed()
        errors = self._run(asked)
        for job in asked:
            if job.key in errors:
                raise errors[job.key]
        return self._objective(asked)

    def _require_possible(self) -> None:
        """Raise `ScenarioError` for a parameter that is wrong whatever the others are, such as a key with a slip."""
        ends = [(one.key, *one.ends()) for one in self.task.parameters]
        lowest, highest = ({key: pair[side] for key, *pair in ends} for side in (0, 1))
        for key, low, high in ends:
            first: ScenarioError | None = None
            for point in ({key: low}, {key: high}, lowest, highest):
                try:
                    self.task.plan(point, self.task.seeds[:1]).keyed()
                except ScenarioError as error:
                    first = first or error
                else:
                    break
            else:
                raise first or UsageError(f"{key} cannot be set")

    def _tried(self, points: Sequence[Mapping[str, Any]]) -> list[Trial]:
        """A batch of settings, all of whose runs may be under way at a time."""
        asked: list[list[Job] | ScenarioError] = []
        for point in points:
            try:
                asked.append(self.task.plan(point, self.task.seeds).keyed())
            except ScenarioError as error:
                asked.append(error)
        errors = self._run([job for some in asked if not isinstance(some, ScenarioError) for job in some])
        made: list[Trial] = []
        for point, some in zip(points, asked, strict=True):
            number = len(self.trials) + len(made)
            try:
                if isinstance(some, ScenarioError):
                    raise some
                for job in some:
                    if job.key in errors:
                        raise errors[job.key]
                made.append(Trial(number, point, self._objective(some)))
            except (ScenarioError, InvariantError, UsageError) as why:
                made.append(Trial(number, point, None, str(why).strip().splitlines()[0]))
        return made

    def _run(self, asked: Sequence[Job]) -> dict[str, BaseException]:
        """Do what is missing; the errors by key of runs whose setting is to blame. Others are raised."""
        if not asked:
            return {}
        batch = Batch([self.cache.place(job) for job in asked], self.cache)
        missing = batch.missing()
        self.cached += len(batch.mine()) - len(missing)
        batch.run(missing, self.engine, lambda _: nullcontext())
        self.done += len(missing) - len(batch.failed)
        return {outcome.job.key: error for outcome in batch.outcomes if (error := _of_setting(outcome)) is not None}

    def _objective(self, some: Sequence[Job]) -> Estimate:
        """Its mean over the seeds; raises UsageError if a run has none."""
        found = []
        for job in some:
            rows = self.cache.measured(job.key)["rows"]
            row = next(row for row in rows if self.task.traffic in ("", row["traffic"]))
            if row[self.task.objective] is None:
                raise UsageError(f"{self.task.objective} is not known with seed {job.seed}: no flow of it finished")
            found.append(float(row[self.task.objective]))
        return estimate(found)


def _of_setting(outcome: Outcome) -> BaseException | None:
    error = outcome.error
    if error is None or isinstance(error, InvariantError | ScenarioError):
        return error
    raise error


def _suggested(trial: Any, parameter: Any) -> Any:
    if parameter.choices:
        # As texts: Optuna takes no lists and tables.
        texts = [value_text(one) for one in parameter.choices]
        return parameter.choices[texts.index(trial.suggest_categorical(parameter.key, texts))]
    low, high = (float(end.number) for end in (parameter.low, parameter.high))
    if parameter.whole:
        return parameter.value(trial.suggest_int(parameter.key, int(low), int(high), log=parameter.log))
    return parameter.value(trial.suggest_float(parameter.key, low, high, log=parameter.log))
