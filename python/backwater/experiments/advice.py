"""A small designed sweep over thresholds that an operator may set: the grid, its runs, and what they say.

What is measured does not depend on the thresholds: the time of jobs, collectives and other applications, else the
slowdown of flows, and PAUSEs. Culprits and victims do (a long queue is one above kmax), so that none is counted here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backwater._core import ScenarioError
from backwater.analysis.advice import Axis, Grid, Place, Point, listed
from backwater.common import quantities
from backwater.errors import UsageError
from backwater.experiments.batch import Batch
from backwater.experiments.executor import Job
from backwater.experiments.plan import Plan, Seeds
from backwater.experiments.store import Cache
from backwater.results.measures import applications
from backwater.results.measures import jobs as job_names
from backwater.scenario.scenario import Scenario
from backwater.scenario.toml_writer import value_text

#: What may be varied.
KNOBS = ("ecn", "pfc", "buffer")
#: Thresholds of ECN, of PFC if they are static, and memory: by how many times what the scenario has, nearest first.
_FACTORS = (1.0, 0.5, 2.0, 0.25, 4.0, 0.125, 8.0)
#: alpha of PFC: SONiC's devices have dynamic_th from -3 to 0 (docs/reference/presets.md), the HPCC simulator 1/8.
_ALPHAS = (1.0, 0.25, 0.0625, 0.5, 0.125, 0.03125, 0.015625)
#: Most steps of a knob.
MOST_STEPS = len(_FACTORS)
#: Records that no measure of this needs.
_QUIET = ("probe.marks=false", "probe.pauses=false", "probe.states=false", "probe.blame=false")


def knobs(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The two that are varied if nobody says which: those that count in a scenario."""
    switch = settings["switch"]
    found = []
    if switch["detector"]["kind"] in _RAMPS:
        found.append("ecn")
    if switch["flow-control"] == "pfc":
        found.append("pfc")
    return tuple(found)


#: Detectors whose kmin and kmax count.
_RAMPS = ("red", "tcd", "np-ecn")


def axes(scenario: Scenario, overrides: Sequence[str], wanted: Sequence[str] | None, steps: int) -> tuple[Axis, ...]:
    """The axes of a grid; raises UsageError for what cannot be varied, with why."""
    settings = scenario.resolve(overrides)
    asked = tuple(dict.fromkeys(wanted or knobs(settings)))
    if not asked:
        raise UsageError("there is no threshold to vary: neither ECN nor PFC is in use; name one with --vary")
    if len(asked) > 2:
        raise UsageError(f"--vary: two at most, as a map has two axes, not {', '.join(asked)}")
    return tuple(_axis(name, settings, steps) for name in asked)


def _axis(name: str, settings: Mapping[str, Any], steps: int) -> Axis:
    switch = settings["switch"]
    if name == "ecn":
        if switch["detector"]["kind"] not in _RAMPS:
            raise UsageError(f"--vary ecn: switch.detector.kind = {switch['detector']['kind']} has no kmin and kmax")
        return _ecn(switch["detector"], steps)
    if name == "buffer":
        return _sizes("buffer", ("switch.buffer",), (switch["buffer"],), steps)
    if switch["flow-control"] != "pfc":
        raise UsageError(f"--vary pfc: switch.flow-control = {switch['flow-control']}")
    pfc = switch["pfc"]
    if pfc["threshold"] == "static":
        return _sizes("PFC Xoff", ("switch.pfc.xoff", "switch.pfc.xon"), (pfc["xoff"], pfc["xon"]), steps)
    now = float(pfc["alpha"])
    values = sorted(dict.fromkeys([now, *(alpha for alpha in _ALPHAS if alpha != now)][:steps]))
    texts = tuple((f"switch.pfc.alpha={value_text(value)}",) for value in values)
    return Axis("PFC alpha", texts, tuple(_alpha(value) for value in values), values.index(now))


def _alpha(value: float) -> str:
    return f"{value:g}" if value >= 1 else f"1/{round(1 / value)}"


def _ecn(detector: Mapping[str, Any], steps: int) -> Axis:
    """Both thresholds together, in the ratio that they have; the rows of other rates with them."""
    made = _sizes(
        "ECN kmin–kmax", ("switch.detector.kmin", "switch.detector.kmax"), (detector["kmin"], detector["kmax"]), steps
    )
    rows = detector.get("by-rate") or []
    if not rows:
        return made
    texts = []
    for step, factor in zip(made.steps, sorted(_FACTORS[:steps]), strict=True):
        scaled = [row | {key: _scaled(row[key], factor) for key in ("kmin", "kmax")} for row in rows]
        texts.append((*step, f"switch.detector.by-rate={value_text(scaled)}"))
    return replace(made, steps=tuple(texts))


def _sizes(name: str, keys: Sequence[str], values: Sequence[str], steps: int) -> Axis:
    factors = sorted(_FACTORS[:steps])
    texts, labels = [], []
    for factor in factors:
        found = [_scaled(value, factor) for value in values]
        texts.append(tuple(f"{key}={value}" for key, value in zip(keys, found, strict=True)))
        labels.append("–".join(quantities.size(quantities.parse_size(value)) for value in dict.fromkeys(found)))
    return Axis(name, tuple(texts), tuple(labels), factors.index(1.0))


def _scaled(text: str, factor: float) -> str:
    size = quantities.parse_size(text.replace(" ", ""))
    return text.replace(" ", "") if factor == 1 else f"{max(1, round(size * factor))}B"


@dataclass
class Advice(Batch[Cache]):
    """The runs of a grid, by place and seed."""

    axes: tuple[Axis, ...]
    of_place: Mapping[Place, Sequence[Job]]
    #: Why a point cannot be run.
    refused: Mapping[Place, str]
    #: The traffic entries that have a time; none: flows.
    jobs_of: tuple[str, ...]
    #: Those of them whose time counts.
    counted: tuple[str, ...]

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        overrides: Sequence[str],
        axes: Sequence[Axis],
        seeds: Seeds,
        cache: Cache,
        wanted: str | None = None,
    ) -> Advice:
        """Check every point; `wanted` is the job that counts.

        Raises `ScenarioError` if what the scenario has cannot be run, `UsageError` if it has no such job.
        """
        mine = _timed(scenario.resolve(overrides))
        if wanted is not None and wanted not in mine:
            there = f"there is {listed(mine)}" if mine else "no traffic here has a time of its own"
            raise UsageError(f"--job {wanted}: no job, collective or trace of that name; {there}")
        found: dict[Place, Sequence[Job]] = {}
        refused = {}
        now = tuple(axis.now for axis in axes)
        for place, texts in _places(axes):
            plan = Plan(scenario=scenario, overrides=(*overrides, *_QUIET, *texts), seeds=seeds)
            try:
                jobs = [replace(job, sweep=texts) for job in plan.keyed()]
            except ScenarioError as error:
                if place == now:
                    raise
                refused[place] = next(
                    (line for line in str(error).splitlines() if line.startswith("error")), str(error)
                )
                continue
            label = ", ".join(f"{axis.name} {axis.labels[step]}" for axis, step in zip(axes, place, strict=True))
            found[place] = [cache.place(replace(job, label=f"{label}, seed {job.seed}")) for job in jobs]
        every = [job for jobs in found.values() for job in jobs]
        return cls(every, cache, tuple(axes), found, refused, mine, (wanted,) if wanted else mine)

    def grid(self) -> Grid:
        """What came out. A run that failed has no value."""
        rows = {job.key: self._rows(job) for job in self.jobs if job.key not in self.failed}
        times = {key: _times(found, self.jobs_of) for key, found in rows.items()}
        kinds = {key: _kinds(found, times[key], self.counted) for key, found in rows.items()}
        # One kind for all points: the first that any run has.
        kind = next((kind for kind in _KINDS if any(kind in found for found in kinds.values())), "time")
        points: dict[Place, Point] = {}
        for place in itertools.product(*(range(len(axis.steps)) for axis in self.axes)):
            jobs = self.of_place.get(place)
            if jobs is None:
                points[place] = Point((), (), self.refused[place])
                continue
            values = tuple(kinds.get(job.key, {}).get(kind) for job in jobs)
            pauses = tuple(float(rows[job.key][0]["pauses"] or 0) for job in jobs if job.key in rows)
            each = {name: tuple(times.get(job.key, {}).get(name) for job in jobs) for name in self.jobs_of}
            points[place] = Point(values, pauses, times=each)
        words, objective = _KINDS[kind]
        who = self.counted[0] if len(self.counted) == 1 else f"the geometric mean of {listed(self.counted)}"
        if len(self.counted) > 1:
            words = "{who} is"
        return Grid(self.axes, points, objective, words.format(who=who), self.jobs_of, self.counted)

    def _rows(self, job: Job) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.store.measured(job.key)["rows"]
        return rows


#: What counts, the first that there is: how a sentence says it, and what it is.
_KINDS = {
    "jobs": ("{who} takes", "time"),
    "p99": ("the p99 slowdown of the worst traffic entry is", "p99 slowdown"),
    "longest": ("the longest flow takes", "time"),
}


def _timed(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The traffic entries that run and have a time of their own."""
    only = settings["run"].get("only")
    return tuple(name for name in (*applications(settings), *job_names(settings)) if not only or name in only)


def _times(rows: Sequence[Mapping[str, Any]], jobs: Sequence[str]) -> dict[str, float | None]:
    """What each job of a run took; None if it did not come to its end."""
    return {row["traffic"]: row["application_ps"] for row in rows if row["traffic"] in jobs}


def _kinds(
    rows: Sequence[Mapping[str, Any]], times: Mapping[str, float | None], counted: Sequence[str]
) -> dict[str, float]:
    """The objectives that a run has a value of."""
    found = {}
    if counted:
        took = [time for name in counted if (time := times.get(name)) is not None]
        # Without its end it has no value, and then flows would say something else.
        return {"jobs": _geometric_mean(took)} if len(took) == len(counted) else {}
    for kind, name in (("p99", "p99_slowdown"), ("longest", "max_fct_ps")):
        values = [float(row[name]) for row in rows if row.get(name) is not None]
        if values:
            found[kind] = max(values)
    return found


def _geometric_mean(times: Sequence[float]) -> float:
    """It has the same ratios between points as that of slowdowns, whatever the jobs take alone."""
    return float(times[0]) if len(times) == 1 else math.exp(math.fsum(map(math.log, times)) / len(times))


def _places(axes: Sequence[Axis]) -> Iterator[tuple[Place, tuple[str, ...]]]:
    for place in itertools.product(*(range(len(axis.steps)) for axis in axes)):
        # What is set now is left as it is: a value that is given follows no rate any more.
        texts = (axis.steps[step] for axis, step in zip(axes, place, strict=True) if step != axis.now)
        yield place, tuple(itertools.chain.from_iterable(texts))
