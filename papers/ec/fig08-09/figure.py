"""Figures 8 and 9: eight senders, r = 0.7, receive queues from an eighth of a BDP to three."""

from __future__ import annotations

from collections.abc import Mapping

from backwater.papers import Family, Measurements, Runs

from papers.ec import authors
from papers.ec.beside import Swept
from papers.ec.compare import FROM_2K, named, told
from papers.ec.measured import POLICIES, SIZES, Point, Window, among, mean, over, points, share

WORKLOAD = "depth"
DRAWN = (512, 2048, 4096, 8192)
R = 0.7
DEEPEST = 3.0
BASELINES = ("opt", "aimd")


def at_depth(found: Mapping[Point, Window], policy: str, low: float, high: float) -> dict[Point, Window]:
    """The points of a policy with queues from `low` to `high` BDPs."""
    return {at: one for at, one in among(found, policy, SIZES, high).items() if at[2] >= low - 1e-9}


def ratios(found: Mapping[Point, Window], policy: str, low: float, high: float) -> Family:
    """Goodput over r without headers, at depths from `low` to `high`."""
    return {named(at): one.goodput / (R * share(at[1])) for at, one in at_depth(found, policy, low, high).items()}


def resent(found: Mapping[Point, Window], policy: str, low: float, high: float) -> Family:
    """Retransmissions at these depths."""
    return {named(at): one.retransmission for at, one in at_depth(found, policy, low, high).items()}


def over_mean(found: Mapping[Point, Window], policy: str, low: float) -> dict[str, float | None]:
    """Retransmissions over their mean over depths from `low` BDPs on, at each size and depth."""
    deep = at_depth(found, policy, low, DEEPEST)
    middles = {size: mean(one.retransmission for at, one in deep.items() if at[1] == size) for size in DRAWN}
    return {named(at): over(one.retransmission, middles[at[1]]) for at, one in deep.items()}


#: A goodput that is less by no more than this is as good.
AS_GOOD = 0.995
#: What stands for a depth that no queue of the figure has: beyond the deepest.
NEVER = 2 * DEEPEST


def depth_for(found: Mapping[Point, Window], size: int) -> float | None:
    """The least depth, in BDPs, from which on OPT has the goodput that the paper's policy has at half a BDP."""
    wanted = found.get(("dack", size, 0.5))
    if wanted is None:
        return None
    depths = sorted(at[2] for at in found if at[:2] == ("opt", size))
    short = [depth for depth in depths if found["opt", size, depth].goodput < AS_GOOD * wanted.goodput]
    deeper = [depth for depth in depths if not short or depth > short[-1]]
    return deeper[0] if deeper else NEVER


def low_off(found: Mapping[Point, Window]) -> Measurements:
    """How far goodput of the baselines is from the reference at depths below 0.75 BDP."""
    low = {at: one for at, one in found.items() if at[2] < 0.75}
    told = authors.off(low, authors.points(WORKLOAD), congested=DEEPEST)
    return {
        f"{policy}_goodput_off_reference_low_mean": told[f"{policy}_goodput_off_reference_mean"] for policy in BASELINES
    }


def metrics(runs: Runs) -> Measurements:
    found = points(runs, WORKLOAD)
    large = {at: one for at, one in found.items() if at[1] in FROM_2K}
    small = {at: one for at, one in found.items() if at[1] not in FROM_2K}
    deep = {at: one for at, one in found.items() if at[2] >= 0.75}
    return (
        told(found)
        | {
            "dack_goodput_over_ideal_from_half": ratios(found, "dack", 0.5, DEEPEST),
            "dack_goodput_over_ideal_at_quarter": ratios(found, "dack", 0.25, 0.25),
            "dack_goodput_over_ideal_at_eighth": ratios(found, "dack", 0.125, 0.125),
            "opt_goodput_over_ideal_at_eighth": ratios(large, "opt", 0.125, 0.125),
            "aimd_goodput_over_ideal_at_eighth": ratios(large, "aimd", 0.125, 0.125),
            "opt_resent_over_mean": over_mean(found, "opt", 0.75),
            "aimd_resent_over_mean": over_mean(found, "aimd", 0.75),
            "opt_resent_over_mean_whole": over_mean(found, "opt", 0.125),
            "aimd_resent_over_mean_whole": over_mean(found, "aimd", 0.125),
            "opt_512B_goodput_over_ideal_at_eighth": ratios(small, "opt", 0.125, 0.125),
            "aimd_512B_goodput_over_ideal_at_eighth": ratios(small, "aimd", 0.125, 0.125),
            "dack_resent": resent(found, "dack", 0, DEEPEST),
            "dack_resent_from_half": resent(found, "dack", 0.5, DEEPEST),
            "opt_depth_for_dack_goodput": {f"{size} B": depth_for(found, size) for size in DRAWN},
        }
        | {f"{policy}_resent_at_3": resent(found, policy, DEEPEST, DEEPEST) for policy in POLICIES}
        | low_off(found)
        | authors.off(deep, authors.points(WORKLOAD), congested=DEEPEST)
    )


_SWEPT = Swept(
    WORKLOAD,
    "Figures 8 and 9: depth of the receive queue, eight senders, r = 0.7",
    {"goodput": 0.75, "retransmissions": 1.0},
    along="depth of the queue, BDPs of 96 KB",
    column="depth/BDP",
    sizes=DRAWN,
    diagonal=False,
    log=True,
)
draw, tables = _SWEPT.draw, _SWEPT.tables
