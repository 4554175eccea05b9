"""What ``backwater sensitivity --search`` does: the inverse question, which values make a claim hold."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from backwater.cli.commands.reproduce import do
from backwater.common import terminal
from backwater.errors import Exit
from backwater.experiments.estimates import told_time
from backwater.experiments.executor import Outcome, cores
from backwater.papers import open_parameters, run_costs, search_findings, search_report, sensitivity_findings
from backwater.papers import search as machinery
from backwater.papers.reproduce import Reproduction
from backwater.papers.search import Search


def search(
    system: str,
    claim: str,
    parameters: Sequence[str],
    *,
    runs: int | None,
    seeds: int,
    fresh_seeds: int,
    jobs: int | None,
    quick: bool,
    profile: str,
    root: Path,
    as_json: bool,
) -> int:
    """Search, write what was found, and print it."""
    _, chosen = open_parameters.load(system, parameters)
    costs = sensitivity_findings.place(root, quick=quick)
    known = run_costs.read(costs, quick=quick)
    asked = machinery.prepare(
        system, claim, chosen, profile, root, runs=runs, seeds=seeds, fresh_seeds=fresh_seeds, quick=quick, known=known
    )
    if not as_json:
        print(_announced(asked, jobs), file=sys.stderr)

    def run(made: Reproduction, what: str) -> Sequence[Outcome]:
        outcomes = do(asked.priced(made), jobs, what, quiet=as_json)
        run_costs.learn(costs, known, outcomes, quick=quick)
        if any(outcome.interrupted for outcome in outcomes):
            raise KeyboardInterrupt
        return outcomes

    try:
        asked.look(run)
    except KeyboardInterrupt:
        print("interrupted: what was finished is kept; the same command continues", file=sys.stderr)
        return Exit.CAVEATS
    told = search_findings.facts(asked)
    files = search_report.write(asked, told)
    if as_json:
        print(json.dumps({**told, "files": list(map(str, files))}, indent=1))
    else:
        console = terminal.stdout()
        console.print(search_report.table(asked))
        for line in search_report.lines(asked):
            console.say(line, soft_wrap=True)
        console.say(f"written: {', '.join(map(str, files))}")
    return Exit.OK


def _announced(asked: Search, jobs: int | None) -> str:
    """What will be run, and how long that takes, before it begins."""
    workers, fresh = jobs or cores(), asked.fresh_count
    parts = ((asked.points, asked.count), (1, fresh))
    time, more = (told_time(asked.cost(points, seeds) / workers) for points, seeds in parts)
    each = f"{asked.runs_each} run{'s' if asked.runs_each > 1 else ''} each"
    return (
        f"{asked.claim.id} under {asked.profile}: {asked.points} points over {len(asked.dimensions)} open parameters "
        f"of {asked.figure.name}, {each}: about {time}, {workers} at a time; "
        f"{more} more for each point where it holds ({fresh} fresh seeds). What is done already is not run again."
    )
