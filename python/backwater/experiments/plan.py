"""What is to be run: a scenario, its schemes, values of its keys, seeds. Whatever runs several has it here."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from backwater.errors import UsageError
from backwater.experiments import content_key, estimates
from backwater.experiments.estimates import Estimate
from backwater.experiments.executor import Job
from backwater.experiments.sweep_measures import DEFAULT
from backwater.scenario import schemes
from backwater.scenario.scenario import Scenario, numbered, require_seeds
from backwater.scenario.schemes import Scheme
from backwater.scenario.toml_writer import value_text

#: More runs than this are taken for a slip of the pen.
MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class Seeds:
    """The seeds of every combination: those listed, or `count` from `first` on (None: the scenario's own)."""

    count: int = 1
    first: int | None = None
    listed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Raises UsageError for more of them than a command may have."""
        require_seeds(self.count)

    def of(self, scheme: Scheme) -> Sequence[int]:
        """Those of a scenario."""
        return self.listed or numbered(scheme.scenario, scheme.overrides, self.first, self.count)


@dataclass(frozen=True)
class Axis:
    """Keys that change together, and for each step their values; `raw` are values as ``--set`` takes them."""

    keys: tuple[str, ...]
    steps: tuple[tuple[Any, ...], ...]
    path: str = ""
    raw: bool = False

    def texts(self, step: Sequence[Any]) -> tuple[str, ...]:
        """A step as ``--set`` takes it."""
        written = step if self.raw else map(value_text, step)
        return tuple(f"{key}={text}" for key, text in zip(self.keys, written, strict=True))


def combinations(axes: Sequence[Axis]) -> Iterator[tuple[tuple[Any, ...], tuple[str, ...]]]:
    """The values of each combination, and the same as ``--set`` takes them; the last axis changes first."""
    for steps in itertools.product(*(axis.steps for axis in axes)):
        texts = (axis.texts(step) for axis, step in zip(axes, steps, strict=True))
        yield tuple(itertools.chain(*steps)), tuple(itertools.chain(*texts))


@dataclass(frozen=True)
class Content:
    """All that the results of a scenario depend on besides the seed, and what a run will take."""

    facts: Mapping[str, Any]
    estimate: Estimate | None


def content(scenario: Scenario, overrides: Sequence[str]) -> Content:
    """Resolved settings with the probes, contents of files, functions of the user's, and the build of the core."""
    read = scenario.read(overrides)
    known = json.loads(read.estimate())
    return Content(content_key.facts(read, scenario.base_dir, known), estimates.from_core(known))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Runs of a scenario, and the columns of their table.

    `schemes` names some of those that the scenario lists, nothing means all of them.
    """

    scenario: Scenario
    overrides: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()
    schemes: tuple[str, ...] = ()
    seeds: Seeds = Seeds()
    measures: tuple[str, ...] = DEFAULT

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that vary, in order."""
        return tuple(key for axis in self.axes for key in axis.keys)

    @property
    def asked(self) -> Mapping[str, Any]:
        """What the plan says, as a sweep file does, and where it stands."""
        seeds = list(self.seeds.listed) or {"from": self.seeds.first, "count": self.seeds.count}
        axes: dict[str, list[str]] = {}
        for axis in self.axes:
            for text in (text for step in axis.steps for text in axis.texts(step)):
                key, _, value = text.partition("=")
                axes.setdefault(key, []).append(value)
        said = {"scenario": self.scenario.origin, "set": self.overrides, "axes": axes, "seeds": seeds}
        return {"file": "", "sweep": said}

    def told_where(self, texts: Sequence[str]) -> AbstractContextManager[None]:  # noqa: ARG002
        """What the core says of ``--set`` is said of what set it."""
        return nullcontext()

    def groups(self, more: Sequence[str] = ()) -> Iterator[tuple[Scheme, tuple[Any, ...], tuple[str, ...]]]:
        """Each scheme with each combination, checked; `more` is set beside the overrides."""
        for values, texts in combinations(self.axes):
            with self.told_where(texts):
                found = schemes.of(self.scenario, (*self.overrides, *more, *texts), self.schemes)
            yield from ((scheme, values, texts) for scheme in found)

    def jobs(self, more: Sequence[str] = ()) -> list[Job]:
        """Every run, in an order that depends on the plan alone: by values, scheme and seed.

        Every combination is checked; raises `ScenarioError` before anything runs, and UsageError for too many runs.
        """
        runs = math.prod(len(axis.steps) for axis in self.axes) * self.seeds.count
        if runs > MOST_RUNS:
            raise UsageError(f"{runs} runs: at most {MOST_RUNS}; give fewer values, or fewer seeds")
        return [
            Job(
                " ".join((scheme.label, *texts, f"seed {seed}")),
                scheme.scenario,
                scheme.overrides,
                seed,
                scheme=scheme.name,
                sweep=texts,
                values=values,
            )
            for scheme, values, texts in self.groups(more)
            for seed in self.seeds.of(scheme)
        ]

    def keyed(self, more: Sequence[str] = ()) -> list[Job]:
        """The same, each with the key of its content and what it will take."""
        jobs = keyed(self.jobs(more), self.told_where)
        # Ranks whose packets are not counted take some time, too.
        return [replace(job, cost=max(1e-3, job.estimate.cpu_s)) if job.estimate else job for job in jobs]


def keyed(
    jobs: Iterable[Job], told_where: Callable[[Sequence[str]], AbstractContextManager[None]] = lambda _: nullcontext()
) -> list[Job]:
    """Runs with the keys of their content, and what each will take; raises `ScenarioError` for one that cannot run."""
    known: dict[tuple[Scenario, tuple[str, ...]], Content] = {}
    found = []
    for job in jobs:
        settings = (job.scenario, job.overrides)
        if settings not in known:
            with told_where(job.sweep):
                known[settings] = content(*settings)
        one = known[settings]
        found.append(replace(job, key=content_key.key(one.facts, job.seed or 0), estimate=one.estimate))
    return found
