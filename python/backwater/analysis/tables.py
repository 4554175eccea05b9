"""Tables of a run for the terminal, and the same numbers as plain values for ``--json``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from rich.markup import escape
from rich.table import Table

from backwater.analysis import mark_scores
from backwater.common import percentiles, quantities, terminal
from backwater.common.late import pl
from backwater.common.statistics import Estimate, estimate, with_interval
from backwater.results import Results, measures
from backwater.results.catalogue import CATALOGUE, Measure, named


def traffic_table(runs: Mapping[str, Results], title: str = "Traffic") -> Table:
    """Per traffic entry and run: flows, packets, CE, UE, goodput; also resent and dropped, if anything may be."""
    again = any(measures.sends_again(run.meta["scenario"]) for run in runs.values())
    counts = ("flows", "finished", "packets", *(("resent", "dropped") if again else ()), "CE", "UE")
    words = ["traffic", *(["run"] if len(runs) > 1 else [])]
    table = terminal.table(title, words, (*counts, "goodput", "mean FCT", "p99 slowdown"))
    frames = {name: measures.by_traffic(run).to_dicts() for name, run in runs.items()}
    for rows in zip(*frames.values(), strict=True):
        for name, row in zip(frames, rows, strict=True):
            label = [name] if len(runs) > 1 else []
            table.add_row(row["traffic"] if name == next(iter(frames)) else "", *label, *_traffic_cells(row, again))
    supplied = sorted({name for run in runs.values() for name in measures.supplied(run.meta["scenario"])})
    programs = sorted({name for run in runs.values() for name in measures.programs(run.meta["scenario"])})
    storing = sorted({name for run in runs.values() for name in measures.storing(run.meta["scenario"])})
    _footnote(
        table,
        [
            CATALOGUE["goodput_bps"].footnote,
            _DROPPED if again else "",
            f"{', '.join(storing)}: {STORED}" if storing else "",
            _of_supplies(supplied),
            f"{', '.join(programs)}: flows are channels between ranks, which have no end" if programs else "",
            *(_of_the_finished(rows, name) for name, rows in frames.items()),
            _too_few(row for rows in frames.values() for row in rows),
        ],
    )
    return table


_DROPPED = (
    "resent: packets that sources sent again; dropped: arrivals that receivers did not take, no room or out of order"
)
#: What FCT and slowdown of storage leave out.
STORED = "FCT and slowdown are of what is written and read, without answers and questions of 1 B"
_IN_STATE = (
    "the verdict of a TCD port changes only at a dequeue: a port that falls idle keeps its last one, "
    "and its time counts there"
)


def _footnote(table: Table, lines: Sequence[str]) -> None:
    table.caption = "\n".join(escape(line) for line in lines if line) or None


def finished(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """How many flows finished, of how many that have an end."""
    return sum(row["finished"] or 0 for row in rows), sum(row["finite"] for row in rows)


def _of_supplies(names: Sequence[str]) -> str:
    if not names:
        return ""
    return f"{', '.join(names)}: supplied, as much as the network takes, so that there is nothing to finish"


def _of_the_finished(rows: Sequence[Mapping[str, Any]], run: str = "") -> str:
    done, finite = finished(rows)
    if done == finite:
        return ""
    return f"{run + ': ' if run else ''}FCT and slowdown of the {done} of {finite} flows that finished"


def _traffic_cells(row: Mapping[str, Any], again: bool) -> list[str]:
    more = ("resent_packets", "dropped_packets") if again else ()
    counts = (row.get(key) for key in ("flows", "finished", "packets", *more, "ce_packets", "ue_packets"))
    return [
        *(_or_dash(count, quantities.count) for count in counts),
        _or_dash(row["goodput_bps"], quantities.rate),
        _or_dash(row["mean_fct_ps"], quantities.time),
        _p99(row),
    ]


def _p99(row: Mapping[str, Any]) -> str:
    """The 99th percentile of the slowdowns; of too few the largest, with how many there are."""
    if row["p99_slowdown"] is None and row["max_slowdown"] is not None:
        return percentiles.largest_of(quantities.three_digits(row["max_slowdown"]), row["slowdowns"], row["slowdowns"])
    return _or_dash(row["p99_slowdown"], quantities.three_digits)


def _too_few(rows: Iterable[Mapping[str, Any]]) -> str:
    """A footnote if a percentile of the slowdowns has too few values."""
    some = any(row["p99_slowdown"] is None and row["slowdowns"] for row in rows)
    return percentiles.note(99) if some else ""


def port_table(runs: Mapping[str, Results], ports: Sequence[str], title: str = "Egress ports") -> Table:
    """Per named port and run: time in each state, how often and long it was OFF, marks, largest queue.

    Where the flows use several priorities, each that a port had to do with is a row of its own. Without a detector
    there are no states.
    """
    lanes = sorted({lane for run in runs.values() for lane in measures.data_priorities(run)})
    credits_hold = any(measures.under_credits(run.meta["scenario"]) for run in runs.values())
    table = terminal.table(title, ["port"])
    if len(lanes) > 1:
        table.add_column("VL" if credits_hold else "priority", justify="right")
    if len(runs) > 1:
        table.add_column("run")
    states = measures.STATES if any(_detector(run) != "none" for run in runs.values()) else ()
    for heading in (*states, "OFFs" if credits_hold else "PAUSEs", "OFF", "CE", "UE", "peak queue"):
        table.add_column(heading, justify="right")
    for place, lane, rows in _port_rows(runs, ports, lanes):
        for index, (name, row) in enumerate(zip(runs, rows, strict=True)):
            labels = ["" if index else place, *([] if len(lanes) == 1 else ["" if index else str(lane)])]
            table.add_row(*labels, *([name] if len(runs) > 1 else []), *_port_cells(row, states))
    if any(_detector(run) == "tcd" for run in runs.values()):
        _footnote(table, [_IN_STATE])
    return table


def _detector(run: Results) -> str:
    return str(run.meta["scenario"].get("switch", {}).get("detector", {}).get("kind"))


def _port_rows(
    runs: Mapping[str, Results], ports: Sequence[str], lanes: Sequence[int]
) -> Iterator[tuple[str, int, list[dict[str, Any]]]]:
    """Port by port and lane by lane the row of each run; of several lanes those that something happened in."""
    frames = {lane: [measures.by_port(run, ports, lane).to_dicts() for run in runs.values()] for lane in lanes}
    for index in range(len(frames[lanes[0]][0])):
        for lane in lanes:
            rows = [frame[index] for frame in frames[lane]]
            used = any(row[name] > 0 for row in rows for name in ("sent_bytes", "pauses", "peak_queue_bytes"))
            if used or len(lanes) == 1:
                place = (
                    rows[0]["name"] if rows[0]["name"] == rows[0]["port"] else f"{rows[0]['name']} {rows[0]['port']}"
                )
                yield place, lane, rows


def _port_cells(row: Mapping[str, Any], states: Sequence[str]) -> list[str]:
    times = (row[state.replace("-", "_") + "_ps"] for state in states)
    return [
        *(quantities.time(value) if value else "-" for value in times),
        quantities.count(row["pauses"]),
        quantities.time(row["paused_ps"]) if row["paused_ps"] else "-",
        quantities.count(row["ce_marks"]),
        quantities.count(row["ue_marks"]),
        quantities.size(row["peak_queue_bytes"]),
    ]


def _worth() -> dict[str, pl.Expr]:
    """What makes a port worth a row of a table that cannot show all of them."""
    return {
        "time OFF": pl.col("paused_ps"),
        "peak queue": pl.col("peak_queue_bytes"),
        "marks": pl.col("ce_marks") + pl.col("ue_marks"),
        "congestion": pl.col("congestion_ps"),
    }


def busiest_ports(results: Results, limit: int) -> list[str]:
    """The first ports by all of :func:`_worth` and those that `probe.ports` names; then, up to `limit`, the next.

    With several priorities a port has as many rows in the table, and so fewer ports have a place in it.
    """
    names = {label: alias for alias, label in results.meta.get("aliases", {}).items()}
    frame = _ports_in_use(results)
    ranks = [
        frame.filter(worth > 0).sort("at_host", worth, "peak_queue_bytes", descending=[False, True, True])["port"]
        for worth in _worth().values()
    ]
    first, *others = [[label for label in row if label is not None] for row in zip_longest(*ranks)] or [[]]
    needed = dict.fromkeys([*first, *map(results.port, _probed(results))])
    ranked = dict.fromkeys([*needed, *(label for row in others for label in row)])
    places = 3 * limit // (2 + len(measures.data_priorities(results)))
    chosen = list(ranked)[: max(places, len(needed))]
    shown = frame.filter(pl.col("port").is_in(chosen)).sort(
        "at_host", "paused_ps", "peak_queue_bytes", descending=[False, True, True]
    )
    return [names.get(label, label) for label in shown["port"]]


def ports_title(results: Results, shown: int) -> str:
    """What the table of the busiest ports holds."""
    lanes = measures.data_priorities(results)
    word = "virtual lane" if measures.under_credits(results.meta["scenario"]) else "priority"
    each = f", a row for each {word} that they send in" if len(lanes) > 1 else ""
    total = _ports_in_use(results).height
    if shown == total:
        return f"Egress ports in use{each}"
    *worth, last = [name for name in _worth() if name != "congestion" or _detector(results) != "none"]
    probed = ", with those that probe.ports names" if _probed(results) else ""
    by = f"by {', '.join(worth)} and {last}"
    return f"The first {shown} of {total} egress ports in use{each}, {by}; switches before hosts{probed}"


def no_port(results: Results) -> str:
    """What stands in place of the table if no port is worth a row of it."""
    return f"of the {_ports_in_use(results).height} egress ports in use none was OFF, had a queue, or marked a packet"


def _probed(results: Results) -> list[str]:
    """The ports that `probe.ports` names one by one; patterns may stand for more than a table can show."""
    return [name for name in results.meta["scenario"].get("probe", {}).get("ports") or [] if "*" not in name]


def _ports_in_use(results: Results) -> pl.DataFrame:
    """The ports that sent, queued or were OFF, over the priorities of the flows; `at_host` where flows begin or end."""
    ends = [results.flows.select(pl.col(end).unique().cast(pl.String)).collect()[end] for end in ("src", "dst")]
    hosts = pl.concat(ends).unique().to_list()
    sums = ("sent_bytes", "pauses", "paused_ps", "ce_marks", "ue_marks", "congestion_ps")
    return (
        results.ports.filter(
            pl.col("priority").is_in(measures.data_priorities(results)),
            (pl.col("sent_bytes") > 0) | (pl.col("pauses") > 0) | (pl.col("peak_queue_bytes") > 0),
        )
        .group_by(
            pl.col("port").cast(pl.String), at_host=pl.col("node").cast(pl.String).is_in(hosts), maintain_order=True
        )
        .agg(pl.col(sums).sum(), pl.col("peak_queue_bytes").max())
        .collect()
    )


def over_seeds(runs: Sequence[Results]) -> Sequence[Measure]:
    """What of these runs is averaged."""
    again = any(measures.sends_again(run.meta["scenario"]) for run in runs)
    return (
        *(named("resent_packets dropped_packets") if again else ()),
        *named("ce_packets ue_packets goodput_bps mean_fct_ps p99_slowdown"),
    )


def seeds_summary(runs: Sequence[Results]) -> dict[str, dict[str, Estimate]]:
    """Per traffic entry, each quantity's mean over the runs; a quantity that a run does not have is left out."""
    per_run = [{row["traffic"]: row for row in measures.by_traffic(run).to_dicts()} for run in runs]
    summary: dict[str, dict[str, Estimate]] = {}
    for traffic in per_run[0]:
        summary[traffic] = {}
        for key in [*(one.name for one in over_seeds(runs)), "max_slowdown"]:
            values = [row[traffic].get(key) for row in per_run]
            known = [value for value in values if value is not None]
            if len(known) == len(values):
                summary[traffic][key] = estimate(known, key)
    return summary


def seeds_table(runs: Sequence[Results]) -> Table:
    """Per traffic entry, mean over the complete runs ± half of the 95 % confidence interval; partial ones are named.

    The score of the marks has a row of its own.
    """
    complete = [run for run in runs if run.complete]
    title = f"Traffic, mean of {len(complete)} {_seeds_word(runs, len(complete))} ± 95 % confidence interval"
    columns = over_seeds(complete)
    headings = ["flows", "finished", *(one.title for one in columns)]
    scored = bool(mark_scores.over_seeds(complete))
    scores = [heading for _, heading in mark_scores.COLUMNS if scored]
    table = terminal.table(title + left_out(runs), ["traffic"], headings + scores)
    if not complete:
        return table
    frames = [measures.by_traffic(run).to_dicts() for run in complete]
    counts = {rows[0]["traffic"]: rows for rows in zip(*frames, strict=True)}
    for traffic, values in seeds_summary(complete).items():
        supplied = counts[traffic][0]["finished"] is None
        cells = [_range([row["flows"] for row in counts[traffic]])]
        cells.append("-" if supplied else _range([row["finished"] for row in counts[traffic]]))
        cells += seeds_cells(values, columns, [row["slowdowns"] for row in counts[traffic]])
        table.add_row(traffic, *cells)
    if scored:
        table.add_section()
        table.add_row(mark_scores.ROW, *[""] * len(headings), *mark_scores.cells(complete))
    unfinished = _of_the_finished([row for rows in frames for row in rows])
    _footnote(
        table,
        [
            CATALOGUE["goodput_bps"].footnote,
            f"{unfinished}, all seeds together" if unfinished else "",
            f"{mark_scores.ROW}: {mark_scores.note(complete)}" if scored else "",
            _too_few(row for rows in frames for row in rows),
        ],
    )
    return table


def seeds_cells(values: Mapping[str, Estimate], columns: Sequence[Measure], counts: Sequence[int]) -> list[str]:
    """One cell for each of `columns`; `counts` are the slowdowns of each seed."""
    return [percentiles.cell(one.name, values, counts, partial(with_interval, show=one.show)) or "-" for one in columns]


def left_out(runs: Sequence[Results]) -> str:
    """Which seeds are not in the mean: ``; seed 4 partial, left out``."""
    seeds = [str(run.meta["seed"]) for run in runs if not run.complete]
    if not seeds:
        return ""
    return f"; seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)} partial, left out"


def _seeds_word(runs: Sequence[Results], complete: int) -> str:
    word = "seed" if complete == 1 else "seeds"
    return word if complete == len(runs) else f"complete {word}"


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return quantities.count(low) if low == high else f"{quantities.count(low)} to {quantities.count(high)}"


def _or_dash(value: float | None, show: Any) -> str:
    return "-" if value is None else str(show(value))
