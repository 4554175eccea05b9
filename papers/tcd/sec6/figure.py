"""§6: how late a port is released, when its state flaps, and what a harsher cut costs where PFC never acts."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from backwater.analysis import plot
from backwater.common.statistics import estimate
from backwater.papers import Measurements, Runs, Seeds
from backwater.results import Results, measures
from matplotlib.axes import Axes

from papers.tcd.scene import PRIORITY, US

#: max(Ton) in microseconds: of the runs whose ON periods are short, and of those that vary the rate beside.
SHORT_MAX_TON_US = (53, 97, 229)
MAX_TON_US = 97
#: Rates of the source beside in Gbps, from the longest ON periods to the shortest.
RATES_GBPS = ("0.2", "0.4", "1", "2", "4", "10", "20")
#: Which of them make ON periods that are much longer than max(Ton), and shorter.
LONG, SHORT = ("0.2", "0.4"), ("10", "20")
#: How many flows share the link without PFC.
FLOWS = (2, 4, 8, 16)
#: The plain controller and the one with TCD, by its name in claims.toml.
PAIRS = {"dcqcn": ("DCQCN", "DCQCN+TCD"), "timely": ("TIMELY", "TIMELY+TCD")}


def on_us(run: Results) -> float:
    """The median length of P2's ON periods in microseconds: from the end of an OFF period to the start of the next.

    Infinite if PFC held P2 less than twice.
    """
    off = measures.off_intervals(run, "P2", PRIORITY)
    lengths = [(later.start_ps - earlier.end_ps) / US for earlier, later in pairwise(off)]
    return float(np.median(lengths)) if lengths else np.inf


def releases_us(run: Results) -> list[float]:
    """Each time P2 left the undetermined state: how long before, in microseconds, its last OFF period had ended."""
    ends = [period.end_ps for period in measures.off_intervals(run, "P2", PRIORITY)]
    states = measures.state_intervals(run, "P2", PRIORITY)
    left = [now.end_ps for now, _ in pairwise(states) if now.what == "undetermined"]
    return [(time - max(end for end in ends if end <= time)) / US for time in left]


def flaps(run: Results) -> int:
    """How often P2 became undetermined again."""
    return max(0, sum(i.what == "undetermined" for i in measures.state_intervals(run, "P2", PRIORITY)) - 1)


def flaps_per_max_ton(run: Results) -> float:
    """How often P2 became undetermined again per max(Ton), from the first time to the end of the run."""
    begun = [i.start_ps for i in measures.state_intervals(run, "P2", PRIORITY) if i.what == "undetermined"]
    return flaps(run) * MAX_TON_US * US / (measures.end_ps(run) - begun[0]) if begun else 0.0


def holds_per_ms(run: Results) -> float:
    """How often PFC held P2 per millisecond."""
    return len(measures.off_intervals(run, "P2", PRIORITY)) * 1_000 * US / measures.end_ps(run)


def busy_percent(run: Results) -> float:
    """How much of the run the last link was sending, in percent of its rate."""
    port = run.ports.filter(pl.col("port").cast(pl.String).str.ends_with("->h0"), pl.col("priority") == PRIORITY)
    sent, rate = port.select("sent_bytes", "rate_bps").collect().row(0)
    return float(100 * sent * 8e12 / (rate * measures.end_ps(run)))


def losses(runs: Runs, kind: str) -> list[float]:
    """By number of flows, how much less of the link is used with the harsher cut, in percent of the link."""
    return [busy_percent(runs[f"{kind} {n + 1}"]) - busy_percent(runs[f"{kind}+tcd {n + 1}"]) for n in FLOWS]


def metrics(runs: Runs) -> Measurements:
    short = {max_ton: runs[f"short {max_ton}us"] for max_ton in SHORT_MAX_TON_US}
    late = [release - max_ton for max_ton, run in short.items() for release in releases_us(run)]
    rates = {rate: runs[f"rate {rate}Gbps"] for rate in RATES_GBPS}
    found: Measurements = {
        "short_on_over_max_ton": max(on_us(run) / max_ton for max_ton, run in short.items()),
        "latest_release_beyond_max_ton_us": max(late) if late else None,
        "long_on_over_max_ton": min(on_us(rates[rate]) for rate in LONG) / MAX_TON_US,
        "flaps_while_long": min(flaps(rates[rate]) for rate in LONG),
        "flaps_per_max_ton_while_long": max(flaps_per_max_ton(rates[rate]) for rate in LONG),
        "flaps_while_short": max(flaps(rates[rate]) for rate in SHORT),
    }
    holds = [holds_per_ms(run) for run in rates.values()]
    steps = {
        f"to {rate} Gbps": more - fewer for rate, (fewer, more) in zip(RATES_GBPS[1:], pairwise(holds), strict=True)
    }
    found["step_of_holds_per_ms"] = steps
    for rate, run in rates.items():
        found |= {f"on_us_at_{rate}": on_us(run), f"flaps_per_max_ton_at_{rate}": flaps_per_max_ton(run)}
        found[f"holds_per_ms_at_{rate}"] = holds_per_ms(run)
    for kind in PAIRS:
        found[f"loss_percent_{kind}"] = dict(zip(map(str, FLOWS), losses(runs, kind), strict=True))
        for flows in FLOWS:
            for scheme in (kind, f"{kind}+tcd"):
                found[f"busy_percent_{scheme}_{flows}"] = busy_percent(runs[f"{scheme} {flows + 1}"])
    return found


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "§6: corner cases", 9.6, 5.6) as made:
        states, links = made.subfigures(1, 2, width_ratios=[1.5, 1])
        rows = states.subplots(len(RATES_GBPS), 1, sharex=True)
        for axes, rate in zip(rows, RATES_GBPS, strict=True):
            _states(axes, seeds[0][f"rate {rate}Gbps"], rate)
        rows[-1].set_xlabel("time [ms]")
        states.suptitle("D2: state of P2 (above) and OFF (below) by the rate beside", fontsize=9, fontweight="bold")
        handles, labels = zip(*[pair for pair in plot.state_legend() if "mark" not in pair[1]], strict=True)
        states.legend(handles, labels, loc="outside lower center", ncols=3)
        late, busy = links.subplots(2, 1)
        _late(late, seeds)
        _busy(busy, seeds)


def _states(axes: Axes, run: Results, rate: str) -> None:
    plot.band(axes, measures.state_intervals(run, "P2", PRIORITY), (1, 2))
    off = measures.off_intervals(run, "P2", PRIORITY)
    plot.off(axes, off, (0, 0.9))
    # A period of 20 µs in 40 ms is thinner than a pixel.
    plot.ticks(axes, np.array([period.start_ps for period in off]), (0, 0.9), plot.OFF_COLOUR)
    axes.set_ylim(0, 2)
    axes.set_xlim(0, measures.end_ps(run) / 1e9)
    length = on_us(run)
    shown = f"{length / 1e3:.2g} ms" if length >= 1e3 else f"{length:.0f} µs"
    axes.set_yticks([1], [f"{rate} Gbps\nON {shown}"])
    axes.grid(visible=False)


def _late(axes: Axes, seeds: Seeds) -> None:
    """Every release of the runs with short ON periods, over max(Ton)."""
    axes.axline((0, 0), slope=1, color=plot.GREY, ls=":", label="max($T_{on}$)")
    for max_ton in SHORT_MAX_TON_US:
        values = [release for runs in seeds for release in releases_us(runs[f"short {max_ton}us"])]
        axes.plot([max_ton] * len(values), values, "o", ms=4, color=plot.SCHEME_COLOURS["TCD"])
    axes.set_title("D1: release after the last OFF")
    axes.set_xlabel("max($T_{on}$) [µs]")
    axes.set_ylabel("undetermined for [µs]")
    axes.set_xlim(0, 250)
    axes.set_ylim(0, 250)
    axes.legend(loc="lower right")


def _busy(axes: Axes, seeds: Seeds) -> None:
    """How busy the link is without PFC."""
    for kind, labels in PAIRS.items():
        for scheme, label in zip((kind, f"{kind}+tcd"), labels, strict=True):
            found = [estimate([busy_percent(runs[f"{scheme} {n + 1}"]) for runs in seeds]).mean for n in FLOWS]
            axes.plot(range(len(FLOWS)), found, "o-", ms=3.5, color=plot.SCHEME_COLOURS[label], label=label)
    axes.set_xticks(range(len(FLOWS)), [str(n) for n in FLOWS])
    axes.set_title("D3: without PFC, first 20 ms")
    axes.set_xlabel("flows that share the link")
    axes.set_ylabel("link busy [%]")
    axes.set_ylim(0, 102)
    axes.legend()
