"""Figure 8: the length of an ON period over the congestion degree and the draining rate, and max(Ton)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from backwater import _core
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

C_BPS = 40e9
TAU_S = 8e-6
GAP_BITS = 2 * 1000 * 8
EPSILON = (0.01, 0.5)
PLANE_EPSILON = 0.05
#: With this delay, τ = 2 MTU / C + 2 tp of Equation 3 is the figure's 8 µs.
PLANE_DELAY = "3.8us"


def ton_us(epsilon: NDArray[np.float64], draining_bps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equation 2, in microseconds."""
    return ((GAP_BITS + TAU_S * draining_bps) / (epsilon * C_BPS) + TAU_S) * 1e6


def max_ton_us(rate: str, delay: str) -> float:
    """Equation 3 as the switches of a simulation have it."""
    return json.loads(_core.max_ton(rate, delay, "1000B", PLANE_EPSILON, None))["max_ton_ps"] / 1e6


def surface(points: int = 400) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """ε, Rd and Ton over an even grid."""
    epsilon, draining = np.meshgrid(np.linspace(*EPSILON, points), np.linspace(0, C_BPS / 2, points))
    return epsilon, draining, ton_us(epsilon, draining)


def metrics(runs: Runs) -> Metrics:
    del runs
    plane = max_ton_us("40Gbps", PLANE_DELAY)
    _, _, ton = surface()
    return {
        "plane_us": plane,
        "covered_percent": float((ton <= plane).mean()) * 100,
        "steepening": slope(EPSILON[0], PLANE_EPSILON) / slope(PLANE_EPSILON, EPSILON[1]),
        "max_ton_40g_us": max_ton_us("40Gbps", "1us"),
        "max_ton_100g_us": max_ton_us("100Gbps", "1us"),
        "max_ton_200g_us": max_ton_us("200Gbps", "1us"),
    }


def slope(low: float, high: float) -> float:
    """By how much Ton grows per step of ε downwards, between two values of ε, at Rd = C/2."""
    at_low, at_high = ton_us(np.array([low, high]), np.array([C_BPS / 2]))
    return float((at_low - at_high) / (high - low))


def draw(seeds: Seeds, file: Path) -> None:
    del seeds
    plane = max_ton_us("40Gbps", PLANE_DELAY)
    epsilon, draining, ton = surface(60)
    with plot.picture(file, "Figure 8: length of an ON period, 40 Gbps, τ = 8 µs", 10.5, 4.8) as made:
        solid = made.add_subplot(1, 2, 1, projection="3d")
        solid.plot_surface(epsilon, draining / 1e9, ton, cmap="viridis", linewidth=0, alpha=0.9, rcount=60, ccount=60)
        solid.plot_surface(
            epsilon, draining / 1e9, np.full_like(ton, plane), color=plot.ORANGE, alpha=0.45, linewidth=0
        )
        solid.set(xlabel="ε", ylabel="$R_d$ [Gbps]", zlabel="$T_{on}$ [µs]", zlim=(0, 450), yticks=(0, 5, 10, 15, 20))
        solid.view_init(elev=22, azim=35)
        solid.set_title(f"surface, and the plane at {plane:.0f} µs (ε = {PLANE_EPSILON})")
        flat = made.add_subplot(1, 2, 2)
        steps = np.linspace(*EPSILON, 500)
        for share, colour in zip((0.05, 0.125, 0.25, 0.5), plot.CYCLE, strict=False):
            flat.plot(steps, ton_us(steps, np.array([C_BPS * share])), color=colour, label=f"{share * 40:g} Gbps")
        flat.axhline(plane, color=plot.ORANGE, linestyle="--")
        flat.text(0.5, plane, f"max($T_{{on}}$) = {plane:.0f} µs ", ha="right", va="bottom", color=plot.VERMILLION)
        flat.set(xlabel="congestion degree ε", ylabel="$T_{on}$ [µs]", ylim=(0, 450), xlim=(0, 0.5))
        flat.xaxis.set_major_locator(FixedLocator([0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5]))
        flat.legend(title="draining rate $R_d$")
        flat.set_title("cuts through it")
