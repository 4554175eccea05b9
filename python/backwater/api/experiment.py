"""What ``import backwater as bw`` has for running things: `Experiment` and `run`, with the words of scenario files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

from backwater.api.inputs import Inputs
from backwater.api.results import Results
from backwater.api.runs import Runs
from backwater.common.atomic_files import Staged
from backwater.errors import UsageError
from backwater.experiments.executor import Job, raise_first, run_jobs
from backwater.experiments.plan import Axis, combinations
from backwater.experiments.progress import watching
from backwater.experiments.store import OfFile
from backwater.extend import UserFunction
from backwater.scenario import schemes
from backwater.scenario.scenario import MAX_SEED, Scenario, folder_name, numbered
from backwater.scenario.toml_writer import toml, value_text


class Experiment:
    """A scenario to be run once, or many times: what `set` and `sweep` change, over which seeds.

    `source` is a scenario file, or a mapping with the words of one. Keyword arguments are its tables, with `_` for
    `-`::

        bw.Experiment("incast.toml", run={"threads": 2})
        bw.Experiment(topology={"kind": "star", "hosts": 9, "rate": "40Gbps", "delay": "1us"},
                      traffic=[{"name": "incast", "kind": "incast", "from": "*", "to": "h0", "size": "1MB"}])

    Instead of a topology it takes a networkx graph, and for ``traffic`` a polars, pandas or Arrow table of flows. For
    ``cc.custom.function`` or ``switch.detector.custom.function`` it takes what `congestion_control` and `detector`
    return.
    `base` is the folder from which paths count, by default that of the file, or the working folder. Nothing is checked
    before it is run or validated.
    """

    def __init__(
        self,
        source: str | Path | Mapping[str, Any] | None = None,
        *,
        base: str | Path | None = None,
        **tables: Any,
    ) -> None:
        self._inputs = Inputs()
        self._overrides: list[str] = []
        self._axes: list[Axis] = []
        self._seeds: tuple[int, ...] = ()
        words = {name.replace("_", "-"): value for name, value in tables.items()}
        if isinstance(source, str | Path):
            self._scenario = Scenario.load(source)
            if base is not None:
                self._scenario = Scenario(self._scenario.text, self._scenario.origin, Path(base).absolute())
            for name, value in words.items():
                self._set_table(name, value)
        elif source is None or isinstance(source, Mapping):
            text = toml(self._inputs.replaced({**(source or {}), **words}))
            self._scenario = Scenario(text, "experiment.toml", Path(base or Path.cwd()).absolute(), nameless=True)
        else:
            raise UsageError(
                f"an experiment is made of a file, a mapping or keyword arguments, not of {type(source).__name__}"
            )

    def _set_table(self, name: str, value: Any) -> None:
        replaced = self._inputs.replaced({name: value})[name]
        if isinstance(replaced, Mapping):
            for key, one in replaced.items():
                self._overrides.append(f"{name}.{key}={value_text(one)}")
        else:
            self._overrides.append(f"{name}={value_text(replaced)}")

    def set(self, key: str, value: Any) -> Experiment:
        """Change one value, as ``--set key=value`` does: ``.set("traffic.load", 0.6)``. Returns itself."""
        table, _, last = key.rpartition(".")
        replaced = self._inputs.replaced_at(table, last, value)
        self._overrides.append(f"{key}={value_text(replaced)}")
        return self

    def sweep(self, key: str, values: Iterable[Any]) -> Experiment:
        """Run with each of several values; several sweeps make every combination. Returns itself."""
        table, _, last = key.rpartition(".")
        texts = dict.fromkeys(value_text(self._inputs.replaced_at(table, last, value)) for value in values)
        if not texts:
            raise UsageError(f"sweep {key}: there are no values")
        if any(axis.keys == (key,) for axis in self._axes):
            raise UsageError(f"sweep {key} is given twice; list all of its values once")
        self._axes.append(Axis((key,), tuple((text,) for text in texts), raw=True))
        return self

    def seeds(self, seeds: int | Iterable[int]) -> Experiment:
        """Run with these seeds; a number is that many, from the scenario's own on. Returns itself."""
        if isinstance(seeds, int):
            if seeds < 1:
                raise UsageError(f"seeds = {seeds}: at least one run is needed")
            self._seeds = tuple(numbered(self._scenario, self._overrides, None, seeds))
        else:
            self._seeds = tuple(seeds)
        return self

    def copy(self) -> Experiment:
        """Another one that begins as this one is."""
        other = Experiment.__new__(Experiment)
        vars(other).update(vars(self))
        vars(other).update(_overrides=[*self._overrides], _axes=[*self._axes])
        return other

    @property
    def scenario(self) -> Scenario:
        """Text and folder of the scenario, before anything was set."""
        return self._scenario

    @property
    def sweeps(self) -> tuple[tuple[str, ...], ...]:
        """What is swept: for each key its values, as `--set` takes them."""
        return tuple(tuple(text for step in axis.steps for text in axis.texts(step)) for axis in self._axes)

    @property
    def inputs(self) -> Inputs:
        """The tables of flows that it was given."""
        return self._inputs

    @property
    def overrides(self) -> tuple[str, ...]:
        """What was set, as `--set` takes it."""
        return tuple(self._overrides)

    def to_toml(self) -> str:
        """The scenario as a file would have it, without what was set since."""
        return self._scenario.text

    def validate(self) -> dict[str, Any]:
        """Check it and return it with every default filled in; of a sweep the first combination."""
        with self._inputs.written() as overrides:
            _, first = next(combinations(self._axes))
            return self._scenario.resolve((*self._overrides, *first, *overrides))

    def runs(self) -> list[tuple[tuple[str, ...], int | None]]:
        """What is to be run: the values of its sweeps, and a seed; None is the scenario's own."""
        return [(texts, seed) for _, texts in combinations(self._axes) for seed in (self._seeds or (None,))]

    def __repr__(self) -> str:
        swept = (f"{len(axis.steps)} x {axis.keys[0]}" for axis in self._axes)
        changes = ", ".join([*self._overrides, *swept])
        return f"Experiment({self._scenario.origin!r}{': ' if changes else ''}{changes}, {len(self.runs())} runs)"


class _How(TypedDict, total=False):
    """What all calls of `run` take."""

    overrides: Sequence[str]
    scheme: str | None
    jobs: int | str | None
    threads: int | None
    out: str | Path | None
    progress: bool
    cc: UserFunction | None
    detector: UserFunction | None


@overload
def run(
    experiment: str | Path | Mapping[str, Any],
    *,
    seed: int | None = None,
    seeds: None = None,
    **how: Unpack[_How],
) -> Results: ...
@overload
def run(
    experiment: str | Path | Mapping[str, Any] | Experiment,
    *,
    seeds: int | Iterable[int],
    **how: Unpack[_How],
) -> Runs: ...
@overload
def run(
    experiment: Experiment,
    *,
    seed: int | None = None,
    seeds: int | Iterable[int] | None = None,
    **how: Unpack[_How],
) -> Results | Runs: ...
def run(
    experiment: str | Path | Mapping[str, Any] | Experiment,
    *,
    seed: int | None = None,
    seeds: int | Iterable[int] | None = None,
    overrides: Sequence[str] = (),
    scheme: str | None = None,
    jobs: int | str | None = None,
    threads: int | None = None,
    out: str | Path | None = None,
    progress: bool = False,
    cc: UserFunction | None = None,
    detector: UserFunction | None = None,
) -> Results | Runs:
    """Run a scenario file, a mapping with its words, or an `Experiment`: `Results`, or `Runs` of several.

    One run with `seed`, or one for each of `seeds` (a number: so many from the scenario's own on) and each
    combination of the experiment's sweeps, `jobs` at a time (default: one for each core). `threads` are those within
    a run. `overrides` are ``"key=value"`` texts as of ``--set``; `scheme` is one of the file's schemes; `cc` is a
    function of `congestion_control`, for ``cc.custom.function``, and `detector` one of `detector`, for
    ``switch.detector.custom.function``. Results go below `out`: of one run there, of several into a folder each; by
    default to ``results/<scenario>-s<seed>`` in the working folder; a scenario that has no file is called by a hash of
    its content. A folder appears when its run is over, whole. A run of the same name replaces it, unless that is of
    another file of this name: then this one's name has a hash at its end. `progress` shows a line for each run.

    The interpreter is free while it runs. Ctrl-C ends all runs, which keep what they have as partial. Raises
    `ScenarioError` for bad input, `UserCodeError` if a function of yours fails, `InvariantError` if the model broke a
    promise.
    """
    one = with_functions(experiment, cc, detector)
    if seeds is not None and seed is not None:
        raise UsageError("give seed for one run, or seeds for several")
    if seeds is not None:
        one.seeds(seeds)
    elif seed is not None:
        one.seeds([seed])
    with one.inputs.written() as extra:
        todo = planned(one, (*overrides, *extra), scheme, threads, out)
        with watching(todo, quiet=not progress) as watcher:
            outcomes = run_jobs(todo, _workers(jobs), watcher)
    raise_first(outcomes)
    results = [_results(outcome.job) for outcome in outcomes]
    for result in results:
        one.inputs.keep(result.folder)
    if len(results) == 1 and seeds is None and not one.sweeps:
        return results[0]
    return Runs(results, list(map(_key, todo)))


def _results(job: Job) -> Results:
    if job.out is None:
        raise UsageError(f"{job.label} kept no results")
    return Results(job.out)


def _workers(jobs: int | str | None) -> int | None:
    if jobs in (None, "all"):
        return None
    if not isinstance(jobs, int) or jobs < 1:
        raise UsageError(f'jobs = {jobs!r}: give a number of runs at a time, or "all"')
    return jobs


def with_functions(
    experiment: str | Path | Mapping[str, Any] | Experiment, cc: UserFunction | None, detector: UserFunction | None
) -> Experiment:
    """An experiment of its own, with functions of the user's if they are given."""
    one = experiment.copy() if isinstance(experiment, Experiment) else Experiment(experiment)
    if cc is not None:
        one.set("cc.kind", "custom").set("cc.custom.function", cc)
    if detector is not None:
        one.set("switch.detector.kind", "custom").set("switch.detector.custom.function", detector)
    return one


def planned(
    one: Experiment, more: tuple[str, ...], scheme: str | None, threads: int | None, out: str | Path | None
) -> list[Job]:
    """The runs of an experiment, each with its folder."""
    # What the user set names the folder; where a file that was written for a run lies does not.
    named = (*one.overrides, *(text for text in more if not _is_written(text)))
    jobs: list[Job] = []
    runs = one.runs()
    for values, seed in runs:
        if seed is not None and not 0 <= seed <= MAX_SEED:
            raise ValueError(f"seed = {seed} is not between 0 and 2**64 - 1")
        given = (*one.overrides, *values, *more)
        if scheme is not None:
            given = schemes.of(one.scenario, given, [scheme])[0].overrides
        # A place that is named is taken.
        stage: type[Staged] = Staged
        if out is not None and len(runs) == 1:
            folder = Path(out)
        else:
            stage = OfFile
            shown = seed if seed is not None else int(one.scenario.resolve(given)["run"]["seed"])
            folder = Path(out or "results") / folder_name(one.scenario, (*named, *values), shown, scheme or "")
        label = " ".join((*values, *(() if seed is None else (f"seed {seed}",)))) or one.scenario.origin
        jobs.append(Job(label, one.scenario, given, seed, folder, threads, scheme or "", values, stage=stage))
    return jobs


def _key(job: Job) -> dict[str, Any]:
    """What tells a run from others of its experiment."""
    return {name: _number(value) for name, _, value in (text.partition("=") for text in job.sweep)}


def _is_written(text: str) -> bool:
    return os.sep in text and "backwater-inputs-" in text


def _number(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("\"'")
