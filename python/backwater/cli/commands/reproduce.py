"""``backwater reproduce``: the figures of a paper, over several seeds on all cores, and which of its claims hold."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from backwater.analysis import pictures
from backwater.cli.commands import failed
from backwater.cli.commands.missing import run_missing
from backwater.cli.options import AtLeastOne, Flag, Format, Json, Width, Words
from backwater.common import terminal
from backwater.errors import Exit, UsageError, require_folder
from backwater.experiments.batch import Batch
from backwater.experiments.executor import Job, Outcome
from backwater.papers import paper, paper_figure, provenance, report, run_costs
from backwater.papers import reproduce as machinery
from backwater.papers.manifest import Manifest
from backwater.papers.paper_figure import Figure, Given
from backwater.papers.report import making, order
from backwater.papers.reproduce import Reproduction
from backwater.papers.timing import Timing


def reproduce(
    system: str,
    /,
    *,
    figure: Words = None,
    seeds: AtLeastOne = None,
    jobs: AtLeastOne = None,
    quick: Flag = False,
    profile: str = "all",
    rows: Path | None = None,
    uet: Path | None = None,
    format_: Format = None,
    width: Width = None,
    out: Path | None = None,
    json_: Json = False,
) -> int:
    """Run the figures of a paper over several seeds on all cores and print which of its claims hold.

    A claim holds if the 95 % interval of its number lies within the bound, differs if it lies outside, and is open if
    it straddles the bound. Counted are claims that could have failed.

    Runs that are done stay done: a second call continues where the first was stopped. Writes claims.json, counts.json,
    claims.md, verdicts.md, a picture per figure, timing.json and report.html, which `backwater report` makes again from
    what there is.

    Parameters
    ----------
    system
        Which paper: tcd, ici, ec, pft, bfc, pcn, floodgate or pyrrha; or uec, the published rows of the Ultra
        Ethernet Consortium's simulator.
    figure
        Only this figure, such as fig03. May be given more than once.
    seeds
        How many seeds; what each figure asks for if not given.
    jobs
        How many runs at the same time; one per core if not given.
    quick
        Fewer seeds and shorter runs, to see whether everything works.
    profile
        The settings: one of the paper's, which its paper.toml lists, such as ideal, or all; all if not given. A figure
        runs only under those that it is about.
    rows
        Of uec: judge the rows of this file instead, a CSV with the columns of papers/uec/published.csv.
    uet
        Of uec: a checkout of that simulator (ultraethernet/uet-htsim), whose matrices and topologies are taken. The
        published ones are made anew if not given.
    format_
        Draw each figure a second time, as png, pdf or svg: fig03-authors-printed.pdf.
    width
        The same, printed: `7in` (or cm, mm, pt) wide, with letters of 7 to 9 points and no title. Figures of many
        panels need a page's width.
    out
        Where results go; results/reproduce/SYSTEM if not given. The report on a part (some figures, one profile, a
        number of seeds, --quick) gets a folder of its own in there, such as fig03-authors-quick.
    json_
        Print only the verdicts, as JSON.
    """
    paper_of_pictures = pictures.asked(format_, width)
    root = out or Path("results/reproduce") / system
    given = Given(rows, uet)
    figures = paper_figure.discover(system, figure or (), given=given)
    profiles = paper.load(paper_figure.home(system)).chosen(profile, quick=quick)
    require_profiles(figures, profiles)
    require_folder(root, "--out")
    timing, known = Timing(), run_costs.read(root, quick=quick)
    with timing.phase("planning"):
        first = machinery.plan_first(figures, profiles, seeds, root, quick=quick)
    provenance.note(root, missing(first))
    with timing.phase("runs"):
        outcomes = do(run_costs.expected(first, known), jobs, "runs that settle values for others", quiet=json_)
    with timing.phase("planning"):
        made = machinery.plan(figures, profiles, seeds, root, quick=quick, first=first)
    if not any(outcome.interrupted for outcome in outcomes):
        provenance.note(root, missing(made))
        with timing.phase("runs"):
            outcomes += do(run_costs.expected(made, known), jobs, "runs", quiet=json_)
    timing.ran(outcomes)
    run_costs.learn(root, known, outcomes, quick=quick)
    folder = root / _part(figure or ([f"rows-{rows.stem}"] if rows else None), profile, seeds, quick=quick)
    names = tuple(item.name for item in figures)
    manifest = Manifest(system, shlex.join(["backwater", *sys.argv[1:]]), names, profiles, quick, made, given)
    manifest.write(folder)
    with paper_of_pictures.printed():
        code = finish(manifest, folder, root, timing, as_json=json_)
    if paper_of_pictures != pictures.Paper() and not json_:
        printed = sorted(folder.glob(f"*{machinery.PRINTED}.*"))
        terminal.stdout().say(f"printed: {', '.join(map(str, printed))}")
    return max(code, failures(outcomes))


def require_profiles(figures: Sequence[Figure], profiles: Sequence[str]) -> None:
    """Raise UsageError if no figure runs under any of the profiles."""
    if not any(figure.profiles(profiles) for figure in figures):
        names = ", ".join(f"{figure.name} ({', '.join(figure.experiment.profiles)})" for figure in figures)
        raise UsageError(f"none of the figures runs under {', '.join(profiles)}: {names}")


def _part(figure: Sequence[str] | None, profile: str, seeds: int | None, *, quick: bool) -> str:
    """The folder, below the one for all, of a report on a part: so that none overwrites another's verdicts."""
    parts = [
        *sorted(set(figure or ())),
        *([] if profile == "all" else [profile]),
        *([f"{seeds}-seeds"] if seeds is not None else []),
        *(["quick"] if quick else []),
    ]
    return "-".join(parts)


def missing(made: Reproduction) -> list[Job]:
    """The runs of a plan that no earlier call has finished."""
    return Batch(list(made.jobs.values()), made.kept).missing()


def do(made: Reproduction, jobs: int | None, what: str, *, quiet: bool) -> list[Outcome]:
    """Do the open runs of a plan, with progress."""
    if not made.jobs:
        return []
    return run_missing(made.jobs.values(), made.kept, jobs, what=what, quiet=quiet)


def finish(manifest: Manifest, folder: Path, root: Path, timing: Timing | None, *, as_json: bool) -> int:
    """Measure and draw, write the report, print the verdicts; the exit code says whether a figure failed."""
    made = making.make(manifest, folder, root, timing)
    missing = report.missing(made.figures)
    if as_json:
        print((folder / "claims.json").read_text(encoding="utf-8"), end="")
        print(*missing, sep="\n", end="\n" if missing else "", file=sys.stderr)
    else:
        console = terminal.stdout()
        console.print(report.claims_table(made.figures, made.definitions))
        console.print(report.tally(made.figures), highlight=False)
        for mark in made.marks:
            console.say(f"{mark}.")
        if manifest.quick:
            console.print(f"{report.of_quick_look(made.figures)}.", highlight=False)
        if made.definitions:
            console.print(report.held_by_tests(made.definitions), highlight=False)
        if order.has_literal(report.every(made.figures)):
            console.say(report.WHOSE)
        texts = f"{folder / 'claims.md'}, {folder / 'report.html'}"
        console.say(f"what each claim says, its numbers, and why it differs: {texts}")
        for line in missing:
            console.say(line)
        pictures = [item.picture for item in made.figures if item.picture is not None]
        console.say("written: " + ", ".join(map(str, [*made.written, *pictures])))
        if made.time is not None:
            console.say(made.time)
    for warning in made.warnings:
        print(warning, file=sys.stderr)
    failed = [item for item in made.figures if item.failure]
    for item in failed:
        print(
            f"{item.figure.name} under {item.profile} could not be measured or drawn: {item.failure}", file=sys.stderr
        )
    return Exit.CAVEATS if failed or made.warnings else Exit.OK


def failures(outcomes: Sequence[Outcome]) -> int:
    """Say what failed and raise the first; the exit code of an interrupted call."""
    failed.raise_first(outcomes)
    if any(outcome.interrupted for outcome in outcomes):
        print("interrupted: what was finished is kept; the same command continues", file=sys.stderr)
        return Exit.CAVEATS
    return Exit.OK
