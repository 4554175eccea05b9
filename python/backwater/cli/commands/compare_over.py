"""``backwater compare --over``: schemes over an axis, each point of it over the same seeds."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from backwater.analysis import scheme_tests
from backwater.analysis.pictures import Paper
from backwater.cli.commands import failed
from backwater.common import terminal
from backwater.common.atomic_files import write_asked
from backwater.common.codes import Remark
from backwater.common.late import pl
from backwater.errors import Exit, UsageError, require_folder
from backwater.experiments import (
    comparison,
    estimate_tables,
    idle_axes,
    quick_sweep,
    sweep_file,
    sweep_pictures,
    sweep_tables,
)
from backwater.experiments.executor import run_jobs
from backwater.experiments.idle_axes import Idle
from backwater.experiments.plan import Plan, Seeds
from backwater.experiments.progress import watching
from backwater.experiments.store import OwnFolder
from backwater.experiments.sweep import Sweep, cache_at
from backwater.experiments.sweep_measures import MEASURES
from backwater.experiments.toml_document import Document
from backwater.results import offered
from backwater.scenario import schemes
from backwater.scenario.scenario import Scenario

#: What is compared if neither the command nor the file says.
_DEFAULT = ("mean_slowdown", "p99_slowdown", "mean_fct_ps", "application_ps", "goodput_bps", "paused_ps")
#: How many seeds, if neither says.
_SEEDS = 5


def planned(
    files: Sequence[Path],
    over: Sequence[str],
    overrides: Sequence[str],
    only: Sequence[str],
    seeds: tuple[int | None, int | None],
    measures: Sequence[str],
) -> Plan | None:
    """The plan of a sweep file, or of a scenario over values of its keys; None where nothing is varied.

    `seeds` are how many and the first. What the command says counts before what a file says.
    """
    for name in measures:
        if name not in MEASURES:
            raise UsageError(f"--measure {name}: there is {', '.join(MEASURES)}")
    axes = quick_sweep.axes(over, "--over")
    file = files[0] if len(files) == 1 else None
    is_sweep = file is not None and file.is_file() and _names_a_scenario(file)
    if not axes and not is_sweep:
        return None
    if file is None:
        raise UsageError("--over takes one scenario file that lists [[scheme]]s, or one sweep file")
    plan: Plan
    if is_sweep:
        document = Document.load(file, "sweep file")
        plan = sweep_file.of(document)
        if repeated := {key for axis in axes for key in axis.keys} & {*plan.keys}:
            raise UsageError(f"--over {repeated.pop()} is an axis of {file}, too; leave out one of them")
        plan = replace(plan, axes=(*plan.axes, *axes), overrides=(*plan.overrides, *overrides))
        own = "measures" in document.tables
    else:
        plan = Plan(scenario=Scenario.load(file), overrides=tuple(overrides), axes=axes, seeds=Seeds(_SEEDS))
        own = False
    count, first = seeds
    if count is not None or first is not None:
        plan = replace(plan, seeds=Seeds(count or plan.seeds.count, first))
    chosen = tuple(measures) or (plan.measures if own else _default(plan))
    return replace(plan, schemes=tuple(only) or plan.schemes, measures=chosen)


def _default(plan: Plan) -> tuple[str, ...]:
    """What is shown if nothing says; of arrivals at a given load no goodput, which the last flow decides."""
    scenario = plan.scenario.resolve(plan.overrides)
    arrive = not scenario.get("job") and all(one["kind"] == "poisson" for one in scenario.get("traffic", []))
    return tuple(name for name in _DEFAULT if not (arrive and name == "goodput_bps"))


def _names_a_scenario(file: Path) -> bool:
    """Whether a file is one of a sweep: a scenario has no key of that name."""
    try:
        return "scenario" in Document.load(file, "scenario file").tables
    except UsageError:
        # What is no TOML is told as for any scenario.
        return False


def compare(
    plan: Plan, file: Path, *, workers: int | None, traffic: str | None, tested: Sequence[str], out: Path | None,
    paper: Paper, keep_runs: bool, as_json: bool,
) -> int:  # fmt: skip
    """Run what is missing, then print and write means over the axes, and what paired tests say of the schemes."""
    _require_same_traffic(plan)
    idle = idle_axes.of(plan, "--over")
    for sentence in idle.notes():
        print(sentence, file=sys.stderr)
    varied = "-".join(key.rpartition(".")[2] for key in plan.keys)
    own = OwnFolder.of(Path("results/compare") / (f"{file.stem}-over-{varied}" if varied else file.stem), file)
    folder = out or own.place
    if folder.exists():
        require_folder(folder, "--out")
    with cache_at(None) as kept:
        found = Sweep.of(plan, kept)
        missing = found.missing()
        every = len(found.mine())
        if not as_json:
            print(f"{every} runs: {every - len(missing)} from the cache, {len(missing)} to do", file=sys.stderr)
            estimate_tables.say_if_long(missing, workers, "backwater sweep --dry-run")
        found.run(missing, partial(run_jobs, workers=workers), partial(watching, quiet=as_json))
        if found.interrupted:
            done = sum(kept.has(job.key) for job in missing)
            told = f"interrupted: {done} of {len(missing)} runs done and kept; the same command does the rest"
            print(told, file=sys.stderr)
            return Exit.CAVEATS
        if len(found.failed) == every:
            failed.raise_first(found.outcomes)
        frame = _chosen(found.frame(), traffic)
        if out is None:
            own.claim()
        _report(found, frame, folder, file.stem, paper, tested, keep_runs=keep_runs, as_json=as_json)
        caveats = _caveats(found, idle)
        for caveat in caveats:
            print(caveat, file=sys.stderr)
        failed.raise_first(found.outcomes)
        return Exit.CAVEATS if caveats else Exit.OK


def _require_same_traffic(plan: Plan) -> None:
    """At each point of the axes, before anything runs."""
    by_point: dict[tuple[str, ...], list[schemes.Scheme]] = {}
    for scheme, _, texts in plan.groups():
        by_point.setdefault(texts, []).append(scheme)
    for of_point in by_point.values():
        if len(of_point) < 2:
            raise UsageError(f"there is one scheme only, {of_point[0].label!r}; list two [[scheme]]s in its file")
        comparison.check_traffic(of_point, plan.seeds.of(of_point[0])[0])


def _loads(found: Sweep) -> list[Remark]:
    """Where the load that was drawn is not the one that was asked for; it is the same under every scheme."""
    drawn: dict[tuple[str, float], dict[int, float]] = {}
    for job in found.jobs:
        for row in found.store.measured(job.key)["rows"] if found.store.has(job.key) else ():
            if row["offered_load"] is not None:
                what = " at ".join(filter(None, (row["traffic"], ", ".join(job.sweep))))
                drawn.setdefault((what, row["asked_load"]), {})[job.seed or 0] = row["offered_load"]
    remarks = (offered.note(what, asked, list(by_seed.values())) for (what, asked), by_seed in drawn.items())
    return [one for one in remarks if one is not None]


def _chosen(frame: pl.DataFrame, traffic: str | None) -> pl.DataFrame:
    """The rows of a traffic entry, or all; without measures that no row has."""
    if traffic is not None:
        known = frame["traffic"].unique(maintain_order=True).to_list()
        if traffic not in known:
            raise UsageError(f"there is no traffic {traffic!r}; there is {', '.join(known)}")
        frame = frame.filter(pl.col("traffic") == traffic)
    return frame.drop([name for name in sweep_tables.measured(frame) if frame[name].null_count() == frame.height])


def _report(
    found: Sweep, frame: pl.DataFrame, folder: Path, title: str, paper: Paper, tested: Sequence[str], *,
    keep_runs: bool, as_json: bool,
) -> None:  # fmt: skip
    tests = scheme_tests.of(sweep_tables.to_compare(frame), tested)
    files = found.write(frame, folder)
    if tests:
        files.append(write_asked(folder / "tests.parquet", scheme_tests.table(tests).write_parquet))
    with paper.printed():
        drawn = sweep_pictures.draw(found.plan, frame, folder / "compare", title=title)
    files += drawn.files
    if keep_runs:
        found.keep_runs(folder / "runs")
        files.append(folder / "runs")
    left_out = {} if found.plan.schemes else schemes.left_out(found.plan.scenario)
    if as_json:
        told = sweep_tables.as_json(frame, {"runs": len(found.mine())}, files)
        told["left_out"] = [{"scheme": name, "why": why} for name, why in left_out.items()]
        print(json.dumps(told | {"tests": [one.as_row() for one in tests]}, indent=2, default=str))
    else:
        console = terminal.stdout()
        console.print(sweep_tables.table(frame, " over ".join(filter(None, ("Schemes", ", ".join(found.plan.keys))))))
        for name, why in left_out.items():
            console.say(f"{name}: left out: {why}")
        several = frame["seed"].n_unique() > 1
        said = scheme_tests.sentences(tests, ", ".join(found.plan.keys)) if several else [scheme_tests.of_one_seed()]
        for line in said:
            console.say(line)
        for remark in _loads(found):
            console.say(str(remark))
        console.say(f"written: {', '.join(map(str, files))}")
        for note in drawn.notes:
            console.say(f"picture: {note}")
        if _is_level(found, frame):
            console.say(f"note: all that is shown is the same at each value of {', '.join(found.plan.keys)}")


def _is_level(found: Sweep, frame: pl.DataFrame) -> bool:
    """Whether what is varied changes no number that is shown."""
    if math.prod(len(axis.steps) for axis in found.plan.axes) < 2:
        return False
    names = [name for name in sweep_tables.measured(frame) if name not in ("offered_load", "asked_load")]
    whole = frame.filter(pl.col("status") == "complete")
    counts = whole.group_by("scheme", "traffic", "seed").agg(pl.col(names).n_unique()).select(names)
    return counts.height > 0 and all(column.max() == 1 for column in counts)


def _caveats(found: Sweep, idle: Idle) -> list[str]:
    """What runs have reservations about, with the schemes if it is not all; what a scheme does not read was told."""
    by_text: dict[str, list[str]] = {}
    names = list(dict.fromkeys(job.scheme for job in found.jobs))
    for job in found.jobs:
        for caveat in found.store.measured(job.key)["caveats"] if found.store.has(job.key) else ():
            if caveat not in idle.caveats.get(job.scheme, ()):
                by_text.setdefault(caveat, []).append(job.scheme)
    return sorted(
        caveat if {*schemes} == {*names} else f"{', '.join(dict.fromkeys(schemes))}: {caveat}"
        for caveat, schemes in by_text.items()
    )
