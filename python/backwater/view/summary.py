"""What the page says of a run in words and tables: settings, times of jobs, FCT and slowdown, totals."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from backwater.analysis import collectives, jobs
from backwater.analysis.blame import Blame
from backwater.analysis.critical import brief
from backwater.analysis.critical.brief import Brief
from backwater.analysis.tables import STORED
from backwater.common import codes, percentiles, quantities
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.results import Results, measures
from backwater.results.catalogue import named
from backwater.view import changes
from backwater.view.changes import Timed

_NONE = "–"


def of(
    results: Results, alone: Mapping[str, Results], network_nodes: tuple[int, int], blame: Blame | None
) -> dict[str, Any]:
    """The block `summary` of viewer/FORMAT.md; `alone` are runs in which one application sent alone."""
    where = [] if blame is None else [changes.table(blame)]
    late, ran = _late(results), jobs.of(results, alone)
    tables = [
        _jobs(ran),
        _steps(ran),
        _collectives(results, alone),
        _applications(results, alone),
        *where,
        *_flows(results),
    ]
    return {
        "settings": _settings(results, network_nodes),
        "tables": [table for table in tables if table["rows"]],
        "totals": _totals(results),
        "late": [brief.line(results, one) for one in late.values()],
        "advice": [*changes.sentences(results, _timed(results, alone, ran), late), *_advice(results)],
    }


#: Of larger runs, and of more applications, the critical paths take longer than a page is worth.
_FOLLOWED, _APPLICATIONS_FOLLOWED = 2_000_000, 8


def _late(results: Results) -> dict[str, Brief]:
    """What made each application late."""
    if not results.has("dependencies") or results.tables["dependencies"]["rows"] > _FOLLOWED:
        return {}
    try:
        return {one.traffic: one for one in itertools.islice(brief.briefs(results), _APPLICATIONS_FOLLOWED)}
    except UsageError:
        # Tables that were cut by probe.budget, of which the page says so.
        return {}


def _timed(results: Results, alone: Mapping[str, Results], ran: Sequence[jobs.Measured]) -> list[Timed]:
    found = [Timed(one.traffic, one.time_ps, one.alone_ps, one.ideal_ps) for one in collectives.of(results, alone)]
    found += [Timed(one.job, one.time_ps, one.alone_ps, one.ideal_ps) for one in ran]
    if not measures.has_others(results):
        # It was alone.
        found = [one._replace(alone_ps=one.time_ps) for one in found]
    return [_with_why(one, alone.get(one.traffic, results)) for one in found]


def _with_why(one: Timed, alone: Results) -> Timed:
    """What made it late alone, if it is slow then."""
    if not changes.slow_alone(one):
        return one
    late = _late(alone).get(one.traffic)
    return one if late is None else one._replace(why_alone=brief.cause(alone, late))


def _advice(results: Results) -> list[str]:
    """What to change by each caveat of the run, which is itself among the notes of the page."""
    known = {code.id: code for code in codes.codes()}
    found = dict.fromkeys(caveat.code for caveat in codes.told(results.meta) if caveat.code in known)
    return [f"{code}: {known[code].todo}" for code in found if code]


def _table(title: str, headings: str, note: str = "") -> dict[str, Any]:
    return {"title": title, "headings": headings.split("|"), "rows": [], "note": note}


def _settings(results: Results, network_nodes: tuple[int, int]) -> list[tuple[str, str]]:
    scenario = results.meta["scenario"]
    switch, topology = scenario["switch"], scenario["topology"]
    hosts, switches = network_nodes
    rates = results.ports.select(pl.col("rate_bps").unique().sort()).collect()["rate_bps"].to_list()
    balancing = switch.get("load-balancing", "ecmp")
    found = {
        "profile": scenario.get("profile"),
        "switches": switch.get("preset"),
        "NICs": scenario.get("host", {}).get("nic", {}).get("preset"),
        "network": f"{topology.get('kind', 'links')}, {_of(hosts, 'host', 'hosts')}, "
        f"{_of(switches, 'switch', 'switches')}",
        "links": ", ".join(quantities.rate(rate) for rate in rates),
        "load balancing": balancing,
        "flow control": switch.get("flow-control"),
        "PFC": _pfc(switch),
        "switch buffer": _buffer(switch.get("buffer")),
        "detector": switch.get("detector", {}).get("kind"),
        "ECN": _ecn(switch.get("detector", {})),
        "isolation": measures.isolation(scenario),
        "congestion control": scenario.get("cc", {}).get("kind"),
        "jobs": "; ".join(_job(job) for job in scenario.get("job", [])),
        "traffic": "; ".join(_entry(entry) for entry in scenario.get("traffic", [])),
        "set on the command line": ", ".join(
            one for one in results.meta.get("overrides", []) if "run.seed=" not in one
        ),
        "seed": results.meta["seed"],
        "simulated": quantities.time(measures.end_ps(results)),
        "version": results.meta.get("version"),
        "command": results.meta.get("command"),
    }
    return [(name, str(value)) for name, value in found.items() if value not in (None, "", [])]


def _buffer(text: str | None) -> str | None:
    """A size in the unit that suits it; a word such as `unlimited` as it is."""
    return quantities.round_size(quantities.parse_size(text)) if text and text[0].isdigit() else text


def _pfc(switch: Mapping[str, Any]) -> str | None:
    """When ports are paused, and what is kept for what still comes."""
    if switch.get("flow-control") != "pfc" or "pfc" not in switch:
        return None
    pfc = switch["pfc"]
    dynamic = pfc.get("threshold") == "dynamic"
    when = f"alpha {pfc['alpha']:g}" if dynamic else f"Xoff {pfc['xoff']}, Xon {pfc['xon']}"
    return f"{when}, headroom {pfc['headroom']}"


def _ecn(detector: Mapping[str, Any]) -> str | None:
    """Between which lengths of a queue packets are marked."""
    if detector.get("kind") not in ("red", "np-ecn"):
        return None
    return f"kmin {detector['kmin']}, kmax {detector['kmax']}, pmax {detector['pmax']:g}"


def _job(job: Mapping[str, Any]) -> str:
    """What a job does in an iteration, with its sizes."""
    steps = ", ".join(_step(step) for step in job.get("step") or ())
    often = f"{job['iterations']} times " if int(job.get("iterations", 1)) > 1 else ""
    return f"{job['name']}: {often}{steps}" if steps else str(job["name"])


def _step(step: Mapping[str, Any]) -> str:
    if step.get("collective") is not None:
        groups = f" in groups of {step['group']}" if step.get("group") is not None else ""
        return f"{step['collective']} of {step['size']}{groups}"
    return next(f"{what} {step[what]}" for what in ("compute", "write", "read") if step.get(what) is not None)


def _of(count: int, one: str, many: str) -> str:
    return f"{quantities.count(count)} {one if count == 1 else many}"


def _entry(entry: Mapping[str, Any]) -> str:
    kind = entry.get("op", entry.get("kind", ""))
    size = f" of {entry['size']}" if isinstance(entry.get("size"), str) else ""
    return f"{entry['name']}: {kind}{size}"


def _collectives(results: Results, alone: Mapping[str, Results]) -> dict[str, Any]:
    table = _table(
        "Collectives",
        "collective|time|ideal|alone|of line rate",
        "Time: mean over iterations. Ideal: the least possible, by arithmetic. Alone: without other traffic. "
        "Of line rate: the bus bandwidth of NCCL-tests.",
    )
    for one in collectives.of(results, alone):
        if one.time_ps is None:
            table["rows"].append([one.traffic, "not done", _NONE, _NONE, _NONE])
            continue
        share = _NONE if one.bus_bps is None else f"{quantities.three_digits(100 * one.bus_bps / one.line_rate_bps)} %"
        times = [one.ideal_ps, one.alone_ps]
        if one.alone_ps is None and not measures.has_others(results):
            times[1] = one.time_ps
        table["rows"].append([one.traffic, quantities.time(one.time_ps), *map(_beside, times), share])
    return table


def _beside(time_ps: float | None) -> str:
    return _NONE if time_ps is None else quantities.time(time_ps)


def _jobs(found: Sequence[jobs.Measured]) -> dict[str, Any]:
    table = _table(
        "Jobs",
        "job|time|ideal|alone|slowdown",
        "Ideal: steps in an empty network without stragglers, by arithmetic. Slowdown: time over time alone.",
    )
    for one in found:
        took = "not done" if one.time_ps is None else quantities.time(one.time_ps)
        slowdown = _NONE if one.slowdown is None else quantities.three_digits(one.slowdown)
        table["rows"].append([one.job, took, _beside(one.ideal_ps), _beside(one.alone_ps), slowdown])
    return table


#: A computation that takes less than so many times its ideal has no stragglers: the settings say what it takes.
_AS_SET = 1.01


def _steps(found: Sequence[jobs.Measured]) -> dict[str, Any]:
    table = _table(
        "Steps of jobs",
        "step|time|ideal|alone|bus bandwidth",
        "From the last rank that begins a step to the last one that is done, mean over iterations; of groups the "
        "slowest one. Bus bandwidth: of NCCL-tests, with its part of the line rate.",
    )
    for job in found:
        for step in job.steps:
            if step.bus_bps is None and step.ideal_ps and step.time_ps < _AS_SET * step.ideal_ps:
                continue
            bus = _NONE if step.bus_bps is None else quantities.rate(step.bus_bps)
            if step.bus_percent_of_line_rate is not None:
                bus += f" ({quantities.three_digits(step.bus_percent_of_line_rate)} %)"
            if step.alone_bus_bps is not None:
                bus += f"; alone {quantities.rate(step.alone_bus_bps)}"
            times = [quantities.time(step.time_ps), *map(_beside, (step.ideal_ps, step.alone_ps))]
            what = step.what.partition(" of ")[0]
            table["rows"].append([f"{job.job} {step.step}: {what}", *times, bus])
    return _known(table)


def _known(table: dict[str, Any]) -> dict[str, Any]:
    """Without the columns in which no row has a value."""
    kept = [index for index, _ in enumerate(table["headings"]) if any(row[index] != _NONE for row in table["rows"])]
    headings = [table["headings"][index] for index in kept]
    return table | {"headings": headings, "rows": [[row[index] for index in kept] for row in table["rows"]]}


def _applications(results: Results, alone: Mapping[str, Results]) -> dict[str, Any]:
    """Other applications than collectives and jobs."""
    scenario = results.meta["scenario"]
    table = _table("Applications", "application|time|alone")
    operations = measures.of_kind(scenario, "collective") + measures.jobs(scenario)
    for name, took in measures.application_times(results).items():
        if name not in operations:
            beside = measures.application_times(alone[name])[name] if name in alone else None
            table["rows"].append([name, "not done" if took is None else quantities.time(took), _beside(beside)])
    return table


def _flows(results: Results) -> list[dict[str, Any]]:
    """FCT and slowdown of each traffic entry whose flows have an end."""
    scenario = results.meta["scenario"]
    endless = {*measures.supplied(scenario), *measures.programs(scenario)}
    fct = _table("Flow completion time", "traffic|n|p50|p99")
    slowdown = _table("Slowdown", "traffic|n|p50|p99", "FCT over that of the flow alone in the network.")
    few = False
    for row in measures.of_traffic(results, _FLOWS).iter_rows(named=True):
        if row["traffic"] in endless:
            continue
        for table, what, count, show in (
            (fct, "fct_ps", row["timed"], quantities.time),
            (slowdown, "slowdown", row["slowdowns"], quantities.three_digits),
        ):
            done = quantities.count(count)
            if row["finished"] < row["flows"]:
                done = f"{done} of {quantities.count(row['flows'])}"
            middle, most = _NONE, _NONE
            if count:
                middle, p99 = show(row[f"p50_{what}"]), row[f"p99_{what}"]
                few = few or p99 is None
                most = show(p99) if p99 is not None else percentiles.largest_of(show(row[f"max_{what}"]), count, count)
            table["rows"].append([row["traffic"], done, middle, most])
    notes = [percentiles.note(99)] if few else []
    if storing := measures.storing(scenario):
        notes.append(f"{', '.join(storing)}: {STORED}.")
    fct["note"] = " ".join(notes)
    return [fct, slowdown]


#: What the tables of flows tell.
_FLOWS = named("flows finished timed slowdowns p50_fct_ps p99_fct_ps max_fct_ps p50_slowdown p99_slowdown max_slowdown")


def _totals(results: Results) -> list[tuple[str, str]]:
    """What happened in the network as a whole."""
    totals, scenario = results.meta["totals"], results.meta["scenario"]
    paused = int(results.ports.select(pl.col("paused_ps").cast(pl.Int64).sum()).collect().item() or 0)
    credits_hold = measures.under_credits(scenario)
    found = [
        ("flows finished", f"{quantities.count(totals['finished'])} of {quantities.count(totals['flows'])}"),
        ("waits for credits" if credits_hold else "PAUSEs", quantities.count(totals["pauses"])),
        *([("ports held, sum over ports", quantities.time(paused))] if paused else []),
        ("packets marked CE", quantities.count(totals["ce_packets"])),
    ]
    found += [
        (name, quantities.count(totals[key]))
        for name, key in (
            ("packets marked UE", "ue_packets"),
            ("packets dropped by switches", "switch_drops"),
            ("packets sent again", "resent_packets"),
        )
        if totals.get(key)
    ]
    return found
