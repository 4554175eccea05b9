"""What is measured on the testbed of Figure 11: the share of a flow's packets that are marked, in windows of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from backwater.papers.testbed import Windows
from backwater.results import Results, measures
from numpy.typing import NDArray

from papers.tcd.scene import PRIORITY, size_bytes

#: Windows of a run: 100 ms of 1 s.
WINDOWS = 10
#: The link that only F0 crosses.
F0_LINK = "T2->R0"


@dataclass(frozen=True)
class Testbed(Windows):
    """One run of the simulation."""

    run: Results

    @property
    def edges_ps(self) -> NDArray[np.int64]:
        """Where the windows begin and end."""
        return np.linspace(0, measures.end_ps(self.run), WINDOWS + 1).astype(np.int64)

    @property
    def a0_ps(self) -> tuple[int, int]:
        """When A0 began and when its last byte arrived (the end of the run, if it did not)."""
        flow = self.run.flows.filter(pl.col("traffic").cast(pl.String) == "A0").select("start_ps", "finish_ps")
        start, finish = flow.collect().row(0)
        return int(start), measures.end_ps(self.run) if finish is None else int(finish)

    def f0_percent(self, code: str) -> NDArray[np.float64]:
        """Per window: F0's packets that were marked on the way, of those that left for R0."""
        marked = sum(self._marked(port, code, "F0") for port in ("P0", F0_LINK))
        return 100 * np.asarray(marked) / np.maximum(self._f0_packets(), 1)

    def f1_percent(self, code: str) -> NDArray[np.float64]:
        """Per window: F1's packets that P3 marked, of those that it sent."""
        marked = self._marked("P3", code, "F1")
        return 100 * np.asarray(marked) / np.maximum(self._f1_packets(code), 1)

    def _marked(self, port: str, code: str, flow: str) -> NDArray[np.int64]:
        times = self._marks(port, code, flow)["time_ps"].to_numpy()
        return np.histogram(times, self.edges_ps)[0]

    def _marks(self, port: str, code: str, flow: str) -> pl.DataFrame:
        marks = self.run.marks.filter(
            pl.col("port").cast(pl.String) == self.run.port(port),
            pl.col("code").cast(pl.String) == code,
            pl.col("traffic").cast(pl.String) == flow,
        )
        return marks.select("time_ps", "seq").collect()

    def _f1_packets(self, code: str) -> NDArray[np.float64]:
        """Packets of F1 that P3 sent, per window, marked or not.

        None is lost or overtaken, so a mark's packet number is how many went before it, and at the edges of the windows
        the numbers lie between those of the marks around. Before the first mark and after the last one F1's start and
        the packets that arrived in the run are the ends; where marks stop while A0 sends, that counts too many packets
        rather than too few, as F1 is faster without A0.
        """
        marks = self._marks("P3", code, "F1").sort("time_ps")
        flow = self.run.flows.filter(pl.col("traffic").cast(pl.String) == "F1").select("start_ps", "received_bytes")
        start, received = flow.collect().row(0)
        arrived = received / size_bytes(self.run.meta["scenario"]["packet"]["payload"])
        times = np.concatenate([[start], marks["time_ps"].to_numpy(), [measures.end_ps(self.run)]])
        return np.diff(np.interp(self.edges_ps, times, np.concatenate([[0], marks["seq"].to_numpy(), [arrived]])))

    def _f0_packets(self) -> NDArray[np.float64]:
        return self._packets(F0_LINK)

    def _packets(self, port: str) -> NDArray[np.float64]:
        """Packets that a sampled port sent, per window."""
        sent = self.run.samples.filter(
            pl.col("port").cast(pl.String) == self.run.port(port), pl.col("priority") == PRIORITY
        )
        frame = sent.sort("time_ps").select("time_ps", "sent_bytes").collect()
        at_edges = np.interp(self.edges_ps, frame["time_ps"].to_numpy(), frame["sent_bytes"].to_numpy())
        packet = self.run.meta["scenario"]["packet"]
        return np.diff(at_edges) / (size_bytes(packet["payload"]) + size_bytes(packet["header"]))
