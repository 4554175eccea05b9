"""``backwater advise``: which thresholds are good, from a small designed sweep."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators
from rich.markup import escape

from backwater.analysis import advice as findings
from backwater.analysis import pictures
from backwater.cli.commands import failed
from backwater.cli.options import AtLeastOne, Flag, Format, Json, Seed, Set, Width
from backwater.common import terminal
from backwater.errors import Exit
from backwater.experiments import advice, estimate_tables, estimates
from backwater.experiments.engines import engine
from backwater.experiments.plan import Seeds
from backwater.experiments.progress import watching
from backwater.experiments.sweep import cache_at
from backwater.scenario.scenario import Scenario

Steps = Annotated[int, Parameter(validator=validators.Number(gte=2, lte=advice.MOST_STEPS))]


def advise(
    file: Path,
    /,
    *,
    job: str | None = None,
    vary: Annotated[list[Literal["ecn", "pfc", "buffer"]] | None, Parameter(negative="")] = None,
    steps: Steps = 5,
    seeds: AtLeastOne = 3,
    seed: Seed = None,
    set_: Set = None,
    jobs: AtLeastOne = None,
    cache: Path | None = None,
    no_cache: Flag = False,
    dry_run: Flag = False,
    plot: Path | None = None,
    format_: Format = None,
    width: Width = None,
    json_: Json = False,
) -> int:
    """Say which thresholds to set: a small sweep around those of a scenario, its plateau and its cliff.

    Runs every combination with the same seeds, takes from the cache what was run before, and prints a map of how long
    collectives and applications take (without any: the p99 slowdown of flows) and of PAUSEs. The plateau has the
    points within 5 % of the best one. A cliff is a step of more than 10 % with every seed. What is measured does not
    depend on the thresholds. It is of the same jobs at every point; what others take there is said, too.

    Parameters
    ----------
    file
        The scenario.
    job
        The job, collective or trace whose time counts, by its name; if not given and there are several, the geometric
        mean of their times, so that each weighs the same.
    vary
        What may be set, one or two of: ecn (kmin and kmax together), pfc (alpha, or Xoff and Xon), buffer. ECN and PFC
        if not given, as far as they are in use. May be given twice.
    steps
        So many values of each, the scenario's own among them.
    seeds
        So many seeds of each point.
    seed
        The first seed; that of the scenario if not given.
    set_
        Change a key of the scenario in all runs: `--set run.until=2ms`. May be given more than once.
    jobs
        How many runs at the same time; one per core if not given.
    cache
        The folder of runs that were done before; $BACKWATER_CACHE or ~/.cache/backwater if not given.
    no_cache
        Take nothing from the cache and put nothing there.
    dry_run
        Print the points and about how long they take; run nothing.
    plot
        Draw the map to a file (.png, .pdf, .svg).
    format_
        Of the picture: png, pdf or svg; what --plot ends in if not given.
    width
        Print it: `3.33in` (or cm, mm, pt) wide, with letters of 7 to 9 points and no title.
    json_
        Print JSON.
    """
    plot, paper = pictures.to_plot(plot, format_, width)
    scenario = Scenario.load(file)
    overrides = tuple(set_ or ())
    axes = advice.axes(scenario, overrides, vary, steps)
    with cache_at(cache, wanted=not no_cache) as kept:
        found = advice.Advice.of(scenario, overrides, axes, Seeds(seeds or 1, seed), kept, job)
        missing = found.missing()
        done = len(found.mine()) - len(missing)
        if not json_:
            print(f"{len(found.of_place)} points, {done} runs from the cache, {len(missing)} to do", file=sys.stderr)
        if dry_run:
            return _dry(found, done, len(missing), estimate_tables.work(missing, jobs, estimates.pace()), json_)
        if not json_:
            estimate_tables.say_if_long(missing, jobs, "--dry-run")
        found.run(missing, engine("here", None, jobs), partial(watching, quiet=json_))
        if found.interrupted:
            print("interrupted: what is done is kept; the same command does the rest", file=sys.stderr)
            return Exit.CAVEATS
        if found.failed and len(found.failed) == len(found.mine()):
            failed.raise_first(found.outcomes)
        grid = found.grid()
    if plot is not None:
        paper.draw("advice_picture", grid, plot, f"{scenario.name}: what thresholds do")
    if json_:
        told = {"scenario": scenario.origin, "runs": len(found.mine()), "cached": done, **findings.as_json(grid)}
        print(json.dumps(told | ({"plot": str(plot)} if plot else {}), indent=2))
    else:
        _print(grid)
        if plot is not None:
            print(f"written: {plot}")
    failed.raise_first(found.outcomes)
    return Exit.OK


def _dry(found: advice.Advice, done: int, missing: int, work: estimates.Work, as_json: bool) -> int:
    if as_json:
        points = [{"place": list(place), "set": list(jobs[0].sweep)} for place, jobs in found.of_place.items()]
        print(json.dumps({"points": points, "cached": done, "to_do": missing, "cpu_s": work.cpu_s}, indent=2))
        return Exit.OK
    for place, jobs in found.of_place.items():
        print(f"{place}  {' '.join(jobs[0].sweep) or 'as it is'}")
    print(estimate_tables.sum_line(work), file=sys.stderr)
    return Exit.OK


def _print(grid: findings.Grid) -> None:
    console = terminal.stdout()
    for title, cell in _maps(grid):
        across, *up = grid.axes
        made = terminal.table(f"{title}, mean over seeds", [up[0].name if up else ""], map(escape, across.labels))
        rows = up[0].labels if up else ("",)
        for row, label in reversed(list(enumerate(rows))):
            places = [(column, row) if up else (column,) for column in range(len(across.labels))]
            made.add_row(escape(label), *(cell(grid, place) for place in places))
        made.caption = f"across: {across.name}; [ ] as it is now, * plateau"
        console.print(made)
    for line in findings.lines(grid):
        console.say(line)


#: So many jobs have a map of their own; `--json` has all.
_MAPS = 4


def _maps(grid: findings.Grid) -> Iterator[tuple[str, Callable[[findings.Grid, findings.Place], str]]]:
    """What counts, the times of jobs that do not, and PAUSEs."""
    what = "time" if grid.objective == "time" else grid.objective
    if len(grid.counted) > 1:
        what = "geometric mean of the jobs' times"
    elif len(grid.jobs) > 1:
        what = f"time of {grid.counted[0]}"
    yield what, _value
    for job in [job for job in grid.jobs if grid.counted != (job,)][:_MAPS]:
        yield f"time of {job}", partial(_time_of, job=job)
    yield "PAUSEs a run", _pauses


def _time_of(grid: findings.Grid, place: findings.Place, job: str) -> str:
    point = grid.points[place]
    if point.refused:
        return "-"
    told = findings.shown(grid, point.mean_of(job))
    return escape(f"[{told}]") if place == grid.now else told


def _value(grid: findings.Grid, place: findings.Place) -> str:
    point = grid.points[place]
    if point.refused:
        return "-"
    told = findings.shown(grid, point.mean) + (" *" if place in grid.plateau else "")
    return escape(f"[{told}]") if place == grid.now else told


def _pauses(grid: findings.Grid, place: findings.Place) -> str:
    point = grid.points[place]
    return "-" if point.refused else f"{point.mean_pauses:.0f}"
