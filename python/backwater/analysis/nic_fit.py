"""The profile of a NIC from a table of message sizes: a closed form, and what of it fits best.

The closed form is that of the simulator for one queue pair through one switch. A message of n packets takes, from
posting to its acknowledgement (``round trip`` is that of a message without bytes)::

    round trip + wire time + slow start + one more packet       what the host takes in as it comes (at most `cached`)
    round trip + two packets + drain time                       what it drains at its ceiling

With so many messages under way (depth), the time per message is the largest of three::

    the time above / depth        wire time + gap        drain time

Parameters are fitted in their logarithms to the logarithms of the goodputs, so that an error of 1 % weighs the same at
2 B and at 8 MiB. What the table does not show is left out by the Bayesian information criterion (Schwarz, Annals of
Statistics 6(2), 1978). The two sizes at which the closed form bends, `cached` and the packets of the slow start, are
tried one by one. Intervals are of 95 %: by the covariance of the others, and for these two by which of their values fit
not significantly worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from backwater.analysis.nic_table import Row
from backwater.common.late import NDArray, np
from backwater.common.statistics import t95
from backwater.errors import UsageError
from backwater.scenario.nic_profile import Values

#: Errors below this share are none: a table has three or four digits.
_RESOLUTION = 1e-4
#: Packets of a slow start that are tried.
_STARTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
#: Steps of one fit; each takes as many evaluations as there are parameters.
_STEPS = 60


@dataclass(frozen=True)
class Link:
    """What is known of the network between the two hosts."""

    #: Gbps, which is bit/ns.
    rate: float = 100.0
    #: Payload of a full packet, and what is added to each on the wire.
    payload: int = 4096
    header: int = 82
    #: Size of an ACK on the wire.
    ack: int = 64
    #: One-way delay of each of the two links, in ns.
    delay: float = 100.0

    @property
    def packet(self) -> float:
        """Bits of a full packet on the wire."""
        return (self.payload + self.header) * 8.0

    @property
    def round_trip(self) -> float:
        """What the network takes of the round trip of a message without bytes, in ns."""
        return 4 * self.delay + 2 * self.ack * 8 / self.rate


@dataclass(frozen=True)
class Nic:
    """What a NIC and its host take; times in ns, rates in Gbps, `inf` for none."""

    #: From posting a message without bytes to its acknowledgement, the network's part included.
    round_trip: float
    #: Between two messages of a queue pair.
    gap: float = 0.0
    #: How fast the host takes in messages of more than `cached` bytes.
    drain: float = math.inf
    cached: float = math.inf
    #: How fast the first packets of an idle queue pair leave, and how many.
    start: float = math.inf
    start_packets: int = 0


def periods(nic: Nic, link: Link, size: NDArray[Any], depth: NDArray[Any]) -> NDArray[Any]:
    """The time per message, in ns, by the closed form."""
    packets = np.ceil(size / link.payload)
    bits = (size + packets * link.header) * 8.0
    wire = bits / link.rate
    # The longest packet: the last one waits behind it at the switch.
    first = np.minimum(link.packet, bits) / link.rate
    slow = np.minimum(packets - 1, nic.start_packets) * link.packet
    started = slow * max(1 / nic.start - 1 / link.rate, 0.0) if nic.start_packets else 0.0 * slow
    arrived = wire + started + first
    taken = bits / nic.drain
    last = bits - (packets - 1) * link.packet
    drained = np.maximum(2 * first + taken, arrived + last / nic.drain)
    if nic.start_packets:
        drained = np.maximum(drained, 2 * first + slow / min(nic.start, link.rate) + (bits - slow) / nic.drain)
    large = size * depth > nic.cached
    once = nic.round_trip + np.where(large, drained, arrived)
    made: NDArray[Any] = np.maximum(np.maximum(once / depth, wire + nic.gap), np.where(large, taken, 0.0))
    return made


def goodputs(nic: Nic, link: Link, rows: Sequence[Row]) -> NDArray[Any]:
    """Gbps of each row by the closed form."""
    size, depth, _ = _arrays(rows)
    made: NDArray[Any] = size * 8.0 / periods(nic, link, size, depth)
    return made


def _arrays(rows: Sequence[Row]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    columns = zip(*((row.size, row.depth, row.gbps) for row in rows), strict=True)
    size, depth, gbps = (np.array(column, dtype=float) for column in columns)
    return size, depth, gbps


@dataclass(frozen=True)
class Fit:
    """The profile that fits a table best."""

    rows: tuple[Row, ...]
    link: Link
    nic: Nic
    #: By parameter the interval of 95 %; none of what is left out.
    intervals: dict[str, tuple[float, float]]
    #: Gbps of each row by the closed form.
    fitted: tuple[float, ...]

    @property
    def errors(self) -> list[float]:
        """Relative errors, fitted over measured less one."""
        return [fitted / row.gbps - 1 for fitted, row in zip(self.fitted, self.rows, strict=True)]

    @property
    def rms(self) -> float:
        """Root of the mean square of the relative errors."""
        return math.sqrt(sum(error**2 for error in self.errors) / len(self.errors))

    @property
    def worst(self) -> float:
        """The relative error that is furthest from zero."""
        return max(self.errors, key=abs)

    @property
    def post_delay(self) -> float:
        """What of the round trip is not the network's, in ns."""
        return max(self.nic.round_trip - self.link.round_trip, 0.0)

    @property
    def values(self) -> Values:
        """The keys of the profile, in steps of 1 ns, 10 Mbps and 1 KiB."""
        nic, host = self.nic, dict[str, str]()
        if math.isfinite(nic.drain):
            host["drain"] = f"{round(nic.drain * 100) * 10}Mbps"
            if nic.cached >= 1024:
                host["cached"] = f"{round(nic.cached / 1024)}KiB"
            elif nic.cached > 0:
                host["cached"] = f"{round(nic.cached)}B"
        own = {"post-delay": f"{round(self.post_delay)}ns"}
        if nic.gap > 0:
            own["message-gap"] = f"{round(nic.gap)}ns"
        if nic.start_packets:
            own["start-bytes"] = f"{nic.start_packets * self.link.payload}B"
            own["start-rate"] = f"{round(nic.start * 100) * 10}Mbps"
        return {"host": host, "host.nic": own} if host else {"host.nic": own}


def fit(rows: Sequence[Row], link: Link) -> Fit:
    """The profile that fits these rows best; raises UsageError if there are too few or what they say cannot be."""
    size, depth, gbps = _arrays(rows)
    most = link.rate * link.payload / (link.payload + link.header)
    if (over := float(gbps.max())) > most * 1.02:
        row = rows[int(gbps.argmax())]
        raise UsageError(
            f"line {row.line}: {row.gbps:g} Gbps of payload are more than a link of {link.rate:g} Gbps carries "
            f"({most:.4g} Gbps with packets of {link.payload} B and {link.header} B of headers each); "
            f"give --rate, --payload and --header as they were measured ({over:g} Gbps)"
        )
    if len(rows) < 4:
        raise UsageError(f"{len(rows)} rows are too few for a profile: give at least 4 sizes")
    found = min(
        (_best(size, depth, gbps, link, shape) for shape in _shapes(size * depth)),
        key=lambda tried: tried.criterion,
    )
    nic, free = found.nic, found.free
    fitted = size * 8.0 / periods(nic, link, size, depth)
    return Fit(tuple(rows), link, nic, _intervals(found, size, depth, gbps, link, free), tuple(map(float, fitted)))


@dataclass(frozen=True)
class _Shape:
    """Which parts of the closed form are there, and the values of the sizes at which it bends that are tried."""

    free: tuple[str, ...]
    cached: tuple[float, ...]
    starts: tuple[int, ...]

    @property
    def parameters(self) -> int:
        return len(self.free) + (len(self.cached) > 1 or self.cached[0] < math.inf) + (self.starts != (0,))


@dataclass(frozen=True)
class _Tried:
    nic: Nic
    free: tuple[str, ...]
    square: float
    criterion: float
    #: The squares of all bends that were tried with this shape.
    others: tuple[tuple[Nic, float], ...]


def _shapes(under_way: NDArray[Any]) -> Iterator[_Shape]:
    known = sorted({float(value) for value in under_way})
    between = tuple(math.sqrt(low * high) for low, high in pairwise(known))
    for gap in ((), ("gap",)):
        for drain, cached in (((), (math.inf,)), (("drain",), (0.0, *between))):
            for start, starts in (((), (0,)), (("start",), _STARTS)):
                yield _Shape(("round_trip", *gap, *drain, *start), cached, starts)


def _best(size: NDArray[Any], depth: NDArray[Any], gbps: NDArray[Any], link: Link, shape: _Shape) -> _Tried:
    """The best of a shape over the sizes at which it bends."""
    tried: list[tuple[Nic, float]] = []
    for cached in shape.cached:
        large = size * depth > cached
        if "drain" in shape.free and int(large.sum()) < 2:
            continue  # One row alone is no ceiling.
        for packets in shape.starts:
            first = Nic(
                round_trip=_first_round_trip(size, depth, gbps, link),
                gap=100.0 if "gap" in shape.free else 0.0,
                drain=float(gbps[large].max()) * (1 + link.header / link.payload)
                if "drain" in shape.free
                else math.inf,
                cached=cached,
                start=0.8 * link.rate if packets else math.inf,
                start_packets=packets,
            )
            tried.append(_descend(first, shape.free, _residuals(size, depth, gbps, link)))
    if not tried:
        return _Tried(Nic(0.0), (), math.inf, math.inf, ())
    nic, square = min(tried, key=lambda one: one[1])
    count = len(size)
    known = max(square / count, _RESOLUTION**2)
    criterion = count * math.log(known) + shape.parameters * math.log(count)
    return _Tried(nic, shape.free, square, criterion, tuple(tried))


def _first_round_trip(size: NDArray[Any], depth: NDArray[Any], gbps: NDArray[Any], link: Link) -> float:
    left = size * 8.0 * depth / gbps - periods(Nic(0.0), link, size, np.ones_like(depth))
    alone = left[depth == depth.min()]
    return max(float(np.median(alone)), 10.0)


_Residuals = Callable[[Nic], Any]


def _residuals(size: NDArray[Any], depth: NDArray[Any], gbps: NDArray[Any], link: Link) -> _Residuals:
    measured = np.log(gbps / (size * 8.0))
    return lambda nic: -np.log(periods(nic, link, size, depth)) - measured


def _descend(nic: Nic, free: tuple[str, ...], residuals: _Residuals) -> tuple[Nic, float]:
    """Levenberg's and Marquardt's steps in the logarithms of the free parameters, until they gain nothing."""
    now = residuals(nic)
    square, damping = float(now @ now), 1e-3
    for _ in range(_STEPS):
        slopes = _slopes(nic, free, residuals, now)
        normal, gradient = slopes.T @ slopes, slopes.T @ now
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-12), -gradient)
        step = np.clip(step, -1.0, 1.0)
        there = replace(nic, **{name: getattr(nic, name) * math.exp(by) for name, by in zip(free, step, strict=True)})
        new = residuals(there)
        if (lower := float(new @ new)) < square:
            gained = square - lower
            nic, now, square, damping = there, new, lower, damping / 4
            if gained <= 1e-9 * square + 1e-16:
                break
        else:
            damping *= 8
            if damping > 1e9:
                break
    return nic, square


def _slopes(nic: Nic, free: tuple[str, ...], residuals: _Residuals, now: NDArray[Any]) -> NDArray[Any]:
    """How the residuals change with the logarithm of each free parameter."""
    by = 1e-6
    return np.stack(
        [(residuals(replace(nic, **{name: getattr(nic, name) * (1 + by)})) - now) / by for name in free], axis=1
    )


def _intervals(
    found: _Tried, size: NDArray[Any], depth: NDArray[Any], gbps: NDArray[Any], link: Link, free: tuple[str, ...]
) -> dict[str, tuple[float, float]]:
    """Intervals of 95 %: of free parameters by their covariance, of the bends by what fits not significantly worse."""
    residuals = _residuals(size, depth, gbps, link)
    now = residuals(found.nic)
    bends = (math.isfinite(found.nic.cached)) + (found.nic.start_packets > 0)
    freedom = max(len(now) - len(free) - bends, 1)
    variance = max(float(now @ now), len(now) * _RESOLUTION**2) / freedom
    slopes = _slopes(found.nic, free, residuals, now)
    covariance = np.linalg.pinv(slopes.T @ slopes) * variance
    t = t95(freedom)
    made: dict[str, tuple[float, float]] = {}
    for number, name in enumerate(free):
        value = getattr(found.nic, name)
        # Beyond a factor of e³ the table says nothing.
        half = min(t * math.sqrt(max(float(covariance[number, number]), 0.0)), 3.0)
        made[name] = (value * math.exp(-half), value * math.exp(half))
    limit = found.square + t**2 * variance
    alike = [nic for nic, square in found.others if square <= limit]
    if math.isfinite(found.nic.cached):
        under_way = sorted({float(value) for value in size * depth})
        lows = [max((one for one in under_way if one <= nic.cached), default=0.0) for nic in alike]
        highs = [min(one for one in under_way if one > nic.cached) for nic in alike]
        made["cached"] = (min(lows), max(highs))
    if found.nic.start_packets:
        packets = [nic.start_packets for nic in alike]
        made["start_packets"] = (min(packets), max(packets))
    return made
