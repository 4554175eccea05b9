"""Schemes compared under the same traffic: what is the slowdown of its flows by size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.table import Table

from backwater.analysis import slowdown
from backwater.analysis.slowdown import Base
from backwater.common import percentiles, quantities, statistics, terminal
from backwater.common.late import pl
from backwater.common.statistics import Estimate
from backwater.errors import UsageError
from backwater.results import Results
from backwater.scenario import senders
from backwater.scenario.schemes import Scheme

#: Cuts between size bins where the traffic is not of one of the two tables.
_CUTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
#: So many schemes fit into the legend of a panel, and into a title.
FEW = 4
#: What intervals are if there is one seed.
ONE_SEED = "one seed; a (b to c): 95 % interval of a percentile, as if flows were independent; --seeds tells more"
#: What of a bin is divided by the same of the first scheme.
_RATIOS = ("median", "p99")


@dataclass(frozen=True)
class Comparison:
    """Runs of each scheme over the same seeds, and what their flows are looked at for."""

    runs: Mapping[str, Sequence[Results]]
    edges: Sequence[int]
    base: Base = "alone"
    traffic: str | None = None
    #: Whether the bins are what the user wants, and not to be merged where they have too few flows.
    given: bool = False

    def table(self) -> pl.DataFrame | None:
        """One row per size bin and scheme, and one per scheme for all sizes; None if no flow has an end.

        The columns of :func:`slowdown.by_size` after ``scheme``, ``bin`` (the bin in words) and ``entries``
        (the traffic entries of its flows), then those of :func:`slowdown.ratios` against the first scheme.
        Bins have about as many flows each, and enough for the percentiles, unless they are given or each is one size.
        """
        frames = {
            name: [slowdown.flows(run, base=self.base, traffic=self.traffic) for run in runs]
            for name, runs in self.runs.items()
        }
        if not any(len(frame) for seeds in frames.values() for frame in seeds):
            return None
        parts = [_rows(frames, edges) for edges in (self._bins(frames), ())]
        order = {name: index for index, name in enumerate(self.runs)}
        bins, whole = (part.sort("low_bytes", pl.col("scheme").replace_strict(order)) for part in parts)
        return pl.concat([bins, whole.with_columns(bin=pl.lit("all sizes"))])

    def _bins(self, frames: Mapping[str, Sequence[pl.DataFrame]]) -> Sequence[int]:
        if self.given or _exact(frames, self.edges):
            return self.edges
        every = [frame for seeds in frames.values() for frame in seeds]
        # Of sizes that are drawn from a distribution every bin has about as many.
        return slowdown.equal_counts(every) or slowdown.merged(every, self.edges)


def _rows(frames: Mapping[str, Sequence[pl.DataFrame]], edges: Sequence[int]) -> pl.DataFrame:
    first = next(iter(frames.values()))
    exact = _exact(frames, edges)
    parts = []
    for name, seeds in frames.items():
        bins = slowdown.by_size(seeds, edges, within=True)
        words = [exact.get(low) or _words(low, high) for low, high in bins.select("low_bytes", "high_bytes").rows()]
        entries = pl.Series(
            "entries", [_entries(seeds, *ends) for ends in bins.select("low_bytes", "high_bytes").rows()]
        )
        named = bins.select(pl.lit(name).alias("scheme"), pl.Series("bin", words, pl.String), entries, pl.all())
        parts.append(named.join(slowdown.ratios(first, seeds, edges), on="low_bytes", how="left"))
    return pl.concat(parts)


def _entries(seeds: Sequence[pl.DataFrame], low: int, high: int | None) -> str:
    """The traffic entries of the flows of a bin."""
    inside = pl.col("size_bytes") >= low
    if high is not None:
        inside &= pl.col("size_bytes") < high
    names = {str(name) for frame in seeds for name in frame.filter(inside)["traffic"].unique()}
    return ", ".join(sorted(names))


def _exact(frames: Mapping[str, Sequence[pl.DataFrame]], edges: Sequence[int]) -> dict[int, str]:
    """The size in each bin by the bin's lower end, if no bin has two sizes; else nothing."""
    sizes = {int(size) for seeds in frames.values() for frame in seeds for size in frame["size_bytes"].unique()}
    lows = {size: max((cut for cut in edges if cut <= size), default=0) for size in sizes}
    return (
        {low: quantities.round_size(size) for size, low in lows.items()}
        if len(set(lows.values())) == len(sizes)
        else {}
    )


def _words(low: int, high: int | None) -> str:
    if high is None:
        return f"≥ {quantities.round_size(low)}"
    return (
        f"< {quantities.round_size(high)}"
        if low == 0
        else f"{quantities.round_size(low)}–{quantities.round_size(high)}"
    )


def cuts(schemes: Sequence[Scheme], traffic: str | None) -> tuple[int, ...]:
    """Cuts that suit the traffic: those of its size table, if it has one; of a discrete table each size is a bin.

    Raises UsageError if no scheme has the traffic entry or job.
    """
    entries = [entry for scheme in schemes for entry in senders.of(scheme.scenario.resolve(scheme.overrides))]
    names = list(dict.fromkeys(entry["name"] for entry in entries))
    if traffic is not None and traffic not in names:
        raise UsageError(f"there is no traffic {traffic!r}; there is {', '.join(names)}")
    tables: set[Any] = {
        entry.get("cdf", "mpi-io" if entry["kind"] == "mpi-io" else None)
        for entry in entries
        if traffic in (None, entry["name"])
    }
    if tables and all(table in slowdown.SIZES for table in tables):
        return tuple(sorted({size for table in tables for size in slowdown.SIZES[table]}))[1:]
    known = [table for table in tables if table in slowdown.EDGES]
    return slowdown.EDGES[known[0]] if len(known) == 1 else _CUTS


def shown(table: pl.DataFrame, seeds: int, base: Base) -> Table:
    """The table for the terminal: mean over the seeds ± half of the 95 % confidence interval."""
    first = table["scheme"][0]
    over = f"mean of {seeds} seeds ± 95 % confidence interval" if seeds > 1 else "one seed"
    made = terminal.table(f"FCT slowdown by flow size, {over}", ("size", "scheme"))
    for heading in ("flows", "median", "p95", "p99", "mean", "mean FCT", *(f"{name} ÷ {first}'s" for name in _RATIOS)):
        made.add_column(heading, justify="right", no_wrap=heading in slowdown.STATISTICS)
    before = ""
    # Of one size alone all sizes together say the same.
    one_size = table["bin"].n_unique() == 2
    for row in (table.filter(pl.col("bin") != "all sizes") if one_size else table).to_dicts():
        if before and row["bin"] != before:
            made.add_section()
        made.add_row("" if row["bin"] == before else row["bin"], row["scheme"], *_cells(row, first))
        before = row["bin"]
    bases = {"alone": "FCT of the same flow alone in the empty network", "analytic": "(size / line rate + propagation)"}
    lines = [f"slowdown: FCT / {bases[base]}"]
    if seeds > 1:
        lines.append(
            f"flows: how many finished, all {seeds} seeds together; percentiles are of each seed, then averaged"
        )
        lines.append(f"95 % confidence intervals: Student's t over seeds; {statistics.CUT}, for a slowdown 1")
        if table["scheme"].n_unique() > 1:
            lines.append(f"÷ {first}'s: seed by seed, geometric mean and interval")
    else:
        lines.append(ONE_SEED)
    few = [
        percent for name, (percent, _) in percentiles.INSTEAD.items() if name in table.columns and too_few(table, name)
    ]
    if few:
        lines.append(percentiles.note(*few))
    unfinished = table.filter(pl.col("bin") == "all sizes").select("scheme", "unfinished").rows()
    if any(count for _, count in unfinished):
        counts = ", ".join(f"{name} {quantities.count(count)}" for name, count in unfinished)
        together = " (all seeds together)" if seeds > 1 else ""
        lines.append(f"flows that did not finish before the run ended have no FCT and are left out{together}: {counts}")
        lines.append("percentiles without them are too good")
    made.caption = "\n".join(lines)
    return made


def unfinished(table: pl.DataFrame) -> str:
    """What the title of a picture says of flows that are in none of its percentiles."""
    rows = table.filter(pl.col("bin") == "all sizes", pl.col("unfinished") > 0).select("scheme", "unfinished").rows()
    names = [f"{quantities.count(count)} of {name}" for name, count in rows[:FEW]]
    more = [f"some of {len(rows) - FEW} more schemes"] if len(rows) > FEW else []
    return f"; without flows that never finished: {', '.join(names + more)}" if rows else ""


def too_few(table: pl.DataFrame, name: str) -> bool:
    """Whether a percentile has too few flows in a bin."""
    return table.filter(pl.col(name).is_null(), pl.col("flows") > 0).height > 0


def _cells(row: Mapping[str, Any], first: str) -> list[str]:
    cells = [quantities.count(row["flows"])]
    known = {name: value for name in slowdown.STATISTICS if (value := _estimate(row, name)) is not None}
    counts = (row["least_flows"], row["most_flows"])
    show = partial(_interval, show=quantities.three_digits)
    cells += [percentiles.cell(name, known, counts, show) or "-" for name in ("median", "p95", "p99", "mean")]
    cells.append(_interval(known["mean_fct_ps"], quantities.time) if "mean_fct_ps" in known else "-")
    ratios = [_estimate(row, f"{name}_ratio") for name in _RATIOS]
    if row["scheme"] == first and row["flows"]:
        return cells + ["-" if one is None else "1" for one in ratios]
    return cells + ["-" if one is None else _interval(one, quantities.three_digits) for one in ratios]


def _estimate(row: Mapping[str, Any], name: str) -> Estimate | None:
    """A mean over seeds again, of the columns of a table."""
    mean, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if mean is None:
        return None
    # The interval was even before it was cut at a bound: the end that is further away tells its width.
    # That of a percentile of one seed is not even at all.
    width = max(mean - low, high - mean) if row["seeds"] > 1 or low < high else None
    if width is None or low == high:
        return statistics.Estimate(mean, width, (mean,))
    cut = (1 - 1e-9) * width
    least, most = (low if mean - low < cut else -math.inf), (high if high - mean < cut else math.inf)
    return statistics.Estimate(mean, width, (low, high), least, most)


def _interval(value: Estimate, show: Any) -> str:
    return statistics.with_interval(value, show)


def title(schemes: Sequence[str], traffic: str | None) -> str:
    """What a picture of these schemes is of."""
    names = " against ".join(schemes) if len(schemes) <= FEW else f"{len(schemes)} schemes"
    return f"{names}, traffic {traffic}" if traffic else names
