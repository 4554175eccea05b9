"""Figure 11: the share of F0's and F1's packets that are marked, in windows of a tenth of the run.

In simulation, and beside it on software switches, where `make testbed` has left results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds, testbed
from backwater.papers.number_tables import NumberTable
from backwater.papers.testbed import SwitchRun, Windows
from matplotlib.axes import Axes
from numpy.typing import NDArray

from papers.tcd.scene import MS, Scene
from papers.tcd.testbed import Testbed

#: Metric, what it is called in the table, digits.
MEASURED = (
    ("least_f0_ue_percent_during", "F0 with UE while A0 sends, least window [%]", 2),
    ("most_f0_marked_percent_outside", "F0 with any mark before and after, most [%]", 2),
    ("f0_ce_packets", "F0's packets with CE", 0),
    ("least_f1_ce_percent_during", "F1 with CE while A0 sends, least window [%]", 2),
    ("p0_off_periods", "times that P0 was held back", 0),
)
FLOW_CONTROLS = {"pfc": "PFC", "credits": "credits"}


def metrics(runs: Runs) -> Metrics:
    scene = Scene(runs["tcd"])
    counted = {"f0_ce_packets": scene.received("F0", "ce_packets"), "p0_off_periods": len(scene.off("P0"))}
    return _shares(Testbed(runs["tcd"])) | counted


def switch_metrics(run: SwitchRun) -> Metrics:
    """The same of a run of the software switches."""
    counted = {
        "f0_ce_packets": int(run.packets("F0", "CE").sum()),
        "p0_off_periods": sum(run.port("T0", "P0")["off_periods"]),
    }
    return _shares(run) | counted


def _shares(bed: Windows) -> Metrics:
    during, outside = bed.during, bed.outside
    names = ("least_f0_ue_percent_during", "most_f0_marked_percent_outside", "least_f1_ce_percent_during")
    if not during.any() or not outside.any():
        return dict.fromkeys(names)
    ue, ce = bed.f0_percent("UE"), bed.f0_percent("CE")
    values = (ue[during].min(), (ue + ce)[outside].max(), bed.f1_percent("CE")[during].min())
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    """Simulation and software switches side by side, where both are there."""
    network = _flow_control(seeds[0])
    switches = testbed.find(network)
    if switches is None:
        return ()
    simulated, measured = metrics(seeds[0]), switch_metrics(switches)
    rows = tuple(
        (words, _number(simulated.get(name), digits), _number(measured.get(name), digits))
        for name, words, digits in MEASURED
    )
    headings = ("", "simulation, first seed", f"software switches, {switches.clock} clock")
    return (NumberTable(f"Under {FLOW_CONTROLS[network]}, in simulation and on DPDK", headings, rows),)


def _number(value: float | bool | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def draw(seeds: Seeds, file: Path) -> None:
    network = _flow_control(seeds[0])
    rows: list[tuple[str, Windows | None]] = [
        ("in simulation", Testbed(seeds[0]["tcd"])),
        ("on software switches", testbed.find(network)),
    ]
    draw_rows(rows, f"Figure 11: marks on the testbed under {FLOW_CONTROLS[network]}", file)


def draw_rows(rows: Sequence[tuple[str, Windows | None]], title: str, file: Path) -> None:
    """One row of two panels, F0 and F1, for each of `rows`; one without results says how to get them.

    Each row has its own time: a quick look simulates a tenth of what the switches run.
    """
    with plot.picture(file, title, 9.0, 0.6 + 2.7 * len(rows)) as made:
        grid = made.subplots(len(rows), 2, sharey=True, squeeze=False)
        for panels, (name, bed) in zip(grid, rows, strict=True):
            _row(panels, name, bed)
        for axes in grid[-1]:
            axes.set_xlabel("time [ms]")


def _row(panels: Sequence[Axes], name: str, bed: Windows | None) -> None:
    left, right = panels
    left.set_ylabel(f"{name}\npackets that get the mark [%]")
    left.set_ylim(0, 119)
    left.set_yticks(range(0, 101, 20))
    for axes, flow in ((left, "F0, which only passes P0"), (right, "F1, which P3's congestion comes from")):
        axes.set_title(flow)
        if bed is None:
            text = "no results of the software switches here:\n`make testbed` runs them"
            axes.text(0.5, 0.5, text, ha="center", va="center", color=plot.GREY, transform=axes.transAxes)
    if bed is not None:
        _panel(left, bed, {"UE": bed.f0_percent("UE"), "CE": bed.f0_percent("CE")})
        _panel(right, bed, {"CE": bed.f1_percent("CE")})


def _panel(axes: Axes, bed: Windows, shares: Mapping[str, NDArray[np.float64]]) -> None:
    edges = bed.edges_ps / MS
    middle = (edges[1:] + edges[:-1]) / 2
    width = 0.8 * float(edges[1])
    below = 0 * middle
    for code, values in shares.items():
        axes.bar(middle, values, width, bottom=below, color=plot.MARK_COLOURS[code], label=code)
        below = below + values
    begin, end = (time / MS for time in bed.a0_ps)
    axes.axvspan(begin, end, color=plot.GREY, alpha=0.15, lw=0, zorder=0)
    axes.text((begin + end) / 2, 108, "A0 sends", ha="center", va="center", color=plot.GREY, fontsize=8)
    axes.set_xlim(0, float(edges[-1]))
    axes.legend(loc="upper left")


def _flow_control(runs: Runs) -> str:
    """`pfc` or `credits`."""
    return "pfc" if runs["tcd"].meta["scenario"]["switch"]["flow-control"] == "pfc" else "credits"
