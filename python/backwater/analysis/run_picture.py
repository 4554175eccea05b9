"""What a run, or several, look like at a glance: queues or rates over time, or the slowdown of the flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from backwater.analysis import pictures, plot
from backwater.common import quantities
from backwater.errors import UsageError
from backwater.results import Results, measures

#: What a run can be asked to plot.
KINDS = ("queues", "rates", "slowdown")
#: At most so many faults have their numbers beside their lines.
_NUMBERED = 8
#: What ends a fault.
_OVER = ("up", "calm")


def draw(groups: Mapping[str, Sequence[Results]], file: Path, kind: str | None = None) -> Path:
    """Draw one run as its kind says; of several the slowdown of the flows, a line for each group."""
    runs = [run for of_group in groups.values() for run in of_group]
    if len(runs) > 1 and kind not in (None, "slowdown"):
        raise UsageError(
            f"{kind} over time are those of one run, and there are {len(runs)}: --kind slowdown, or one run"
        )
    made = of_run(runs[0], kind) if len(runs) == 1 else slowdowns(groups)
    with plot.style():
        return plot.save(made, file)


def of_run(results: Results, kind: str | None = None) -> Figure:
    """Queues over time if some are sampled, else the slowdown of the flows."""
    if kind is None:
        kind = "queues" if results.has("samples") else "slowdown"
    if kind not in KINDS:
        raise UsageError(f"plot: {kind!r} is not known; choose of {', '.join(KINDS)}")
    if kind == "queues":
        return _over_time(results, "samples", "port", "queue_bytes", ("egress queue in KB", 1e3))
    if kind == "rates":
        return _over_time(results, "rates", "flow", "rate_bps", ("allowed rate in Gbps", 1e9))
    return slowdowns({results.folder.name: [results]}, by_traffic=True)


def _over_time(results: Results, table: str, by: str, column: str, axis: tuple[str, float]) -> Figure:

    frame = results.table(table).select(by, "time_ps", column).sort("time_ps").collect()
    if by == "port":
        # All priorities of a port share its memory.
        frame = frame.group_by(by, "time_ps", maintain_order=True).agg(pl.col(column).sum())
    if frame.is_empty():
        raise UsageError(f"{results.folder}: table {table} has no rows; --set probe.sample=10us records it")
    # The longest queues, or the flows that were allowed most, come first.
    peaks = frame.group_by(by, maintain_order=True).agg(pl.col(column).max())
    names = peaks.sort(column, descending=True, maintain_order=True).get_column(by).to_list()
    label, unit = axis
    with plot.style():
        figure = plot.figure()
        axes = figure.subplots()
        for number, name in enumerate(names[: len(plot.CYCLE)]):
            rows = frame.filter(pl.col(by) == name)
            shown = f"flow {name}" if by == "flow" else str(name)
            time, values = rows["time_ps"].to_numpy() / 1e9, rows[column].to_numpy() / unit
            axes.plot(time, values, color=plot.CYCLE[number], drawstyle="steps-post", label=shown)
        axes.set(xlabel="time in ms", ylabel=label)
        if pictures.paper().width is None:
            axes.set_title(results.folder.name)
        axes.set_ylim(bottom=0)
        if by == "port" and frame[column].max() == 0:
            told = f"no packet waited at any of the {len(names)} ports\nwhen their queues were looked at"
            axes.text(0.5, 0.5, told, ha="center", va="center", transform=axes.transAxes)
            axes.set_yticks([])
            axes.set_xlim(0, results.meta["sim_time_ps"] / 1e9)
            _mark_faults(axes, results)
            return figure
        axes.set_xlim(left=0)
        _mark_faults(axes, results)
        shown_first = "longest queues" if by == "port" else "highest rates"
        more = f"the {len(plot.CYCLE)} {shown_first} of {len(names)}" if len(names) > len(plot.CYCLE) else None
        if pictures.paper().narrow:
            # Names of ports do not fit beside the lines of a small picture.
            figure.legend(title=more, loc="outside upper center", ncols=2)
        else:
            axes.legend(title=more)
    return figure


def _mark_faults(axes: Axes, results: Results) -> None:
    """A line where each fault begins, with its number if there are few, and a thin one where it ends."""
    if not results.has("faults"):
        return
    time, event = pl.col("time_ps"), pl.col("event").cast(pl.String)
    # A link gets another rate when it becomes slow, and its own one afterwards.
    over = time.filter(event.is_in(_OVER) | ((event == "rate") & (time > time.min()))).max()
    begun = results.faults.filter(pl.col("fault").is_not_null()).group_by("fault").agg(time.min(), over=over)
    faults = begun.sort("fault").collect().rows()
    for number, time_ps, over_ps in faults:
        axes.axvline(time_ps / 1e9, color=plot.GREY, ls=":", lw=1, zorder=0)
        until = over_ps or _until(results, number)
        if until is not None:
            axes.axvline(until / 1e9, color=plot.GREY, ls=":", lw=0.5, zorder=0)
        if len(faults) <= _NUMBERED:
            at = (time_ps / 1e9, 1.0)
            axes.annotate(
                f"fault {number}",
                at,
                (2, -2),
                xycoords=axes.get_xaxis_transform(),
                textcoords="offset points",
                rotation=90,
                va="top",
                size=7,
                color=plot.GREY,
            )


def _until(results: Results, fault: int) -> int | None:
    """When a fault ends whose end is no event, as of a loss, if the run goes that far."""
    written = results.meta["scenario"]["fault"][fault].get("until")
    until = quantities.parse_time(written) if written else results.meta["sim_time_ps"]
    return until if until < results.meta["sim_time_ps"] else None


def _with_ends(run: Results) -> pl.LazyFrame:
    """The flows that have a slowdown, and those that would have one if they had come to their end."""
    scenario = run.meta["scenario"]
    traffic = pl.col("traffic").cast(pl.String)
    sized = pl.col("size_bytes").is_not_null() & ~traffic.is_in(
        measures.supplied(scenario) + measures.programs(scenario)
    )
    counts = pl.col("slowdown").is_not_null() | (sized & pl.col("finish_ps").is_null())
    return measures.timed_flows(run).filter(counts).select(traffic, "slowdown")


def slowdowns(groups: Mapping[str, Sequence[Results]], *, by_traffic: bool = False) -> Figure:
    """Cumulative share of the flows by their slowdown, one line for each group or traffic entry.

    Flows that have an end and did not come to it count, too: a line with some never comes to 1.
    """
    lines: dict[str, pl.Series] = {}
    every: dict[str, int] = {}
    for name, runs in groups.items():
        flows = pl.concat([_with_ends(run) for run in runs]).collect()
        parts = flows.partition_by("traffic", as_dict=True, maintain_order=True) if by_traffic else {(name,): flows}
        lines.update({str(key[0]): part["slowdown"].drop_nulls().sort() for key, part in parts.items()})
        every.update({str(key[0]): len(part) for key, part in parts.items()})
    lines = {name: values for name, values in lines.items() if len(values)}
    if not lines:
        raise UsageError('plot: no flow has finished, so that there is no slowdown; plot("queues") needs probe.sample')
    with plot.style():
        figure = plot.figure()
        axes = figure.subplots()
        colours, markers = plot.scheme_colours(list(lines)), plot.scheme_markers(list(lines))
        for number, (name, values) in enumerate(lines.items()):
            share = [(rank + 1) / every[name] for rank in range(len(values))]
            count = f"{len(values)} of {every[name]}" if every[name] > len(values) else f"{len(values)}"
            colour = colours[name]
            dash = plot.dashes(name) if number < len(plot.CYCLE) else "--"
            one = len(values) == 1
            axes.plot(
                [values[0], *values],
                [0, *share],
                drawstyle="steps-post",
                color=colour,
                linestyle=dash,
                # At some heights, and not where other lines have theirs.
                marker=markers[name],
                markevery=1 if one else (0.02 + 0.1 * number / len(lines), 0.1),
                ms=3.5,
                label=f"{name} ({count} flow{'' if every[name] == 1 else 's'})",
            )
        axes.set(xlabel="slowdown (FCT over that in an empty network)", ylabel="share of flows")
        axes.set_ylim(0, 1.02)
        least = min(float(values[0]) for values in lines.values())
        if max(float(values[-1]) for values in lines.values()) > 20 * least:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        else:
            axes.set_xlim(left=0)
        axes.legend(loc="lower right")
    return figure
