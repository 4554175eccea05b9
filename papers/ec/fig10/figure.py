"""Figure 10: the largest difference of the rates of two of eight senders, by size and r, under the three policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backwater.papers import Measurements, Metrics, Runs

from papers.ec.beside import Swept
from papers.ec.compare import TO_4K, over_opt
from papers.ec.measured import POLICIES, SIZES, Point, Window, among, mean, over, points

WORKLOAD = "incast"


def metrics(runs: Runs) -> Measurements:
    found = points(runs, WORKLOAD)
    values: Metrics = {
        f"{policy}_{size}_{r:g}_difference": one.difference
        for policy in POLICIES
        for (_, size, r), one in among(found, policy, SIZES).items()
    }
    return values | {
        "dack_over_opt": over_opt(found, "dack", lambda one: one.difference, TO_4K, 0.9),
        "dack_over_opt_mean": ratio(found, "opt", TO_4K, 0.9),
        "dack_over_aimd_mean": ratio(found, "aimd", TO_4K, 0.9),
        "dack_over_opt_low_mean": ratio(found, "opt", SIZES[:3], 0.5),
        "dack_over_opt_8KiB_mean": ratio(found, "opt", SIZES[4:], 0.9),
    }


def ratio(found: Mapping[Point, Window], other: str, sizes: Iterable[int], most_r: float) -> float | None:
    """The mean difference under the paper's policy over that under another, at these sizes and up to this r."""
    wanted = tuple(sizes)
    own, theirs = (
        mean(one.difference for one in among(found, policy, wanted, most_r).values()) for policy in ("dack", other)
    )
    return over(own, theirs)


_SWEPT = Swept(WORKLOAD, "Figure 10: fairness among eight senders", {"largest difference of two senders": 0.12})
draw, tables = _SWEPT.draw, _SWEPT.tables
