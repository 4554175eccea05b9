"""Figures 4 and 5: one sender, five sizes, six rates of the endpoint, three policies: goodput and retransmissions."""

from __future__ import annotations

from collections.abc import Mapping

from backwater.papers import Measurements, Metrics, Runs

from papers.ec import authors
from papers.ec.beside import Swept
from papers.ec.compare import FROM_2K, goodputs, over_opt, resent, rises, told
from papers.ec.measured import POLICIES, SIZES, Point, Window, among, least, most, over, points

WORKLOAD = "unicast"


def metrics(runs: Runs) -> Measurements:
    found = points(runs, WORKLOAD)
    return (
        told(found)
        | goodput_metrics(found)
        | {"greedy_1KiB_goodput": points(runs, "greedy")["dack", 1024, 1.0].goodput}
        | resent_metrics(found)
        | authors.off(found, authors.points(WORKLOAD))
    )


def goodput_metrics(found: Mapping[Point, Window]) -> Metrics:
    """Goodput against the ideal and against what the NIC can do; how busy the endpoint is."""
    values: Metrics = {}
    for policy in POLICIES:
        values |= goodputs(found, policy)
        busy = [one.use for one in among(found, policy, FROM_2K, 0.9).values()]
        values[f"{policy}_endpoint_use_least"] = least(busy)
    smallest = [one.goodput for policy in POLICIES for one in among(found, policy, [512]).values()]
    second = [one.goodput for policy in POLICIES for one in among(found, policy, [1024]).values()]
    free = [
        one.goodput / found["opt", size, r].goodput - 1
        for (_, size, r), one in among(found, "dack", SIZES).items()
        if r == 1
    ]
    return values | {
        "dack_off_opt_at_1_most": most(abs(one) for one in free),
        "goodput_512B_least": least(smallest),
        "goodput_512B_most": most(smallest),
        "goodput_1KiB_most": most(second),
    }


def resent_metrics(found: Mapping[Point, Window]) -> Metrics:
    """Retransmissions by r, by size and by policy."""
    half = {(policy, size): found[policy, size, 0.5].retransmission for policy in POLICIES for size in SIZES[:3]}
    half |= {(policy, 8192): found[policy, 8192, 0.5].retransmission for policy in POLICIES}
    whole = found.get(("aimd", 4096, 0.5))
    quarter = None if whole is None else whole.retransmission
    ratios = [
        over(one.retransmission, found["opt", size, r].retransmission)
        for (_, size, r), one in among(found, "aimd", FROM_2K, 0.7).items()
    ]
    dack = among(found, "dack", SIZES).values()
    return {
        "aimd_over_opt": over_opt(found, "aimd", lambda one: one.retransmission, SIZES, 0.9),
        "aimd_2KiB_over_1KiB": over(half["aimd", 2048], half["aimd", 1024]),
        "opt_rise": rises(found, "opt"),
        "aimd_rise": rises(found, "aimd"),
        "opt_resent_at_1_most": most(one for one in resent_at_full(found)),
        "aimd_over_opt_most": most(one for one in ratios if one is not None),
        "aimd_4KiB_over_2KiB": over(quarter, half["aimd", 2048]),
        "aimd_8KiB_over_4KiB": over(half["aimd", 8192], quarter),
        "opt_512B_resent": half["opt", 512],
        "opt_1KiB_over_2KiB": over(half["opt", 1024], half["opt", 2048]),
        "dack_dropped": sum(one.lost for one in dack),
        "dack_resent_packets": sum(one.resent for one in dack),
        "dack_resent_most": most(resent(found, "dack")),
    }


def resent_at_full(found: Mapping[Point, Window]) -> list[float]:
    """What OPT sends again to an endpoint that is as fast as the link."""
    return [one.retransmission for (_, _, r), one in among(found, "opt", SIZES).items() if r == 1]


_SWEPT = Swept(WORKLOAD, "Figures 4 and 5: one sender", {"goodput": 1.0, "retransmissions": 0.6})
draw, tables = _SWEPT.draw, _SWEPT.tables
