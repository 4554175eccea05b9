"""What each job of a run took: together with the others, alone, and by arithmetic.

The ideal of a job is the sum over its steps of what each takes at best in an empty network: a computation its time, a
collective operation the ideal of :mod:`backwater.analysis.collectives`, reading and writing the greater of two times:
what the busiest NIC needs for its bytes, and what the two messages of a rank need one after the other. Stragglers have
no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backwater.analysis import collectives
from backwater.common import quantities
from backwater.common.late import pl
from backwater.results import Results, measures


@dataclass(frozen=True)
class StepMeasured:
    """A step of a job, on average over the iterations: from the first rank's begin to the last one's end."""

    step: int
    what: str
    time_ps: float
    ideal_ps: float | None
    algorithm_bps: float | None
    bus_bps: float | None
    bus_percent_of_line_rate: float | None


@dataclass(frozen=True)
class Measured:
    """A job. Times are None if it did not come to its end."""

    job: str
    ranks: int
    hosts: list[str]
    iterations: int
    start_ps: int | None
    end_ps: int | None
    time_ps: int | None
    ideal_ps: float | None
    alone_ps: int | None
    slowdown: float | None
    steps: list[StepMeasured]

    def values(self) -> dict[str, Any]:
        """For JSON."""
        return vars(self) | {"steps": [vars(step) for step in self.steps]}


def of(results: Results, alone: Mapping[str, Results] | None = None) -> list[Measured]:
    """Each job of a run; `alone` are runs in which the job of that name was alone."""
    if not results.has("job_steps"):
        return []
    jobs = [job for job in results.meta["scenario"].get("job", []) if _runs(results, job["name"])]
    return [_measured(results, job, (alone or {}).get(job["name"])) for job in jobs]


def _runs(results: Results, name: str) -> bool:
    only = results.meta["scenario"]["run"].get("only") or [name]
    return name in only


def _measured(results: Results, job: Mapping[str, Any], alone: Results | None) -> Measured:
    name = job["name"]
    rows = _of_job(results.job_steps, name).collect()
    took = measures.application_times(results).get(name)
    beside = measures.application_times(alone).get(name) if alone is not None else None
    places = rows.select(pl.col("rank"), pl.col("node").cast(pl.String)).unique().sort("rank")
    steps = _steps(results, job, rows, places.height) if job.get("step") else []
    ideal = _sum(job, [step.ideal_ps for step in steps]) if steps else None
    return Measured(
        name,
        places.height,
        places["node"].to_list(),
        int(job.get("iterations", 1)),
        None if rows.is_empty() else int(rows["start_ps"].to_numpy().min()),
        None if took is None else int(rows["end_ps"].to_numpy().max()),
        took,
        ideal,
        beside,
        took / beside if took and beside else None,
        steps,
    )


def _of_job(table: pl.LazyFrame, name: str) -> pl.LazyFrame:
    return table.filter(pl.col("traffic").cast(pl.String) == name)


def _sum(job: Mapping[str, Any], ideals: Sequence[float | None]) -> float | None:
    """The ideal of all iterations: after a step with messages `host-latency` passes before the next one."""
    latency = quantities.parse_time(str(job["host-latency"]))
    iterations = int(job["iterations"])
    known = [ideal for ideal in ideals if ideal is not None]
    if len(known) < len(ideals):
        return None
    messages = [step.get("compute") is None for step in job["step"]]
    between = iterations * sum(messages) - messages[-1]
    return iterations * sum(known) + between * latency


def _steps(results: Results, job: Mapping[str, Any], rows: pl.DataFrame, ranks: int) -> list[StepMeasured]:
    # A step of an iteration takes from the first rank that begins it to the last one that is done with it.
    spans = (
        rows.group_by("step", "iteration")
        .agg(took=pl.col("end_ps").max().cast(pl.Int64) - pl.col("start_ps").min().cast(pl.Int64))
        .group_by("step")
        .agg(pl.col("took").mean())
    )
    times = dict(spans.select("step", "took").iter_rows())
    flows = results.flows.join(_of_job(results.job_messages, job["name"]).select("flow", "step"), on="flow")
    found = []
    for number, step in enumerate(job["step"]):
        if number not in times:
            continue
        time, mine = times[number], flows.filter(pl.col("step") == number)
        if (compute := step.get("compute")) is not None:
            least = float(quantities.parse_time(str(compute)))
            found.append(StepMeasured(number, f"compute {compute}", time, least, None, None, None))
        elif step.get("collective") is not None:
            found.append(_collective(results, job, (number, step), mine, (time, ranks)))
        else:
            what = f"write {step['write']}" if step.get("write") is not None else f"read {step['read']}"
            found.append(StepMeasured(number, what, time, _storage(results, job, mine), None, None, None))
    return found


def _collective(
    results: Results,
    job: Mapping[str, Any],
    step: tuple[int, Mapping[str, Any]],
    flows: pl.LazyFrame,
    measured: tuple[float, int],
) -> StepMeasured:
    (number, keys), (time, ranks) = step, measured
    op, size = keys["collective"], quantities.parse_size(str(keys["size"]).replace(" ", ""))
    algorithm = keys.get("algorithm") or collectives.DEFAULTS[op]
    rates = collectives.rates(results, flows)
    entry = {"host-latency": job["host-latency"], "iterations": job["iterations"]}
    group = collectives.within(results.meta["scenario"], keys)
    ideal = collectives.ideal(results.meta["scenario"], entry, flows, (op, algorithm, ranks, size, group), rates)
    whole, factor = collectives.bandwidth(op, ranks, size)
    algorithmic = 8e12 * whole / time if time else None
    bus = None if algorithmic is None else algorithmic * factor
    line = int(rates.select(pl.col("rate").min()).item())
    share = None if bus is None else 100 * bus / line
    return StepMeasured(number, f"{op} of {keys['size']}, {algorithm}", time, ideal, algorithmic, bus, share)


def _storage(results: Results, job: Mapping[str, Any], flows: pl.LazyFrame) -> float | None:
    """Two messages of each rank, one after the other; or the busiest NIC."""
    packet = results.meta["scenario"]["packet"]
    if packet.get("padded"):
        return None
    latency = quantities.parse_time(str(job["host-latency"]))
    iterations = int(job["iterations"])
    ends = [pl.col(end).cast(pl.String) for end in ("src", "dst")]
    # The two messages of a rank have the same two hosts.
    pair = pl.min_horizontal(*ends).alias("one"), pl.max_horizontal(*ends).alias("other")
    both = flows.group_by(*pair).agg(took=pl.col("ideal_fct_ps").cast(pl.Int64).sum() / iterations)
    chain = float(both.select(pl.col("took").max()).collect().item()) + latency
    return max(chain, collectives.busiest_ps(packet, flows, collectives.rates(results, flows), iterations))


def lines(found: Sequence[Measured], others: bool) -> list[str]:
    """A line for each job, and one for each of its collectives. `others`: whether other traffic was there."""
    made = []
    for job in found:
        hosts = f"{job.ranks} rank{'s' if job.ranks != 1 else ''}"
        if job.time_ps is None:
            made.append(f"job {job.job}: {hosts}; it did not come to its end")
            continue
        often = f", {job.iterations} iterations" if job.iterations > 1 else ""
        since = f" from {quantities.time(job.start_ps)}" if job.start_ps else ""
        told = f"job {job.job}: {hosts}{often}, {quantities.time(job.time_ps)}{since}"
        if job.ideal_ps:
            times = quantities.three_digits(job.time_ps / job.ideal_ps)
            told += f"; ideal {quantities.time(job.ideal_ps)}, {times} times that"
        if job.alone_ps and job.slowdown:
            told += f"; alone {quantities.time(job.alone_ps)}, slowdown {quantities.three_digits(job.slowdown)}"
        elif not others:
            told += "; it was alone"
        made.append(told)
        made += [_step_line(job, step) for step in job.steps if step.bus_bps is not None]
    return made


def _step_line(job: Measured, step: StepMeasured) -> str:
    told = f"job {job.job}, step {step.step}: {step.what}: {quantities.time(step.time_ps)}"
    if step.ideal_ps:
        told += f"; ideal {quantities.time(step.ideal_ps)}"
    share = quantities.three_digits(step.bus_percent_of_line_rate or 0.0)
    return (
        f"{told}; algorithm bandwidth {quantities.rate(step.algorithm_bps or 0)}, bus bandwidth "
        f"{quantities.rate(step.bus_bps or 0)}, {share} % of the line rate"
    )


def as_json(results: Results, alone: Mapping[str, Results]) -> dict[str, Any]:
    """The jobs of a run for ``run --json``; empty without any."""
    found = [one.values() for one in of(results, alone)]
    return {"jobs": found} if found else {}
