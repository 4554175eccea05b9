"""Where two runs part: settings that differ, and the first frame that is not the same in both.

Both runs are done again from their run.json. A digest up to a time says whether everything before it was the same,
so a few passes narrow down between which times the runs part; then every frame of that span is listed for both, and
compared one by one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater import _core
from backwater.errors import UsageError
from backwater.extend.loading import functions_of
from backwater.results import Results
from backwater.scenario.scenario import Scenario

#: Times at which one pass compares.
_MARKS = 64
#: So few frames are listed one by one.
_FEW = 20_000


@dataclass(frozen=True)
class Parting:
    """The first difference: either side is a frame, or None where one run has nothing to compare with the other's."""

    time_ps: int
    node: str
    sides: tuple[dict[str, Any] | None, dict[str, Any] | None]


@dataclass(frozen=True)
class Difference:
    """What two runs differ in. Without a parting the same happened at every node, at the same times."""

    settings: tuple[tuple[str, Any, Any], ...]
    versions: tuple[str, str]
    files: tuple[tuple[str, ...], tuple[str, ...]]
    digests: tuple[str, str]
    parting: Parting | None

    @property
    def same(self) -> bool:
        """Whether the same happened in both."""
        return self.parting is None


def between(first: Results, second: Results) -> Difference:
    """Compare two runs; raises UsageError where one cannot be done again as it was."""
    runs = (first, second)
    digests = (first.digest, second.digest)
    ends = tuple(int(run.meta["sim_time_ps"]) for run in runs)
    parting = None
    if digests[0] != digests[1] or ends[0] != ends[1]:
        for run in runs:
            if run.digest.startswith("reuse-"):
                raise UsageError(
                    f"{run.folder} cannot be compared frame by frame: {run.meta['reuse']['counted']} iterations were "
                    "counted, not simulated (run.reuse). Run it with run.reuse = false, and compare that"
                )
        parting = _parting(_Again(first), _Again(second))
    return Difference(
        tuple(settings(first.meta["scenario"], second.meta["scenario"])),
        (str(first.meta.get("version", "?")), str(second.meta.get("version", "?"))),
        (tuple(first.meta.get("files", ())), tuple(second.meta.get("files", ()))),
        digests,
        parting,
    )


def settings(first: Any, second: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Keys of two resolved scenarios whose values differ, as they are written after ``--set``, with both values.

    >>> list(settings({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 2}, "d": [1]}))
    [('a.b', 1, 3), ('d', None, [1])]
    """
    if isinstance(first, dict) and isinstance(second, dict):
        for key in dict.fromkeys([*first, *second]):
            yield from settings(first.get(key), second.get(key), f"{path}.{key}" if path else key)
    elif _tables(first) and _tables(second) and len(first) == len(second):
        for number, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from settings(one, other, f"{path}[{number}]")
    elif first != second:
        yield path, first, second


def _tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


class _Again:
    """A run that can be done again: the same text, overrides and seed, without probes."""

    def __init__(self, run: Results) -> None:
        self.run = run
        self.end = int(run.meta["sim_time_ps"])
        lacking = [key for key in ("scenario_text", "overrides") if key not in run.meta]
        if lacking:
            raise UsageError(f"{run.folder} cannot be run again: its run.json lacks {', '.join(lacking)}")
        for file in run.meta.get("files", ()):
            if not Path(file).is_file():
                raise UsageError(f"{run.folder} cannot be run again: {file}, which its scenario names, is gone")
        base = Path(str(run.meta.get("base", Path.cwd())))
        scenario = Scenario(str(run.meta["scenario_text"]), str(run.folder / "run.json"), base)
        given = [*map(str, run.meta["overrides"]), f"run.seed={run.meta['seed']}"]
        self._read = scenario.read(given)
        # Kept here, as the core only has their addresses.
        self._loaded = functions_of(self._read, base)
        self._functions = self._loaded.for_core() if self._loaded else None
        self.window = int(json.loads(self._read.prefixes([], self._functions))["window_ps"])

    def prefixes(self, times: Sequence[int]) -> list[dict[str, Any]]:
        """What had happened before each of `times`."""
        found: list[dict[str, Any]] = json.loads(self._read.prefixes(times, self._functions))["prefixes"]
        return found

    def arrivals(self, begin: int, end: int) -> list[dict[str, Any]]:
        """Every frame that arrived from `begin` on and before `end`."""
        found: list[dict[str, Any]] = json.loads(self._read.arrivals(begin, end, self._functions))
        return found

    def check(self, last: Mapping[str, Any]) -> None:
        """Raise UsageError unless the run, done again, gave the digest that it had."""
        if last["digest"] != self.run.digest:
            made_by, version = self.run.meta.get("version", "?"), _core.__version__
            of_version = f" by version {made_by}, and this is {version}" if made_by != version else ""
            raise UsageError(
                f"{self.run.folder}: run again it gives the digest {last['digest']}, not {self.run.digest} as its "
                f"run.json says. It was made{of_version or ' by another build or from other files'}: run its scenario "
                "again, and compare that"
            )


def _parting(first: _Again, second: _Again) -> Parting:
    """The first difference of two runs whose digests differ."""
    sides = (first, second)
    common = min(side.end for side in sides)
    grid = math.lcm(first.window, second.window)
    # Between windows a stop costs nothing; where those of the two runs hardly ever meet, it is made anywhere.
    step = 1 if grid > max(common // _MARKS, first.window, second.window) else grid
    begin, end, whole = 0, common, True
    while True:
        marks = _marks(begin, end, step)
        found = [side.prefixes([*marks, side.end] if whole and side.end > common else marks) for side in sides]
        if whole:
            for side, prefixes in zip(sides, found, strict=True):
                side.check(prefixes[-1])
            whole = False
        pairs = list(zip(*(prefixes[: len(marks)] for prefixes in found), strict=True))
        parted = next((number for number, (one, other) in enumerate(pairs) if one["by_name"] != other["by_name"]), None)
        if parted is None:
            # All that both ran is the same: one goes on where the other ends.
            return _longer(first, second, common)
        frames = max(prefix["arrivals"] for prefix in pairs[parted])
        before = max((prefix["arrivals"] for prefix in pairs[parted - 1]), default=0) if parted else 0
        narrowed = (marks[parted - 1] if parted else begin, marks[parted])
        if frames - before <= _FEW or narrowed == (begin, end) or narrowed[1] - narrowed[0] <= step:
            return _first(sides, *narrowed)
        begin, end = narrowed


def _marks(begin: int, end: int, step: int) -> list[int]:
    """Times within (begin, end], whole steps but for the last."""
    inner = {begin + (end - begin) * part // _MARKS // step * step for part in range(1, _MARKS)}
    return [*sorted(mark for mark in inner if begin < mark < end), end]


def _first(sides: tuple[_Again, _Again], begin: int, end: int) -> Parting:
    lists = [side.arrivals(begin, end) for side in sides]
    orders = [sorted(frames, key=_order) for frames in lists]
    for one, other in zip(*orders, strict=False):
        if _facts(one) != _facts(other):
            return _of_pair(one, other)
    shorter = min(map(len, orders))
    rest = [order[shorter] if len(order) > shorter else None for order in orders]
    one = rest[0] or rest[1]
    if one is None:
        raise UsageError("the digests differ, but no frame does: that is a bug of Backwater; please report it")
    return Parting(int(one["time_ps"]), str(one["node"]), (rest[0], rest[1]))


def _order(frame: Mapping[str, Any]) -> tuple[Any, ...]:
    return (frame["time_ps"], frame["node"], frame["from"] or "", frame["port"], frame["kind"], frame["flow"])


def _facts(frame: Mapping[str, Any]) -> tuple[Any, ...]:
    """What the digest sees of a frame."""
    return (*_order(frame), *(frame[key] for key in ("word", "bytes", "code", "echo", "class")))


def _of_pair(one: dict[str, Any], other: dict[str, Any]) -> Parting:
    """Two frames that differ: the same place and time in both, or the earlier of them, which the other run lacks."""
    places = [(frame["time_ps"], frame["node"], frame["from"]) for frame in (one, other)]
    if places[0] == places[1]:
        return Parting(int(one["time_ps"]), str(one["node"]), (one, other))
    if _order(one) < _order(other):
        return Parting(int(one["time_ps"]), str(one["node"]), (one, None))
    return Parting(int(other["time_ps"]), str(other["node"]), (None, other))


def _longer(first: _Again, second: _Again, common: int) -> Parting:
    """The runs are the same as far as both go: the first frame of the one that goes on."""
    ahead = 0 if first.end > second.end else 1
    side = (first, second)[ahead]
    window = max(side.window, 1)
    begin, end = common, common
    while end < side.end:
        end = min(side.end, end + 1000 * window)
        frames = sorted(side.arrivals(begin, end), key=_order)
        if frames:
            found = frames[0]
            return Parting(int(found["time_ps"]), str(found["node"]), (None, found) if ahead else (found, None))
    return Parting(common, "", (None, None))
