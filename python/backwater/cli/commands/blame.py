"""``backwater blame``: who held whom back in a run, who is to blame, and what it cost the others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from backwater.analysis import pictures
from backwater.analysis.blame import Blame, report
from backwater.cli.options import Count, Format, Json, Width
from backwater.common import quantities, terminal
from backwater.errors import UsageError, require_folder
from backwater.results import Results


def blame(
    results: Path,
    /,
    *,
    json_: Json = False,
    plot: Path | None = None,
    format_: Format = None,
    width: Width = None,
    bin_: Annotated[str, Parameter(name="--bin")] = "100us",
    out: Path | None = None,
    top: Count = 8,
    by: Literal["traffic", "job", "rank", "collective", "iteration", "step"] | None = None,
) -> None:
    """Print which ports were congestion roots, what they held back, which flows fed them, and what victims lost.

    Computed from the simulation's ground truth, the chain of PAUSEs or of missing credits, and not from any detector's
    verdict; the marks of the detector are scored against it. Needs a run with `probe.blame`, `probe.pauses` and
    `probe.marks`, which are on by default.

    Parameters
    ----------
    results
        A results folder.
    json_
        Print JSON.
    plot
        Draw roots and branches over time, with the detector's precision and recall, to this file (.png, .pdf, .svg).
    format_
        Of the picture: png, pdf or svg; what --plot ends in if not given.
    width
        Print it: `3.33in` (or cm, mm, pt) wide, with letters of 7 to 9 points and no title.
    bin_
        The time step of precision and recall, such as 100us or 1ms.
    out
        Write blame.json and Parquet files to this folder.
    top
        How many roots to print, and how many rows for each.
    by
        Print only who held whom back, summed up by traffic entry, by job, by rank, by collective (a step of a job over
        its iterations), by iteration, or by step (one step of one iteration, the line of a trace).
    """
    try:
        bin_ps = quantities.parse_time(bin_)
    except ValueError as error:
        raise UsageError(f"--bin: {error}") from None
    if bin_ps <= 0:
        raise UsageError(f"--bin: {bin_} is not longer than 0; write a time such as 100us")
    plot, paper = pictures.to_plot(plot, format_, width)
    run = Results(results)
    if out is not None:
        require_folder(out, "--out")
    found = Blame(run)
    if by is not None:
        if json_:
            print(json.dumps(report.sums(found, by), indent=2))
        else:
            console = terminal.stdout()
            for part in report.by_group(found, by, top):
                console.say(part)
        return
    # Before anything is printed: the reader of a pipe may leave, as `head` does.
    written = report.write(found, out, bin_ps) if out is not None else []
    if plot is not None:
        written.append(paper.draw("blame.picture", found, plot, bin_ps))
    if json_:
        print(json.dumps(report.values(found, bin_ps), indent=2))
    else:
        _print(found, top)
        for file in written:
            print(f"written: {file}")


def _print(found: Blame, top: int) -> None:
    console = terminal.stdout()
    for part in report.report(found, top):
        console.say(part)
