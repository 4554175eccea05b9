"""``backwater sweep``: a scenario over values of its keys, schemes and seeds; what was run before is not run again."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from backwater.analysis import pictures
from backwater.analysis.pictures import Paper
from backwater.cli.commands import failed
from backwater.cli.options import AtLeastOne, Flag, Format, Json, Set, Width
from backwater.common import quantities, terminal
from backwater.errors import Exit, UsageError, require_folder
from backwater.experiments import estimate_tables, estimates, sweep_pictures
from backwater.experiments import sweep_file as plans
from backwater.experiments import sweep_tables as frames
from backwater.experiments.batch import Shard, parse_shard
from backwater.experiments.engines import engine
from backwater.experiments.executor import Job
from backwater.experiments.live import live as watch_live
from backwater.experiments.progress import watching
from backwater.experiments.store import OwnFolder
from backwater.experiments.sweep import Sweep, cache_at
from backwater.experiments.toml_document import Document


def sweep(
    file: Path,
    /,
    *,
    set_: Set = None,
    jobs: AtLeastOne = None,
    shard: str | None = None,
    gather: Flag = False,
    on: Literal["here", "ray"] = "here",
    address: str | None = None,
    cache: Path | None = None,
    no_cache: Flag = False,
    keep_runs: Flag = False,
    dry_run: Flag = False,
    format_: Format = None,
    width: Width = None,
    live: Flag = False,
    out: Path | None = None,
    json_: Json = False,
) -> int:
    """Run a scenario over values of its keys, schemes and seeds, as a sweep file says, on all cores.

    A run is known by its content (settings, seed, contents of files, build of the core): what the cache has is not run
    again. After Ctrl-C, or if it is killed, the same command goes on where it was. Writes runs.csv and runs.parquet (a
    row for each run and traffic entry), means.csv and means.parquet (with 95 % intervals over seeds), sweep.json, and
    sweep.png: lines over an axis of numbers, bars of names, a map of two axes. The keys of the file are in
    docs/sweeps.md. A quick look without a file: `backwater run --sweep`, which keeps a results folder of each run and
    has no cache.

    Parameters
    ----------
    file
        The sweep: a TOML file that names a scenario, axes, seeds. A quick look without a file, with the same table but
        without cache: `backwater run --sweep`.
    set_
        Change a key of the scenario in all runs: `--set run.until=2ms`. May be given more than once.
    jobs
        How many runs at the same time; one per core if not given.
    shard
        Do only the i-th of n parts of the runs, for batch systems: `--shard 1/4`. Makes no tables.
    gather
        Run nothing: make the tables of runs that are in the cache, as from shards.
    on
        Where to run: here, or on a Ray cluster (`pip install 'backwater[ray]'`).
    address
        Of the Ray cluster; one on this machine is started if neither this nor RAY_ADDRESS is given.
    cache
        The folder of runs that were done before; $BACKWATER_CACHE or ~/.cache/backwater if not given.
    no_cache
        Take nothing from the cache and put nothing there; an interruption begins anew.
    keep_runs
        Copy the results folder of each run to `runs` in the folder of tables, for `backwater view` and others.
    dry_run
        Print the runs, which of them are in the cache, and about how long the others take; run nothing.
    format_
        Of the picture: png, pdf or svg.
    width
        Print it: `3.33in` (or cm, mm, pt) wide, a file for each measure, letters of 7 to 9 points, no title.
    live
        Show on the terminal how far runs are while they go on, how fast, and their hottest ports. Where stderr is no
        terminal: a line every ten seconds. Not with `--on ray`.
    out
        The folder of the tables; `results/<name of the file>` if not given.
    json_
        Print JSON: counts, means over seeds, files.
    """
    paper = pictures.asked(format_, width)
    part = parse_shard(shard) if shard else None
    _require_sense(gather=gather, shard=part, no_cache=no_cache)
    if live and on != "here":
        raise UsageError("--live looks at runs of this machine: remove --live, or --on ray")
    run = engine(on, address, jobs)
    plan = plans.of(Document.load(file, "sweep file"))
    own = OwnFolder.of(Path("results") / file.stem, file)
    folder = out or own.place
    if folder.exists():
        # Before anything is run, rather than after it.
        require_folder(folder, "--out")
    with cache_at(cache, wanted=not no_cache) as kept:
        found = Sweep.of(plan, kept, set_ or ())
        missing = found.missing(part)
        done = len(found.mine(part)) - len(missing)
        if dry_run:
            return _dry(found, part, missing, jobs, json_)
        if not json_:
            _tell(found, part, done, len(missing))
            if on == "here":
                estimate_tables.say_if_long(missing, jobs, "--dry-run")
        if gather and missing:
            raise UsageError(_not_done(missing))
        found.run(missing, run, watch_live if live else partial(watching, quiet=json_))
        counts = {"runs": done + len(missing), "cached": done, "damaged": len(kept.damaged)}
        if found.interrupted:
            return _interrupted(found, missing)
        if part is not None:
            return _of_shard(found, part, counts, json_)
        if out is None:
            own.claim()
        return _tables(found, counts, folder, paper, keep_runs=keep_runs, as_json=json_)


def _require_sense(*, gather: bool, shard: Shard | None, no_cache: bool) -> None:
    if gather and shard:
        raise UsageError("--gather makes tables of all shards: remove --shard")
    if no_cache and (gather or shard):
        raise UsageError(f"--{'gather' if gather else 'shard'} works through the cache: remove --no-cache")


def _tell(found: Sweep, shard: Shard | None, done: int, missing: int) -> None:
    of = f" of {len(found.jobs)}" if shard else ""
    name = f"shard {shard.one}/{shard.of}: " if shard else ""
    print(
        f"{name}{done + missing}{of} run{'' if done + missing == 1 else 's'}: {done} from the cache, {missing} to do",
        file=sys.stderr,
    )
    if found.store.damaged:
        damaged = len(found.store.damaged)
        print(f"note: {damaged} damaged in the cache ({found.store.folder}), done again", file=sys.stderr)


def _not_done(missing: Sequence[Job]) -> str:
    some = "; ".join(job.label for job in missing[:3]) + ("; …" if len(missing) > 3 else "")
    return f"--gather: {len(missing)} runs are not in the cache: {some}. Run their shards, or do not give --gather"


def _dry(found: Sweep, shard: Shard | None, missing: Sequence[Job], jobs: int | None, as_json: bool) -> int:
    still = {job.key for job in missing}
    mine = found.mine(shard)
    runs = [job for job in found.jobs if job.key in mine]
    if as_json:
        told = [{"run": job.label, "seed": job.seed, "key": job.key, "cached": job.key not in still} for job in runs]
        print(json.dumps(told, indent=2))
        return Exit.OK
    for job in runs:
        print(f"{'to do ' if job.key in still else 'cached'}  {job.label}")
    print(
        f"{quantities.counted(len(mine), 'run')}: {len(mine) - len(still)} in the cache, {len(still)} to do",
        file=sys.stderr,
    )
    if missing:
        print(
            estimate_tables.sum_line(estimate_tables.work(missing, jobs, estimates.pace(), drawn=shard is None)),
            file=sys.stderr,
        )
    return Exit.OK


def _interrupted(found: Sweep, missing: Sequence[Job]) -> int:
    # Ctrl-C may come between a run's move into the cache and the note of it: what counts is what is there.
    done = sum(found.store.has(job.key) for job in missing)
    print(
        f"interrupted: {done} of {len(missing)} runs done and kept; the same command does the rest",
        file=sys.stderr,
    )
    return Exit.CAVEATS


def _of_shard(found: Sweep, shard: Shard, counts: dict[str, int], as_json: bool) -> int:
    if as_json:
        print(json.dumps({"shard": f"{shard.one}/{shard.of}", **counts, "cache": str(found.store.folder)}))
    else:
        print(f"shard {shard.one}/{shard.of} is done; when all are: --gather")
    failed.raise_first(found.outcomes)
    return Exit.OK


def _tables(found: Sweep, counts: dict[str, int], folder: Path, paper: Paper, *, keep_runs: bool, as_json: bool) -> int:
    if len(found.failed) == len({job.key for job in found.jobs}):
        # There is nothing to make a table of.
        failed.raise_first(found.outcomes)
    frame = found.frame()
    files = found.write(frame, folder)
    with paper.printed():
        drawn = sweep_pictures.draw(found.plan, frame, folder / "sweep", title=Path(found.plan.asked["file"]).stem)
    files += drawn.files
    if keep_runs:
        found.keep_runs(folder / "runs")
        files.append(folder / "runs")
    if as_json:
        told = frames.as_json(frame, counts | {"failed": len(found.failed)}, files)
        print(json.dumps(told, indent=2, default=str))
    else:
        console = terminal.stdout()
        console.print(frames.table(frame))
        console.say(f"written: {', '.join(map(str, files))}")
        for note in drawn.notes:
            console.say(f"picture: {note}")
    caveats = found.caveats()
    for caveat in caveats:
        print(caveat, file=sys.stderr)
    failed.raise_first(found.outcomes)
    return Exit.CAVEATS if caveats else Exit.OK
