"""What Figures 16 and 19 and the headline share: FCT slowdown by size in the fat tree, with TCD and without.

Runs are named after workload and scheme, such as ``hadoop dcqcn`` and ``hadoop dcqcn+tcd``. A gain is the percentile
without TCD over that with it. Slowdown is on the base of the authors' simulator unless a name ends in ``_alone``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from backwater.analysis import slowdown
from backwater.analysis.slowdown import Base
from backwater.papers import Measurements, Runs
from backwater.results import Results

#: The workloads and, in bytes, the sizes at which the paper's text parts small from large flows.
CUTS: Mapping[str, Mapping[str, int]] = {
    "hadoop": {"50KB": 50_000, "80KB": 80_000, "100KB": 100_000},
    "web-search": {"500KB": 500_000, "1MB": 1_000_000},
}
#: How workloads and schemes are called in pictures.
WORKLOADS = {"hadoop": "Hadoop", "web-search": "WebSearch"}
SCHEMES = {"dcqcn": "DCQCN", "dcqcn+tcd": "DCQCN+TCD", "timely": "TIMELY", "timely+tcd": "TIMELY+TCD"}
PERCENTILES = ("median", "p95", "p99")
#: A bin that is looked at has at least this share of a run's flows: 810 of 40 500, 8 above the 99th percentile.
LEAST_SHARE = 0.02
#: Up to which size §5.2.1 speaks of the best improvement of the 99th percentile.
BEST_BELOW = 50_000
SUFFIX: Mapping[Base, str] = {"analytic": "", "alone": "_alone"}
MS = 1_000_000_000


def name(workload: str, scheme: str) -> str:
    """Name of a run, as experiment.toml has it."""
    return f"{workload} {scheme}"


def compare(runs: Runs, controller: str) -> Measurements:
    """Percentiles and gains of both workloads under a controller, and what the network did meanwhile."""
    found: Measurements = {}
    for workload, cuts in CUTS.items():
        plain, tcd = (runs[name(workload, scheme)] for scheme in (controller, f"{controller}+tcd"))
        for base, suffix in SUFFIX.items():
            before, after = slowdown.flows(plain, base=base), slowdown.flows(tcd, base=base)
            measured = gains(before, after, cuts) | levels({controller: before, f"{controller}+tcd": after}, cuts)
            found |= {f"{workload}_{metric}{suffix}": value for metric, value in measured.items()}
        below = [cut for cut in slowdown.EDGES[workload] if cut <= BEST_BELOW]
        small = [slowdown.flows(run, base="analytic").filter(pl.col("size_bytes") < BEST_BELOW) for run in (plain, tcd)]
        found[f"{workload}_p99_gain_by_bin_under_50KB"] = by_bin(small[0], small[1], below)["p99"]
        flows = slowdown.flows(plain, base="analytic")
        for part, scheme in parts(controller).items():
            other = slowdown.flows(runs[name(workload, scheme)], base="analytic")
            found |= {f"{workload}_{part}_{metric}": value for metric, value in gains(flows, other, cuts).items()}
        for label in cuts:
            key = f"median_gain_under_{label}"
            whole, cut = found[f"{workload}_{key}"], found[f"{workload}_cut_alone_{key}"]
            found[f"{workload}_tcd_over_cut_median_under_{label}"] = over(_number(whole), _number(cut))
        for scheme, run in ((controller, plain), (f"{controller}+tcd", tcd)):
            found |= {f"{workload}_{scheme}_{metric}": value for metric, value in network(run).items()}
    return found


def parts(controller: str) -> dict[str, str]:
    """The schemes that have one of the two changes of TCD: its harsher cut, its detector."""
    return {"cut_alone": f"{controller} harsher", "detector_alone": f"{controller}+tcd gentler"}


def sides(flows: pl.DataFrame, cut: int) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """The percentiles of a run's flows smaller than `cut`, and of the others; None where there are no flows."""
    rows = {row["low_bytes"]: row for row in slowdown.by_size([flows], [cut]).iter_rows(named=True)}
    both = [{of: rows[low][of] if low in rows else None for of in PERCENTILES} for low in (0, cut)]
    return both[0], both[1]


def gains(plain: pl.DataFrame, tcd: pl.DataFrame, cuts: Mapping[str, int]) -> dict[str, float | None]:
    """How many times better each percentile is with TCD, below each cut and from it on."""
    found: dict[str, float | None] = {}
    for label, cut in cuts.items():
        pairs = zip(sides(plain, cut), sides(tcd, cut), strict=True)
        for side, (before, after) in zip(("under", "from"), pairs, strict=True):
            found |= {f"{of}_gain_{side}_{label}": over(before[of], after[of]) for of in PERCENTILES}
    return found


def levels(frames: Mapping[str, pl.DataFrame], cuts: Mapping[str, int]) -> dict[str, float | None]:
    """Each percentile itself, by scheme."""
    found: dict[str, float | None] = {}
    for scheme, flows in frames.items():
        for label, cut in cuts.items():
            for side, values in zip(("under", "from"), sides(flows, cut), strict=True):
                found |= {f"{scheme}_{of}_{side}_{label}": value for of, value in values.items()}
    return found


def by_bin(plain: pl.DataFrame, tcd: pl.DataFrame, edges: Sequence[int]) -> dict[str, dict[str, float | None]]:
    """The gain of each percentile in each bin that has enough of the flows, by the bin's least size."""
    counts = slowdown.by_size([plain], edges).select("low_bytes", "flows")
    enough = counts.filter(pl.col("flows") >= LEAST_SHARE * pl.col("flows").sum())
    table = slowdown.ratios([tcd], [plain], edges).join(enough, on="low_bytes")
    rows = list(table.iter_rows(named=True))
    return {of: {f"from {row['low_bytes']} B": row[f"{of}_ratio"] for row in rows} for of in PERCENTILES}


def network(run: Results) -> dict[str, float]:
    """Flows without an end, shares of flows with marks in percent, and PAUSEs of all ports, hosts included."""
    flows = run.flows
    ce, ue = pl.col("ce_packets") > 0, pl.col("ue_packets") > 0
    shares = flows.select(
        unfinished=pl.col("fct_ps").is_null().sum(),
        ce_percent=100 * ce.mean(),
        ue_percent=100 * (~ce & ue).mean(),
    ).collect()
    ports = run.ports.select(pauses=pl.col("pauses").sum(), off_ms=pl.col("paused_ps").sum() / MS).collect()
    return {metric: float(value) for metric, value in (shares.row(0, named=True) | ports.row(0, named=True)).items()}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def over(above: float | None, below: float | None) -> float | None:
    """A quotient, or None where one of the two is missing."""
    return None if above is None or below is None else above / below
