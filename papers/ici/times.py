"""How long packets and messages take: distributions and percentiles, each computed once of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from backwater.results import Results
from backwater.results.measures import end_ps
from numpy.typing import NDArray

from papers.ici.measured import US, half, offered

#: The percentiles that there are.
PERCENTILES = {"median": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
#: Classes of messages: larger than the first number of bytes, up to the second.
SIZES = ((0, 64), (64, 1024), (1024, 4096), (4096, 65_536), (65_536, None))
#: Points of a distribution that are kept, and as many of its tail.
_POINTS = 600


@dataclass(frozen=True)
class Times:
    """A distribution of times in µs: some of its values, the share that each does not exceed, and percentiles."""

    values: NDArray[np.float64]
    upto: NDArray[np.float64]
    percentiles: Mapping[str, float]


def distribution(ascending: NDArray[np.float64]) -> Times:
    """What is kept of values."""
    count = len(ascending)
    found = {name: percentile(ascending, percent) for name, percent in PERCENTILES.items()}
    if not count:
        return Times(ascending, ascending, found)
    even = np.linspace(0, count - 1, _POINTS)
    tail = count - np.geomspace(1, count, _POINTS)
    at = np.unique(np.clip(np.concatenate([even, tail]), 0, count - 1).astype(np.int64))
    return Times(ascending[at], (at + 1) / count, found)


def percentile(ascending: NDArray[np.float64], percent: float) -> float:
    """The smallest value that at least `percent` % of them do not exceed; not a number of none."""
    count = len(ascending)
    return float(ascending[max(-int(-count * percent // 100) - 1, 0)]) if count else float("nan")


def latency(run: Results, *, tree: bool) -> Times:
    """How long packets that left while the tree was offered were on their way."""
    return _latency(run.folder, tree)


@lru_cache(maxsize=4096)
def _latency(folder: Path, tree: bool) -> Times:
    return distribution(latency_us(Results(folder), tree=tree))


def latency_us(run: Results, *, tree: bool, made: bool = False) -> NDArray[np.float64]:
    """Times of packets that left while the tree was offered, in µs and ascending.

    They count from the wire, or from when the packets were made; of one that had not arrived when the run ended, until
    then.
    """
    start, end = offered(run)
    begin = pl.col("made_ps") if made else pl.col("time_ps")
    left = run.table("injected").filter(half(tree), begin.is_between(start, end, closed="left"))
    arrived = run.table("arrived").select("flow", "seq", arrived_ps="time_ps")
    joined = left.join(arrived, on=["flow", "seq"], how="left")
    taken = (pl.col("arrived_ps").fill_null(end_ps(run)).cast(pl.Int64) - begin.cast(pl.Int64)).sort() / US
    return joined.select(us=taken).collect()["us"].to_numpy()


def fct(run: Results, low: int = 0, high: int | None = None) -> Times:
    """How long the background's messages larger than `low` and up to `high` bytes took: one of SIZES, or all.

    Where the tree ends, those that start while it is offered. A message that is not done when the run ends counts until
    then.
    """
    return _fct(run.folder)[low, high]


@lru_cache(maxsize=4096)
def _fct(folder: Path) -> Mapping[tuple[int, int | None], Times]:
    run = Results(folder)
    start, end = offered(run)
    last = end_ps(run)
    table = run.flows.filter(half(tree=False))
    if end < last:
        table = table.filter(pl.col("start_ps").is_between(start, end, closed="left"))
    taken = pl.col("fct_ps").fill_null(last - pl.col("start_ps")) / US
    found = table.select("size_bytes", us=taken).collect().sort("us")
    sizes, values = found["size_bytes"].to_numpy(), found["us"].to_numpy()
    every: dict[tuple[int, int | None], Times] = {(0, None): distribution(values)}
    for low, high in SIZES:
        here = sizes > low if high is None else (sizes > low) & (sizes <= high)
        every[low, high] = distribution(values[here])
    return every
