"""What a person wants to know of a run besides its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from backwater.analysis import (
    collectives,
    critical,
    fault_notes,
    gpcnet,
    jobs,
    own_controllers,
    put_notes,
    repeat_notes,
    roles,
    tables,
    throttle,
    time_profile,
)
from backwater.common import codes, quantities
from backwater.common.codes import Remark
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.results import Results, measures, offered
from backwater.results.flow_expressions import nearest_rank
from backwater.results.measures import has_others
from backwater.scenario import placement


def of(results: Results, alone: Mapping[str, Results] | None = None) -> list[str]:
    """One line each; `alone` are runs in which one application sent alone."""
    return [str(line) for line in _lines(results, alone or {})]


def remarks(results: Results) -> list[Remark]:
    """The caveats and notes among them, and whether the run was interrupted."""
    return [line for line in _lines(results, {}) if isinstance(line, Remark)]


def _lines(results: Results, alone: Mapping[str, Results]) -> list[str | Remark]:
    meta = results.meta
    wall = meta["wall_s"]
    speed = f", {meta['packet_hops'] / wall / 1e6:.1f} million packet-hops/s" if wall > 0 else ""
    simulated = quantities.time(meta["sim_time_ps"])
    profile = f"profile {meta['scenario']['profile']}, " if "profile" in meta["scenario"] else ""
    lines: list[str | Remark] = [
        f"seed {meta['seed']}, digest {meta['digest']}, {profile}{simulated} simulated in {wall:.1f} s{speed}"
    ]
    if not results.complete:
        lines.append(Remark("partial", None, "the run was interrupted; these are the results until then"))
    lines += _reused(meta)
    lines += time_profile.lines(results)
    lines += codes.told(meta)
    lines += codes.told(meta, "note")
    lines += _rings(meta)
    ran = jobs.of(results, alone)
    lines += _taken(meta, ran)
    lines += jobs.lines(ran, has_others(results))
    lines += _applications(results, alone)
    lines += roles.waits(results)
    lines += collectives.lines(collectives.of(results, alone), has_others(results))
    lines += _critical(results, alone)
    lines += _series(results)
    lines += _unreceived(results)
    lines += _impacts(results)
    lines += _throttles(results)
    lines += _blocked(results)
    lines += put_notes.of(results)
    lines += fault_notes.of(results)
    lines += repeat_notes.of(results)
    lines += _threads(meta)
    lines += _loads(results)
    lines += own_controllers.notes(results)
    lines += _cut_short(results)
    lines += _never_off(results)
    return lines


def _reused(meta: Mapping[str, Any]) -> list[str]:
    """How many iterations were counted."""
    reuse = meta.get("reuse") or {}
    if not reuse.get("counted"):
        return []
    return [
        f"iterations: {quantities.count(reuse['iterations'])}, of which {quantities.count(reuse['counted'])} were "
        "counted, not simulated (run.reuse)"
    ]


def _rings(meta: Mapping[str, Any]) -> list[Remark]:
    """Rings that cross a spine at every hop where rails would keep them."""
    told = "every hop of a ring of it goes from rail to rail by a spine, as NVLink is not simulated"
    rails, compute = 'placement = "rails" numbers its ranks along the rails', "write what stays in a server as compute"
    scenario = meta["scenario"]
    return [
        Remark(
            "note",
            "ring-leaves-rail",
            f"job {name}: {told}; {compute if placement.grouped(scenario, name) else rails}",
        )
        for name in placement.leaving(scenario, meta.get("network"))
    ]


def _taken(meta: Mapping[str, Any], ran: Sequence[jobs.Measured]) -> list[Remark]:
    """Hosts that a job names and does not have."""
    return [
        Remark(
            "note",
            "hosts-taken",
            f"job {name} has no rank at {quantities.count(len(hosts))} of the hosts that it names, such as {hosts[0]}: "
            f"{other} has them",
        )
        for name, other, hosts in placement.taken(
            meta["scenario"], meta.get("network"), {one.job: one.hosts for one in ran}
        )
    ]


#: Beyond so many rows of dependencies the critical path takes longer than a line of a run is worth.
_FOLLOWED = 2_000_000


def _critical(results: Results, alone: Mapping[str, Results]) -> list[str]:
    """The longest wait of each critical path, and what it waits alone."""
    if results.has("dependencies") and results.tables["dependencies"]["rows"] > _FOLLOWED:
        return [f"what the applications waited for: backwater critical {results.folder}"]
    return [
        critical.line(path, str(results.folder), critical.beside(alone, path.graph.traffic))
        for path in critical.paths(results)
    ]


def _applications(results: Results, alone: Mapping[str, Results]) -> list[str]:
    """How long each trace or kernel took, if it came to its end."""
    lines = []
    programs = measures.programs(results.meta["scenario"])
    starts = measures.application_starts(results.meta["scenario"])
    for name, took in measures.application_times(results).items():
        if name in measures.jobs(results.meta["scenario"]):
            continue
        if name in programs:
            lines.append(_ranks(results, name, took))
        elif took is not None:
            messages = quantities.count(_messages(results, name))
            since = f" from its start at {quantities.time(starts[name])}" if starts[name] else ""
            beside = measures.application_times(alone[name])[name] if name in alone else None
            told = (
                f"; alone {quantities.time(beside)}, {quantities.three_digits(took / beside)} times that"
                if beside
                else ""
            )
            lines.append(
                f"{name}: the application is done after {quantities.time(took)}{since}, {messages} messages{told}"
            )
    return lines


#: A run of fewer windows is too short for a word about them.
_MANY_WINDOWS = 10_000


def _threads(meta: Mapping[str, Any]) -> list[Remark]:
    """Threads that were asked for and had nothing to do; the trajectory is the same on any number."""
    asked, windows = meta["scenario"]["run"].get("threads", 1), meta.get("windows")
    if asked < 2 or windows is None or not windows["run"]:
        return []
    used = meta["threads"]
    if used < asked:
        cores = f"{used} core{'s' if used > 1 else ''}"
        told = f"{used} of {asked} threads were used, as this process has {cores}: more would wait for each other"
        return [Remark("note", "idle-threads", told)]
    if windows["run"] > _MANY_WINDOWS and windows["shared"] < windows["run"] / 2:
        part = f"{1 - windows['shared'] / windows['run']:.0%}"
        told = f"one thread did {part} of the windows, which hold too little for {used}"
        return [Remark("note", "idle-threads", told)]
    return []


def _unreceived(results: Results) -> list[Remark]:
    """Messages that had come in for ranks of programs and that none received; congestors always leave some."""
    names = measures.of_kind(results.meta["scenario"], "program")
    counts = {
        name: sum(row["unexpected"] for row in results.meta.get("ranks", []) if row["traffic"] == name)
        for name in names
    }
    return [
        Remark("note", "unreceived", f"{name}: {quantities.count(left)} messages had come in that no rank received")
        for name, left in counts.items()
        if left
    ]


#: How many series of programs are told of.
_SERIES = 6


def _series(results: Results) -> list[str]:
    """What the ranks of programs measured, series by series; GPCNeT has tables of its own."""
    names = measures.of_kind(results.meta["scenario"], "program")
    if not names or not results.has("timings"):
        return []
    took = pl.col("elapsed_ps")
    found = (
        results.timings.filter(pl.col("traffic").cast(pl.String).is_in(names))
        .group_by(pl.col("traffic", "series").cast(pl.String))
        .agg(pl.len(), median=nearest_rank(took, 50), p99=nearest_rank(took, 99), most=took.max())
        .sort("traffic", "series")
        .collect()
    )
    lines = []
    for row in found.head(_SERIES).to_dicts():
        known = {key: word for key, word in _TIMES.items() if row[key] is not None}
        times = ", ".join(f"{word} {quantities.time(row[key])}" for key, word in known.items())
        lines.append(f"{row['traffic']}: {row['series']}, {quantities.counted(row['len'], 'reading')}: {times}")
    more = found.height - len(lines)
    return lines + ([f"{more} more series: see timings.parquet"] if more > 0 else [])


_TIMES = {"median": "median", "p99": "99 %", "most": "longest"}


def _impacts(results: Results) -> list[str | Remark]:
    """The impact factors of GPCNeT, and who prints its tables."""
    if len(measures.of_kind(results.meta["scenario"], "gpcnet")) != 1 or not results.has("timings"):
        return []
    try:
        measured = gpcnet.of(results)
    except UsageError as error:
        return [Remark("note", "no-tests", str(error))]
    words = [
        f"{test.name.partition(' (')[0]} {both[0]:.1f} and {both[1]:.1f}"
        for test in measured.tests
        if (both := measured.impacts(test.key)) is not None
    ]
    factors = [f"congestion impact factors of Avg and of 99 %: {', '.join(words)}"] if words else []
    cut = [Remark("note", "not-over", f"not over when the run ended: {name}") for name in measured.cut]
    return [*factors, *cut, f"GPCNeT's tables: backwater gpcnet {results.folder}"]


def _throttles(results: Results) -> list[str]:
    sums = results.meta.get("throttle")
    if sums is None or not throttle.applies(results):
        return []
    if not sums["throttled_nics"]:
        return [f"throttles: no NIC throttled itself; it used {quantities.count(sums['used_max'])} credits at most"]
    nics = quantities.count(sums["throttled_nics"])
    times = [quantities.time(sums[name]) for name in ("congested_ps", "held_ps")]
    return [f"throttles: {nics} NICs were congested for {times[0]} together, and held packets back for {times[1]}"]


def _blocked(results: Results) -> list[str]:
    """What head-of-line blocking cost, where one FIFO at each ingress port causes it."""
    if not results.has("blocked"):
        return []
    sums = results.blocked.group_by(port=pl.col("port").cast(pl.String)).agg(pl.col("blocked_ps").sum())
    found = sums.sort("blocked_ps", "port", descending=[True, False]).collect()
    total, ports = int(found["blocked_ps"].sum()), int((found["blocked_ps"] > 0).sum())
    if not ports:
        return ["head-of-line blocking: no port was free while packets for it stood behind others"]
    most = f"{found['port'][0]} was free for {quantities.time(int(found['blocked_ps'][0]))}"
    if ports == 1:
        return [f"head-of-line blocking: {most} while packets for it stood behind others"]
    return [
        f"head-of-line blocking: {quantities.count(ports)} ports were free for {quantities.time(total)} together while "
        f"packets for them stood behind others; {most}"
    ]


def _ranks(results: Results, traffic: str, took: int | None) -> str:
    """How many ranks came to their end; those of an endless program, such as a congestor, never do."""
    mine = results.ranks.filter(pl.col("traffic").cast(pl.String) == traffic)
    ends = pl.col("finished_ps")
    row = mine.select(pl.len(), done=ends.count(), last=ends.max(), messages=pl.col("sent_messages").sum()).collect()
    ranks, done, last, messages = row.row(0)
    told = quantities.counted(messages, "message")
    every = f"all {quantities.count(ranks)} ranks are" if ranks > 1 else "its rank is"
    if took is not None:
        return f"{traffic}: {every} done after {quantities.time(took)}, {told}"
    of_ranks = f"{quantities.count(done)} of {quantities.counted(ranks, 'rank')} came to their end"
    return f"{traffic}: {of_ranks}{f', the last after {quantities.time(last)}' if done else ''}; {told}"


def _messages(results: Results, traffic: str) -> int:
    flows = results.flows.filter(pl.col("traffic").cast(pl.String) == traffic)
    return int(flows.select(pl.len()).collect().item())


def _loads(results: Results) -> list[Remark]:
    """Loads that are not those that were asked for."""
    found = (offered.note(name, load.asked, [load.drawn]) for name, load in offered.loads(results).items())
    return [one for one in found if one is not None]


def _cut_short(results: Results) -> list[Remark]:
    """What a run that ended before its flows did cannot tell."""
    rows = measures.by_traffic(results).to_dicts()
    if not any(row["packets"] for row in rows):
        told = "no packet arrived before the end of the run: see run.until and the traffic's start"
        return [Remark("note", "nothing-arrived", told)]
    done, finite = tables.finished(rows)
    if done == finite:
        return []
    told = f"{finite - done} of {finite} finite flows had not finished when the run ended"
    return [Remark("note", "unfinished", told)]


def _never_off(results: Results) -> list[str]:
    """Why no port of a lossless network was OFF: how far its fullest ingress buffer was from what would do that."""
    meta = results.meta
    switch = meta["scenario"].get("switch", {})
    if switch.get("flow-control") not in ("pfc", "credits") or meta["totals"]["pauses"] > 0:
        return []
    credits_hold = measures.under_credits(meta["scenario"])
    without = "no port ran out of credits" if credits_hold else "no PAUSE"
    peak = meta["totals"].get("peak_ingress")
    if peak is None:
        # Ingress buffers are looked at once in that time.
        return [f"{without}: no packet stayed in a switch for longer than the shortest link takes"]
    peer, node = reversed(peak["port"].split("->"))
    if credits_hold:
        limit = f" of {switch['credits']['buffer']}"
    elif _is_host(results, node):
        limit = _receive_queue(meta["scenario"].get("host", {}))
    elif switch.get("queueing") == "combined":
        limit = _stops(switch)
    elif switch["pfc"]["threshold"] == "static":
        limit = f"; Xoff is {switch['pfc']['xoff']}"
    else:
        limit = "; the dynamic threshold was higher"
    held = quantities.size(peak["bytes"])
    return [f"{without}: the fullest ingress, at {node} from {peer}, held {held}{limit}"]


def _is_host(results: Results, node: str) -> bool:
    ends = (results.flows.select(pl.col(end).cast(pl.String).alias("host")) for end in ("src", "dst"))
    return not pl.concat(ends).filter(pl.col("host") == node).head(1).collect().is_empty()


def _receive_queue(host: Mapping[str, Any]) -> str:
    """What a slow host may hold before it pauses its switch."""
    xoff = host.get("pfc", {}).get("xoff", "auto")
    if xoff != "auto":
        return f"; host.pfc.xoff is {xoff}"
    return f" of its receive queue of {quantities.size(quantities.parse_size(host['queue']))}"


def _stops(switch: Mapping[str, Any]) -> str:
    """Where ingress ports of a combined switch are paused: the whole port, and with isolation either queue."""
    stop, isolation = switch["combined"]["stop"], switch["isolation"]
    if isolation["kind"] == "none":
        return f"; a port is paused at switch.combined.stop = {stop}, shared equally by the priorities with traffic"
    nfq, cfq = isolation["nfq"]["stop"], isolation["cfq"]["stop"]
    return f"; the NFQ is paused at {nfq}, the CFQ at {cfq}, the port at switch.combined.stop = {stop}"
