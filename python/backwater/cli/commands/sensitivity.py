"""``backwater sensitivity``: which claims of a paper depend on what it leaves open."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from backwater.cli.commands.reproduce import do, failures
from backwater.cli.commands.search import search as machinery_of_search
from backwater.cli.options import AtLeastOne, AtLeastTwo, Flag, Json, Words
from backwater.common import terminal
from backwater.errors import UsageError, require_folder
from backwater.papers import open_parameters, paper, paper_figure, run_costs, sensitivity_findings
from backwater.papers import sensitivity as machinery
from backwater.papers.manifest import FILE, Manifest
from backwater.papers.search import FRESH_SEEDS
from backwater.papers.sensitivity_findings import Finding


def sensitivity(
    system: str,
    /,
    *,
    parameter: Words = None,
    claim: str | None = None,
    search: Flag = False,
    runs: AtLeastOne = None,
    seeds: AtLeastOne = None,
    fresh_seeds: AtLeastTwo = None,
    jobs: AtLeastOne = None,
    quick: Flag = False,
    profile: str = "all",
    out: Path | None = None,
    json_: Json = False,
) -> int:
    """Set each parameter that a paper leaves open to its other readings and print which claims flip.

    The parameters stand in papers/SYSTEM/sensitivity.toml. Runs are shared with `backwater reproduce` and stay done.
    Writes sensitivity.json and sensitivity.parquet; `backwater report` puts them into the report.

    With --search it answers the inverse question: which values of these parameters, within the ranges that the file
    states, make a claim hold. Points are spread over all of them at once (scrambled Sobol points, always the same).
    Those where the claim holds are run again with other seeds, and only where it holds there, too, is it found.
    Writes search.json, search.parquet and a map, map.png and map.pdf; docs/open-parameters.md tells how to read them.

    Parameters
    ----------
    system
        Which paper: tcd, ici, ec, pft, bfc, pcn, floodgate or pyrrha.
    parameter
        Only this parameter, such as Q3. May be given more than once; what an earlier call found of others is kept.
    claim
        The claim that --search is for, such as TCD-F18a.
    search
        Search for values with which --claim holds.
    runs
        How many runs the points of --search may take, without those with fresh seeds; what 64 points take if not given,
        with --quick 16.
    seeds
        How many seeds; what the file asks for if not given, and with --quick what each figure asks for. With --search:
        those of every point, 1 if not given.
    fresh_seeds
        How many other seeds --search runs the points with where the claim holds; 5 if not given.
    jobs
        How many runs at the same time; one per core if not given.
    quick
        Fewer seeds and shorter runs, to see whether everything works.
    profile
        Under which settings: one of the paper's, which its paper.toml lists, or all; all if not given. --search takes
        one of them, the first of the claim's figure if not given.
    out
        Where the results of the reproduction are; results/reproduce/SYSTEM if not given.
    json_
        Print only JSON.
    """
    root = out or Path("results/reproduce") / system
    require_folder(root, "--out")
    if search or any(one is not None for one in (claim, runs, fresh_seeds)):
        return _search(
            system,
            claim,
            parameter or (),
            asked=search,
            runs=runs,
            seeds=seeds or 1,
            fresh_seeds=fresh_seeds or FRESH_SEEDS,
            jobs=jobs,
            quick=quick,
            profile=profile,
            root=root,
            as_json=json_,
        )
    own, every = open_parameters.load(system)
    _, chosen = open_parameters.load(system, parameter or ())
    count = seeds if seeds is not None else None if quick else own
    found = machinery.cases(system, chosen, paper.load(paper_figure.home(system)).chosen(profile))
    known = run_costs.read(root, quick=quick)
    first = machinery.plan_first(found, count, root, quick=quick)
    outcomes = do(run_costs.expected(first, known), jobs, "runs that settle values for others", quiet=json_)
    made = machinery.plan(found, count, root, quick=quick)
    if not any(outcome.interrupted for outcome in outcomes):
        outcomes += do(run_costs.expected(made, known), jobs, "runs", quiet=json_)
    judged = machinery.judge(found)
    folder = sensitivity_findings.place(root, quick=quick)
    told = sensitivity_findings.told(sensitivity_findings.merged(judged, _earlier(folder)), every, quick=quick)
    written = sensitivity_findings.write(told, folder)
    if json_:
        print(json.dumps(told, indent=1))
    else:
        console = terminal.stdout()
        console.print(_table(told, parameter or ()))
        names = ", ".join(map(str, written))
        console.say(f"written: {names}; {_how_to_report(system, root, out, quick=quick)}")
    return failures(outcomes)


def _search(system: str, claim: str | None, parameter: Sequence[str], *, asked: bool, **more: Any) -> int:
    """The search, if what was asked for is one."""
    if not asked:
        raise UsageError("--claim, --runs and --fresh-seeds are of a search: add --search, or leave them out")
    if claim is None:
        raise UsageError("--search needs a claim: add --claim, such as --claim TCD-F18a")
    return machinery_of_search(system, claim, parameter, **more)


def _earlier(folder: Path) -> list[Finding]:
    """What an earlier call found; nothing, with a warning, if that cannot be read."""
    try:
        return sensitivity_findings.read(folder)
    except UsageError as error:
        print(f"{error}; what it held is left out", file=sys.stderr)
        return []


def _how_to_report(system: str, root: Path, out: Path | None, *, quick: bool) -> str:
    """The command that puts the findings into a report that there is, or makes one."""
    # The whole before its parts.
    for file in (root / FILE, *sorted(root.glob(f"*/{FILE}"))):
        try:
            if Manifest.read(file.parent).quick == quick:
                return f"`{shlex.join(['backwater', 'report', str(file.parent)])}` puts it into report.html"
        except UsageError:
            continue
    words = ["backwater", "reproduce", system, *(["--quick"] if quick else []), *(["--out", str(out)] if out else [])]
    return f"there is no report yet that it fits: `{shlex.join(words)}` makes one, with it"


def _table(told: dict[str, Any], ids: Sequence[str]) -> Table:
    headings = ("parameter", "ours", "reading", "claims that flip", "looked at")
    table = terminal.table("Claims that flip with another reading", headings)
    for entry in told["parameters"]:
        if ids and entry["id"] not in ids:
            continue
        for number, reading in enumerate(entry["variants"]):
            flips = [
                f"{flip['claim']} ({flip['profile']}): {flip['before']} → {flip['after']} {flip['numbers']}".rstrip()
                for flip in reading["flips"]
            ]
            first = (f"{entry['id']}: {entry['text']}", entry["default"]) if number == 0 else ("", "")
            only = f" ({reading['profiles'][0]})" if len(reading["profiles"]) == 1 else ""
            builds = [f"by {origin}, not this one" for origin in reading["other_builds"]]
            looked = "; ".join([f"{reading['claims']} verdicts, {reading['seeds']}", *builds])
            told_flips = "\n".join([*flips, *reading["missing"]]) or "none"
            table.add_row(*map(escape, (*first, reading["name"] + only, told_flips, looked)))
        table.add_section()
    if told["smaller"]:
        table.caption = "\n".join(
            escape(f"{figure} is smaller here than in its figure: {', '.join(changes)}")
            for figure, changes in told["smaller"].items()
        )
    return table
