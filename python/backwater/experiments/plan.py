"""What is to be run: a scenario, its schemes, values of its keys, seeds."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from backwater.errors import UsageError
from backwater.experiments import content_key, estimates
from backwater.experiments.estimates import Estimate
from backwater.experiments.executor import Job
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


@dataclass(frozen=True)
class Content:
    """All that the results of a scenario depend on besides the seed, and what a run will take."""

    facts: Mapping[str, Any]
    estimate: Estimate

    def key(self, seed: int) -> str:
        """A hash of it: 32 hexadecimal digits."""
        return content_key.key(self.facts, seed)


def content(scenario: Scenario, overrides: Sequence[str]) -> Content:
    """Resolved settings with the probes, contents of files, functions of the user's, and the build of the core."""
    read = scenario.read(overrides)
    known = json.loads(read.estimate())
    return Content(content_key.facts(read, scenario.base_dir, known), estimates.from_core(known))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Runs of a scenario; `schemes` names some of those that it lists, nothing means all of them."""

    scenario: Scenario
    overrides: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()
    schemes: tuple[str, ...] = ()
    seeds: Seeds = Seeds()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that vary, in order."""
        return tuple(key for axis in self.axes for key in axis.keys)

    def combinations(self) -> Iterator[tuple[tuple[Any, ...], tuple[str, ...]]]:
        """The values of each combination, and the same as ``--set`` takes them; the last axis changes first."""
        for steps in itertools.product(*(axis.steps for axis in self.axes)):
            texts = (axis.texts(step) for axis, step in zip(self.axes, steps, strict=True))
            yield tuple(itertools.chain(*steps)), tuple(itertools.chain(*texts))

    def told_where(self, texts: Sequence[str]) -> AbstractContextManager[None]:  # noqa: ARG002
        """What the core says of ``--set`` is said of what set it."""
        return nullcontext()

    def groups(self, more: Sequence[str] = ()) -> Iterator[tuple[Scheme, tuple[Any, ...], tuple[str, ...]]]:
        """Each scheme with each combination, checked; `more` is set beside the overrides."""
        for values, texts in self.combinations():
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
        known: dict[tuple[str, ...], Content] = {}
        found = []
        for job in self.jobs(more):
            if job.overrides not in known:
                with self.told_where(job.sweep):
                    known[job.overrides] = content(self.scenario, job.overrides)
            one = known[job.overrides]
            # Ranks whose packets are not counted take some time, too.
            cost = max(1e-3, one.estimate.cpu_s)
            found.append(replace(job, key=one.key(job.seed or 0), estimate=one.estimate, cost=cost))
        return found
