"""GPCNeT's network load test in numbers: the same samples, percentiles, averages and impact factors (GPCNeT 1.3).

Three tests run alone and beside congestors. A sample is what one rank measured in one turn of a loop; a pair value is
the average of a rank over the turns in one random ring. Every sample counts for percentiles, every pair value for
averages. The control factor is that of the PFT paper, equation 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from backwater.common import quantities
from backwater.common.late import NDArray, np, pl
from backwater.errors import UsageError
from backwater.results import Results
from backwater.results.measures import end_ps, of_kind

Phase = Literal["isolated", "congested"]

#: Buckets of the histogram that percentiles are read from (GPCNeT 1.3).
BUCKETS = 100_000
#: Alone, and beside congestors; the first part of the name of a series.
PHASES: tuple[Phase, ...] = ("isolated", "congested")
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Test:
    """One of the three tests: `key` is the second part of the names of its series; `name` and `unit` are GPCNeT's.

    `moved` is how many bytes a rank sends in one turn; 0 for tests of latency, where smaller is better.
    """

    key: str
    name: str
    unit: str
    moved: int = 0

    #: A class named so is not one for pytest.
    __test__ = False

    @property
    def smaller_is_better(self) -> bool:
        """Whether it measures a latency, and not a bandwidth."""
        return self.moved == 0

    def samples(self, elapsed_ps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Times of turns as samples: half the time of an exchange with two neighbours, MiB/s, or the time, in µs."""
        if self.moved:
            return np.asarray(self.moved / _MIB * 1e12 / elapsed_ps)
        return np.asarray(elapsed_ps / (2e6 if self.key == "lat" else 1e6))


def tests(entry: Mapping[str, Any]) -> list[Test]:
    """The tests that a traffic entry of a resolved scenario runs, in GPCNeT's order."""
    return [make(entry[name]) for name, make in _TESTS.items() if name in entry["tests"]]


def _latency(settings: Mapping[str, Any]) -> Test:
    return Test("lat", f"RR Two-sided Lat ({_bytes(settings)} B)", "usec")


def _bandwidth(settings: Mapping[str, Any]) -> Test:
    # To each of two neighbours.
    moved = 2 * int(settings["messages"]) * _bytes(settings)
    return Test("bw", f"RR Two-sided BW+Sync ({_bytes(settings)} B)", "MiB/s/rank", moved)


def _allreduce(settings: Mapping[str, Any]) -> Test:
    return Test("allreduce", f"Multiple Allreduce ({_bytes(settings)} B)", "usec")


def _bytes(settings: Mapping[str, Any]) -> int:
    return quantities.parse_size(str(settings["size"]))


_TESTS = {"latency": _latency, "bandwidth": _bandwidth, "allreduce": _allreduce}


@dataclass(frozen=True)
class Metrics:
    """What GPCNeT prints of a test. Minimum, maximum and averages are of pair values, percentiles of samples."""

    average: float
    p99: float
    p999: float
    minimum: float
    maximum: float
    #: Mean over the rings of the worst pair value in each: the largest latency, or the least bandwidth.
    average_worst: float
    samples: int


def percentile(samples: NDArray[np.float64], share: float, *, smaller_is_better: bool) -> float:
    """The value that `share` of the samples are at least as good as, read from a histogram as GPCNeT does.

    Its buckets are equal, and the largest sample is the lower edge of the last. Of latencies it is the upper edge of
    the bucket in which the count from below reaches the share, of bandwidths the lower edge of the one from above.
    """
    low, high = float(samples.min()), float(samples.max())
    width = (high - low) / (BUCKETS - 1)
    if width == 0:
        return low
    counts = np.bincount(((samples - low) / width).astype(np.int64).clip(0, BUCKETS - 1), minlength=BUCKETS)
    wanted = int(share * len(samples))
    if smaller_is_better:
        return low + (int(np.argmax(np.cumsum(counts) >= wanted)) + 1) * width
    return low + (BUCKETS - 1 - int(np.argmax(np.cumsum(counts[::-1]) >= wanted))) * width


def pairs(test: Test, timings: pl.DataFrame) -> pl.DataFrame:
    """One row per ring (``label``) and ``rank`` with its pair ``value``: bytes over time, or the mean of its samples.

    `timings` has ``rank``, ``label`` and ``elapsed_ps``.
    """
    elapsed = pl.col("elapsed_ps").cast(pl.Float64)
    # All turns of a loop together, as GPCNeT takes the time around it: of rates this is the harmonic mean.
    value = pl.len() * test.moved / _MIB * 1e12 / elapsed.sum()
    if test.smaller_is_better:
        value = elapsed.mean() / (2e6 if test.key == "lat" else 1e6)
    return timings.group_by("label", "rank").agg(value=value).sort("label", "rank")


def metrics(test: Test, timings: pl.DataFrame) -> Metrics:
    """GPCNeT's numbers of one test. Raises ValueError if there is no timing."""
    if timings.is_empty():
        raise ValueError(f"{test.name}: nothing was measured")
    samples = test.samples(timings["elapsed_ps"].to_numpy().astype(np.float64))
    of_pairs = pairs(test, timings)
    value = pl.col("value")
    worst = value.max() if test.smaller_is_better else value.min()
    rings = of_pairs.group_by("label").agg(mean=value.mean(), worst=worst)
    at_99, at_999 = (percentile(samples, share, smaller_is_better=test.smaller_is_better) for share in (0.99, 0.999))
    return Metrics(
        average=_float(rings["mean"].mean()),
        p99=at_99,
        p999=at_999,
        minimum=_float(of_pairs["value"].min()),
        maximum=_float(of_pairs["value"].max()),
        average_worst=_float(rings["worst"].mean()),
        samples=len(samples),
    )


def _float(value: Any) -> float:
    return float(value)


def per_rank(test: Test, timings: pl.DataFrame) -> pl.DataFrame:
    """One row per ``rank``: its ``value``, the mean of its pair values over all rings (a process of the PFT paper)."""
    return pairs(test, timings).group_by("rank").agg(pl.col("value").mean()).sort("rank")


def impact(isolated: float, congested: float, *, smaller_is_better: bool) -> float:
    """The congestion impact factor: how many times worse it is beside congestors; 1 if they do no harm.

    Of values rounded to one decimal, as GPCNeT prints them. Infinite if what it is divided by is rounded to nothing.
    """
    alone, beside = (float(f"{value:.1f}") for value in (isolated, congested))
    above, below = (beside, alone) if smaller_is_better else (alone, beside)
    if below == 0:
        return math.nan if above == 0 else math.inf
    return above / below


def control_factor(bandwidth: float, latency: float, bandwidth_without: float, latency_without: float) -> float:
    """F_C = (B_C / D_C) / (B_0 / D_0) of the PFT paper (equation 2): bandwidth and latency under congestion.

    The first two with the control, the others without it. Above 1 the control helps.
    """
    return (bandwidth / latency) / (bandwidth_without / latency_without)


@dataclass(frozen=True)
class Congestor:
    """One kind of congestor while it ran: what its ranks got across, on average and all together."""

    role: str
    name: str
    ranks: int
    mib_per_s: float
    bps: float


@dataclass(frozen=True)
class Measured:
    """One run of GPCNeT: its tests by phase, and its congestors. A phase that was not run is empty.

    `cut`: tests that were not over when the run ended; nothing is said of them.
    """

    tests: tuple[Test, ...]
    metrics: Mapping[Phase, Mapping[str, Metrics]]
    congestors: tuple[Congestor, ...]
    cut: tuple[str, ...] = ()

    def impacts(self, key: str) -> tuple[float, float] | None:
        """The impact factors of a test, of the average and of the 99th percentile; None unless both phases were run."""
        test = next(test for test in self.tests if test.key == key)
        alone, beside = (self.metrics[phase].get(key) for phase in PHASES)
        if alone is None or beside is None:
            return None
        better = test.smaller_is_better
        return (
            impact(alone.average, beside.average, smaller_is_better=better),
            impact(alone.p99, beside.p99, smaller_is_better=better),
        )


def entry(results: Results) -> dict[str, Any]:
    """The traffic entry that is GPCNeT, of the resolved scenario; raises UsageError if there is none, or several."""
    names = of_kind(results.meta["scenario"], "gpcnet")
    if len(names) != 1:
        found = f"several, {', '.join(names)}" if names else "none"
        raise UsageError(f"{results.folder} must have one traffic entry of kind gpcnet; it has {found}")
    return next(dict(one) for one in results.meta["scenario"]["traffic"] if one["name"] == names[0])


def timings(results: Results, phase: Phase, key: str) -> pl.DataFrame:
    """What ranks measured of one test in one phase: ``rank``, ``label`` (the ring), ``start_ps``, ``elapsed_ps``."""
    series = pl.col("series").cast(pl.String) == f"{phase}/{key}"
    mine = pl.col("traffic").cast(pl.String) == entry(results)["name"]
    found = results.timings.filter(series, mine).select("rank", "label", "start_ps", "elapsed_ps")
    return found.collect()


def of(results: Results) -> Measured:
    """Everything that GPCNeT tells of one run. Raises UsageError for results of anything else."""
    mine = entry(results)
    found = tests(mine)
    by_phase: dict[Phase, dict[str, Metrics]] = {}
    cut = []
    for phase in PHASES:
        measured = {test.key: timings(results, phase, test.key) for test in found}
        by_phase[phase] = {}
        for test in found if mine.get(phase, True) else ():
            if len(measured[test.key]) < _turns(results, mine, test):
                cut.append(f"{phase} {test.name}")
            else:
                by_phase[phase][test.key] = metrics(test, measured[test.key])
    if found and not any(by_phase.values()):
        raise UsageError(f"{results.folder}: no test of GPCNeT came to its end before the run did; see run.until")
    # Before the isolated tests are over congestors do nothing.
    begun = not any(name.startswith("isolated") for name in cut)
    return Measured(tuple(found), by_phase, tuple(congestors(results)) if begun else (), tuple(cut))


def _turns(results: Results, entry: Mapping[str, Any], test: Test) -> int:
    """How many turns all ranks together time in a test that comes to its end."""
    here = (pl.col("traffic").cast(pl.String) == entry["name"]) & (pl.col("role").cast(pl.String) == "test")
    ranks = int(results.ranks.filter(here).select(pl.len()).collect().item())
    name = {"lat": "latency", "bw": "bandwidth"}.get(test.key, test.key)
    rings = 1 if test.key == "allreduce" else int(entry["rings"])
    return max(ranks, 1) * int(entry[name]["timed"]) * rings


#: Of each role of congestors GPCNeT's name for it.
CONGESTORS = {
    "all-to-all": "Alltoall",
    "incast": "Two-sided Incast",
    "put-incast": "Put Incast",
    "get-broadcast": "Get Bcast",
}


def congestors(results: Results) -> list[Congestor]:
    """What each kind of congestor got across from the end of the isolated tests to the end of the run.

    As GPCNeT counts: the exchange of a rank with itself in an all-to-all is no part of it, nor is the root of an
    incast or a broadcast a rank among those that the average is of.
    """
    mine = entry(results)
    size = quantities.parse_size(str(mine["congestor-size"]))
    span = end_ps(results) - congestion_begins_ps(results)
    rows = (
        results.ranks.filter(pl.col("traffic").cast(pl.String) == mine["name"])
        .group_by(role=pl.col("role").cast(pl.String))
        .agg(ranks=pl.len(), nodes=pl.col("node").cast(pl.String).n_unique(), got=pl.col("received_bytes").sum())
        .collect()
    )
    known = {row["role"]: row for row in rows.to_dicts()}
    found = []
    for role, name in CONGESTORS.items():
        if role not in known or span <= 0:
            continue
        ranks, nodes, got = (known[role][key] for key in ("ranks", "nodes", "got"))
        # Of n exchanges of an all-to-all one is with itself; of n ranks of an incast one is the root.
        others = (nodes - 1) / nodes
        moved = got * others if role == "all-to-all" else got
        senders = ranks if role == "all-to-all" else ranks * others
        mean = moved / senders / _MIB * 1e12 / span if senders else 0.0
        found.append(Congestor(role, f"{name} ({size} B)", ranks, mean, moved * 8e12 / span))
    return found


def congestion_begins_ps(results: Results) -> int:
    """When congestors begin: the end of the isolated tests, or the start of the run if there are none."""
    if not results.has("timings"):
        return 0
    mine = pl.col("traffic").cast(pl.String) == entry(results)["name"]
    alone = pl.col("series").cast(pl.String).str.starts_with("isolated/")
    last = results.timings.filter(mine, alone).select(pl.col("end_ps").max()).collect().item()
    return int(last or 0)
