"""What each job of a run took: together with the others, alone, and by arithmetic.

The ideal of a job is the sum over its steps of what each takes at best in an empty network: a computation its time, a
collective operation the ideal of :mod:`backwater.analysis.collectives`, reading and writing the greater of two times:
what the busiest NIC needs for its bytes, and what the two messages of a rank need one after the other. Stragglers have
no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backwater.analysis import collectives
from backwater.common import quantities
from backwater.common.late import pl
from backwater.results import Results, measures

#: A job that takes less than so many times what it takes alone is said to, with why that may be.
_FASTER = 0.995


@dataclass(frozen=True)
class StepMeasured:
    """A step of a job, on average over the iterations.

    Its time is from the begin of the last rank that begins it to the end of the last one that is done. So the times of
    steps do not overlap, and those of all iterations add up to that of the job. Of groups it is the time of the slowest
    one: they are not in step with each other.
    """

    step: int
    what: str
    time_ps: float
    #: From a rank's own begin to its own end, with what it waits for others: on average, and the slowest rank.
    rank_mean_ps: float
    rank_slowest_ps: float
    ideal_ps: float | None
    #: The same as `time_ps` and `bus_bps` of the job alone.
    alone_ps: float | None
    alone_bus_bps: float | None
    algorithm_bps: float | None
    bus_bps: float | None
    bus_percent_of_line_rate: float | None
    #: Ranks that do a collective together, and how far apart they are.
    group: int | None = None
    stride: int | None = None


@dataclass(frozen=True)
class Measured:
    """A job. Times are None if it did not come to its end."""

    job: str
    ranks: int
    #: Ranks that come to an end, and those of them that have.
    finite_ranks: int
    done_ranks: int
    #: Where its ranks are, rank 0 first.
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
    placed = measures.placements(results)
    jobs = [job for job in results.meta["scenario"].get("job", []) if job["name"] in placed]
    return [_measured(results, job, (alone or {}).get(job["name"])) for job in jobs]


def _measured(results: Results, job: Mapping[str, Any], alone: Results | None) -> Measured:
    name = job["name"]
    rows = _of_job(results.job_steps, name).collect()
    took = measures.application_times(results).get(name)
    beside = measures.application_times(alone).get(name) if alone is not None else None
    place = measures.placements(results)[name]
    hosts = list(place["hosts"])
    steps = _steps(results, job, rows, (len(hosts), _times(alone, job))) if job.get("step") else []
    ideal = _sum(job, [step.ideal_ps for step in steps]) if steps else None
    return Measured(
        name,
        len(hosts),
        place["finite_ranks"],
        measures.ranks_done(results)[name],
        hosts,
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


def _times(results: Results | None, job: Mapping[str, Any]) -> dict[int, float]:
    """What each step of a job takes in a run, on average over the iterations."""
    if results is None or not results.has("job_steps"):
        return {}
    rows = _of_job(results.job_steps, job["name"]).collect()
    return {int(number): _time(own, job["step"][int(number)]) for (number,), own in rows.group_by("step")}


def _time(rows: pl.DataFrame, step: Mapping[str, Any]) -> float:
    """From the last rank of a group that begins a step to the last that is done with it, on average over iterations."""
    took = pl.col("end_ps").max().cast(pl.Int64) - pl.col("start_ps").max().cast(pl.Int64)
    groups = rows.with_columns(group=_group(step)).group_by("iteration", "group").agg(took=took)
    slowest = groups.group_by("iteration").agg(pl.col("took").max())
    return float(slowest.select(pl.col("took").mean()).item())


def _group(step: Mapping[str, Any]) -> pl.Expr:
    """The first rank of the group that a `rank` belongs to; 0 if all are one group."""
    if step.get("group") is None:
        return pl.lit(0)
    rank, stride = pl.col("rank").cast(pl.Int64), _stride(step)
    span = int(step["group"]) * stride
    return rank // span * span + rank % stride


def _stride(step: Mapping[str, Any]) -> int:
    return int(step.get("stride") or 1)


def _steps(
    results: Results, job: Mapping[str, Any], rows: pl.DataFrame, beside: tuple[int, Mapping[int, float]]
) -> list[StepMeasured]:
    """Each step; `beside` are the number of ranks, and the times of steps when the job is alone."""
    ranks, alone = beside
    messages = _of_job(results.job_messages, job["name"]).select("flow", "step", "rank")
    flows = results.flows.join(messages, on="flow")
    found = []
    for number, step in enumerate(job["step"]):
        own = rows.filter(pl.col("step") == number)
        if own.is_empty():
            continue
        elapsed = pl.col("elapsed_ps").cast(pl.Int64)
        each = own.group_by("iteration").agg(mean=elapsed.mean(), slowest=elapsed.max())
        mean, slowest = each.select(pl.col("mean").mean(), pl.col("slowest").mean()).row(0)
        mine = flows.filter(pl.col("step") == number).with_columns(group=_group(step))
        time = _time(own, step)
        made = StepMeasured(number, "", time, mean, slowest, None, alone.get(number), None, None, None, None)
        if (compute := step.get("compute")) is not None:
            least = float(quantities.parse_time(str(compute)))
            found.append(replace(made, what=f"compute {compute}", ideal_ps=least))
        elif step.get("collective") is not None:
            found.append(_collective(results, job, step, mine, (made, ranks)))
        else:
            what = f"write {step['write']}" if step.get("write") is not None else f"read {step['read']}"
            found.append(replace(made, what=what, ideal_ps=_storage(results, job, mine)))
    return found


def _collective(
    results: Results,
    job: Mapping[str, Any],
    keys: Mapping[str, Any],
    flows: pl.LazyFrame,
    measured: tuple[StepMeasured, int],
) -> StepMeasured:
    made, ranks = measured
    op, size = keys["collective"], quantities.parse_size(str(keys["size"]).replace(" ", ""))
    algorithm = keys.get("algorithm") or collectives.DEFAULTS[op]
    rates = collectives.rates(results, flows)
    entry = {"host-latency": job["host-latency"], "iterations": job["iterations"]}
    n, stride = int(keys.get("group") or ranks), _stride(keys)
    within = collectives.within(results.meta["scenario"], keys)
    ideal = collectives.ideal(results.meta["scenario"], entry, flows, (op, algorithm, n, size, within), rates)
    whole, factor = collectives.bandwidth(op, n, size)

    def algorithmic(time: float | None) -> float | None:
        return 8e12 * whole / time if time else None

    here, alone = algorithmic(made.time_ps), algorithmic(made.alone_ps)
    bus = None if here is None else here * factor
    line = int(rates.select(pl.col("rate").min()).item())
    apart = f", {stride} apart" if stride > 1 else ""
    groups = f", groups of {n} ranks{apart}" if n < ranks else ""
    return replace(
        made,
        what=f"{op} of {keys['size']}, {algorithm}{groups}",
        ideal_ps=ideal,
        algorithm_bps=here,
        bus_bps=bus,
        bus_percent_of_line_rate=None if bus is None else 100 * bus / line,
        alone_bus_bps=None if alone is None else alone * factor,
        group=n,
        stride=stride,
    )


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
    """A line for each job, and one for each of its steps. `others`: whether other traffic was there."""
    made = []
    for job in found:
        hosts = _ranks(job)
        if job.time_ps is None:
            done = f"{job.done_ranks} of {job.finite_ranks} ranks are done" if job.finite_ranks else "none of them ends"
            made.append(f"job {job.job}: {hosts}; {done}")
            continue
        often = f", {job.iterations} iterations" if job.iterations > 1 else ""
        since = f" from {quantities.time(job.start_ps)}" if job.start_ps else ""
        told = f"job {job.job}: {hosts}{often}, {quantities.time(job.time_ps)}{since}"
        if job.ideal_ps:
            times = quantities.three_digits(job.time_ps / job.ideal_ps)
            told += f"; ideal {quantities.time(job.ideal_ps)}, {times} times that"
        if job.alone_ps and job.slowdown:
            told += f"; alone {quantities.time(job.alone_ps)}, slowdown {quantities.three_digits(job.slowdown)}"
            if job.slowdown < _FASTER:
                told += ", as alone its packets met other queues and marks"
        elif not others:
            told += "; it was alone"
        made.append(told)
        made += [_step_line(job, step) for step in job.steps]
    return made


def _ranks(job: Measured) -> str:
    """How many there are; of several at a host, of how many hosts; how many go on for ever."""
    hosts, endless = len(set(job.hosts)), job.ranks - job.finite_ranks
    told = f"{job.ranks} rank{'s' if job.ranks != 1 else ''}"
    if hosts < job.ranks:
        told += f" at {hosts} host{'s' if hosts != 1 else ''}"
    return f"{told}, {endless} of them endless" if 0 < endless < job.ranks else told


def _step_line(job: Measured, step: StepMeasured) -> str:
    told = f"job {job.job}, step {step.step}: {step.what}: {quantities.time(step.time_ps)}"
    if job.iterations > 1:
        told += " on average"
    if step.ideal_ps:
        told += f"; ideal {quantities.time(step.ideal_ps)}"
    if step.alone_ps:
        told += f"; alone {quantities.time(step.alone_ps)}"
    if step.bus_bps is None or step.algorithm_bps is None:
        return told
    share = quantities.three_digits(step.bus_percent_of_line_rate or 0.0)
    told += f"; algorithm bandwidth {quantities.rate(step.algorithm_bps)}, bus bandwidth "
    told += f"{quantities.rate(step.bus_bps)}, {share} % of the line rate"
    return told if step.alone_bus_bps is None else f"{told}; alone {quantities.rate(step.alone_bus_bps)}"


def as_json(results: Results, alone: Mapping[str, Results]) -> dict[str, Any]:
    """The jobs of a run for ``run --json``; empty without any."""
    found = [one.values() for one in of(results, alone)]
    return {"jobs": found} if found else {}
