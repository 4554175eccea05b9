"""What Figure 17 measures: how long messages of MPI and I/O jobs take (MCT), by their size."""

from __future__ import annotations

import math

import polars as pl
from backwater.papers import Metrics, Runs
from backwater.results import Results

from papers.tcd.scene import US
from papers.tcd.victims import compare_bins, mean_fct_us
from papers.tcd.victims_panels import Shown

KIB = 1024
#: I/O messages have at least this size, MPI messages less.
IO_FROM = 512 * KIB
#: Bins of message size by name, in bytes, low <= size < high: the sizes of I/O messages, and three of MPI messages.
SIZES: dict[str, tuple[float, float]] = {
    "2KB": (0, 4 * KIB),
    "4KB_to_8KB": (4 * KIB, 16 * KIB),
    "16KB_to_32KB": (16 * KIB, IO_FROM),
    "512KB": (IO_FROM, 1024 * KIB),
    "1MB": (1024 * KIB, 2048 * KIB),
    "2MB": (2048 * KIB, 4096 * KIB),
    "4MB": (4096 * KIB, math.inf),
}
LABELS = ("2 KB", "4, 8 KB", "16, 32 KB", "512 KB", "1 MB", "2 MB", "4 MB")
#: How pictures show them.
MCT = Shown("MCT", "message", SIZES, LABELS)


def compare_messages(runs: Runs) -> Metrics:
    """Figure 17(a): how many times shorter the victims' mean MCT is with TCD, also by kind, and the means."""
    kinds = {"mpi": (0, IO_FROM), "io": (IO_FROM, math.inf)}
    gains = {kind: mean_fct_us(runs["fecn"], *ends) / mean_fct_us(runs["tcd"], *ends) for kind, ends in kinds.items()}
    found = compare_bins(runs, "fecn", SIZES) | {f"gain_{kind}": gain for kind, gain in gains.items()}
    return found | {"io_gain_over_mpi_gain": gains["io"] / gains["mpi"]}


def all_finished(run: Results) -> pl.DataFrame:
    """Every message that arrived, of all entries."""
    return run.flows.filter(pl.col("fct_ps").is_not_null()).select("size_bytes", "fct_ps").collect()


def mean_mct_us(run: Results, low: float = 0, high: float = math.inf) -> float:
    """Mean MCT of all messages of a size in microseconds; not a number if there is none."""
    sized = all_finished(run).filter(pl.col("size_bytes") >= low, pl.col("size_bytes") < high)
    mean = sized["fct_ps"].mean()
    return float(mean) / US if isinstance(mean, int | float) else math.nan
