"""What tables and figures read from a results folder: totals per traffic entry and port, intervals, rates over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from backwater.common import quantities
from backwater.common.late import NDArray, np, pl
from backwater.results import Results
from backwater.results.catalogue import Measure, named
from backwater.results.flow_expressions import Flows
from backwater.scenario import senders

#: The words of the `state` columns, in the order in which they are drawn and listed.
STATES = ("non-congestion", "undetermined", "judging", "congestion")


@dataclass(frozen=True)
class Series:
    """Values over time; times in picoseconds since the start of the run."""

    time_ps: NDArray[np.int64]
    value: NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A stretch of time, in picoseconds, and what holds during it."""

    start_ps: int
    end_ps: int
    what: str


def under_credits(scenario: Mapping[str, Any]) -> bool:
    """Whether credits hold ports back in a resolved scenario, and not PAUSEs."""
    return bool(scenario.get("switch", {}).get("flow-control") == "credits")


def holds(scenario: Mapping[str, Any]) -> bool:
    """Whether flow control can hold a port back in a resolved scenario: else there is nothing to count."""
    return bool(scenario.get("switch", {}).get("flow-control") != "none")


def supplied(scenario: Mapping[str, Any]) -> list[str]:
    """The traffic entries of a resolved scenario whose flows are as large as what was sent of their supply."""
    return of_kind(scenario, "supply")


def of_kind(scenario: Mapping[str, Any], kind: str) -> list[str]:
    """The traffic entries of a kind in a resolved scenario."""
    return [entry["name"] for entry in scenario.get("traffic", []) if entry.get("kind") == kind]


def isolation(scenario: Mapping[str, Any]) -> str:
    """How switches isolate flows: none, ci, ici or ici-plus, which runs of earlier versions call ici+."""
    kind = str((scenario.get("switch", {}).get("isolation") or {}).get("kind", "none"))
    return "ici-plus" if kind == "ici+" else kind


def throttle(scenario: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """What throttles NICs, none or pft, and the keys of PFT. In runs of earlier versions they stand elsewhere."""
    throttle = scenario.get("host", {}).get("throttle", "none")
    if isinstance(throttle, str):
        return throttle, scenario.get("pft", {})
    return str(throttle["kind"]), throttle.get("pft", {})


def programs(scenario: Mapping[str, Any]) -> list[str]:
    """The traffic entries that are ranks of programs; their flows are channels between two ranks, which have no end."""
    ranks = [job["name"] for job in scenario.get("job", []) if job.get("program") or job.get("gpcnet")]
    return of_kind(scenario, "program") + of_kind(scenario, "gpcnet") + ranks


def has_puts(scenario: Mapping[str, Any]) -> bool:
    """Whether a resolved scenario has traffic of PUTs."""
    return any(entry.get("transport") == "put" for entry in senders.of(scenario))


def repeats(scenario: Mapping[str, Any]) -> bool:
    """Whether queue pairs of a resolved scenario send again what is lost; flows of Ultra Ethernet always do."""
    shared = scenario.get("transport", {}).get("reliability", "none")
    others = [entry for entry in senders.of(scenario) if entry.get("transport") != "put"]
    return any(entry.get("transport") == "uec" or (entry.get("reliability") or shared) != "none" for entry in others)


def sends_again(scenario: Mapping[str, Any]) -> bool:
    """Whether PUTs, queue pairs or flows of Ultra Ethernet of a resolved scenario do so."""
    return has_puts(scenario) or repeats(scenario)


#: Kinds whose messages depend on each other.
_APPLICATIONS = ("trace", "bale", "collective")


def applications(scenario: Mapping[str, Any]) -> list[str]:
    """The traffic entries whose messages depend on each other, listed before the run."""
    return [entry["name"] for entry in scenario.get("traffic", []) if entry.get("kind") in _APPLICATIONS]


def jobs(scenario: Mapping[str, Any]) -> list[str]:
    """The jobs of a resolved scenario."""
    return [job["name"] for job in scenario.get("job", [])]


def application_starts(scenario: Mapping[str, Any]) -> dict[str, int]:
    """When each traffic entry and job of a resolved scenario begins, in picoseconds."""
    return {entry["name"]: quantities.parse_time(str(entry.get("start", "0s"))) for entry in senders.of(scenario)}


def application_times(results: Results) -> dict[str, int | None]:
    """By traffic entry how long its application took, in picoseconds; None if the run ended before it did.

    From the start of the traffic entry, so that what is computed before the first message counts: to the last finish of
    messages that depend on each other; of ranks to that of the last one that came to its end.
    """
    times: dict[str, int | None] = {}
    starts = application_starts(results.meta["scenario"])
    for name in applications(results.meta["scenario"]):
        flows = results.flows.filter(pl.col("traffic").cast(pl.String) == name)
        row = flows.select(pl.len(), done=pl.col("finish_ps").count(), end=pl.col("finish_ps").max().cast(pl.Int64))
        messages, done, end = row.collect().row(0)
        times[name] = int(end) - starts[name] if messages == done > 0 else None
    if results.has("job_steps"):
        times |= _job_times(results)
    for name in programs(results.meta["scenario"]):
        if results.has("ranks") and name not in times:
            mine = results.ranks.filter(pl.col("traffic").cast(pl.String) == name)
            ends = pl.col("finished_ps")
            last, running = mine.select(last=ends.max(), running=ends.null_count()).collect().row(0)
            times[name] = int(last) - starts[name] if last is not None and running == 0 else None
    return times


def placements(results: Results) -> dict[str, Mapping[str, Any]]:
    """Of each job that ran `hosts`, where its ranks are, rank 0 first, and `finite_ranks`, how many come to an end."""
    return {one["job"]: one for one in results.meta.get("placements", [])}


def ranks_done(results: Results) -> dict[str, int]:
    """How many ranks of each job that ran have come to their end."""
    if not results.has("job_steps"):
        return {}
    jobs = {job["name"]: job for job in results.meta["scenario"].get("job", [])}
    found = {}
    for name in placements(results):
        steps = max(len(jobs[name].get("step", [])), 1)
        number = pl.col("iteration").cast(pl.Int64) * steps + pl.col("step")
        last = pl.col("traffic").cast(pl.String) == name, number == int(jobs[name].get("iterations", 1)) * steps - 1
        found[name] = int(results.job_steps.filter(*last).select(pl.len()).collect().item())
    return found


def _job_times(results: Results) -> dict[str, int | None]:
    """From the start of each job to the end of its last rank; None if a rank that ends has not ended."""
    times, done = dict[str, int | None](), ranks_done(results)
    for name, place in placements(results).items():
        times[name] = None
        if 0 < place["finite_ranks"] == done[name] and results.complete:
            rows = results.job_steps.filter(pl.col("traffic").cast(pl.String) == name)
            start, end = rows.select(pl.col("start_ps").min(), pl.col("end_ps").max()).collect().row(0)
            times[name] = int(end) - int(start)
    return times


def end_ps(results: Results) -> int:
    """When the run ended."""
    return int(results.meta["sim_time_ps"])


def storing(scenario: Mapping[str, Any]) -> list[str]:
    """The jobs of a resolved scenario that write to storage hosts or read from them."""
    return [
        job["name"]
        for job in scenario.get("job", [])
        if any(step.get("write") is not None or step.get("read") is not None for step in job.get("step") or ())
    ]


def timed_flows(results: Results) -> pl.LazyFrame:
    """The flows; answers and questions of storage, of 1 B, have no FCT and no slowdown: they carry nothing."""
    jobs = [job for job in results.meta["scenario"].get("job", []) if job["name"] in storing(results.meta["scenario"])]
    if not jobs or not results.has("job_messages"):
        return results.flows
    traffic, step = pl.col("traffic").cast(pl.String), pl.col("step").cast(pl.Int64)
    stored = [
        (traffic == job["name"]) & (step == number)
        for job in jobs
        for number, keys in enumerate(job["step"])
        if keys.get("write") is not None or keys.get("read") is not None
    ]
    messages = results.job_messages.filter(pl.any_horizontal(stored)).select("flow", stored=pl.lit(True))
    short = pl.col("stored").is_not_null() & (pl.col("size_bytes") == 1)
    timed = [pl.when(~short).then(pl.col(name)).alias(name) for name in ("fct_ps", "slowdown")]
    return results.flows.join(messages, on="flow", how="left", maintain_order="left").with_columns(timed).drop("stored")


#: What :func:`by_traffic` tells; of a run that sends again what is lost, that and what receivers dropped, too.
_SUMMARY = named(
    "flows finite finished packets ce_packets ue_packets received_bytes goodput_bps mean_fct_ps "
    "p99_slowdown max_slowdown slowdowns"
)
_OF_REPEATS = named("resent_packets dropped_packets")


@lru_cache(maxsize=256)
def by_traffic(results: Results) -> pl.DataFrame:
    """One row per traffic entry, in the order of the scenario.

    `goodput_bps` is the payload that the entry's flows received over a time: from the first start to the last
    finish, or to the end of the run if one did not finish. `finite` counts the flows that have an end. Flows of
    supplied sources have none: they are as large as what was sent of the supply, and their FCT would tell nothing. Nor
    have channels between ranks, which count from the start of the run. `p99_slowdown` is null of too few `slowdowns`
    (:mod:`backwater.common.percentiles`); `max_slowdown` is not. Computed once for each `Results`. Of a run that sends
    again what is lost there are ``resent_packets`` and ``dropped_packets`` (by receivers), too.
    """
    return of_traffic(results, (*_SUMMARY, *(_OF_REPEATS if sends_again(results.meta["scenario"]) else ())))


def of_traffic(results: Results, wanted: Iterable[Measure]) -> pl.DataFrame:
    """Those of these measures that flows tell, one row per traffic entry, in the order of the scenario."""
    scenario = results.meta["scenario"]
    of = Flows(supplied(scenario), programs(scenario), end_ps(results))
    measured = {one.name: one.expression(of) for one in wanted if one.expression is not None}
    return (
        # One key, and that a number: of two million flows half of the time.
        timed_flows(results)
        .group_by("traffic_index")
        .agg(pl.col("traffic").first().cast(pl.String), **measured)
        .sort("traffic_index")
        .collect()
    )


def busiest_priority(results: Results) -> int:
    """The priority that put most bytes on the wires: the one that a figure shows if nothing else is said."""
    ranked = (
        results.ports.group_by("priority")
        .agg(pl.col("sent_bytes").sum())
        .sort("sent_bytes", "priority", descending=True)
    )
    return int(ranked.select(pl.col("priority").first()).collect().item())


@lru_cache(maxsize=256)
def data_priorities(results: Results) -> list[int]:
    """The priorities, or virtual lanes, of data, in order: of the flows, and of congested-flow queues.

    The busiest one if there are no flows.
    """
    found = results.flows.select(pl.col("priority").unique()).collect()["priority"].to_list()
    scenario = results.meta["scenario"]
    if isolation(scenario) != "none" and "cfq-priority" in scenario["switch"]["isolation"]:
        found.append(scenario["switch"]["isolation"]["cfq-priority"])
    return sorted({int(priority) for priority in found}) or [busiest_priority(results)]


def hosts(results: Results) -> list[int]:
    """The numbers of the hosts; of runs that do not tell, none."""
    roles = results.meta.get("network", {}).get("nodes", {}).get("role", [])
    return [number for number, role in enumerate(roles) if role == "host"]


def scale_up(results: Results) -> list[str]:
    """The names of the switches within servers; of runs that do not tell, none."""
    network = results.meta.get("network", {})
    return [network["nodes"]["name"][number] for number in network.get("scale_up", ())]


#: Reasons in tables of drops for which nothing was dropped on its way.
NO_DROPS = ("not-taken", "trimmed")


def drops(results: Results) -> int:
    """Packets that switches, links and faults dropped; not those trimmed, nor what receivers did not take."""
    if results.has("drop_counts"):
        lost = results.drop_counts.filter(~pl.col("reason").cast(pl.String).is_in(NO_DROPS))
        return int(lost.select(pl.col("packets").sum()).collect().item())
    return int(results.ports.select(pl.col("dropped_packets").sum()).collect().item())


def trims(results: Results) -> int | None:
    """Packets that switches trimmed: their headers went on. None where switches do not trim."""
    if results.meta["scenario"].get("switch", {}).get("overflow") != "trim" or not results.has("drop_counts"):
        return None
    cut = results.drop_counts.filter(pl.col("reason").cast(pl.String) == "trimmed")
    return int(cut.select(pl.col("packets").sum()).collect().item())


def on_the_wire(results: Results) -> dict[str, float | None]:
    """`sent_bytes` of all hosts, and `useful_percent`, the payload that hosts took of it; without hosts neither."""
    numbers = hosts(results)
    if not numbers:
        return {}
    sent = results.ports.filter(pl.col("node_index").is_in(numbers)).select(pl.col("sent_bytes").sum()).collect().item()
    taken = results.flows.select(pl.col("received_bytes").sum()).collect().item()
    return {"sent_bytes": float(sent), "useful_percent": 100 * taken / sent if sent else None}


def recovery(results: Results) -> int | None:
    """From the end of the last incast to the last finish of other flows that had begun by then, in picoseconds, or 0.

    None without an incast beside others, and if a flow that is asked for did not come to its end.
    """
    names = of_kind(results.meta["scenario"], "incast")
    if not names:
        return None
    times = pl.col("start_ps", "finish_ps").cast(pl.Int64)
    flows = results.flows.select(times, incast=pl.col("traffic").cast(pl.String).is_in(names)).collect()
    incasts, others = flows.filter("incast"), flows.filter(~pl.col("incast"))
    if incasts.is_empty() or others.is_empty() or incasts["finish_ps"].null_count():
        return None
    end = int(incasts["finish_ps"].max())  # type: ignore[arg-type]
    begun = others.filter(pl.col("start_ps") < end)["finish_ps"]
    return None if begun.null_count() else max(0, int(begun.max() or 0) - end)  # type: ignore[arg-type]


def by_port(results: Results, ports: Sequence[str], priority: int) -> pl.DataFrame:
    """One row per named egress port at one priority, in the order of `ports`; `name` is the name that was asked for."""
    labels = {results.port(name): name for name in ports}
    order = {label: index for index, label in enumerate(labels)}
    label = pl.col("port").cast(pl.String)
    return (
        results.ports.filter(label.is_in(list(labels)), pl.col("priority") == priority)
        .with_columns(
            port=label,
            name=label.replace_strict(labels, return_dtype=pl.String),
            order=label.replace_strict(order, return_dtype=pl.Int64),
        )
        .sort("order")
        .drop("order")
        .collect()
    )


def _at(frame: pl.LazyFrame, results: Results, port: str, priority: int) -> pl.LazyFrame:
    here = pl.col("port").cast(pl.String) == results.port(port)
    return frame.filter(here, pl.col("priority") == priority).sort("time_ps", maintain_order=True)


def queue(results: Results, port: str, priority: int) -> Series:
    """The egress queue of a port in bytes, as sampled."""
    frame = _at(results.samples, results, port, priority).select("time_ps", "queue_bytes").collect()
    return Series(_int64(frame["time_ps"]), frame["queue_bytes"].to_numpy().astype(np.float64))


def send_rate(results: Results, port: str, priority: int, bin_ps: int) -> Series:
    """The rate at which a port put bytes on the wire, in bit/s, over bins of `bin_ps`; from the samples.

    Each value stands at the end of its bin.
    """
    frame = _at(results.samples, results, port, priority).select("time_ps", "sent_bytes").collect()
    times, sent = _int64(frame["time_ps"]), frame["sent_bytes"].to_numpy().astype(np.float64)
    if len(times) < 2:
        return Series(np.empty(0, np.int64), np.empty(0))
    edges = np.arange(times[0], times[-1] + 1, bin_ps)
    at_edges = np.interp(edges, times, sent)
    return Series(edges[1:], np.diff(at_edges) * 8e12 / bin_ps)


def allowed_rate(results: Results, traffic: str) -> Series:
    """The rate that the reaction point of a traffic entry's first flow allows, in bit/s."""
    frame = (
        results.rates.filter(pl.col("traffic").cast(pl.String) == traffic)
        .filter(pl.col("flow") == pl.col("flow").min())
        .sort("time_ps")
        .select("time_ps", "rate_bps")
        .collect()
    )
    return Series(_int64(frame["time_ps"]), frame["rate_bps"].to_numpy().astype(np.float64))


def off_intervals(results: Results, port: str, priority: int) -> list[Interval]:
    """When flow control held a port: paused, or without credits for what waits."""
    frame = _at(results.pauses, results, port, priority).select("time_ps", "paused").collect()
    return [
        interval
        for interval in _intervals(frame["time_ps"], frame["paused"], False, end_ps(results))
        if interval.what == "True"
    ]


def state_intervals(results: Results, port: str, priority: int) -> list[Interval]:
    """What the detector of a port thought, from the start of the run to its end."""
    frame = _at(results.states, results, port, priority).select("time_ps", pl.col("state").cast(pl.String)).collect()
    return _intervals(frame["time_ps"], frame["state"], STATES[0], end_ps(results))


def mark_times(results: Results, port: str, priority: int, code: str, traffic: str | None = None) -> NDArray[np.int64]:
    """When a port marked packets with `code` ("CE" or "UE"), of one traffic entry or of all; in picoseconds."""
    frame = _at(results.marks, results, port, priority).filter(pl.col("code").cast(pl.String) == code)
    if traffic is not None:
        frame = frame.filter(pl.col("traffic").cast(pl.String) == traffic)
    return _int64(frame.select("time_ps").collect()["time_ps"])


def _intervals(times: pl.Series, values: pl.Series, before: object, end: int) -> list[Interval]:
    """Stretches of equal value; before the first row it is `before`. Empty stretches are left out."""
    found: list[Interval] = []
    start, value = 0, before
    for time, new in zip(times, values, strict=True):
        if new == value:
            continue
        if time > start:
            found.append(Interval(start, time, str(value)))
        start, value = time, new
    if end > start:
        found.append(Interval(start, end, str(value)))
    return found


def _int64(series: pl.Series) -> NDArray[np.int64]:
    return series.to_numpy().astype(np.int64)


def has_others(results: Results) -> bool:
    """Whether other traffic was there beside an application."""
    scenario = results.meta["scenario"]
    return len(scenario.get("run", {}).get("only") or senders.names(scenario)) > 1
