"""Pictures of the table of a sweep: every measure over the axes, in one picture, or on paper a file for each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater.analysis import pictures
from backwater.common import quantities, statistics
from backwater.common.late import pl
from backwater.common.statistics import Estimate
from backwater.experiments import axis_values, sweep_tables
from backwater.experiments.plan import Axis as Varied
from backwater.experiments.plan import Plan
from backwater.experiments.sweep_measures import MEASURES
from backwater.experiments.toml_document import shown

#: A picture has that many axes at most: one to the right, and one upwards or as lines.
MOST_AXES = 2
#: So many names of an axis are lines over another axis of numbers.
_MOST_LINES = 8

#: What :func:`sweep_tables.estimates` gives: what a combination is, its seeds, its means.
_Rows = Sequence[tuple[Mapping[str, Any], int, Mapping[str, Estimate | None]]]


@dataclass(frozen=True)
class Drawn:
    """Files of pictures, and notes: what belongs into their captions, and what they do not show."""

    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Values:
    """The values of an axis in the order of the plan, and where each stands."""

    varied: Varied
    keys: tuple[tuple[Any, ...], ...]

    def place(self, row: Mapping[str, Any]) -> int:
        """Where a row stands on it."""
        return self.keys.index(self._key(row))

    def _key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[key] for key in self.varied.keys)

    @classmethod
    def of(cls, varied: Varied, rows: _Rows) -> _Values:
        """Those that a table has."""
        return cls(varied, tuple(dict.fromkeys(tuple(row[key] for key in varied.keys) for row, _, _ in rows)))


def draw(plan: Plan, frame: pl.DataFrame, stem: Path, *, title: str) -> Drawn:
    """Draw means over seeds with 95 % intervals to `stem` with the ending of the format; nothing without an axis.

    One picture has a row of panels for each measure; with a width of the paper there is a file for each panel. A
    measure that is the same everywhere is named, and not drawn.
    """
    if len(plan.axes) > MOST_AXES:
        told = f"no picture of {len(plan.axes)} axes ({', '.join(plan.keys)}): leave {MOST_AXES}, and set the others"
        return Drawn(notes=(told,))
    rows = sweep_tables.estimates(frame)
    schemes = list(dict.fromkeys(str(row.get("scheme", "")) for row, _, _ in rows))
    if not plan.axes and len(schemes) < 2:
        return Drawn()
    module: Any = pictures.load("axis_picture")
    every = [_Values.of(varied, rows) for varied in plan.axes]
    axes = [_axis(module, values) for values in every]
    named = [number for number, axis in enumerate(axes) if not axis.numbers]
    # Names beside an axis of numbers are lines over it.
    lines = named[0] if len(axes) == 2 and len(named) == 1 and len(every[named[0]].keys) <= _MOST_LINES else None
    if not axes:
        axes = [module.Axis("", tuple(schemes))]
    apart = len(axes) == 2 and lines is None

    def where(row: Mapping[str, Any]) -> tuple[str, str, tuple[int, ...]]:
        """The part of a panel's heading that is not of the traffic, the line, and the place on the axes."""
        scheme, places = str(row.get("scheme", "")), [values.place(row) for values in every]
        if not every:
            return "", "", (schemes.index(scheme),)
        if lines is not None:
            name = axes[lines].words[places.pop(lines)]
            return "", ", ".join(filter(None, (scheme, name))), tuple(places)
        return (scheme, "", tuple(places)) if apart else ("", scheme, tuple(places))

    grid: list[list[Any]] = []
    same: list[str] = []
    for name in sweep_tables.measured(frame):
        panels = _panels(module, name, rows, where)
        differ = [
            panel for panel in panels if len({one.mean for line in panel.lines.values() for one in line.values()}) > 1
        ]
        grid += [differ] if differ else []
        same += [] if differ or not panels else [MEASURES[name].words]
    caption = _caption(rows, mapped=apart)
    notes = (*caption, *((f"not drawn, as it is the same everywhere: {', '.join(same)}",) if same else ()))
    if not grid:
        return Drawn(notes=notes)
    if lines is not None:
        axes.pop(lines)
    return Drawn(_files(module, grid, axes, stem, ": ".join((title, *caption))), notes)


def _caption(rows: _Rows, *, mapped: bool) -> tuple[str, ...]:
    """What points and whiskers are; of one seed there is nothing to say."""
    most = max((seeds for _, seeds, _ in rows), default=0)
    if most < 2:
        return ()
    return (f"means of {most} seeds" if mapped else statistics.caption(most),)


def _panels(module: Any, name: str, rows: _Rows, where: Any) -> list[Any]:
    """The panels of a measure: one for each traffic entry, or of what is of a run as a whole one alone."""
    found: dict[str, dict[str, dict[tuple[int, ...], Estimate]]] = {}
    whole = MEASURES[name].scope == "run"
    for row, seeds, means in rows:
        value = means.get(name) if seeds else None
        if value is not None:
            apart, line, places = where(row)
            heading = ", ".join(filter(None, ("" if whole else str(row["traffic"]), apart)))
            found.setdefault(heading, {}).setdefault(line, {})[places] = value
    return [module.Panel(MEASURES[name], heading, lines) for heading, lines in found.items()]


def _files(module: Any, grid: Sequence[Sequence[Any]], axes: Sequence[Any], stem: Path, title: str) -> tuple[Path, ...]:
    paper = pictures.paper()
    if paper.width is None:
        return (module.overview(grid, axes, paper.named(stem), title=title),)
    files = []
    for panel in (panel for row in grid for panel in row):
        parts = (stem.name, panel.measure.name, panel.of)
        name = "-".join(re.sub(r"[^\w.+-]+", "-", part).strip("-") for part in parts if part)
        files.append(module.single(panel, axes, paper.named(stem.with_name(name))))
    return tuple(files)


def _axis(module: Any, values: _Values) -> Any:
    """An axis of numbers if all are such, of one kind of unit; else one of names."""
    firsts = [key[0] for key in values.keys]
    if len(set(map(str, firsts))) < len(firsts):
        # Values that go together: the first key alone does not tell them apart.
        return module.Axis(", ".join(values.varied.keys), tuple(" ".join(map(_word, key)) for key in values.keys))
    words = tuple(map(_word, firsts))
    found = [axis_values.quantity(first) for first in firsts]
    known = [one for one in found if one is not None]
    units = [_UNITS.get(one.unit, one.unit) for one in known]
    if len(known) == len(found) > 1 and len(set(units)) == 1:
        return module.Axis(values.varied.keys[0], words, tuple(float(one.number) for one in known), units[0])
    if (
        len(known) == len(found) > 1
        and len({unit[-1:] for unit in units}) == 1
        and set(units) <= quantities.UNITS.keys()
    ):
        sizes = [float(one.number) * quantities.UNITS[unit] for one, unit in zip(known, units, strict=True)]
        unit = max(units, key=quantities.UNITS.__getitem__)
        return module.Axis(values.varied.keys[0], words, tuple(size / quantities.UNITS[unit] for size in sizes), unit)
    return module.Axis(values.varied.keys[0], words)


#: Units of scenarios that are printed otherwise.
_UNITS = {"us": "µs"}


def _word(value: Any) -> str:
    return (
        value.strip("\"'") if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else shown(value, 40)
    )
