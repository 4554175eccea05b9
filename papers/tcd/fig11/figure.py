"""Figure 11: the share of F0's and F1's packets that are marked, in windows of a tenth of the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from backwater import measures, plot

from papers.tcd.scene import MS, PRIORITY, Scene, size_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from backwater.results import Results
    from matplotlib.axes import Axes
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
        """Per window: of F1's packets from the first to the last that P3 marked in it, those that it marked.

        Between two marks P3 sent as many packets of F1 as their numbers differ by, since none is lost or overtaken.
        """
        seqs = self._marks("P3", code, "F1").sort("time_ps")
        found = np.zeros(WINDOWS)
        for window, (begin, end) in enumerate(zip(self.edges_ps, self.edges_ps[1:], strict=False)):
            inside = seqs.filter(pl.col("time_ps") >= begin, pl.col("time_ps") < end)["seq"].to_numpy().astype(int)
            if len(inside):
                found[window] = 100 * len(inside) / (inside[-1] - inside[0] + 1)
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
        sent = self.run.samples.filter(
            pl.col("port").cast(pl.String) == self.run.port(F0_LINK), pl.col("priority") == PRIORITY
        )
        frame = sent.sort("time_ps").select("time_ps", "sent_bytes").collect()
        at_edges = np.interp(self.edges_ps, frame["time_ps"].to_numpy(), frame["sent_bytes"].to_numpy())
        packet = self.run.meta["scenario"]["packet"]
        return np.diff(at_edges) / (size_bytes(packet["payload"]) + size_bytes(packet["header"]))


def metrics(runs: Mapping[str, Results]) -> dict[str, float | bool | None]:
    bed, scene = Testbed(runs["tcd"]), Scene(runs["tcd"])
    during, outside = bed.during, bed.outside
    names = ("least_f0_ue_percent_during", "most_f0_marked_percent_outside", "least_f1_ce_percent_during")
    if not during.any() or not outside.any():
        return dict.fromkeys(names) | {"f0_ce_packets": scene.received("F0", "ce_packets")}
    ue, ce = bed.f0_percent("UE"), bed.f0_percent("CE")
    values = (ue[during].min(), (ue + ce)[outside].max(), bed.f1_percent("CE")[during].min())
    return {name: float(value) for name, value in zip(names, values, strict=True)} | {
        "f0_ce_packets": scene.received("F0", "ce_packets"),
        "p0_off_periods": len(scene.off("P0")),
    }


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    bed = Testbed(seeds[0]["tcd"])
    flow_control = bed.run.meta["scenario"]["switch"]["flow-control"]
    with plot.style():
        made = plot.figure(9.0, 3.4)
        left, right = made.subplots(1, 2, sharey=True)
        _panel(left, bed, {"UE": bed.f0_percent("UE"), "CE": bed.f0_percent("CE")}, "F0, which only passes P0")
        _panel(right, bed, {"CE": bed.f1_percent("CE")}, "F1, which P3's congestion is due to")
        left.set_ylabel("packets that get the mark [%]")
        left.set_ylim(0, 112)
        network = {"pfc": "PFC"}.get(flow_control, flow_control)
        title = f"Figure 11 in simulation: marks per {bed.edges_ps[1] / MS:.0f} ms on the testbed, under {network}"
        made.suptitle(title, fontsize=11, fontweight="bold")
        plot.save(made, file)


def _panel(axes: Axes, bed: Testbed, shares: Mapping[str, NDArray[np.float64]], title: str) -> None:
    middle = (bed.edges_ps[1:] + bed.edges_ps[:-1]) / 2 / MS
    width = 0.8 * float(bed.edges_ps[1]) / MS / len(shares)
    for index, (code, values) in enumerate(shares.items()):
        at = middle + (index - (len(shares) - 1) / 2) * width
        axes.bar(at, values, width, color=plot.MARK_COLOURS[code], label=code)
    begin, end = (time / MS for time in bed.a0_ps)
    axes.axvspan(begin, end, color=plot.GREY, alpha=0.15, lw=0)
    axes.text((begin + end) / 2, 104, "A0 sends", ha="center", color=plot.GREY, fontsize=8)
    axes.set_title(title)
    axes.set_xlabel("time [ms]")
    axes.legend(loc="upper left")
