"""Figure 7: the conceptual ON-OFF model beside a run: the ingress counter over ON and OFF periods."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.results import Results, measures
from matplotlib.axes import Axes

from papers.tcd import schematic
from papers.tcd.scene import PRIORITY, US
from papers.tcd.schematic import OnOff

#: The rates beside, and the packet of the ideal profile.
RATES = ("10Gbps", "20Gbps", "40Gbps")
PACKET = 1000
#: How much of a run is drawn, from when its queues have filled.
SHOWN_US = 130


def metrics(runs: Runs) -> Measurements:
    found = {rate: schematic.on_off(runs[f"pfc {rate}"]) for rate in RATES}
    return {
        **schematic.by_rate(
            "maximum_off_by_packets", {rate: abs(q.highest - q.model_highest) / PACKET for rate, q in found.items()}
        ),
        **schematic.by_rate(
            "minimum_off_by_packets", {rate: abs(q.lowest - q.model_lowest) / PACKET for rate, q in found.items()}
        ),
        **schematic.by_rate(
            "on_period_off_by_packets", {rate: uneven(runs[f"pfc {rate}"], q) for rate, q in found.items()}
        ),
    }


def uneven(run: Results, quantities: OnOff) -> float:
    """How far an ON period is at most from their mean, in packets at the rate by which the counter grows."""
    lengths = schematic.lengths_us(schematic.on_periods(run, "P2", schematic.STEADY_PS)) / 1e6
    growth = (quantities.ri - quantities.rd) / 8
    return float(np.abs(lengths - lengths.mean()).max() * growth / PACKET)


def draw(seeds: Seeds, file: Path) -> None:
    title = "Figure 7: the ON-OFF model beside runs with three congestion degrees"
    with plot.picture(file, title, 12.0, 5.5) as made:
        grid = made.subplots(2, len(RATES), sharex="col", height_ratios=[4, 0.7])
        for column, rate in enumerate(RATES):
            run = seeds[0][f"pfc {rate}"]
            found = schematic.on_off(run)
            _draw_counter(grid[0][column], run, found)
            _draw_periods(grid[1][column], run, found)
            grid[0][column].set_title(f"A0 sends at {rate.replace('Gbps', ' Gbps')}: ε = {found.epsilon:.2f}")
        grid[0][0].set_ylabel("ingress counter of T2 [KB]")
        handles, labels = grid[0][0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def _begin_us(run: Results) -> float:
    return schematic.on_periods(run, "P2", schematic.STEADY_PS)[0].start_ps / US - 15


def _draw_counter(axes: Axes, run: Results, found: OnOff) -> None:
    counter = schematic.ingress(run, "P2", "P3")
    begin = _begin_us(run)
    axes.step(
        counter.time_ps / US - begin, counter.value / 1e3, where="post", color=plot.BLUE, lw=1, label="counter, run"
    )
    levels = (
        (found.b1, plot.VERMILLION, "-", "$B_1$ = Xoff"),
        (found.b0, plot.GREEN, "-", "$B_0$ = Xon"),
        (found.model_highest, plot.VERMILLION, ":", "model: $B_1 + τ(R_i − R_d)$"),
        (found.model_lowest, plot.GREEN, ":", "model: $B_0 − τR_d$"),
    )
    for level, colour, style, label in levels:
        axes.axhline(level / 1e3, color=colour, ls=style, lw=1.2, label=label)
    axes.set_xlim(0, SHOWN_US)
    shown = counter.value[(counter.time_ps >= begin * US) & (counter.time_ps <= (begin + SHOWN_US) * US)]
    levels_kb = [level / 1e3 for level in (*shown.tolist(), found.model_lowest, found.model_highest)]
    axes.set_ylim(min(levels_kb) - 4, max(levels_kb) + 4)


def _draw_periods(axes: Axes, run: Results, found: OnOff) -> None:
    begin = _begin_us(run)
    off = [(o.start_ps / US - begin, (o.end_ps - o.start_ps) / US) for o in measures.off_intervals(run, "P2", PRIORITY)]
    axes.broken_barh([(0, SHOWN_US)], (0, 1), facecolors=plot.GREEN, alpha=0.5)
    axes.broken_barh(off, (0, 1), facecolors=plot.OFF_COLOUR)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.5], ["P2"])
    axes.grid(visible=False)
    told = (
        f"$T_{{on}}$ (green) {found.ton * 1e6:.2f} µs, Equation 1: {found.model_ton * 1e6:.2f} µs\n"
        f"$T_{{off}}$ (black) {found.toff * 1e6:.2f} µs, model: {found.model_toff * 1e6:.2f} µs\n"
        f"($R_i$ {found.ri / 1e9:.1f}, $R_d$ {found.rd / 1e9:.1f} Gbps, τ {found.tau * 1e6:.2f} µs; {found.periods}×)\n"
        f"($R_d$ while packets come in {found.rd_on / 1e9:.1f} Gbps,\nwhile none does {found.rd_off / 1e9:.1f} Gbps)"
    )
    axes.set_xlabel(f"time [µs]\n{told}")
