"""``backwater run``: one scenario, over one seed or several."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from backwater.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.results import Results
    from backwater.running import Job, Outcome

_AtLeastOne = Annotated[int | None, Parameter(validator=validators.Number(gte=1))]


def run(
    scenario: Path,
    /,
    *,
    set_: Annotated[list[str] | None, Parameter(name="--set", negative="")] = None,
    scheme: Annotated[list[str] | None, Parameter(negative="")] = None,
    seeds: Annotated[int, Parameter(validator=validators.Number(gte=1))] = 1,
    seed: Annotated[int | None, Parameter(validator=validators.Number(gte=0, lte=2**64 - 1))] = None,
    jobs: _AtLeastOne = None,
    threads: _AtLeastOne = None,
    engine: Literal["windows", "heap"] | None = None,
    out: Path | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
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
    engine
        The fast one, windows, or the reference, heap; the trajectory is the same.
    out
        The folder for the results folders; `results` if not given.
    json_
        Print only JSON, one object for each run.
    """
    from backwater.progress import watching
    from backwater.running import run_jobs

    overrides = [*(set_ or []), *([f'run.engine="{engine}"'] if engine else [])]
    todo = _jobs(scenario, overrides, scheme or (), seed, seeds, threads, out or Path("results"))
    with watching(todo, quiet=json_) as watcher:
        outcomes = run_jobs(todo, jobs, watcher)
    return _report(outcomes, json_)


def _jobs(
    file: Path,
    overrides: Sequence[str],
    only: Sequence[str],
    seed: int | None,
    seeds: int,
    threads: int | None,
    out: Path,
) -> list[Job]:
    from backwater import schemes
    from backwater.running import Job, Scenario, folder_name, numbered

    scenario = Scenario.load(file)
    return [
        Job(
            label=f"{scheme.label} seed {number}",
            scenario=scenario,
            overrides=scheme.overrides,
            seed=number,
            out=out / folder_name(scenario, overrides, number, scheme.name),
            threads=threads,
            scheme=scheme.name,
        )
        for scheme in schemes.of(scenario, overrides, only)
        for number in numbered(scenario, overrides, seed, seeds)
    ]


def _report(outcomes: Sequence[Outcome], as_json: bool) -> int:
    """Print what there is, then raise the first failure or return the exit code."""
    from backwater.results import Results

    kept = [outcome for outcome in outcomes if outcome.summary is not None]
    folders = [outcome.job.out for outcome in kept]
    found = [Results(folder) for folder in folders if folder is not None]
    if as_json:
        texts = [_summary(outcome) for outcome in kept]
        print(json.dumps(texts if len(outcomes) > 1 else texts[0] if texts else {}, indent=2))
    else:
        for scheme in dict.fromkeys(outcome.job.scheme for outcome in kept):
            runs = [run for run, outcome in zip(found, kept, strict=True) if outcome.job.scheme == scheme]
            _print_tables(runs, scheme)
    for outcome in outcomes:
        if outcome.error is not None and not outcome.interrupted:
            raise outcome.error
    if any(outcome.interrupted for outcome in outcomes):
        kept_text = f"; kept: {', '.join(map(str, folders))}" if folders else ""
        print(f"interrupted{kept_text}", file=sys.stderr)
        return Exit.CAVEATS
    return Exit.CAVEATS if any(run.meta["caveats"] for run in found) else Exit.OK


def _summary(outcome: Outcome) -> dict[str, Any]:
    """The run.json of a run, with its scheme if it has one, and how its marks score against the ground truth."""
    from backwater.blame import score_of
    from backwater.results import Results

    scheme = {"scheme": outcome.job.scheme} if outcome.job.scheme else {}
    score = None if outcome.job.out is None else score_of(Results(outcome.job.out))
    blame = {} if score is None else {"blame": score.values()}
    return scheme | (outcome.summary or {}) | blame


def _print_tables(runs: Sequence[Results], scheme: str) -> None:
    from backwater import tables, terminal
    from backwater.blame import report, score_of

    console = terminal.stdout()
    if scheme:
        console.rule(scheme, align="left")
    last = runs[-1]
    for run in runs:
        for line in tables.run_lines(run):
            console.print(line, highlight=False, markup=False)
        score = score_of(run)
        if score is not None:
            console.print(report.score_line(score), highlight=False, markup=False)
    if len(runs) > 1:
        console.print(tables.seeds_table(runs))
    else:
        console.print(tables.traffic_table({"": last}))
        ports = tables.busiest_ports(last, 12)
        console.print(tables.port_table({"": last}, ports, tables.ports_title(last, len(ports))))
    for run in runs:
        console.print(f"results: {run.folder}", highlight=False, markup=False)
