"""Figure 10: the largest difference of the rates of two of eight senders, by size and r, under the three policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers.ec import authors
from papers.ec.beside import differences
from papers.ec.compare import TO_4K
from papers.ec.measured import POLICIES, SIZES, Metrics, Point, Window, among, mean, most, over, points
from papers.ec.panels import by_policy

WORKLOAD = "incast"


def metrics(runs: Mapping[str, Results]) -> Metrics:
    found = points(runs, WORKLOAD)
    values: Metrics = {
        f"{policy}_{size}_{r:g}_difference": one.difference
        for policy in POLICIES
        for (_, size, r), one in among(found, policy, SIZES).items()
    }
    congested = among(found, "dack", TO_4K, 0.9).items()
    each = [over(one.difference, found["opt", size, r].difference) for (_, size, r), one in congested]
    return values | {
        "dack_over_opt_most": most(one for one in each if one is not None),
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


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    every = [points(runs, WORKLOAD) for runs in seeds]
    rows = [("largest difference of two senders", lambda one: one.difference, lambda one: one.difference, 0.12)]
    title = "Figure 10: fairness among eight senders"
    by_policy(rows, every, authors.points(WORKLOAD), file, title=title, xlabel="endpoint's rate r, share of the link")


def tables(seeds: Sequence[Mapping[str, Results]]) -> Sequence[NumberTable]:
    every = [points(runs, WORKLOAD) for runs in seeds]
    return differences(every, authors.points(WORKLOAD), "r", ["largest difference of two senders"])
