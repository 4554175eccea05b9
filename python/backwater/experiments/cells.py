"""The runs of a sweep, each known by its content: equal content is run once, other content never taken for it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.errors import UsageError
from backwater.experiments import content_key as content_key
from backwater.experiments import estimates
from backwater.experiments.executor import Job
from backwater.scenario import schemes
from backwater.scenario.scenario import numbered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.experiments.cache import Cache
    from backwater.experiments.estimates import Estimate
    from backwater.experiments.sweep_file import Plan, Seeds
    from backwater.scenario.scenario import Scenario


@dataclass(frozen=True)
class Content:
    """All that the results of a scenario depend on besides the seed, and what a run will take."""

    facts: Mapping[str, Any]
    estimate: Estimate

    def key(self, seed: int) -> str:
        """A hash of it: 32 hexadecimal digits."""
        return content_key.key(self.facts, seed)


@dataclass(frozen=True)
class Cell:
    """One run of a sweep."""

    number: int
    values: tuple[Any, ...]
    scheme: str
    scenario: Scenario
    overrides: tuple[str, ...]
    seed: int
    key: str
    estimate: Estimate
    texts: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """How the run is called while it is under way."""
        stem = Path(self.scenario.origin).stem
        return " ".join(filter(None, (stem, self.scheme, *self.texts, f"seed {self.seed}")))

    def job(self, cache: Cache) -> Job:
        """The job that does it, and keeps it in a cache."""
        name = (self.label, self.scenario, self.overrides, self.seed)
        # Ranks whose packets are not counted take some time, too.
        cost = max(1e-3, self.estimate.cpu_s)
        return Job(*name, cache.home(self.key), None, self.scheme, self.texts, cost, cache.stage(self.key, self.label))


def content(scenario: Scenario, overrides: Sequence[str]) -> Content:
    """Resolved settings with the probes, contents of files, functions of the user's, and the build of the core."""
    outlook = json.loads(_core.outlook(scenario.text, scenario.origin, str(scenario.base_dir), list(overrides)))
    facts = content_key.facts(scenario, overrides, outlook["scenario"], outlook["files"])
    return Content(facts, estimates.from_outlook(outlook))


def of(plan: Plan, overrides: Sequence[str] = ()) -> list[Cell]:
    """Every run of a sweep, in an order that depends on the file alone: by values, scheme and seed.

    Every combination is checked; raises `ScenarioError` before anything runs. `overrides` go before those of the file.
    """
    cells: list[Cell] = []
    fixed = (*plan.overrides, *overrides)
    for values, texts in plan.combinations():
        with plan.told_where(texts):
            found = schemes.of(plan.scenario, (*fixed, *texts), plan.schemes)
            contents = [content(plan.scenario, scheme.overrides) for scheme in found]
        for scheme, known in zip(found, contents, strict=True):
            for seed in _seeds(plan.scenario, scheme.overrides, plan.seeds):
                name = (scheme.name, scheme.scenario, scheme.overrides)
                cells.append(Cell(len(cells), values, *name, seed, known.key(seed), known.estimate, texts))
    return cells


def _seeds(scenario: Scenario, overrides: Sequence[str], seeds: Seeds) -> Sequence[int]:
    return seeds.listed or numbered(scenario, overrides, seeds.first, seeds.count)


@dataclass(frozen=True)
class Shard:
    """The `one`-th of `of` parts, counted from 1."""

    one: int
    of: int

    def mine(self, cells: Sequence[Cell]) -> list[Cell]:
        """Every `of`-th run, so that all shards have some of each kind, whatever is done already."""
        return [cell for cell in cells if cell.number % self.of == self.one - 1]


def parse_shard(text: str) -> Shard:
    """`i/n`, counted from 1; raises UsageError otherwise.

    >>> parse_shard("2/4")
    Shard(one=2, of=4)
    """
    one, sign, of_ = text.partition("/")
    right = sign and one.isascii() and one.isdecimal() and of_.isascii() and of_.isdecimal() and len(of_) < 10
    if not right or not 1 <= int(one) <= int(of_):
        raise UsageError(
            f"--shard {text}: write i/n with i from 1 to n, such as 1/4; in a Slurm array from 1 to n that is "
            "--shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT"
        )
    return Shard(int(one), int(of_))
