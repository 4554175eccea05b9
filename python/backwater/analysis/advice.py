"""What a grid of thresholds says: the plateau, the cliff, and what to set, with an interval over seeds.

Seeds are paired: at every point the same seeds run, so that differences between points are taken seed by seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from backwater.common import quantities
from backwater.common.statistics import Estimate, estimate

#: Points up to so much above the best one are as good: the plateau.
PLATEAU = 1.05
#: From one point to the next, so much more is a cliff.
CLIFF = 1.10

#: The place of a point: along each axis a number.
Place = tuple[int, ...]


@dataclass(frozen=True)
class Axis:
    """What varies together: its name, for each step what is set, and the step that the scenario has now."""

    name: str
    steps: tuple[tuple[str, ...], ...]
    #: The steps in words, for a picture.
    labels: tuple[str, ...]
    now: int


@dataclass(frozen=True)
class Point:
    """One combination: a value of the objective for each seed, None where it did not come to its end."""

    values: tuple[float | None, ...]
    pauses: tuple[float, ...]
    #: Why it cannot be run.
    refused: str = ""
    #: What each job took, seed by seed, in ps.
    times: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)

    @property
    def whole(self) -> tuple[float, ...] | None:
        """The values, if every seed has one."""
        return _whole(self.values)

    @property
    def mean(self) -> float:
        """Mean over the seeds; infinite if a run did not come to its end, or none was possible."""
        return _mean(self.whole)

    def mean_of(self, job: str) -> float:
        """The same of the time of a job."""
        return _mean(_whole(self.times.get(job, ())))

    @property
    def mean_pauses(self) -> float:
        """Mean over the seeds."""
        return math.fsum(self.pauses) / len(self.pauses) if self.pauses else math.nan


@dataclass(frozen=True)
class Cliff:
    """Two neighbours on the grid of which one is much worse."""

    good: Place
    bad: Place
    #: How many times as long it takes there; infinite if it does not come to its end.
    ratio: float


@dataclass(frozen=True)
class Grid:
    """Every point of the axes. `objective` is what is small where it is good, a time in ps or a slowdown."""

    axes: tuple[Axis, ...]
    points: Mapping[Place, Point]
    objective: str
    #: What it is called in a sentence: `training takes`.
    words: str
    #: The jobs, collectives and applications whose times are told of, and whose time the objective is: one of them, or
    #: the geometric mean of all. It is the same in every cell.
    jobs: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()

    @property
    def now(self) -> Place:
        """What the scenario has."""
        return tuple(axis.now for axis in self.axes)

    @cached_property
    def best(self) -> float:
        """The least mean; infinite if no point came to its end."""
        return min(point.mean for point in self.points.values())

    @cached_property
    def plateau(self) -> list[Place]:
        """The points that are as good as the best one, for all that matters."""
        return [place for place, point in self.points.items() if point.mean <= PLATEAU * self.best < math.inf]

    @cached_property
    def candidate(self) -> Place | None:
        """Of the plateau the point with the fewest PAUSEs; of those alike the one nearest to what is set now."""
        if not self.plateau:
            return None
        if self.now in self.plateau and self.points[self.now].mean_pauses == 0:
            return self.now
        far = {place: sum(abs(a - b) for a, b in zip(place, self.now, strict=True)) for place in self.plateau}
        return min(self.plateau, key=lambda place: (self.points[place].mean_pauses, far[place]))

    @cached_property
    def advised(self) -> Place | None:
        """That point, if the seeds tell its time or its PAUSEs from those of now; else what is set now."""
        if self.candidate is None or self._is_told_apart(self.candidate):
            return self.candidate
        return self.now

    @property
    def others(self) -> int:
        """How many points are held against what is set now: an interval allows for so many looks."""
        return max(1, sum(not point.refused for point in self.points.values()) - 1)

    @cached_property
    def cliff(self) -> Cliff | None:
        """The steepest step between neighbours, if one is steep and its seeds agree."""
        found = None
        for a, b in self._neighbours:
            good, bad = sorted((a, b), key=lambda place: self.points[place].mean)
            low, high = self.points[good].mean, self.points[bad].mean
            if math.isinf(low):
                continue
            ratio = high / low if low else math.inf
            if ratio >= CLIFF and (found is None or ratio > found.ratio) and self._apart(good, bad):
                found = Cliff(good, bad, ratio)
        return found

    def _is_told_apart(self, place: Place) -> bool:
        """Whether time or PAUSEs are less than now in more than chance; one seed tells nothing of chance."""
        gain = self.gain(place)
        if gain is None or gain.half_width is None or gain.low > 0:
            return True
        there, now = self.points[place].pauses, self.points[self.now].pauses
        return estimate([b - a for a, b in zip(there, now, strict=True)], among=self.others).low > 0

    def settings(self, place: Place) -> tuple[str, ...]:
        """What is set at a point, as ``--set`` takes it."""
        return tuple(text for axis, step in zip(self.axes, place, strict=True) for text in axis.steps[step])

    def gain(self, place: Place) -> Estimate | None:
        """By how many percent the objective is less there than now, over the seeds, as one of all points."""
        return _less(self.points[place].values, self.points[self.now].values, self.others)

    def gain_of(self, job: str, place: Place) -> Estimate | None:
        """The same of the time of a job."""
        there, now = (self.points[one].times.get(job, ()) for one in (place, self.now))
        return _less(there, now, self.others)

    def estimate(self, place: Place) -> Estimate | None:
        """The objective at a point."""
        whole = self.points[place].whole
        return None if whole is None else estimate(whole, "slowdown" if self.objective != "time" else "time_ps")

    def _apart(self, good: Place, bad: Place) -> bool:
        """Whether the second point is worse in more than chance, among all pairs of neighbours."""
        first, second = self.points[good].whole, self.points[bad].whole
        if first is None or second is None:
            return second is None
        steps = [math.log(b / a) for a, b in zip(first, second, strict=True) if a > 0 < b]
        found = estimate(steps, among=len(self._neighbours)) if steps else None
        return found is None or found.half_width is None or found.low > 0

    @cached_property
    def _neighbours(self) -> list[tuple[Place, Place]]:
        return list(self._pairs())

    def _pairs(self) -> Iterator[tuple[Place, Place]]:
        for place in self.points:
            for axis in range(len(place)):
                other = (*place[:axis], place[axis] + 1, *place[axis + 1 :])
                # What cannot be run is no neighbour: nobody can set it.
                if other in self.points and not (self.points[place].refused or self.points[other].refused):
                    yield place, other


def _whole(values: Sequence[float | None]) -> tuple[float, ...] | None:
    """The values, if every seed has one."""
    found = tuple(value for value in values if value is not None)
    return found if found and len(found) == len(values) else None


def _mean(whole: Sequence[float] | None) -> float:
    return math.inf if whole is None else math.fsum(whole) / len(whole)


def _less(there: Sequence[float | None], now: Sequence[float | None], among: int) -> Estimate | None:
    """By how many percent values are less than others, seed by seed, where so many are looked at."""
    first, second = _whole(there), _whole(now)
    if first is None or second is None:
        return None
    return estimate([100 * (1 - a / b) if b else 0.0 for a, b in zip(first, second, strict=True)], among=among)


def shown(grid: Grid, value: float) -> str:
    """A value of the objective, with its unit."""
    if math.isinf(value):
        return "no end"
    return quantities.time(value) if grid.objective == "time" else quantities.three_digits(value)


def sentence(grid: Grid) -> str:
    """What to do, in a sentence or two, and what that does to each job that is not in them."""
    if grid.advised is None:
        return "No point of this grid came to its end with every seed: raise run.until, or vary something else."
    told = f"{_what(grid, grid.advised)} {_how_much(grid, grid.advised)}"
    return " ".join([told, *_others(grid, grid.advised)])


def _others(grid: Grid, place: Place) -> Iterator[str]:
    """What each job takes at a point that is not what is set now, if the objective does not tell it."""
    if place == grid.now:
        return
    for job in grid.jobs:
        if grid.counted == (job,):
            continue
        whole = _whole(grid.points[place].times.get(job, ()))
        if whole is None:
            yield f"{job} does not come to its end there."
            continue
        took = f"{job} takes {quantities.time(estimate(whole, 'time_ps').mean)} there"
        gain = grid.gain_of(job, place)
        yield f"{took}, and does not come to its end now." if gain is None else f"{took}, {_compared(gain)}."


def _compared(gain: Estimate) -> str:
    """How a time differs from now, with its interval if there is one."""
    if gain.half_width is None:
        return f"{_percent(gain.mean)} than now"
    low, high = sorted((gain.low, gain.high))
    if low <= 0 <= high:
        return "which the seeds do not tell from now"
    least, most = sorted((abs(low), abs(high)))
    return f"{_percent(gain.mean)} than now ({least:.1f} to {most:.1f} %)"


def _what(grid: Grid, place: Place) -> str:
    value = estimate(grid.points[place].whole or (math.inf,), "time_ps")
    seeds = len(value.values)
    took = shown(grid, value.mean)
    if value.half_width is not None:
        took += f" (95 % interval {shown(grid, value.low)} to {shown(grid, value.high)}, {seeds} seeds)"
    else:
        took += " (one seed, no interval)"
    pauses = grid.points[place].mean_pauses
    beside = f"with {quantities.three_digits(pauses) if 0 < pauses < 10 else quantities.count(pauses)} PAUSEs a run"
    if place == grid.now:
        return f"Leave it as it is: {grid.words} {took}, {beside}."
    return f"Set {_settings(grid, place)}: {grid.words} {took}, {beside}."


def _how_much(grid: Grid, place: Place) -> str:
    if place == grid.now:
        if grid.candidate is not None and grid.candidate != place:
            seeds, points = len(grid.points[place].values), len(grid.points)
            told = f"{seeds} seeds do not tell {_settings(grid, grid.candidate)} from it, among {points} points"
            return f"{told}: --seeds takes more."
        better = f"{100 * (1 - grid.best / grid.points[place].mean):.1f}"
        return f"Nothing on this grid is {'better' if better == '0.0' else f'more than {better} % better'}."
    gain = grid.gain(place)
    if gain is None:
        return "What is set now does not come to its end."
    before = quantities.count(grid.points[grid.now].mean_pauses)
    if gain.half_width is not None and gain.low <= 0 <= gain.high:
        return f"The seeds do not tell its time from that of now, but now there are {before} PAUSEs."
    return f"That is {_compared(gain)}, with {before} PAUSEs."


def _percent(less: float) -> str:
    return f"{abs(less):.1f} % {'less' if less >= 0 else 'more'}"


def _settings(grid: Grid, place: Place) -> str:
    changed = [axis for axis, step in zip(grid.axes, place, strict=True) if step != axis.now]
    parts = [text for axis in changed for text in axis.steps[place[grid.axes.index(axis)]]]
    told = [text.replace("=", " = ", 1) for text in parts if "by-rate" not in text]
    return listed(told)


def lines(grid: Grid) -> list[str]:
    """The sentence, the plateau and the cliff."""
    made = [*_counted(grid), sentence(grid)]
    if grid.plateau:
        among = sum(not point.refused for point in grid.points.values())
        ranges = [
            f"{axis.name} {_range(axis, [place[number] for place in grid.plateau])}"
            for number, axis in enumerate(grid.axes)
        ]
        made.append(
            f"Plateau: {len(grid.plateau)} of {among} points are within {100 * (PLATEAU - 1):.0f} % of the best: "
            f"{'; '.join(ranges)}."
        )
    if grid.cliff is not None:
        good, bad = (_labels(grid, place) for place in (grid.cliff.good, grid.cliff.bad))
        times = "never ends" if math.isinf(grid.cliff.ratio) else f"takes {grid.cliff.ratio:.2f} times as long"
        if grid.objective != "time":
            times = f"is {grid.cliff.ratio:.2f} times as large" if math.isfinite(grid.cliff.ratio) else "never ends"
        made.append(f"Cliff: from {good} to {bad} it {times}.")
    elif len(grid.points) > 1:
        made.append(f"Cliff: none; no step is more than {100 * (CLIFF - 1):.0f} % and more than chance.")
    made += _edges(grid)
    refused = [place for place, point in grid.points.items() if point.refused]
    if refused:
        points = "1 point" if len(refused) == 1 else f"{len(refused)} points"
        made.append(f"{points} cannot be run, such as {_labels(grid, refused[0])}.")
    return made


def _edges(grid: Grid) -> Iterator[str]:
    """Along which axes the best point is the last that was tried."""
    if grid.candidate is None or grid.candidate == grid.now:
        return
    for axis, step in zip(grid.axes, grid.candidate, strict=True):
        if step in (0, len(axis.steps) - 1) and step != axis.now:
            far = f"{axis.name} {axis.labels[step]}"
            yield f"Edge: {far} is the last that was tried, and further on it may be better: --steps takes more."


def _counted(grid: Grid) -> Iterator[str]:
    """Whose time counts, where there is a choice."""
    if len(grid.jobs) > 1:
        others = [job for job in grid.jobs if job not in grid.counted]
        if others:
            yield f"Counted: the time of {grid.counted[0]}, not that of {listed(others)}."
        else:
            yield "Counted: the geometric mean of all times, so that no job weighs more; --job NAME takes one of them."


def listed(words: Sequence[str]) -> str:
    """Words of a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _labels(grid: Grid, place: Place) -> str:
    return ", ".join(f"{axis.name} {axis.labels[step]}" for axis, step in zip(grid.axes, place, strict=True))


def _range(axis: Axis, steps: Sequence[int]) -> str:
    low, high = axis.labels[min(steps)], axis.labels[max(steps)]
    return low if low == high else f"{low} to {high}"


def as_json(grid: Grid) -> dict[str, Any]:
    """Plain values."""

    def told(place: Place) -> dict[str, Any]:
        point, value = grid.points[place], grid.estimate(place)
        return {
            "set": list(grid.settings(place)),
            "values": list(point.values),
            "mean": None if value is None else value.mean,
            "low": None if value is None else value.low,
            "high": None if value is None else value.high,
            "times": {job: list(values) for job, values in point.times.items()},
            "pauses": list(point.pauses),
            "refused": point.refused or None,
            "plateau": place in grid.plateau,
        }

    cliff = grid.cliff
    return {
        "objective": grid.objective,
        "jobs": list(grid.jobs),
        "counted": list(grid.counted),
        "axes": [{"name": axis.name, "steps": list(axis.labels), "now": axis.now} for axis in grid.axes],
        "points": [{"place": list(place), **told(place)} for place in grid.points],
        "advised": None if grid.advised is None else list(grid.advised),
        "cliff": cliff
        and {
            "good": list(cliff.good),
            "bad": list(cliff.bad),
            "ratio": None if math.isinf(cliff.ratio) else cliff.ratio,
        },
        "told": lines(grid),
    }
