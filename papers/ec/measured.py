"""What the figures of the EC paper measure of a run: the window after the warm-up, as shares of the link.

Runs are named after workload, policy, size of a PUT and what else is swept, such as ``unicast dack 2KiB 51.2Gbps``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import polars as pl
from backwater.common.quantities import parse_size
from backwater.papers import Runs
from backwater.results import Results

POLICIES = ("opt", "aimd", "dack")
SIZES = (512, 1024, 2048, 4096, 8192)
#: The link, and the NIC's time per new packet.
LINK_GBPS = 102.4
LINK_BYTES_PER_NS = LINK_GBPS / 8
OVERHEAD_NS = 95
HEADER = 64
#: Link times round trip without processing, "of a 64B header-only packet": 3000 flits of 32 B.
BDP = 96_000
#: A flit of 32 B on the link: the cycle of the authors' simulator.
CYCLE_NS = 2.5
NS, US = 1_000, 1_000_000
#: The authors' workload warms up for 2.25 ms, and measures for 250 µs then; here, for 10 ms.
WARM_UP_PS = 2250 * US


@dataclass(frozen=True)
class Window:
    """What happened in a stretch of a run; rates are shares of the link, counts those of packets."""

    goodput: float
    retransmission: float
    #: The largest difference of two senders' goodputs.
    difference: float
    #: What initiators put on the wire, retransmissions included.
    wire: float
    #: What the endpoint drained, of what it could.
    use: float
    #: The most bytes that the receive queue held.
    peak: int
    sent: int
    resent: int
    accepted: int
    #: Found the queue full; came after one that did.
    full: int
    behind: int
    nacks: int
    timeouts: int
    seconds: float

    @property
    def lost(self) -> int:
        """Packets that the target dropped."""
        return self.full + self.behind


def drain_gbps(run: Results) -> float:
    """The rate at which the slow endpoint works."""
    text = str(run.meta["scenario"]["host"]["drain"])
    return float(text.removesuffix("Gbps"))


def window(run: Results, start_ps: int = WARM_UP_PS, end_ps: int | None = None) -> Window:
    """What happened from `start_ps` until `end_ps`, or the end of the run; both at the end of a sampling period."""
    end = int(run.meta["sim_time_ps"]) if end_ps is None else end_ps
    return _window(str(run.folder), start_ps, end)


@lru_cache(maxsize=8192)
def _window(folder: str, start: int, end: int) -> Window:
    # Figures share runs: each is read once.
    run = Results(folder)
    within = pl.col("start_ps").is_between(start, end - 1)
    streams = run.table("streams").filter(within)
    ends = streams.group_by(pl.col("src").cast(pl.String)).agg(pl.col("accepted_bytes").sum())
    columns = [
        "sent_packets", "sent_bytes", "resent_packets", "resent_bytes", "accepted_packets", "accepted_bytes",
        "dropped_packets", "out_of_order_packets", "timeouts",
    ]  # fmt: skip
    sums = streams.select(
        pl.col(columns).sum(), nacks=pl.col("nacks").filter(pl.col("side").cast(pl.String) == "initiator").sum()
    )
    queue = run.table("endpoints").filter(within).select(pl.col("drained_bytes").sum(), pl.col("peak_bytes").max())
    by_sender, total, drained = pl.collect_all([ends, sums, queue])
    row, ns = total.row(0, named=True), (end - start) / NS
    carried = ns * LINK_BYTES_PER_NS
    accepted = by_sender["accepted_bytes"]
    spread = float(accepted.max() or 0) - float(accepted.min() or 0) if len(accepted) else 0.0  # type: ignore[arg-type]
    return Window(
        goodput=row["accepted_bytes"] / carried,
        retransmission=row["resent_bytes"] / carried,
        difference=spread / carried,
        wire=(row["sent_bytes"] + row["resent_bytes"]) / carried,
        use=float(drained["drained_bytes"][0]) / (ns * drain_gbps(run) / 8),
        peak=int(drained["peak_bytes"][0] or 0),
        sent=row["sent_packets"],
        resent=row["resent_packets"],
        accepted=row["accepted_packets"],
        full=row["dropped_packets"],
        behind=row["out_of_order_packets"],
        nacks=row["nacks"],
        timeouts=row["timeouts"],
        seconds=ns / 1e9,
    )


def share(size: int) -> float:
    """Payload, of what a PUT has on the wire."""
    return size / (size + HEADER)


def wire_ceiling(size: int) -> float:
    """What an initiator can put on the wire, as a share of the link: a new packet every 95 ns at most."""
    return min(1.0, (size + HEADER) / (OVERHEAD_NS * LINK_BYTES_PER_NS))


def ceiling(size: int) -> float:
    """The goodput of an initiator that always has something to send to an endpoint that is not slow."""
    return wire_ceiling(size) * share(size)


#: A point of a sweep: policy, size, and r or the depth of the queue in BDPs.
Point = tuple[str, int, float]


def points(runs: Runs, workload: str) -> dict[Point, Window]:
    """The windows of a workload's runs; a quick look does not have all of them."""
    found: dict[Point, Window] = {}
    for name, run in runs.items():
        kind, *rest = name.split()
        if kind == workload:
            found[_point(rest)] = window(run)
    return found


def _point(words: list[str]) -> Point:
    policy, size, swept = words
    if swept.endswith("Gbps"):
        return policy, parse_size(size), round(float(swept.removesuffix("Gbps")) / LINK_GBPS, 3)
    return policy, parse_size(size), parse_size(swept) / BDP


def among(found: Mapping[Point, Window], policy: str, sizes: Iterable[int], most: float = 1.0) -> dict[Point, Window]:
    """The points of a policy, at these sizes and up to this r."""
    wanted = set(sizes)
    return {at: one for at, one in found.items() if at[0] == policy and at[1] in wanted and at[2] <= most + 1e-9}


def most(values: Iterable[float]) -> float | None:
    """The largest, or None of none."""
    return max(values, default=None)


def mean(values: Iterable[float]) -> float | None:
    """The mean, or None of none."""
    known = list(values)
    return sum(known) / len(known) if known else None


def over(above: float | None, below: float | None) -> float | None:
    """A quotient, or None where one of the two is missing or the lower one is 0."""
    return above / below if above is not None and below else None
