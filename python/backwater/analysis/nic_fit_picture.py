"""Measured points and the fitted closed form: goodput by message size, and the error of each row."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from matplotlib.ticker import FuncFormatter

from backwater.analysis import pictures, plot
from backwater.analysis.nic_fit import Fit, goodputs
from backwater.analysis.nic_table import Row
from backwater.common import quantities


def draw(fit: Fit, file: Path, title: str) -> Path:
    """Two panels: goodput on logarithmic axes, and by how much the fit is off."""
    arms = list(dict.fromkeys((row.arm, row.depth) for row in fit.rows))
    depths = sorted({row.depth for row in fit.rows})
    colours = {depth: plot.CYCLE[number % len(plot.CYCLE)] for number, depth in enumerate(depths)}
    below = pictures.paper().narrow
    with plot.picture(file, title, plot.wide(9.0), 7.4 if below else 4.0) as made:
        left, right = made.subplots(2 if below else 1, 1 if below else 2, squeeze=False).flat
        low, high = (edge(row.size for row in fit.rows) for edge in (min, max))
        sizes = np.unique(np.geomspace(low, high, 400).astype(int))
        for depth in depths:
            of = [Row(0, "", int(size), depth, 1.0) for size in sizes]
            shown = [row.size for row in fit.rows if row.depth == depth]
            inside = (sizes >= min(shown)) & (sizes <= max(shown))
            curve = goodputs(fit.nic, fit.link, of)
            left.plot(sizes[inside], curve[inside], color=colours[depth], lw=1.4, label=f"fitted, depth {depth}")
        for number, (arm, depth) in enumerate(arms):
            rows = [
                (row, error)
                for row, error in zip(fit.rows, fit.errors, strict=True)
                if (row.arm, row.depth) == (arm, depth)
            ]
            look = {"color": colours[depth], "marker": plot.marker(number), "ls": "", "ms": 4.5}
            across = [row.size for row, _ in rows]
            left.plot(across, [row.gbps for row, _ in rows], markerfacecolor="none", label=f"measured, {arm}", **look)
            right.plot(across, [100 * error for _, error in rows], label=arm, **look)
        left.set_yscale("log")
        left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        left.set_ylabel("goodput (Gbps)")
        right.axhline(0, color=plot.BLACK, lw=0.8)
        limit = max(1.0, math.ceil(100 * abs(fit.worst)))
        right.set_ylim(-limit, limit)
        right.set_ylabel("fitted less measured (%)")
        for axes in (left, right):
            axes.set_xscale("log", base=2)
            axes.set_xticks([2**power for power in range(round(math.log2(low)), round(math.log2(high)) + 1, 4)])
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: quantities.round_size(value)))
            axes.minorticks_off()
            axes.set_xlabel("message size")
            axes.grid(visible=True, axis="both")
        left.legend(loc="lower right", fontsize=7.5)
    return file
