"""What the figures of the PFT paper measure: GPCNeT's bandwidth and latency beside congestors, and F_C."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import polars as pl
from backwater.analysis import gpcnet
from backwater.papers import Runs
from backwater.results import Results

NONE = "none"
STRATEGIES = ("FT-FI", "FT-RI", "AT-FI", "AT-RI")
#: AT with thresholds of the credits that are left.
AVAILABLE = ("AT-FI available", "AT-RI available")
NS, US = 1_000, 1_000_000


@dataclass(frozen=True)
class Beside:
    """What GPCNeT says of its tests beside congestors: latency in µs, bandwidth in MiB/s per process."""

    latency: float
    latency_99: float
    bandwidth: float
    bandwidth_99: float

    def factor(self, none: Beside) -> float:
        """F_C (equation 2), from the averages."""
        return gpcnet.control_factor(self.bandwidth, self.latency, none.bandwidth, none.latency)

    def factor_99(self, none: Beside) -> float:
        """The same from the 99 % values."""
        return gpcnet.control_factor(self.bandwidth_99, self.latency_99, none.bandwidth_99, none.latency_99)


def beside(run: Results) -> Beside:
    """What a run measured; kept, as several figures ask."""
    return _beside(run)


@lru_cache(maxsize=512)
def _beside(run: Results) -> Beside:
    found = gpcnet.of(run).metrics["congested"]
    latency, bandwidth = found["lat"], found["bw"]
    return Beside(latency.average, latency.p99, bandwidth.average, bandwidth.p99)


def impacts(run: Results) -> tuple[float, float]:
    """GPCNeT's congestion impact factors of average latency and bandwidth; of a run that has the tests alone, too."""
    measured = gpcnet.of(run)
    latency, bandwidth = (measured.impacts(key) for key in ("lat", "bw"))
    return (latency[0], bandwidth[0]) if latency and bandwidth else (math.nan, math.nan)


def processes(run: Results, key: str) -> list[float]:
    """The mean of each process in the test ``lat`` or ``bw`` beside congestors, over all rings."""
    test = next(one for one in gpcnet.tests(gpcnet.entry(run)) if one.key == key)
    return [float(one) for one in gpcnet.per_rank(test, gpcnet.timings(run, "congested", key))["value"]]


def factors(runs: Runs, *, at_99: bool = False) -> dict[str, float]:
    """F_C of every run but the one without throttling, by its name, such as ``AT-RI 18``."""
    none = beside(runs[NONE])
    found = {name: beside(run) for name, run in runs.items() if name != NONE}
    return {name: one.factor_99(none) if at_99 else one.factor(none) for name, one in found.items()}


def strategy(cell: str) -> tuple[str, int]:
    """Strategy and n or m of a cell such as ``AT-RI available 18``."""
    name, shift = cell.rsplit(" ", 1)
    return name, int(shift)


def geometric(values: Iterable[float]) -> float | None:
    """The geometric mean, if there is anything."""
    found = [math.log(value) for value in values]
    return math.exp(sum(found) / len(found)) if found else None


def median(values: Iterable[float]) -> float:
    """The middle one."""
    return float(pl.Series(list(values)).median() or 0)  # type: ignore[arg-type]
