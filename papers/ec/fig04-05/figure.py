"""Figures 4 and 5: one sender, five sizes, six rates of the endpoint, three policies: goodput and retransmissions."""

from __future__ import annotations

from collections.abc import Mapping

from backwater.papers import Measurements, Runs

from papers.ec import authors
from papers.ec.beside import Swept
from papers.ec.compare import FROM_2K, goodputs, named, over_opt, resent, rises, told
from papers.ec.measured import POLICIES, SIZES, Point, Window, among, over, points

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


def goodput_metrics(found: Mapping[Point, Window]) -> Measurements:
    """Goodput against the ideal and against what the NIC can do; how busy the endpoint is."""
    values: Measurements = {}
    for policy in POLICIES:
        values[f"{policy}_goodput_over_ideal"] = goodputs(found, policy)
        values[f"{policy}_endpoint_use"] = {
            named(at): one.use for at, one in among(found, policy, FROM_2K, 0.9).items()
        }
    for name, size in (("512B", 512), ("1KiB", 1024)):
        values[f"goodput_{name}"] = {
            f"{policy}, {at[2]:g}": one.goodput
            for policy in POLICIES
            for at, one in among(found, policy, [size]).items()
        }
    values["dack_off_opt_at_1"] = {
        named(at): abs(one.goodput / found["opt", at[1], at[2]].goodput - 1)
        for at, one in among(found, "dack", SIZES).items()
        if at[2] == 1
    }
    return values


def resent_metrics(found: Mapping[Point, Window]) -> Measurements:
    """Retransmissions by r, by size and by policy."""
    half = {(policy, size): found[policy, size, 0.5].retransmission for policy in POLICIES for size in SIZES[:3]}
    half |= {(policy, 8192): found[policy, 8192, 0.5].retransmission for policy in POLICIES}
    whole = found.get(("aimd", 4096, 0.5))
    quarter = None if whole is None else whole.retransmission
    dack = among(found, "dack", SIZES).values()
    return {
        "aimd_over_opt": over_opt(found, "aimd", lambda one: one.retransmission, SIZES, 0.9),
        "aimd_2KiB_over_1KiB": over(half["aimd", 2048], half["aimd", 1024]),
        "opt_rise": rises(found, "opt"),
        "aimd_rise": rises(found, "aimd"),
        "opt_resent_at_1": {at: one for at, one in resent(found, "opt").items() if at.endswith(", 1")},
        "aimd_over_opt_from_2KiB": over_opt(found, "aimd", lambda one: one.retransmission, FROM_2K, 0.7),
        "aimd_4KiB_over_2KiB": over(quarter, half["aimd", 2048]),
        "aimd_8KiB_over_4KiB": over(half["aimd", 8192], quarter),
        "opt_512B_resent": half["opt", 512],
        "opt_1KiB_over_2KiB": over(half["opt", 1024], half["opt", 2048]),
        "dack_dropped": sum(one.lost for one in dack),
        "dack_resent_packets": sum(one.resent for one in dack),
    }


_SWEPT = Swept(WORKLOAD, "Figures 4 and 5: one sender", {"goodput": 1.0, "retransmissions": 0.6})
draw, tables = _SWEPT.draw, _SWEPT.tables
