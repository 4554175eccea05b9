"""What the figures of the TCD paper share: the instants of the scene of its Figure 2, and what is measured in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from backwater.papers import Runs
from backwater.results import Results, measures
from backwater.results.measures import Interval, Series

#: PFC class of all data in the paper's scenarios.
PRIORITY = 3
#: "The rate of F1 has decreased below 15Gbps when F0 and F2 start" (§3.1.2).
F1_WHEN_OTHERS_START_BPS = 15e9
#: A queue below this has drained.
DRAINED_BYTES = 10_000
MS = 1_000_000_000
US = 1_000_000


@dataclass(frozen=True)
class Scene:
    """One run of the scene. Instants in picoseconds since the start of the run."""

    run: Results

    @property
    def bursts_ps(self) -> int:
        """When the bursts start."""
        return self.start_ps("A")

    @property
    def end_ps(self) -> int:
        """When the run ended."""
        return measures.end_ps(self.run)

    def start_ps(self, traffic: str) -> int:
        """When the first flow of a traffic entry starts."""
        named = self.run.flows.filter(pl.col("traffic").cast(pl.String) == traffic)
        return int(named.select(pl.col("start_ps").min()).collect().item())

    def since_bursts_ms(self, time_ps: float) -> float:
        """An instant as the paper counts: in milliseconds since the bursts started."""
        return (time_ps - self.bursts_ps) / MS

    def queue(self, port: str) -> Series:
        """The egress queue of a port since the bursts started."""
        return since(measures.queue(self.run, port, PRIORITY), self.bursts_ps)

    def peak_bytes(self, port: str) -> int:
        """The longest egress queue of a port."""
        return int(measures.by_port(self.run, [port], PRIORITY)["peak_queue_bytes"].item())

    def off(self, port: str) -> list[Interval]:
        """OFF periods of a port."""
        return measures.off_intervals(self.run, port, PRIORITY)

    def release_ps(self, port: str = "P2") -> int | None:
        """When the last OFF period of a port ended; None if it never was OFF, or still is at the end."""
        periods = self.off(port)
        if not periods or periods[-1].end_ps >= self.end_ps:
            return None
        return periods[-1].end_ps

    def drained_ps(self, port: str = "P2") -> int | None:
        """When the queue of a port first was drained after its last OFF period; None if it never was."""
        released = self.release_ps(port)
        if released is None:
            return None
        queue = since(self.queue(port), released)
        low = np.flatnonzero(queue.value <= DRAINED_BYTES)
        return int(queue.time_ps[low[0]]) if len(low) else None

    def sent_bps(self, port: str, begin_ps: int, end_ps: int) -> float:
        """Mean rate of a port between two instants, from what it put on the wire."""
        rates = measures.send_rate(self.run, port, PRIORITY, US)
        inside = (rates.time_ps > begin_ps) & (rates.time_ps <= end_ps)
        return float(rates.value[inside].mean())

    def marks(self, port: str, code: str, traffic: str | None = None, begin_ps: int = 0, end_ps: int = 2**62) -> int:
        """How many packets a port marked in [begin, end)."""
        times = measures.mark_times(self.run, port, PRIORITY, code, traffic)
        return int(((times >= begin_ps) & (times < end_ps)).sum())

    def received(self, traffic: str, column: str) -> int:
        """What the receivers of a traffic entry counted, such as `ce_packets`."""
        totals = measures.by_traffic(self.run).filter(pl.col("traffic") == traffic)
        return int(totals[column].item())

    def states(self, port: str, begin_ps: int | None = None) -> list[Interval]:
        """What the detector of a port thought, from an instant (the start of the bursts) to the end."""
        begin = self.bursts_ps if begin_ps is None else begin_ps
        return [i for i in measures.state_intervals(self.run, port, PRIORITY) if i.end_ps > begin]

    def share_in_state(self, port: str, state: str, begin_ps: int) -> float:
        """Which part of the time since an instant a port spent in a state."""
        spent = sum(i.end_ps - max(i.start_ps, begin_ps) for i in self.states(port, begin_ps) if i.what == state)
        return spent / (self.end_ps - begin_ps)

    def becomes(self, port: str, final: str, never: str) -> bool:
        """Whether a port was undetermined, then got to `final` and stayed there, without being `never` in between."""
        words = [i.what for i in self.states(port)]
        if "undetermined" not in words:
            return False
        return words[-1] == final and never not in words[words.index("undetermined") :]


def since(series: Series, time_ps: int) -> Series:
    """The part of a series from an instant on."""
    keep = series.time_ps >= time_ps
    return measures.Series(series.time_ps[keep], series.value[keep])


def f1_falls_ps(run: Results, below_bps: float = F1_WHEN_OTHERS_START_BPS) -> int:
    """When the rate that congestion control allows F1 first is below 15 Gbps."""
    rate = since(measures.allowed_rate(run, "F1"), Scene(run).bursts_ps)
    below = np.flatnonzero(rate.value < below_bps)
    if not len(below):
        raise ValueError(f"F1's rate does not fall below {below_bps / 1e9:.0f} Gbps, so F0 and F2 have no start")
    return int(rate.time_ps[below[0]])


def settle(first: Runs) -> dict[str, str]:
    """When F0 and F2 start in each run that `first` is the lone version of: ``{<name>-start}``."""
    return {f"{name}-start": f"{f1_falls_ps(run)}ps" for name, run in first.items()}


def settle_twice(first: Runs) -> dict[str, str]:
    """As :func:`settle`, and when F1 falls below 15/40 of 32 Gbps: ``{<name>-start-12g}``."""
    scaled = {f"{name}-start-12g": f"{f1_falls_ps(run, 12e9)}ps" for name, run in first.items()}
    return settle(first) | scaled


def detector_bytes(run: Results, key: str) -> int:
    """A size among the detector's settings, such as `kmax`."""
    return size_bytes(run.meta["scenario"]["switch"]["detector"][key])


def size_bytes(text: str) -> int:
    """A size of a resolved scenario, such as `327.54KB`."""
    for unit, scale in (("KB", 1000), ("B", 1)):
        if text.endswith(unit):
            return round(float(text.removesuffix(unit)) * scale)
    raise ValueError(f"{text!r} is no size in B or KB")
