"""Figures 6 and 7: eight senders to one endpoint, otherwise as Figures 4 and 5: goodput and retransmissions."""

from __future__ import annotations

from collections.abc import Mapping

from backwater.papers import Measurements, Runs

from papers.ec import authors
from papers.ec.beside import Swept
from papers.ec.compare import FROM_2K, TO_4K, goodputs, ideal, over_opt, resent, told
from papers.ec.measured import POLICIES, SIZES, Point, Window, among, mean, over, points

WORKLOAD = "incast"


def metrics(runs: Runs) -> Measurements:
    found, alone = points(runs, WORKLOAD), points(runs, "unicast")
    ideals = {f"{policy}_goodput_over_ideal": goodputs(found, policy, most_r=0.9) for policy in POLICIES}
    apart = [
        abs(1 - found["aimd", size, r].retransmission / one.retransmission)
        for (_, size, r), one in among(found, "opt", SIZES, 0.8).items()
        if one.retransmission > 0
    ]
    small = ("dack", 512, 0.9)
    return (
        told(found)
        | ideals
        | {
            "opt_aimd_difference_mean": mean(apart),
            "aimd_over_opt": over_opt(found, "aimd", lambda one: one.retransmission, SIZES, 0.9),
            "gap_over_that_of_unicast": over(gap(found), gap(alone)),
            "dack_512B_goodput_over_ideal": found[small].goodput / ideal(found, small),
            "dack_resent_to_4KiB": resent(found, "dack", TO_4K),
            "dack_resent_8KiB": resent(found, "dack", SIZES[4:]),
        }
        | authors.off(found, authors.points(WORKLOAD))
    )


def gap(found: Mapping[Point, Window]) -> float | None:
    """How much more OPT retransmits than AIMD, either way: mean from 2 KB on and up to r = 0.7."""
    pairs = among(found, "opt", FROM_2K, 0.7).items()
    return mean(abs(one.retransmission - found["aimd", size, r].retransmission) for (_, size, r), one in pairs)


_SWEPT = Swept(WORKLOAD, "Figures 6 and 7: eight senders to one endpoint", {"goodput": 1.0, "retransmissions": 0.6})
draw, tables = _SWEPT.draw, _SWEPT.tables
