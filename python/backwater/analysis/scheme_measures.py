"""What schemes do to the same traffic: goodput, FCT, marks and BECNs of each entry, PAUSEs and isolation of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backwater.analysis import puts
from backwater.analysis.blame import NEEDED, Blame
from backwater.common.late import pl
from backwater.common.statistics import Estimate, estimate
from backwater.errors import UsageError
from backwater.results import Results, measures
from backwater.results.catalogue import CATALOGUE, Measure, named

#: Runs of each scheme over the same seeds.
Runs = Mapping[str, Sequence[Results]]
#: From when until when, in picoseconds.
Window = tuple[int, int]
#: What was measured, by name; None where there is nothing to measure.
Values = dict[str, float | None]


#: Of each traffic entry.
OF_TRAFFIC = named(
    "application_ps finished goodput_bps median_fct_ps p99_fct_ps p99_slowdown fairness ce_percent ue_percent becns"
)
#: What takes the place of a percentile of too few flows (:mod:`backwater.common.percentiles`), and of how many it is.
EXTREMES = named("max_fct_ps max_slowdown timed")
#: What only flows with ends have.
_OF_ENDS = ("finished", "median_fct_ps", "p99_fct_ps", "p99_slowdown", "max_fct_ps", "max_slowdown")
#: Of each traffic entry whose queue pairs, or flows of Ultra Ethernet, send again what is lost.
OF_LOSSES = named("unfinished failed resent_packets duplicate_packets dropped_packets nacks timeouts")
#: Of PUT streams and the receive queues of hosts.
OF_PUTS = named(
    "goodput_bps goodput_percent resent_packets resent_percent target_drops switch_drops nacks dacks "
    "marked_iacks timeouts difference_percent jain receive_peak_bytes holding_ps"
)

#: Of what was held: shares, of runs in which something was; and how much it was, how much nobody can tell of.
_SHARES = ("held_precision_percent", "held_recall_percent")
_HELD = ("held_for_ps", "held_unexplained_ps", "held_at_end", "wrongly_held", "wrongly_held_ps")

#: Kinds of isolation that have queues, and no table with entries that come and go.
WITHOUT_ENTRIES = ("bfc", "dst-pfc")


def pauses(priority: int, held_by: tuple[str, str] = ("PAUSEs", "priority")) -> Measure:
    """PAUSEs of one priority, or waits for credits of one virtual lane."""
    words, lane = held_by
    return Measure(f"pauses_{priority}", heading=f"{words} of {lane} {priority}", scope="run")


def _held_by(runs: Runs) -> tuple[str, str]:
    """What flow control holds ports by, and the word for what it holds."""
    credits_hold = {measures.under_credits(run.meta["scenario"]) for seeds in runs.values() for run in seeds}
    if credits_hold == {True}:
        return "waits for credits", "VL"
    return ("PAUSEs or waits for credits" if True in credits_hold else "PAUSEs"), "priority"


@dataclass(frozen=True)
class Outcomes:
    """Means over the seeds, by scheme: of each traffic entry, and of the network."""

    traffic: Mapping[str, Mapping[str, Mapping[str, Estimate]]]
    network: Mapping[str, Mapping[str, Estimate]]
    #: What there is of the network, in the order in which it is shown.
    quantities: Sequence[Measure]
    #: What there is of PUT streams and receive queues.
    puts: Sequence[Measure]
    seeds: int
    #: What there is of what was lost and sent again, of each traffic entry.
    losses: Sequence[Measure] = ()
    window: Window | None = None
    #: The schemes whose switches isolate as ICI+ does.
    guided: Sequence[str] = ()
    #: What flow control holds ports by, and the word for what it holds.
    held_by: tuple[str, str] = ("PAUSEs", "priority")
    #: The traffic entries whose flows come at a given load, however fast they are served.
    arrivals: Sequence[str] = ()

    def entries(self) -> pl.DataFrame:
        """One row per traffic entry and scheme: each of OF_TRAFFIC and EXTREMES with the ends of its 95 % interval.

        Percentiles of too few flows are null.
        """
        rows = [
            {"traffic": name, "scheme": scheme} | _columns((*OF_TRAFFIC, *EXTREMES, *self.losses), values)
            for name, by_scheme in self.traffic.items()
            for scheme, values in by_scheme.items()
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def totals(self) -> pl.DataFrame:
        """One row per scheme: each of the quantities with the ends of its 95 % interval."""
        shown = (*self.quantities, *self.puts)
        rows = [{"scheme": scheme} | _columns(shown, values) for scheme, values in self.network.items()]
        return pl.DataFrame(rows, infer_schema_length=None)


def _columns(quantities: Sequence[Measure], values: Mapping[str, Estimate]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for one in quantities:
        value = values.get(one.name)
        ends = (None, None, None) if value is None else (value.mean, value.low, value.high)
        found |= dict(zip((one.name, f"{one.name}_low", f"{one.name}_high"), ends, strict=True))
    return found


def outcomes(runs: Runs, window: Window | None = None) -> Outcomes:
    """Measure runs of several schemes.

    Goodput is that from an entry's first start to its last finish (or the run's end), or, with a `window`, what
    arrived within it; so are all numbers of PUT streams. Raises UsageError for a window that cannot be measured.
    """
    entries = {scheme: [_entries(run, window) for run in seeds] for scheme, seeds in runs.items()}
    totals = {scheme: [_totals(run, window) for run in seeds] for scheme, seeds in runs.items()}
    names = list(dict.fromkeys(name for seeds in entries.values() for seed in seeds for name in seed))
    known = {key for seeds in totals.values() for seed in seeds for key, value in seed.items() if value is not None}
    lanes = sorted((int(key.removeprefix("pauses_")) for key in known if key.startswith("pauses_")), reverse=True)
    for found in (seed for seeds in totals.values() for seed in seeds):
        # Where nothing could hold a port back there is nothing to count.
        none = 0 if found["paused_ps"] is not None else None
        found |= {lane.name: found.get(lane.name, none) for lane in map(pauses, lanes)}
    apart = [one for one in CATALOGUE.values() if one.scope in ("isolation", "throttles")]
    held_by = _held_by(runs)
    losses = [one for one in OF_LOSSES if any(one.name in of for seeds in entries.values() for of in seeds[0].values())]
    shown = [*named("ce_marks becns"), *(pauses(lane, held_by) for lane in lanes), CATALOGUE["paused_ps"]]
    isolate = any(measures.isolation(run.meta["scenario"]) != "none" for seeds in runs.values() for run in seeds)
    # What it costs to keep flows apart; and what memory decides where it may run out.
    shown += named("holds_sent") if isolate else ()
    shown += named("peak_queue_bytes") if isolate or losses else ()
    shown += named("recovery_ps") if isolate else ()
    shown += named(" ".join(("victims", *_SHARES, *_HELD)))
    shown += [*named("sent_bytes useful_percent"), *(named("switch_drops trims") if losses else ()), *apart]
    return Outcomes(
        {
            name: {scheme: _over_seeds([seed[name] for seed in seeds]) for scheme, seeds in entries.items()}
            for name in names
        },
        {scheme: _over_seeds(seeds) for scheme, seeds in totals.items()},
        [one for one in shown if one.name in known],
        [one for one in OF_PUTS if one.name in known and one not in shown],
        len(next(iter(runs.values()))),
        losses,
        window,
        [scheme for scheme, seeds in runs.items() if measures.isolation(seeds[0].meta["scenario"]) == "ici-plus"],
        held_by,
        measures.of_kind(next(iter(runs.values()))[0].meta["scenario"], "poisson"),
    )


def _over_seeds(seeds: Sequence[Values]) -> dict[str, Estimate]:
    """The mean of what every seed has; of shares of what was held, that of the seeds in which something was."""
    columns = {name: [seed[name] for seed in seeds] for name in seeds[0]}
    for name in _SHARES:
        columns[name] = [value for value in columns.get(name, ()) if value is not None] or [None]
    return {
        name: estimate([float(value) for value in values if value is not None], name)
        for name, values in columns.items()
        if None not in values
    }


def _entries(run: Results, window: Window | None) -> dict[str, Values]:
    wanted = (*OF_TRAFFIC, *EXTREMES, *(OF_LOSSES if measures.repeats(run.meta["scenario"]) else ()))
    names = [one.name for one in wanted]
    rates = {} if window is None else _within(run, window)
    unseen = 0.0 if window is None or run.has("delivered") else None
    applications = measures.application_times(run)
    found: dict[str, Values] = {}
    for row in measures.of_traffic(run, (*named("finite"), *wanted)).to_dicts():
        traffic = row["traffic"]
        if not row["finite"]:
            # Flows without ends have no times, whatever they took to stop.
            row |= dict.fromkeys(_OF_ENDS) | {"timed": 0}
        if window is not None:
            row["goodput_bps"] = rates.get(traffic, unseen)
        found[traffic] = {name: row.get(name) for name in names} | {"application_ps": applications.get(traffic)}
    return found


def _within(run: Results, window: Window) -> dict[str, float]:
    """Payload that arrived in a window over its length, by traffic entry, in bit/s.

    Without the table of what hosts got, PUT streams tell of an entry if it is the only one of PUTs.
    """
    start, end = window
    if not (run.has("delivered") or run.has("streams")):
        raise UsageError(
            "--window needs probe.delivered, or of PUTs probe.streams: run with --set probe.delivered=true "
            '--set probe.sample="10us"'
        )
    puts.check_window(run, window)
    if not run.has("delivered"):
        names = puts.entries(run)
        return {names[0]: float(puts.by_stream(run, window)["goodput_bps"].sum())} if len(names) == 1 else {}
    inside = pl.col("time_ps").is_between(start, end, closed="left")
    rate = pl.col("received_bytes").sum() * 8e12 / (end - start)
    found = run.table("delivered").filter(inside).group_by(pl.col("traffic").cast(pl.String)).agg(rate).collect()
    return {str(name): float(value) for name, value in found.rows()}


def _blamed(run: Results) -> Values:
    """Flows that lost time behind held ports and fed no root, where something holds; and what was held rightly.

    Nothing where that was not recorded.
    """
    if not all(run.has(table) for table in NEEDED):
        return {}
    blame = Blame(run)
    score, found = blame.held, Values()
    if measures.holds(run.meta["scenario"]):
        found["victims"] = float(blame.flows.filter(pl.col("verdict") == "victim").height)
    shares = dict(zip(_SHARES, (score.precision, score.recall), strict=True))
    found |= {name: None if share is None else 100 * share for name, share in shares.items()}
    if score.unseen:
        return found | dict.fromkeys(_HELD)
    found |= {"wrongly_held": score.wronged, "wrongly_held_ps": score.wrong_ps, "held_for_ps": score.held_ps}
    return found | {"held_unexplained_ps": score.unexplained_ps, "held_at_end": score.at_end}


def _totals(run: Results, window: Window | None) -> Values:
    summed, peak = pl.col("ce_marks", "ue_marks", "paused_ps", "pauses_sent").sum(), pl.col("peak_queue_bytes").max()
    ports = run.ports.select(summed, peak).collect().to_dicts()[0]
    lanes = run.ports.group_by("priority").agg(pl.col("pauses").sum()).filter(pl.col("pauses") > 0).collect()
    found: Values = {
        "ce_marks": ports["ce_marks"],
        "becns": run.flows.select((pl.col("cnps_ce") + pl.col("cnps_ue")).sum()).collect().item(),
        "paused_ps": ports["paused_ps"] if measures.holds(run.meta["scenario"]) else None,
        "holds_sent": ports["pauses_sent"],
        "peak_queue_bytes": ports["peak_queue_bytes"],
        "recovery_ps": measures.recovery(run),
        "victims": None,
    } | _blamed(run)
    if measures.repeats(run.meta["scenario"]):
        found |= measures.on_the_wire(run)
        found["switch_drops"] = measures.drops(run)
    if (trims := measures.trims(run)) is not None:
        found["trims"] = trims
    if measures.holds(run.meta["scenario"]):
        found |= {f"pauses_{priority}": count for priority, count in lanes.rows()}
    if measures.isolation(run.meta["scenario"]) != "none" and run.has("switches"):
        names = {"refusals": ["refusals", "mirror_refusals"], "cims": ["cims_sent"], "allocations": ["allocations"]}
        if measures.isolation(run.meta["scenario"]) in WITHOUT_ENTRIES:
            names = {}
        sums = [pl.sum_horizontal(pl.col(columns).sum()).alias(name) for name, columns in names.items()]
        found |= run.table("switches").select(*sums, pl.col("peak_slots").max()).collect().to_dicts()[0]
    if "throttle" in run.meta:
        sums = run.meta["throttle"]
        found |= {"throttled_nics": sums["throttled_nics"], "throttled_ps": sums["congested_ps"]}
        found["throttle_held_ps"] = sums["held_ps"]
    return found | puts.numbers(run, window)
