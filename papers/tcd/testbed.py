"""What is measured on the testbed of Figure 11: the share of a flow's packets that are marked, in windows of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from backwater import measures

from papers.tcd.scene import PRIORITY, size_bytes

if TYPE_CHECKING:
    from backwater.results import Results
    from numpy.typing import NDArray

#: Windows of a run: 100 ms of 1 s.
WINDOWS = 10
#: The link that only F0 crosses.
F0_LINK = "T2->R0"


@dataclass(frozen=True)
class Testbed:
    """One run."""

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

    @property
    def during(self) -> NDArray[np.bool_]:
        """The windows in all of which A0 sends."""
        start, finish = self.a0_ps
        return (self.edges_ps[:-1] >= start) & (self.edges_ps[1:] <= finish)

    @property
    def outside(self) -> NDArray[np.bool_]:
        """The windows in none of which A0 sends."""
        start, finish = self.a0_ps
        return (self.edges_ps[1:] <= start) | (self.edges_ps[:-1] >= finish)

    def f0_percent(self, code: str) -> NDArray[np.float64]:
        """Per window: F0's packets that were marked on the way, of those that left for R0."""
        marked = sum(self._marked(port, code, "F0") for port in ("P0", F0_LINK))
        return 100 * np.asarray(marked) / np.maximum(self._f0_packets(), 1)

    def f1_percent(self, code: str) -> NDArray[np.float64]:
        """Per window: of F1's packets those that P3 marked.

        While A0 sends, of those from the first to the last mark of a window: between two marks P3 sent as many packets
        of F1 as their numbers differ by, since none is lost or overtaken. Else of those that passed P0 in the window.
        """
        seqs = self._marks("P3", code, "F1").sort("time_ps")
        passed = self._packets("P0") - self._f0_packets()
        found = np.zeros(WINDOWS)
        for window, (begin, end) in enumerate(zip(self.edges_ps, self.edges_ps[1:], strict=False)):
            inside = seqs.filter(pl.col("time_ps") >= begin, pl.col("time_ps") < end)["seq"].to_numpy().astype(int)
            if len(inside):
                whole = inside[-1] - inside[0] + 1
                found[window] = 100 * len(inside) / (whole if self.during[window] else max(whole, passed[window]))
        return found

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
