"""What the pages of schemes that act hop by hop measure alike: BFC, PCN, Floodgate and Pyrrha."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.common import quantities, statistics
from backwater.papers import Seeds
from backwater.results import Results
from matplotlib.axes import Axes

#: Picoseconds of a microsecond.
US = 1e6


def flows(run: Results, entry: str = "") -> pl.DataFrame:
    """Flows of the entries whose names begin so, in their order; `acked_us` is the FCT that the sender sees."""
    shown = run.flows.select(
        "flow",
        "size_bytes",
        "slowdown",
        traffic=pl.col("traffic").cast(pl.String),
        fct_us=pl.col("fct_ps") / US,
        acked_us=(pl.col("acked_ps").cast(pl.Int64) - pl.col("start_ps").cast(pl.Int64)) / US,
        done_us=pl.col("finish_ps") / US,
    )
    return shown.filter(pl.col("traffic").str.starts_with(entry)).sort("flow").collect()


def whole(values: pl.Series) -> list[float] | None:
    """Values of flows that all came to their end; None if one did not."""
    return None if values.is_empty() or values.null_count() else values.to_list()


def mean(values: pl.Series) -> float | None:
    """Their mean, if all flows came to their end."""
    found = whole(values)
    return None if found is None else sum(found) / len(found)


def p99(values: pl.Series) -> float | None:
    """Their 99th percentile by nearest rank, if all flows came to their end."""
    found = whole(values)
    return None if found is None else sorted(found)[math.ceil(0.99 * len(found)) - 1]


def ratio(above: float | None, below: float | None) -> float | None:
    """How many times as much; None if one of them is not known."""
    return None if above is None or not below else above / below


def peak_bytes(run: Results, port: str = "") -> float:
    """The longest queue at an egress port of a switch, or of the ports whose names begin so."""
    hosts = run.flows.select(pl.concat([pl.col("src_index"), pl.col("dst_index")]).unique().implode()).collect().item()
    at = pl.col("port").cast(pl.String).str.starts_with(port) & ~pl.col("node_index").is_in(hosts)
    return float(run.ports.filter(at).select(pl.col("peak_queue_bytes").max()).collect().item() or 0)


def published(file: Path) -> dict[str, list[str]]:
    """A table of a public simulator's runs by column; lines with # are words."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    return {name: [row[name] for row in rows] for name in rows[0]}


def over_seeds(values: Sequence[float | None], decimals: int = 2) -> str:
    """Mean and interval of what each seed has, for a table."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return "–"

    def show(value: float) -> str:
        return quantities.three_digits(value) if abs(value) >= 1 else f"{value:.{decimals}f}"

    return statistics.with_interval(statistics.estimate(known), show)


def by_size(seeds: Seeds, entry: str, edges: Sequence[int], words: tuple[str, Sequence[str]], file: Path) -> None:
    """A picture of the p99 slowdown of an entry's flows by size; `words` are its title and the bins.

    A bar is the mean over the seeds that have flows of that size, all of which came to their end.
    """
    title, groups = words

    def tail(tables: Iterable[pl.DataFrame], low: int, high: int) -> float:
        size = pl.col("size_bytes")
        found = known(p99(table.filter((size > low) & (size <= high))["slowdown"]) for table in tables)
        return sum(found) / len(found) if found else math.nan

    with plot.picture(file, title, 8.0, 3.6) as made:
        axes = made.subplots()
        series = {}
        for name in seeds[0]:
            tables = [flows(runs[name], entry) for runs in seeds]
            series[name] = [tail(tables, low, high) for low, high in itertools.pairwise(edges)]
        bars(axes, groups, series, "99th percentile of the slowdown")
        axes.set_yscale("log")
        axes.legend(fontsize=7, ncols=3)


def bars(axes: Axes, groups: Sequence[str], series: Mapping[str, Sequence[float]], words: str) -> None:
    """Bars beside each other: a group for each name, a bar for each series."""
    width, colours = 0.8 / max(1, len(series)), plot.scheme_colours(list(series))
    for number, (name, values) in enumerate(series.items()):
        places = [place + (number - (len(series) - 1) / 2) * width for place in range(len(groups))]
        axes.bar(places, values, width, label=name, color=colours[name])
    axes.set_xticks(range(len(groups)), groups, fontsize=7)
    axes.set_ylabel(words)


def known(values: Iterable[float | None]) -> list[float]:
    """Those that there are."""
    return [value for value in values if value is not None]


def three(value: float) -> str:
    """With three digits."""
    return quantities.three_digits(value)
