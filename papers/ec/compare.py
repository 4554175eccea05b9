"""What figures compare: goodput with what it could be, policies with each other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping

from backwater.papers import Family, Metrics

from papers.ec.measured import POLICIES, SIZES, Point, Window, among, over, share, wire_ceiling

FROM_1K, FROM_2K, TO_4K = SIZES[1:], SIZES[2:], SIZES[:4]
"""Sizes from 1 KB, from 2 KB, up to 4 KB."""


def ideal(found: Mapping[Point, Window], at: Point) -> float:
    """What goodput could be: r without headers, or what the same source gets to a fast endpoint, if that is less."""
    policy, size, r = at
    free = found.get((policy, size, 1.0))
    own = r * share(size)
    return own if free is None else min(own, free.goodput)


def goodputs(found: Mapping[Point, Window], policy: str, sizes: Iterable[int] = SIZES, most_r: float = 1.0) -> Family:
    """Goodput of a policy over the ideal at each point."""
    return {named(at): one.goodput / ideal(found, at) for at, one in among(found, policy, sizes, most_r).items()}


def resent(found: Mapping[Point, Window], policy: str, sizes: Iterable[int] = SIZES, most_r: float = 1.0) -> Family:
    """Retransmissions of a policy at each point, as shares of the link."""
    return {named(at): one.retransmission for at, one in among(found, policy, sizes, most_r).items()}


def named(at: Point) -> str:
    """A point without its policy, such as ``2048 B, 0.7``."""
    _, size, swept = at
    return f"{size} B, {swept:g}"


def rises(found: Mapping[Point, Window], policy: str) -> dict[str, float | None]:
    """The rise of retransmissions from one r to the next, by the larger, at every size from 1 KB on."""
    lines = [sorted(among(found, policy, [size]).items()) for size in FROM_1K]
    steps = [step for line in lines for step in itertools.pairwise(line)]
    return {named(at): one.retransmission - before.retransmission for (_, before), (at, one) in steps}


def over_opt(
    found: Mapping[Point, Window], policy: str, of: Callable[[Window], float], sizes: Iterable[int], most_r: float
) -> dict[str, float | None]:
    """What a policy has over what OPT has at each point; None where OPT has nothing."""
    points = among(found, policy, sizes, most_r).items()
    return {named(at): over(of(one), of(found["opt", at[1], at[2]])) for at, one in points}


def own_waste(at: Point) -> float:
    """What go-back-N with a window of more than a round trip must send again: what the endpoint leaves of the wire."""
    _, size, r = at
    wire = wire_ceiling(size)
    return (1 - r) * wire if r < wire else 0.0


def waste(found: Mapping[Point, Window], points: Iterable[Point]) -> Family:
    """Retransmissions under OPT over what they must be, at each of these points."""
    known = [at for at in points if at in found and own_waste(at) > 0]
    return {named(at): found[at].retransmission / own_waste(at) for at in known}


def told(found: Mapping[Point, Window]) -> Metrics:
    """Goodput and retransmission of every point, named ``<policy>_<size>_<swept>_<what>``."""
    values: Metrics = {}
    for policy in POLICIES:
        for (_, size, swept), one in among(found, policy, SIZES, float("inf")).items():
            values[f"{policy}_{size}_{swept:g}_goodput"] = one.goodput
            values[f"{policy}_{size}_{swept:g}_resent"] = one.retransmission
    return values
