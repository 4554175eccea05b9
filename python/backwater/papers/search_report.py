"""What is written of a search: search.json, search.parquet, map.png and map.pdf; and its table for the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from backwater.analysis import pictures
from backwater.common import atomic_files, terminal
from backwater.common.late import pl
from backwater.papers import search_findings, sensitivity_findings
from backwater.papers.report.text import bound, ours
from backwater.papers.search import Look, Search, Tried
from backwater.papers.search_findings import Effect, Region
from backwater.papers.search_space import Dimension
from backwater.papers.search_values import shown


def place(search: Search) -> Path:
    """The folder of a search, beside what sensitivity runs found."""
    folder = sensitivity_findings.place(search.root, quick=search.quick)
    return folder / "search" / f"{search.claim.id}-{search.profile}"


def write(search: Search, told: dict[str, Any]) -> list[Path]:
    """Write it all, each file whole or not at all."""
    folder = place(search)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / name for name in ("search.json", "search.parquet", "map.png", "map.pdf")]
    atomic_files.write_text(files[0], json.dumps(told, indent=1) + "\n")
    points(search).write_parquet(files[1])
    for file in files[2:]:
        pictures.load("search_map", "papers").draw(search, file)
    return files


def points(search: Search) -> pl.DataFrame:
    """One row for each point; ours is point 0."""
    rows = []
    for one in (search.ours, *search.tried):
        told = [setting.text for setting in one.settings] or [dimension.ours for dimension in search.dimensions]
        row: dict[str, Any] = {"point": one.number, "verdict": str(one.verdict)}
        row |= {dimension.name: text for dimension, text in zip(search.dimensions, told, strict=True)}
        for check in search.claim.checks:
            row[check.metric] = one.first.value(check.metric)
            row[f"{check.metric}, fresh seeds"] = one.fresh.value(check.metric) if one.fresh else None
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def table(search: Search) -> Table:
    """One row per parameter: what was searched, what it does to the number that decides, and where the claim held."""
    check = search_findings.deciding(search)
    effects = {one.parameter: one for one in search_findings.effects(search, check.metric)}
    held = {one.parameter: one for one in search_findings.region(search, search.found)}
    n = next((one.n for one in effects.values()), 0)
    metric = check.metric.replace("_", " ")
    headings = ("parameter", "searched", "ours", f"effect on {metric} (n = {n})", "where it held")
    title = f"{search.claim.id} under {search.profile}: {metric} {bound(check.bound.text)}"
    made = terminal.table(title, headings)
    for one in search.dimensions:
        cells = (
            one.name,
            one.range,
            shown(one.ours) or "-",
            _effect(effects.get(one.name)),
            _held(one, held.get(one.name)),
        )
        made.add_row(*map(escape, cells))
    return made


def _effect(effect: Effect | None) -> str:
    if effect is None:
        return "-"
    share = f"{100 * effect.share:.0f} % of its ranks"
    return share if effect.correlation is None else f"{share}, ρ = {effect.correlation:+.2f}"


def _held(dimension: Dimension, region: Region | None) -> str:
    if region is None:
        return "-"
    if dimension.kinds:
        return ", ".join(f"{name} {held} of {of}" for name, held, of in region.kinds)
    width = 100 * (region.width or 0.0)
    inside = f"{width:.0f} % of the range; {region.held} of {region.of} points in it"
    return f"{shown(region.low)} to {shown(region.high)} ({inside})"


def lines(search: Search) -> list[str]:
    """What there is to say besides the table."""
    said = [search_findings.answer(search), f"ours: {_numbers(search.ours.first)}"]
    near = search_findings.nearest(search)
    if not search.found and near is not None:
        said.append(f"nearest: {_numbers(near.last)} at {_where(search, near)}")
    said += [f"found: {_numbers(one.fresh)} at {_where(search, one)}" for one in search.found[:_FEW] if one.fresh]
    if len(search.found) > _FEW:
        said.append(f"and {len(search.found) - _FEW} more, which search.json lists")
    failed = [one for one in search.tried if one.first.judged is None]
    if failed:
        said.append(f"{len(failed)} points could not be run, the first: {failed[0].first.why}")
    said += [f"left as it is: {one.parameter}: {one.why}" for one in search.left]
    if small := search.figure.shrunk(quick=search.quick):
        said.append(f"{search.figure.name} is smaller here than in its figure: {', '.join(small)}")
    if search.quick:
        said.append("quick: fewer points on smaller runs; not a verdict")
    return said


#: So many points are told one by one.
_FEW = 3


def _numbers(look: Look) -> str:
    if look.judged is None:
        return f"not run ({look.why})"
    each = [f"{one.check.metric.replace('_', ' ')} {ours(one)}" for one in look.judged.measured]
    # A number with two bounds is told once.
    return ", ".join(dict.fromkeys(each))


def _where(search: Search, one: Tried) -> str:
    if not one.settings:
        return "our own setting"
    return ", ".join(f"{d.name} {shown(s.text)}" for d, s in zip(search.dimensions, one.settings, strict=True))
