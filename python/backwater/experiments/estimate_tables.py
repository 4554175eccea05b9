"""How an estimate is told: a table for `run --estimate`, and a line before a run that takes long."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rich.table import Table

from backwater._core import ScenarioError
from backwater.common import quantities, terminal
from backwater.experiments import estimates
from backwater.experiments.estimates import Estimate, Work
from backwater.experiments.executor import Job, cores

#: How far off the numbers may be; docs/promises.md has the same, test_estimate measures it.
HONEST = "within a factor of 2; time within 3, and more where congestion changes what is sent"


def table(each: Mapping[str, Estimate]) -> Table:
    """One row for each group of runs that differ in their seeds only."""
    headings = ("hosts", "switches", "flows", "packets", "packet-hops", "CPU", "memory")
    made = terminal.table("Estimate for one run each", ["run"], headings)
    for name, one in each.items():
        sent = (_many(one.packets), _many(one.packet_hops), estimates.told_time(one.cpu_s))
        made.add_row(
            name,
            quantities.count(one.hosts),
            quantities.count(one.switches),
            quantities.count(one.flows),
            *(sent if one.known else ("not known",) * len(sent)),
            quantities.size(one.memory_bytes),
        )
    return made


def sum_line(work: Work) -> str:
    """What they take together."""
    runs = f"{work.runs} run{'s' if work.runs > 1 else ''}"
    time = estimates.told_time(work.wall_s) if work.known else "a time that is not known"
    memory = quantities.size(work.memory_bytes)
    return f"{runs}, {work.at_once} at a time: {time}, {memory} of memory besides Python's own ({HONEST})"


def warning(work: Work, option: str) -> str:
    """What is said before runs that take long; `option` is the one that tells more."""
    time, memory = estimates.told_time(work.wall_s), quantities.size(work.memory_bytes)
    return f"this takes about {time} and {memory} of memory; {option} says more, Ctrl-C keeps what is done"


#: So many runs are looked at, if nobody did before; of more of them, evenly chosen ones stand for all.
_FEW = 8


def work(jobs: Sequence[Job], workers: int | None, slower: float = 1.0, *, drawn: bool = False) -> Work:
    """What runs will take together, on a machine that is so many times slower than that of the measured costs.

    With the picture of them, if they are drawn.
    """
    step = 1 if all(job.estimate for job in jobs) else -(-len(jobs) // _FEW) or 1
    known: dict[tuple[object, ...], Estimate] = {}
    each: list[Estimate] = []
    for job in jobs[::step]:
        # Seeds of the same scenario take the same.
        key = (job.scenario, job.overrides)
        one = known[key] = known.get(key) or job.estimate or estimates.of(job.scenario, job.overrides)
        each += [replace(one, cpu_s=one.cpu_s * slower)] * step
    return estimates.together(each, workers or cores(), (estimates.START_S + estimates.DRAW_S * drawn) * slower)


def say_if_long(jobs: Sequence[Job], workers: int | None, option: str = "--estimate") -> None:
    """A line before runs that take long. What is wrong with a scenario is left to its run to tell."""
    with suppress(ScenarioError):
        if jobs and (found := work(jobs, workers)).wall_s > estimates.LONG_S:
            print(warning(found, option), file=sys.stderr)


def as_json(each: Mapping[str, Estimate], work: Work, slower: float) -> dict[str, Any]:
    """Plain values."""
    return {
        "groups": [{"run": name} | one.as_json() for name, one in each.items()],
        "runs": work.runs,
        "known": work.known,
        "at_once": work.at_once,
        "cpu_s": work.cpu_s,
        "wall_s": work.wall_s,
        "memory_bytes": work.memory_bytes,
        "slower_than_reference": slower,
    }


def _many(number: float) -> str:
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{quantities.three_digits(number / size)} {word}"
    return quantities.count(round(number))
