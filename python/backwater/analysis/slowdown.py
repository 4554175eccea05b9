"""Slowdown of flows over their size: FCT relative to a base FCT, per bin, with confidence intervals over seeds.

A flow's slowdown is its FCT over a base: that of the same flow alone in the empty network (``alone``), or the estimate
size / line rate + one-way propagation that the TCD authors' simulator uses (``analytic``), which leaves out headers and
store-and-forward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from backwater.common.late import np, pl
from backwater.common.percentiles import least, ranks
from backwater.common.statistics import Estimate, estimate, geometric
from backwater.errors import UsageError
from backwater.results import Results
from backwater.results.flow_expressions import nearest_rank
from backwater.results.measures import programs
from backwater.results.measures import supplied as supplied_entries

Base = Literal["alone", "analytic"]

#: Which column of the flows table is which base.
_BASES: Mapping[Base, str] = {"alone": "ideal_fct_ps", "analytic": "analytic_fct_ps"}

#: Cuts between the size bins, in bytes, by size table. The paper's Figures 15 to 19 do not print their axes' bins as
#: numbers; these are knots of the two tables (so that every bin has at least 1.5 % of the flows) and the sizes that the
#: paper's text names: 10, 50, 80, 100 and 120 KB for Hadoop, 500 KB, 1 and 5 MB for WebSearch.
EDGES: Mapping[str, tuple[int, ...]] = {
    "hadoop": (500, 1_000, 10_000, 30_000, 50_000, 80_000, 100_000, 120_000, 300_000, 1_000_000),
    "web-search": (10_000, 30_000, 50_000, 80_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000, 10_000_000),
}

_MPI = (2_048, 4_096, 8_192, 16_384, 32_768)
_IO = (524_288, 1_048_576, 2_097_152, 4_194_304)
#: The sizes of the discrete tables, in bytes.
SIZES: Mapping[str, tuple[int, ...]] = {"mpi": _MPI, "io": _IO, "mpi-io": _MPI + _IO}

#: The statistics of a bin that get a mean over seeds and a confidence interval.
STATISTICS = ("median", "p95", "p99", "max", "mean", "mean_fct_ps")
#: How the columns of a mean and of the ends of its interval end.
_ENDS = ("", "_low", "_high")


def flows(results: Results, *, base: Base = "alone", traffic: str | None = None) -> pl.DataFrame:
    """Size, FCT and slowdown of every flow that has an end, of one traffic entry or of all.

    Supplied flows and channels between ranks have none.
    Columns ``flow``, ``traffic``, ``size_bytes``, ``start_ps``, ``fct_ps`` and ``slowdown``. A flow that did not finish
    before the run ended has null for the last two; :func:`by_size` counts it as `unfinished`. Raises UsageError for a
    traffic entry that the run does not have, and for results of a version that did not write the base.
    """
    table = results.flows
    column = _BASES[base]
    if column not in table.collect_schema():
        raise UsageError(f"{results.file('flows')} has no column {column} (base {base}); run the scenario again")
    if traffic is not None:
        name = pl.col("traffic").cast(pl.String)
        known = table.select(name.unique(maintain_order=True)).collect()["traffic"].to_list()
        if traffic not in known:
            raise UsageError(f"{results.folder} has no traffic {traffic!r}; it has {', '.join(known)}")
        table = table.filter(name == traffic)
    scenario = results.meta["scenario"]
    without_end = pl.col("traffic").cast(pl.String).is_in(supplied_entries(scenario) + programs(scenario))
    return (
        table.filter(pl.col("size_bytes").is_not_null(), ~without_end)
        .select("flow", "traffic", "size_bytes", "start_ps", "fct_ps", slowdown=pl.col("fct_ps") / pl.col(column))
        .collect()
    )


def by_size(frames: Sequence[pl.DataFrame], edges: Sequence[int], *, within: bool = False) -> pl.DataFrame:
    """Slowdown per size bin: for each seed the bin's statistics, then their mean over the seeds and its 95 % interval.

    `frames` are seeds, as from :func:`flows`. `edges` are the cuts: a bin holds sizes from ``low_bytes`` up to, not
    including, ``high_bytes``, which is null for the last; bins without a flow are left out. Each row has ``seeds``
    (those that have finished flows in the bin), ``flows`` (finished, all seeds together), ``unfinished``, and per name
    of STATISTICS the mean over seeds with ``<name>_low`` and ``<name>_high`` (equal to the mean for a single seed; null
    if no flow finished). Percentiles are nearest ranks over the finished flows, as in run.json. `within` a single seed
    they have the intervals of :func:`percentiles.ranks`, as if its flows were independent.
    """
    cuts = checked(edges)
    per_seed = [_bins(frame, cuts) for frame in frames]
    rows = [_over_seeds(bin_, [seed[bin_] for seed in per_seed if bin_ in seed], cuts) for bin_ in range(len(cuts) + 1)]
    if within and len(frames) == 1:
        rows = [row | _intervals(frames[0], row) for row in rows]
    return pl.DataFrame([row for row in rows if row["flows"] or row["unfinished"]], schema=_schema())


def _intervals(frame: pl.DataFrame, row: Mapping[str, Any]) -> dict[str, float | int | None]:
    """The ends of the percentiles' intervals in a bin of one seed, of those that have some."""
    low, high = row["low_bytes"], row["high_bytes"]
    inside = (pl.col("size_bytes") >= low) & (pl.lit(high is None) | (pl.col("size_bytes") < (high or 0)))
    values = frame.filter(inside)["slowdown"].drop_nulls().sort()
    found: dict[str, float | int | None] = {}
    for name, percent in (("median", 50), ("p95", 95), ("p99", 99)):
        ends = ranks(len(values), percent) if row[name] is not None else None
        if ends is not None:
            found |= {f"{name}_low": float(values[ends[0] - 1]), f"{name}_high": float(values[ends[1] - 1])}
    return found


def merged(frames: Sequence[pl.DataFrame], edges: Sequence[int]) -> list[int]:
    """Those of the cuts that leave every bin, in each of `frames`, as many flows as the percentiles need.

    The 99th if all flows of a frame together are enough for it, else the 95th; with fewer still the cuts stay, as
    merging would help no percentile. Bins are joined from the smallest sizes up, what is left at the end with the one
    before.
    """
    cuts = checked(edges)
    of_seeds = [_counts(frame, cuts) for frame in frames]
    fewest = min((sum(counts) for counts in of_seeds), default=0)
    needed = next((least(percent) for percent in (99, 95) if fewest >= least(percent)), 0)
    kept: list[int] = []
    since = [0] * len(of_seeds)
    for number, cut in enumerate(cuts):
        since = [sum_ + counts[number] for sum_, counts in zip(since, of_seeds, strict=True)]
        # Bins that nobody has flows in need none.
        if all(sum_ >= needed for sum_ in since) or not any(since):
            kept.append(cut)
            since = [0] * len(of_seeds)
    rest = [sum_ + counts[-1] for sum_, counts in zip(since, of_seeds, strict=True)]
    while kept and any(rest) and not all(sum_ >= needed for sum_ in rest):
        last = kept.pop()
        before = kept[-1] if kept else 0
        inside = pl.col("size_bytes").is_between(before, last, closed="left") & pl.col("fct_ps").is_not_null()
        rest = [sum_ + frame.filter(inside).height for sum_, frame in zip(rest, frames, strict=True)]
    return kept


def equal_counts(frames: Sequence[pl.DataFrame], most: int = 8) -> list[int] | None:
    """Cuts between as many bins as have enough flows for the percentiles, about as many in each; `most` at most.

    The cuts are quantiles of the sizes of all `frames` together, with two digits. None if not even two bins have enough
    flows.
    """
    sizes = pl.concat([frame["size_bytes"] for frame in frames])
    fewest = min(frame["fct_ps"].count() for frame in frames)
    needed = least(99) if fewest >= least(99) else least(95)
    for bins in range(min(most, fewest // needed), 1, -1):
        quantiles = (sizes.quantile(number / bins, interpolation="higher") for number in range(1, bins))
        cuts = sorted({int(float(f"{size:.2g}")) for size in quantiles if size is not None})
        # The smallest sizes begin the first bin: a cut there would leave it empty.
        cuts = [cut for cut in cuts if (sizes < cut).any()]
        if len(cuts) == bins - 1 and merged(frames, cuts) == cuts and _enough(frames, cuts):
            return cuts
    return None


def _enough(frames: Sequence[pl.DataFrame], cuts: list[int]) -> bool:
    return all(count >= least(95) for frame in frames for count in _counts(frame, cuts))


def _counts(frame: pl.DataFrame, cuts: list[int]) -> list[int]:
    """How many flows of a seed finished, by number of the bin."""
    sizes = frame.filter(pl.col("fct_ps").is_not_null())["size_bytes"].to_numpy()
    # A size equal to a cut belongs to the bin above it.
    found = np.bincount(np.searchsorted(cuts, sizes, side="right"), minlength=len(cuts) + 1)
    return [int(count) for count in found]


def _schema() -> dict[str, Any]:
    return {
        "low_bytes": pl.Int64,
        "high_bytes": pl.Int64,
        "seeds": pl.Int64,
        "flows": pl.Int64,
        "unfinished": pl.Int64,
        "least_flows": pl.Int64,
        "most_flows": pl.Int64,
        **{f"{name}{end}": pl.Float64 for name in STATISTICS for end in _ENDS},
    }


def ratios(first: Sequence[pl.DataFrame], other: Sequence[pl.DataFrame], edges: Sequence[int]) -> pl.DataFrame:
    """Per size bin, each of STATISTICS under `other` divided by the same under `first`, seed by seed.

    Both hold the same seeds in the same order. Columns ``low_bytes`` and, per name of STATISTICS, ``<name>_ratio``
    (geometric mean over the seeds that have finished flows in the bin under both; null without any),
    ``<name>_ratio_low`` and ``<name>_ratio_high`` (95 % interval, of the logarithms). The traffic of a seed is the same
    under both, so the interval is that of the schemes' difference, without that between the seeds.
    """
    cuts = checked(edges)
    pairs = [(_bins(one, cuts), _bins(two, cuts)) for one, two in zip(first, other, strict=True)]
    rows = []
    for number in range(len(cuts) + 1):
        both = [(one[number], two[number]) for one, two in pairs if number in one and number in two]
        both = [(one, two) for one, two in both if one["flows"] and two["flows"]]
        row: dict[str, float | int | None] = {"low_bytes": cuts[number - 1] if number else 0}
        for name in STATISTICS:
            pairs_of = [(one[name], two[name]) for one, two in both]
            values = [above / below for below, above in pairs_of if below is not None and above is not None]
            whole = values and len(values) == len(both)
            mean, low, high = geometric(values) if whole else (None, None, None)
            # A single seed has no interval.
            row |= dict(zip((f"{name}_ratio{end}" for end in _ENDS), (mean, low or mean, high or mean), strict=True))
        rows.append(row)
    names = [f"{name}_ratio{end}" for name in STATISTICS for end in _ENDS]
    return pl.DataFrame(rows, schema={"low_bytes": pl.Int64, **dict.fromkeys(names, pl.Float64)})


def checked(edges: Sequence[int]) -> list[int]:
    """The cuts as a list; raises UsageError unless they rise."""
    cuts = list(edges)
    if cuts != sorted(set(cuts)) or (cuts and cuts[0] < 0):
        raise UsageError(f"size bins {', '.join(map(str, cuts))} do not rise; give each size once, smallest first")
    return cuts


def _columns(name: str, value: Estimate | None) -> dict[str, float | int | None]:
    """A mean and the ends of its interval as columns."""
    numbers = (None, None, None) if value is None else (value.mean, value.low, value.high)
    return {f"{name}{end}": number for end, number in zip(_ENDS, numbers, strict=True)}


def _bins(frame: pl.DataFrame, cuts: list[int]) -> dict[int, dict[str, Any]]:
    """One seed's statistics by number of the bin."""
    slowdown = pl.col("slowdown").drop_nulls()
    # A size equal to a cut belongs to the bin above it.
    above = (pl.lit(0), *(pl.col("size_bytes") >= cut for cut in cuts))
    rows = (
        frame.with_columns(bin=pl.sum_horizontal(*above))
        .group_by("bin")
        .agg(
            flows=pl.col("fct_ps").count(),
            unfinished=pl.col("fct_ps").null_count(),
            median=nearest_rank(slowdown, 50),
            p95=nearest_rank(slowdown, 95),
            p99=nearest_rank(slowdown, 99),
            max=slowdown.max(),
            mean=slowdown.mean(),
            mean_fct_ps=pl.col("fct_ps").mean(),
        )
    )
    return {row.pop("bin"): row for row in rows.to_dicts()}


def _over_seeds(number: int, seeds: Sequence[Mapping[str, Any]], cuts: list[int]) -> dict[str, float | int | None]:
    finished = [row for row in seeds if row["flows"]]
    row: dict[str, float | int | None] = {
        "low_bytes": cuts[number - 1] if number else 0,
        "high_bytes": cuts[number] if number < len(cuts) else None,
        "seeds": len(finished),
        "flows": sum(int(seed["flows"]) for seed in seeds),
        "unfinished": sum(int(seed["unfinished"]) for seed in seeds),
        "least_flows": min((int(seed["flows"]) for seed in finished), default=0),
        "most_flows": max((int(seed["flows"]) for seed in finished), default=0),
    }
    for name in STATISTICS:
        values = [float(seed[name]) for seed in finished if seed[name] is not None]
        row |= _columns(name, estimate(values, name) if values and len(values) == len(finished) else None)
    return row
