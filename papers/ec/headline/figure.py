"""The abstract: in how many points of Figures 5 and 7 the paper's policy retransmits at all, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds

from papers.ec.measured import POLICIES, mean, over, points
from papers.ec.panels import LABELS, colour

WORKLOADS = {"unicast": "one sender", "incast": "eight senders"}


def resents(runs: Runs, policy: str) -> list[float]:
    """Retransmissions of a policy in all points of both workloads."""
    return [
        one.retransmission
        for workload in WORKLOADS
        for at, one in sorted(points(runs, workload).items())
        if at[0] == policy
    ]


def without_percent(values: Sequence[float]) -> float:
    """In how many points nothing is sent again."""
    return 100 * sum(value == 0 for value in values) / len(values)


def metrics(runs: Runs) -> Metrics:
    found = {policy: resents(runs, policy) for policy in POLICIES}
    means = {policy: mean(values) for policy, values in found.items()}
    return {f"{policy}_points_without_percent": without_percent(values) for policy, values in found.items()} | {
        "dack_resent_mean_percent": 100 * (means["dack"] or 0.0),
        "dack_over_opt_resent_mean": over(means["dack"], means["opt"]),
    }


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Retransmissions in the points of Figures 5 and 7", 7.5, 3.4) as made:
        left, right = made.subplots(1, 2)
        for place, policy in enumerate(POLICIES):
            every = [resents(runs, policy) for runs in seeds]
            bars = ((left, [without_percent(one) for one in every]), (right, [100 * (mean(one) or 0) for one in every]))
            for axes, values in bars:
                height = sum(values) / len(values)
                axes.bar(place, height, 0.7, color=colour(policy), alpha=0.8)
                axes.annotate(f"{height:.3g}", (place, height), (0, 2), textcoords="offset points", ha="center", size=8)
        for axes, title in ((left, "points without any [%]"), (right, "mean over points [% of the link]")):
            axes.set_title(title)
            axes.set_xticks(range(len(POLICIES)), [LABELS[policy].replace(" (", "\n(") for policy in POLICIES])
            axes.tick_params(axis="x", length=0)
