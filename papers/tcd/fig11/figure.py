"""Figure 11: the share of F0's and F1's packets that are marked, in windows of a tenth of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater import plot

from papers.tcd.scene import MS, Scene
from papers.tcd.testbed import Testbed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from backwater.results import Results
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


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
        _panel(right, bed, {"CE": bed.f1_percent("CE")}, "F1, which P3's congestion comes from")
        left.set_ylabel("packets that get the mark [%]")
        left.set_ylim(0, 112)
        network = {"pfc": "PFC"}.get(flow_control, flow_control)
        title = f"Figure 11 in simulation: marks per {bed.edges_ps[1] / MS:.0f} ms on the testbed, under {network}"
        made.suptitle(title, fontsize=11, fontweight="bold")
        plot.save(made, file)


def _panel(axes: Axes, bed: Testbed, shares: Mapping[str, NDArray[np.float64]], title: str) -> None:
    middle = (bed.edges_ps[1:] + bed.edges_ps[:-1]) / 2 / MS
    width = 0.8 * float(bed.edges_ps[1]) / MS
    below = 0 * middle
    for code, values in shares.items():
        axes.bar(middle, values, width, bottom=below, color=plot.MARK_COLOURS[code], label=code)
        below = below + values
    begin, end = (time / MS for time in bed.a0_ps)
    axes.axvspan(begin, end, color=plot.GREY, alpha=0.15, lw=0, zorder=0)
    axes.text((begin + end) / 2, 104, "A0 sends", ha="center", color=plot.GREY, fontsize=8)
    axes.set_title(title)
    axes.set_xlabel("time [ms]")
    axes.legend(loc="upper left")
