"""Figure 10: how long ON periods are under PFC and under credits, beside max(Ton) and Tc."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from backwater.analysis import plot
from backwater.common import quantities
from backwater.papers import Measurements, Runs, Seeds
from backwater.results import Results, measures
from matplotlib.axes import Axes

from papers.tcd import schematic
from papers.tcd.scene import PRIORITY, US

#: The rates beside, by flow control.
RATES = {"pfc": ("2Gbps", "4Gbps", "10Gbps", "20Gbps", "40Gbps"), "credits": ("8Gbps", "16Gbps", "32Gbps")}
#: How much of each run is drawn.
SHOWN_US = 250


def on_us(run: Results) -> np.ndarray:
    """The lengths of P2's ON periods in microseconds, once the queues have filled."""
    return schematic.lengths_us(schematic.on_periods(run, "P2", schematic.STEADY_PS))


def period_us(run: Results) -> float:
    """Tc."""
    return quantities.parse_time(run.meta["scenario"]["switch"]["credits"]["period"]) / US


def equation_4_us(run: Results) -> float:
    """Rd·Tc/Ri, with Rd as measured and Ri the rate of P2's link, at which it sends while it is ON."""
    on = schematic.on_periods(run, "P2", schematic.STEADY_PS)
    begin, end = on[0].start_ps, on[-1].start_ps
    crossed = schematic.crossings(run, "P3").filter(pl.col("left_ps") >= begin, pl.col("left_ps") < end)
    flow = run.flows.filter(pl.col("traffic").cast(pl.String) == "F1").select("flow").collect().item()
    drained = crossed.filter(pl.col("flow") == flow)["bytes"].cast(pl.Int64).sum()
    input_bps = int(measures.by_port(run, ["P2"], PRIORITY)["rate_bps"].item())
    return 8e12 * drained / (end - begin) / input_bps * period_us(run)


def metrics(runs: Runs) -> Measurements:
    pfc = {rate: on_us(runs[f"pfc {rate}"]) for rate in RATES["pfc"]}
    by_credits = {rate: on_us(runs[f"credits {rate}"]) for rate in RATES["credits"]}
    limit = schematic.max_ton_ps(runs[f"pfc {RATES['pfc'][0]}"]) / US
    tc = period_us(runs[f"credits {RATES['credits'][0]}"])
    return {
        "pfc_on_periods": min(map(len, pfc.values())),
        "longest_pfc_on_over_max_ton": {rate: float(on.max()) / limit for rate, on in pfc.items()},
        "credit_on_periods": min(map(len, by_credits.values())),
        "longest_credit_on_over_tc": {rate: float(on.max()) / tc for rate, on in by_credits.items()},
        "credit_on_off_by_us": {
            rate: abs(float(on.mean()) - equation_4_us(runs[f"credits {rate}"])) for rate, on in by_credits.items()
        },
    }


def draw(seeds: Seeds, file: Path) -> None:
    runs = seeds[0]
    with plot.picture(file, "Figure 10: ON periods of P2 under PFC and under credits", 11.0, 5.6) as made:
        grid = made.subplots(2, 2, height_ratios=[1, 1.5])
        limit = schematic.max_ton_ps(runs[f"pfc {RATES['pfc'][0]}"]) / US
        tc = period_us(runs[f"credits {RATES['credits'][0]}"])
        columns = {"pfc": (f"max($T_{{on}}$) = {limit:.1f} µs", limit), "credits": (f"$T_c$ = {tc:.0f} µs", tc)}
        for column, (kind, (label, bound)) in enumerate(columns.items()):
            _draw_periods(grid[0][column], runs, kind)
            _draw_histogram(grid[1][column], seeds, kind, bound, label)
        grid[0][0].set_title("(a) PFC: from RESUME to PAUSE")
        grid[0][1].set_title("(b) credits: the sending part of each $T_c$")


def _draw_periods(axes: Axes, runs: Runs, kind: str) -> None:
    rates = RATES[kind]
    for height, rate in enumerate(reversed(rates)):
        run = runs[f"{kind} {rate}"]
        on = schematic.on_periods(run, "P2", schematic.STEADY_PS)
        begin = on[0].start_ps
        spans = [((p.start_ps - begin) / US, (p.end_ps - p.start_ps) / US) for p in on]
        colour = plot.CYCLE[rates.index(rate)]
        axes.broken_barh(spans, (height + 0.15, 0.7), facecolors=colour)
        if kind == "credits":
            axes.vlines(
                np.arange(0, SHOWN_US + 1, period_us(run)), 0, len(rates), colors=plot.VERMILLION, ls="--", lw=0.8
            )
    axes.set_yticks(np.arange(len(rates)) + 0.5, [rate.replace("Gbps", " Gbps") for rate in reversed(rates)])
    axes.set_ylabel("A0 sends")
    axes.set_xlim(0, SHOWN_US)
    axes.set_xlabel("time from an end of OFF on [µs]; coloured: ON")
    axes.grid(visible=False)


def _draw_histogram(axes: Axes, seeds: Seeds, kind: str, bound: float, label: str) -> None:
    lengths = {rate: np.concatenate([on_us(runs[f"{kind} {rate}"]) for runs in seeds]) for rate in RATES[kind]}
    edges = np.linspace(0, 1.15 * max(bound, *(float(on.max()) for on in lengths.values())), 47)
    names = [
        f"A0 at {rate.replace('Gbps', ' Gbps')}: mean {on.mean():.1f} µs, {len(on)} periods"
        for rate, on in lengths.items()
    ]
    axes.hist([*lengths.values()], edges, color=list(plot.CYCLE[: len(lengths)]), label=names)
    axes.set_ylim(0, 1.6 * axes.get_ylim()[1])
    axes.axvline(bound, ymax=0.62, color=plot.VERMILLION, ls="--")  # below the legend
    axes.text(
        bound, 0.6, f"{label} ", transform=axes.get_xaxis_transform(), ha="right", va="top", color=plot.VERMILLION
    )
    axes.set_xlabel("length of an ON period [µs]")
    axes.set_ylabel("ON periods")
    axes.set_xlim(0, edges[-1])
    axes.legend(loc="upper left")
