"""``backwater critical``: which message of an application waited where, and for whom."""

from __future__ import annotations

import json
from pathlib import Path

from backwater.analysis import critical as analysis
from backwater.analysis.critical import report
from backwater.cli.options import Count, Json
from backwater.common import terminal
from backwater.errors import UsageError
from backwater.experiments import alone
from backwater.results import Results


def critical(
    results: Path,
    /,
    *,
    job: str | None = None,
    iteration: int | None = None,
    top: Count = 8,
    json_: Json = False,
) -> None:
    """Print the critical path of each application: its waits, the longest first, where they were, for whom.

    Applications are collectives, traces, jobs, programs of ranks and GPCNeT. The path leads from the last message, or
    the rank that ended last, back to the start, always to what came last. Its messages alone in an empty
    network, the time of hosts and the waits add up to the application's time. Needs a run with `probe.dependencies`;
    where in the network a message waited needs `probe.blame` and `probe.pauses`. All are on by default. What it waits
    alone is told if `backwater run` has kept the run in which nothing else sent.

    Parameters
    ----------
    results
        A results folder.
    job
        Only the traffic entry of this name.
    iteration
        Only this iteration of a collective, from 0.
    top
        How many waits and places to print.
    json_
        Print JSON.
    """
    run = Results(results)
    analysis.whole(run)
    paths = list(analysis.paths(run, job, iteration))
    found = [analysis.of(run, path, iteration, top) for path in paths]
    if not found:
        raise UsageError(
            f"{run.folder} has no application of which a message came to its end, or its run had "
            "probe.dependencies = false: it has no critical path"
        )
    known = alone.kept(run, [path.graph.traffic for path in paths])
    beside = [analysis.beside(known, path.graph.traffic, iteration) for path in paths]
    if json_:
        print(json.dumps([report.values(*both) for both in zip(found, beside, strict=True)], indent=2))
        return
    console = terminal.stdout()
    for both in zip(found, beside, strict=True):
        for part in report.report(*both):
            console.say(part)
