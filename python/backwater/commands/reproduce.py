"""``backwater reproduce``: the figures of a paper, over several seeds on all cores, and which of its claims hold."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter, validators

from backwater.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.experiment import Figure
    from backwater.reproduce import Plan, Reproduced
    from backwater.running import Outcome

_PROFILES = {"authors": ("authors",), "ideal": ("ideal",), "both": ("authors", "ideal")}


def reproduce(
    system: str,
    /,
    *,
    figure: Annotated[list[str] | None, Parameter(negative="")] = None,
    seeds: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None,
    jobs: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    profile: Literal["authors", "ideal", "both"] = "both",
    out: Path | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Run the figures of a paper over several seeds on all cores and print which of its claims hold.

    Runs that are done stay done: a second call continues where the first was stopped. Writes claims.json, claims.md, a
    picture per figure and report.html.

    Parameters
    ----------
    system
        Which paper: tcd.
    figure
        Only this figure, such as fig03. May be given more than once.
    seeds
        How many seeds; what each figure asks for if not given.
    jobs
        How many runs at the same time; one per core if not given.
    quick
        One seed and shorter runs, to see whether everything works.
    profile
        The settings: authors (as their simulator ran), ideal (as the paper's text reads), or both; both if not given.
    out
        Where results go; results/reproduce/SYSTEM if not given. The report on a part (some figures, one profile, a
        number of seeds, --quick) gets a folder of its own in there, such as fig03-authors-quick.
    json_
        Print only the verdicts, as JSON.
    """
    from backwater import experiment
    from backwater import reproduce as machinery

    root = out or Path("results/reproduce") / system
    figures = experiment.discover(system, figure or ())
    profiles = _PROFILES[profile]
    first = machinery.plan_first(figures, profiles, seeds, root, quick=quick)
    outcomes = _do(first, jobs, "runs that settle values for others", quiet=json_)
    made = machinery.plan(figures, profiles, seeds, root, quick=quick, first=first)
    if not any(outcome.interrupted for outcome in outcomes):
        outcomes += _do(made, jobs, "runs", quiet=json_)
    title = f"Reproducing {system.upper()}{' (--quick: one seed unless asked for more, shorter runs)' if quick else ''}"
    folder = root / _part(figure, profile, seeds, quick=quick)
    return _report(title, figures, profiles, made, outcomes, folder, as_json=json_)


def _part(figure: Sequence[str] | None, profile: str, seeds: int | None, *, quick: bool) -> str:
    """The folder, below the one for all, of a report on a part: so that none overwrites another's verdicts."""
    parts = [
        *sorted(set(figure or ())),
        *([] if profile == "both" else [profile]),
        *([f"{seeds}-seeds"] if seeds is not None else []),
        *(["quick"] if quick else []),
    ]
    return "-".join(parts)


def _do(made: Plan, jobs: int | None, what: str, *, quiet: bool) -> list[Outcome]:
    """Do the open runs of a plan, with progress."""
    from backwater import reproduce as machinery
    from backwater.progress import watching

    todo = made.open_jobs()
    if made.jobs and not quiet:
        print(f"{len(made.jobs)} {what}, {len(made.jobs) - len(todo)} of them already done", file=sys.stderr)
    with watching(len(todo), quiet=quiet) as watcher:
        return machinery.run(made, jobs, watcher)


def _report(
    title: str,
    figures: Sequence[Figure],
    profiles: Sequence[str],
    made: Plan,
    outcomes: Sequence[Outcome],
    root: Path,
    *,
    as_json: bool,
) -> int:

    from backwater import report, terminal
    from backwater.reproduce import evaluate

    found: list[Reproduced] = [
        evaluate(figure, profile, made, root) for figure in figures for profile in figure.profiles(profiles)
    ]
    written = report.write(found, root, title)
    if as_json:
        print((root / "claims.json").read_text(encoding="utf-8"), end="")
    else:
        console = terminal.stdout()
        console.print(report.claims_table(found))
        console.print(report.tally(found), highlight=False)
        console.print("written: " + ", ".join(map(str, written)), highlight=False, markup=False)
    failed = [outcome for outcome in outcomes if outcome.error is not None and not outcome.interrupted]
    for outcome in failed:
        print(f"{outcome.job.label}: {outcome.error}", file=sys.stderr)
    if failed and failed[0].error is not None:
        raise failed[0].error
    if any(outcome.interrupted for outcome in outcomes):
        print("interrupted: what was finished is kept; the same command continues", file=sys.stderr)
        return Exit.CAVEATS
    return Exit.OK
