"""Tables of a run for the terminal, and the same numbers as plain values for ``--json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from backwater import measures, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backwater.results import Results
    from backwater.stats import Estimate


def traffic_table(runs: Mapping[str, Results], title: str = "Traffic") -> Table:
    """Per traffic entry and run: flows, packets, CE, UE, throughput."""
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("traffic")
    if len(runs) > 1:
        table.add_column("run")
    for heading in ("flows", "finished", "packets", "CE", "UE", "throughput", "mean FCT", "p99 slowdown"):
        table.add_column(heading, justify="right")
    frames = {name: measures.by_traffic(run).to_dicts() for name, run in runs.items()}
    for rows in zip(*frames.values(), strict=True):
        for name, row in zip(frames, rows, strict=True):
            label = [name] if len(runs) > 1 else []
            table.add_row(row["traffic"] if name == next(iter(frames)) else "", *label, *_traffic_cells(row))
    return table


def _traffic_cells(row: Mapping[str, Any]) -> list[str]:
    counts = (row[key] for key in ("flows", "finished", "packets", "ce_packets", "ue_packets"))
    return [
        *map(quantity.count, counts),
        _or_dash(row["throughput_bps"], quantity.rate),
        _or_dash(row["mean_fct_ps"], quantity.time),
        _or_dash(row["p99_slowdown"], quantity.three_digits),
    ]


def port_table(runs: Mapping[str, Results], ports: Sequence[str], title: str = "Egress ports") -> Table:
    """Per named port and run: time in each state, PAUSEs, time OFF, marks, largest queue."""
    table = Table(title=title, title_justify="left", header_style="bold")
    table.add_column("port")
    if len(runs) > 1:
        table.add_column("run")
    for heading in (*measures.STATES, "PAUSEs", "OFF", "CE", "UE", "peak queue"):
        table.add_column(heading, justify="right")
    frames = {
        name: measures.by_port(run, ports, measures.busiest_priority(run)).to_dicts() for name, run in runs.items()
    }
    for rows in zip(*frames.values(), strict=True):
        for name, row in zip(frames, rows, strict=True):
            label = [name] if len(runs) > 1 else []
            port = row["name"] if row["name"] == row["port"] else f"{row['name']} {row['port']}"
            table.add_row(port if name == next(iter(frames)) else "", *label, *_port_cells(row))
    return table


def _port_cells(row: Mapping[str, Any]) -> list[str]:
    times = (row[state.replace("-", "_") + "_ps"] for state in measures.STATES)
    return [
        *(quantity.time(value) if value else "-" for value in times),
        quantity.count(row["pauses"]),
        quantity.time(row["paused_ps"]) if row["paused_ps"] else "-",
        quantity.count(row["ce_marks"]),
        quantity.count(row["ue_marks"]),
        quantity.size(row["peak_queue_bytes"]),
    ]


def busiest_ports(results: Results, limit: int) -> list[str]:
    """The ports that were paused, marked or filled most, for a table that cannot show all of them."""
    import polars as pl

    priority = measures.busiest_priority(results)
    names = {label: alias for alias, label in results.meta.get("aliases", {}).items()}
    ranked = (
        results.ports.filter(pl.col("priority") == priority)
        .sort("paused_ps", "peak_queue_bytes", "sent_bytes", descending=True)
        .head(limit)
        .select(pl.col("port").cast(pl.String))
        .collect()["port"]
    )
    return [names.get(label, label) for label in ranked]


#: What is averaged over seeds: key in a traffic row, heading, how it is printed.
_OVER_SEEDS = (
    ("ce_packets", "CE", quantity.count),
    ("ue_packets", "UE", quantity.count),
    ("throughput_bps", "throughput", quantity.rate),
    ("mean_fct_ps", "mean FCT", quantity.time),
    ("p99_slowdown", "p99 slowdown", quantity.three_digits),
)


def seeds_summary(runs: Sequence[Results]) -> dict[str, dict[str, Estimate]]:
    """Per traffic entry, each quantity's mean over the runs; a quantity that a run does not have is left out."""
    from backwater.stats import estimate

    per_run = [{row["traffic"]: row for row in measures.by_traffic(run).to_dicts()} for run in runs]
    summary: dict[str, dict[str, Estimate]] = {}
    for traffic in per_run[0]:
        summary[traffic] = {}
        for key, _, _ in _OVER_SEEDS:
            values = [row[traffic][key] for row in per_run]
            if all(value is not None for value in values):
                summary[traffic][key] = estimate(values)
    return summary


def seeds_table(runs: Sequence[Results]) -> Table:
    """Per traffic entry, mean over seeds ± half of the 95 % confidence interval."""
    table = Table(
        title=f"Traffic, mean of {len(runs)} seeds ± 95 % confidence", title_justify="left", header_style="bold"
    )
    table.add_column("traffic")
    for _, heading, _ in _OVER_SEEDS:
        table.add_column(heading, justify="right")
    for traffic, values in seeds_summary(runs).items():
        table.add_row(
            traffic, *(with_interval(values[key], show) if key in values else "-" for key, _, show in _OVER_SEEDS)
        )
    return table


def with_interval(value: Estimate, show: Any) -> str:
    """A mean and its confidence interval in words: ``10.2 Gbps ± 110 Mbps``."""
    if value.half_width is None:
        return str(show(value.mean))
    return f"{show(value.mean)} ± {show(value.half_width)}"


def run_lines(results: Results) -> list[str]:
    """What a person wants to know of a run besides its tables, one line each."""
    meta = results.meta
    wall = meta["wall_s"]
    speed = f", {meta['packet_hops'] / wall / 1e6:.1f} million packet-hops/s" if wall > 0 else ""
    simulated = quantity.time(meta["sim_time_ps"])
    lines = [f"seed {meta['seed']}, digest {meta['digest']}, {simulated} simulated in {wall:.1f} s{speed}"]
    if not results.complete:
        lines.append("partial: the run was interrupted; these are the results until then")
    lines += [f"caveat: {caveat}" for caveat in meta["caveats"]]
    return lines + _without_pauses(meta)


def _without_pauses(meta: Mapping[str, Any]) -> list[str]:
    """Why a lossless network saw no PAUSE: how far its fullest ingress buffer was from Xoff."""
    pfc = meta["scenario"].get("switch", {}).get("pfc", {"form": "off"})
    if pfc["form"] == "off" or meta["totals"]["pauses"] > 0:
        return []
    peak = meta["totals"].get("peak_ingress")
    if peak is None:
        return ["no PAUSE: no switch held a packet"]
    peer, node = reversed(peak["port"].split("->"))
    xoff = f"Xoff is {pfc['xoff']}" if pfc["threshold"] == "static" else "the dynamic threshold was higher"
    return [f"no PAUSE: the fullest ingress, at {node} from {peer}, held {quantity.size(peak['bytes'])}; {xoff}"]


def _or_dash(value: float | None, show: Any) -> str:
    return "-" if value is None else str(show(value))
