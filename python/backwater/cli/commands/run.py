"""``backwater run``: one scenario, over one seed or several."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from backwater.analysis import collectives, isolation, mark_scores, pictures, run_notes, tables, time_profile
from backwater.analysis import jobs as job_notes
from backwater.analysis.blame import report, score_of, threshold
from backwater.analysis.pictures import Paper
from backwater.cli.commands import failed
from backwater.cli.options import AtLeastOne, Count, Every, Flag, Format, Json, Seed, Set, Width, Words
from backwater.common import processes as shared
from backwater.common import terminal
from backwater.common.late import pl
from backwater.errors import Exit, UsageError
from backwater.experiments import (
    alone,
    estimate_tables,
    estimates,
    quick_sweep,
    sweep_measures,
    sweep_tables,
)
from backwater.experiments.executor import Job, Outcome, cores, run_jobs
from backwater.experiments.live import live as watch_live
from backwater.experiments.plan import Plan, Seeds
from backwater.experiments.progress import watching
from backwater.experiments.resumed import saved_every
from backwater.experiments.store import OfFile
from backwater.results import Results
from backwater.scenario import schemes
from backwater.scenario.scenario import Scenario, folder_name
from backwater.view.page import NAME, View


def run(
    scenario: Path,
    /,
    *,
    set_: Set = None,
    sweep: Words = None,
    scheme: Words = None,
    seeds: Count = 1,
    seed: Seed = None,
    jobs: AtLeastOne = None,
    threads: AtLeastOne = None,
    checkpoint_every: Every = None,
    out: Path | None = None,
    html: Flag = False,
    plot: Path | None = None,
    kind: Literal["queues", "rates", "slowdown"] | None = None,
    format_: Format = None,
    width: Width = None,
    live: Flag = False,
    estimate: Flag = False,
    processes: AtLeastOne = None,
    profile: Flag = False,
    json_: Json = False,
) -> int:
    """Run a scenario file and print what happened to its traffic and its ports.

    Writes one results folder per seed, and per scheme if the file lists some: run.json and Parquet tables, whose
    columns `backwater describe` explains.

    Parameters
    ----------
    scenario
        The TOML file.
    set_
        Change a key: `--set switch.detector.kind=red`. May be given more than once.
    sweep
        Run once for each of several values: `--sweep traffic.load=0.2,0.4,0.6`. Several sweeps make every combination.
        It prints the table of `backwater sweep`, which takes a file, writes tables, and has a cache of what was run
        before.
    scheme
        Run only this one of the schemes that the file lists. May be given more than once.
    seeds
        How many seeds to run, counting up from the first; prints means with 95 % confidence intervals.
    seed
        The (first) seed, instead of the file's.
    jobs
        How many runs at the same time; one per core if not given.
    threads
        How many threads for each run; the trajectory is the same for any number.
    checkpoint_every
        Save each run whenever so much time has passed: `--checkpoint-every 10m` (or 30s, 2h). The file stands beside
        the results folder, NAME.ckpt; `backwater resume` goes on from it if the run was killed. A run that is complete
        removes it.
    out
        The folder for the results folders; `results` if not given.
    html
        Write view.html, the page that shows the run, into each results folder; see `backwater view`.
    plot
        Draw to this file (.png, .pdf, .svg), in `out` if it names no folder: of one run what `kind` says, of several
        how many flows have which slowdown, all seeds together.
    kind
        Of the picture of one run: queues or rates over time (probe.sample), or slowdown, the share of flows below each;
        queues where some are sampled, else slowdown.
    format_
        Of the picture: png, pdf or svg; what --plot ends in if not given.
    width
        Print it: `3.33in` (or cm, mm, pt) wide, with letters of 7 to 9 points and no title.
    live
        Show on the terminal how far runs are while they go on, how fast, and their hottest ports. Where stderr is no
        terminal: a line every ten seconds.
    estimate
        Run nothing: print about how long it would take, and how much memory.
    processes
        With `--estimate`: say what each of so many processes would take that share a run (`mpirun -n 8 backwater run`).
    profile
        Say where the time of the run went, and what 2 to 256 threads would bring, predicted from its own windows; with
        --json `profile`. It is right for a run alone on its cores: `--jobs 1`, and no others on the machine.
    json_
        Print only JSON, one object for each run; of a run that failed, what was wrong. Of a sweep that of `backwater
        sweep`, with these objects as `summaries`.
    """
    own = shared.join()
    plot, paper = pictures.to_plot(plot, format_, width, out)
    overrides = tuple(set_ or ())
    plan = Plan(
        scenario=Scenario.load(scenario).once(),
        overrides=overrides,
        axes=quick_sweep.axes(sweep or ()),
        schemes=tuple(scheme or ()),
        seeds=Seeds(seeds, seed),
    )
    if own.count > 1:
        _require_one_run(plan, own)
    root = out or Path("results")
    todo = [
        saved_every(
            replace(
                job,
                out=root / folder_name(job.scenario, [*overrides, *job.sweep], job.seed, job.scheme),
                threads=threads,
                profiled=profile,
                stage=OfFile,
                shared=own.count > 1,
            ),
            checkpoint_every,
        )
        for job in plan.jobs()
    ]
    if own.rank:
        return work_for_the_first(todo)
    for sentence in schemes.told(schemes.of(plan.scenario, overrides, plan.schemes), overrides):
        print(f"note: {sentence}", file=sys.stderr)
    if not plan.schemes:
        for name, why in schemes.left_out(plan.scenario, overrides).items():
            print(f"note: {name} is left out: {why}", file=sys.stderr)
    if estimate:
        return _estimate(plan, jobs, processes or 1, as_json=json_)
    if not json_:
        estimate_tables.say_if_long(todo, jobs)
    with watch_live(todo) if live else watching(todo, quiet=json_) as watcher:
        outcomes = run_jobs(todo, jobs, watcher)
    say_if_elsewhere(todo, outcomes)
    code = reported(plan, outcomes, json_, html, jobs)
    if plot is not None:
        _draw(outcomes, kind, plot, paper, quiet=json_)
    return code


def _require_one_run(plan: Plan, own: shared.Own) -> None:
    """Refuse several runs at once where processes share one."""
    count = len(list(plan.jobs()))
    if count > 1:
        told = f"{count} runs (seeds, schemes or values of a sweep), and {own.count} processes that share one"
        help_ = "choose one with --seed, --scheme and --set, or start each of them with its own mpirun"
        raise UsageError(f"{told}\n  allowed: one run\n  = help: {help_}")


def work_for_the_first(todo: Sequence[Job]) -> int:
    """Do this process's part of the run, of which the first process writes and prints everything."""
    failed.raise_first(run_jobs([replace(job, out=None) for job in todo], 1))
    return Exit.OK


def _draw(outcomes: Sequence[Outcome], kind: str | None, file: Path, paper: Paper, *, quiet: bool) -> None:
    """The picture of one run, or of several."""
    groups: dict[str, list[Results]] = {}
    for outcome in outcomes:
        if outcome.summary is not None and outcome.job.out is not None:
            name = " ".join(filter(None, (outcome.job.scheme, *outcome.job.sweep))) or outcome.job.scenario.name
            groups.setdefault(name, []).append(Results(outcome.job.out))
    if groups:
        paper.draw("run_picture", groups, file, kind)
        if not quiet:
            print(f"picture: {file}")


def say_if_elsewhere(todo: Sequence[Job], outcomes: Sequence[Outcome]) -> None:
    """Tell where results are that found their place taken by another file's."""
    for job, outcome in zip(todo, outcomes, strict=True):
        if outcome.job.out != job.out:
            told = f"{job.out} has the results of another scenario file of this name, which are kept"
            print(f"note: {told}; these are in {outcome.job.out}", file=sys.stderr)


def _estimate(plan: Plan, jobs: int | None, processes: int, *, as_json: bool) -> int:
    """Print what one run of each group takes, by its name, and all of them together."""
    groups, slower = list(plan.groups()), estimates.pace()
    each = {
        " ".join([scheme.label, *texts]): estimates.of(scheme.scenario, scheme.overrides, slower, processes)
        for scheme, _, texts in groups
    }
    every = [one for one in each.values() for _ in range(plan.seeds.count)]
    work = estimates.together(every, jobs or cores(), estimates.START_S * slower)
    if as_json:
        print(json.dumps(estimate_tables.as_json(each, work, slower), indent=2))
        return Exit.OK
    console = terminal.stdout()
    console.print(estimate_tables.table(each))
    for note in dict.fromkeys(note for one in each.values() for note in one.notes):
        console.say(f"note: {note}")
    console.say(estimate_tables.sum_line(work))
    return Exit.OK


def _pages(outcomes: Sequence[Outcome], beside: Mapping[Path, Mapping[str, Results]], quiet: bool) -> None:
    """Write the page of each run; `beside` are runs in which one of its applications sent alone."""
    for folder in (outcome.job.out for outcome in outcomes if outcome.summary is not None):
        if folder is None:
            continue
        written = View([Results(folder)], beside.get(folder)).write(folder / NAME)
        if not quiet:
            print(f"page: {written}")


def reported(plan: Plan, outcomes: Sequence[Outcome], as_json: bool, pages: bool, jobs: int | None) -> int:
    """Print what there is, then raise the first failure or return the exit code."""
    kept = [(outcome.job, Results(outcome.job.out)) for outcome in outcomes if outcome.summary and outcome.job.out]
    whole = not any(outcome.interrupted or outcome.job.sweep for outcome in outcomes)
    with alone.runs(kept if whole else [], jobs, quiet=as_json) as found:
        beside = {run.folder: runs for (_, run), runs in zip(kept, found, strict=False)}
        return _told(plan, outcomes, as_json, pages, beside, [run for _, run in kept])


def _told(
    plan: Plan,
    outcomes: Sequence[Outcome],
    as_json: bool,
    pages: bool,
    beside: Mapping[Path, Mapping[str, Results]],
    found: Sequence[Results],
) -> int:
    kept = [outcome for outcome in outcomes if outcome.summary and outcome.job.out]
    folders = [outcome.job.out for outcome in kept]
    if as_json:
        shown = [outcome for outcome in outcomes if outcome.summary is not None or outcome in failed.of(outcomes)]
        texts = [failed.as_json(outcome) if outcome.summary is None else _summary(outcome, beside) for outcome in shown]
        told: Any = texts if len(outcomes) > 1 else texts[0] if texts else {}
        if plan.axes:
            counts = {"runs": len(outcomes), "failed": len(failed.of(outcomes))}
            told = sweep_tables.as_json(_frame(plan, outcomes), counts, [run.folder for run in found])
            told["summaries"] = texts
        print(json.dumps(told, indent=2, default=str))
    else:
        groups: dict[str, list[Results]] = {}
        for run, outcome in zip(found, kept, strict=True):
            groups.setdefault(" ".join(filter(None, (outcome.job.scheme, *outcome.job.sweep))), []).append(run)
        if plan.axes and kept:
            _print_sweep(plan, outcomes, groups)
        else:
            for name, runs in groups.items():
                _print_tables(runs, name, beside)
            if len(groups) > 1:
                terminal.stdout().print(sweep_tables.table(_frame(plan, outcomes), "Schemes"))
                _print_more(groups)
    if pages:
        _pages(outcomes, beside, as_json)
    failed.raise_first(outcomes)
    if any(outcome.interrupted for outcome in outcomes):
        kept_text = f"; kept: {', '.join(map(str, folders))}" if folders else ""
        print(f"interrupted{kept_text}", file=sys.stderr)
        return Exit.CAVEATS
    return Exit.CAVEATS if any(run.meta["caveats"] for run in found) else Exit.OK


def _summary(outcome: Outcome, beside: Mapping[Path, Mapping[str, Results]]) -> dict[str, Any]:
    """The run.json of a run, with its scheme, its values of a sweep, its applications, and how its marks score."""
    scheme = {"scheme": outcome.job.scheme} if outcome.job.scheme else {}
    sweep = {"sweep": list(outcome.job.sweep)} if outcome.job.sweep else {}
    score = None if outcome.job.out is None else score_of(Results(outcome.job.out))
    # K itself is in run.json: `ground_truth`.
    blame = {} if score is None else {"blame": score.values()}
    out = outcome.job.out
    told = {} if out is None else collectives.as_json(Results(out), beside.get(out, {}))
    told |= {} if out is None else job_notes.as_json(Results(out), beside.get(out, {}))
    return scheme | sweep | (outcome.summary or {}) | told | blame


def _frame(plan: Plan, outcomes: Sequence[Outcome]) -> pl.DataFrame:
    """The table of all runs; those that are not complete have no measures."""
    rows = (
        sweep_measures.facts(Results(outcome.job.out))["rows"] if outcome.error is None and outcome.job.out else ()
        for outcome in outcomes
    )
    return sweep_tables.of(plan, [outcome.job for outcome in outcomes], rows)


def _print_sweep(plan: Plan, outcomes: Sequence[Outcome], groups: Mapping[str, Sequence[Results]]) -> None:
    console = terminal.stdout()
    every = [run for runs in groups.values() for run in runs]
    for run in every:
        for remark in run_notes.remarks(run):
            console.say(f"{run.folder}: {remark}")
    console.print(sweep_tables.table(_frame(plan, outcomes)))
    _print_more(groups)
    for run in every:
        console.say(f"results: {run.folder}")


def _print_more(groups: Mapping[str, Sequence[Results]]) -> None:
    """How right the marks were, and what tables of congested flows did in the groups that can tell, if any can."""
    if any(mark_scores.over_seeds([run for run in runs if run.complete]) for runs in groups.values()):
        terminal.stdout().print(mark_scores.table(groups))
    found = {name: runs for name, runs in groups.items() if all(isolation.applies(run) for run in runs)}
    if found:
        terminal.stdout().print(isolation.table(found))


def _print_tables(runs: Sequence[Results], scheme: str, beside: Mapping[Path, Mapping[str, Results]]) -> None:
    console = terminal.stdout()
    if scheme:
        console.rule(scheme, align="left")
    last = runs[-1]
    for run in runs:
        for line in run_notes.of(run, beside.get(run.folder)):
            console.say(line)
        score = mark_scores.of(run)
        if score is not None:
            line = report.score_line(score, threshold.text(run))
            console.say(f"{line} (what these are: backwater blame {run.folder})")
    if len(runs) > 1:
        console.print(tables.seeds_table(runs))
    else:
        console.print(tables.traffic_table({"": last}))
        ports = tables.busiest_ports(last, 12)
        if ports:
            console.print(tables.port_table({"": last}, ports, tables.ports_title(last, len(ports))))
        else:
            console.say(tables.no_port(last))
    if isolation.applies(last):
        console.print(isolation.table({"": runs}))
    for run in runs:
        predicted = time_profile.table(run)
        if predicted is not None:
            console.print(predicted)
        console.say(f"results: {run.folder}")
