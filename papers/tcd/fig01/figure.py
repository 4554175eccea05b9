"""Figure 1: the flow controls of a link, PFC by thresholds and credits by registers, from two runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from backwater.analysis import plot
from backwater.common import quantities
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results, measures
from backwater.results.measures import Series
from matplotlib.axes import Axes

from papers.tcd import schematic
from papers.tcd.scene import PRIORITY, US, size_bytes

#: Credits are counted in blocks of this many bytes (InfiniBand).
BLOCK = 64
#: What is drawn of each run: a few periods, when queues have filled.
SHOWN_US = (4000, 4200)


def thresholds(run: Results) -> tuple[int, int]:
    """Xoff and Xon."""
    pfc = run.meta["scenario"]["switch"]["pfc"]
    return size_bytes(pfc["xoff"]), size_bytes(pfc["xon"])


def of_pfc(run: Results) -> Metrics:
    """Whether PAUSE and RESUME were sent where they should be, and P2 was silent in between."""
    xoff, xon = thresholds(run)
    counter = schematic.ingress(run, "P2", "P3")
    decided = run.holds.filter(pl.col("held").cast(pl.String) == run.port("P2")).select(pl.col("time_ps").unique())
    pauses = np.sort(decided.collect()["time_ps"].to_numpy().astype(np.int64))
    _, resumes = schematic.pfc_frames(run, "P2")
    pauses, resumes = (times[times <= counter.time_ps[-1]] for times in (pauses, resumes))
    sent = schematic.sent_ps(run, "P2")
    off = measures.off_intervals(run, "P2", PRIORITY)
    return {
        "pauses": len(pauses),
        "pauses_at_or_below_xoff": int((schematic.at(counter, pauses) <= xoff).sum()),
        "resumes_above_xon": int((schematic.at(counter, resumes) > xon).sum()),
        "packets_sent_while_paused": sum(int(((sent >= o.start_ps) & (sent < o.end_ps)).sum()) for o in off),
        "highest_counter_kb": float(counter.value.max()) / 1e3,
    }


def limits(run: Results) -> Series:
    """FCCL as it reached P2's switch, in blocks."""
    node, _, peer = run.port("P2").partition("->")
    came = run.frames.filter(pl.col("port").cast(pl.String) == f"{peer}->{node}", pl.col("fccl").is_not_null())
    frame = came.filter(pl.col("priority") == PRIORITY).sort("time_ps").select("time_ps", "fccl").collect()
    return Series(frame["time_ps"].to_numpy().astype(np.int64), frame["fccl"].to_numpy().astype(np.float64))


def blocks_sent(run: Results) -> Series:
    """FCTBS: the blocks that P2 had sent, after each packet began to leave."""
    data = schematic.data(run).filter(pl.col("port") == run.port("P2")).sort("sent_ps")
    total = np.ceil(data["wire_bytes"].to_numpy() / BLOCK).cumsum()
    return Series(data["sent_ps"].to_numpy().astype(np.int64), total)


def of_credits(run: Results) -> Metrics:
    """Whether P2 kept within its credits, and what its OFF periods ended by."""
    buffer = size_bytes(run.meta["scenario"]["switch"]["credits"]["buffer"])
    limit, sent = limits(run), blocks_sent(run)
    # Before the first update a link has the whole buffer.
    allowed = np.where(sent.time_ps < limit.time_ps[0], buffer // BLOCK, schematic.at(limit, sent.time_ps))
    off = [o for o in measures.off_intervals(run, "P2", PRIORITY) if o.end_ps < measures.end_ps(run)]
    ended = np.isin([o.end_ps for o in off], limit.time_ps)
    filled = schematic.ingress(run, "P2", "P3")
    return {
        "credit_offs": len(off),
        "blocks_beyond_fccl": float(np.maximum(sent.value - allowed, 0).max()),
        "fullest_buffer_percent": 100 * float(filled.value.max()) / buffer,
        "offs_ended_by_nothing": int((~ended).sum()),
    }


def metrics(runs: Runs) -> Metrics:
    return of_pfc(runs["pfc"]) | of_credits(runs["credits"])


def draw(seeds: Seeds, file: Path) -> None:
    pfc, credit = seeds[0]["pfc"], seeds[0]["credits"]
    found = metrics(seeds[0])
    with plot.picture(file, "Figure 1: the flow controls of the link from P2 to T2, from two runs", 10.6, 5.4) as made:
        grid = made.subplots(2, 2, sharex="col", height_ratios=[4, 0.8])
        _draw_pfc(grid[0][0], pfc)
        _draw_credits(grid[0][1], credit)
        for axes, run, word in ((grid[1][0], pfc, "paused"), (grid[1][1], credit, "without credits")):
            _draw_sending(axes, run, word)
        left = (
            f"{found['pauses']} PAUSEs, {found['pauses_at_or_below_xoff']} of them at or below Xoff; "
            f"{found['resumes_above_xon']} RESUMEs above Xon;\n"
            f"{found['packets_sent_while_paused']} packets sent while paused"
        )
        right = (
            f"FCTBS beyond FCCL: {found['blocks_beyond_fccl']:.0f} blocks; buffer at most "
            f"{found['fullest_buffer_percent']:.0f} % full;\n{found['credit_offs']} OFF periods, "
            f"{found['offs_ended_by_nothing']} of them not ended by an FCCL"
        )
        for axes, text in ((grid[1][0], left), (grid[1][1], right)):
            axes.set_xlabel(f"time [µs]\n\n{text}")


def _draw_pfc(axes: Axes, run: Results) -> None:
    xoff, xon = thresholds(run)
    counter = schematic.ingress(run, "P2", "P3")
    axes.step(
        counter.time_ps / US, counter.value / 1e3, where="post", color=plot.BLUE, lw=1, label="ingress counter of T2"
    )
    axes.axhline(xoff / 1e3, color=plot.VERMILLION, ls="--", lw=1, label=f"Xoff {xoff / 1e3:.0f} KB")
    axes.axhline(xon / 1e3, color=plot.GREEN, ls="--", lw=1, label=f"Xon {xon / 1e3:.0f} KB")
    for times, colour, marker, label in zip(
        schematic.pfc_frames(run, "P2"), (plot.VERMILLION, plot.GREEN), "v^", ("PAUSE sent", "RESUME sent"), strict=True
    ):
        axes.plot(times / US, schematic.at(counter, times) / 1e3, marker, color=colour, ms=6, label=label, zorder=3)
    _window(axes, counter, 1e3)
    axes.set_ylabel("bytes of P2's packets in T2 [KB]")
    axes.set_title("(a) PFC: pausing by thresholds")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.06), ncols=3)


def _draw_credits(axes: Axes, run: Results) -> None:
    limit, sent = limits(run), blocks_sent(run)
    begin, end = (us * US for us in SHOWN_US)
    base = schematic.at(sent, np.array([begin]))[0]
    axes.step(limit.time_ps / US, limit.value - base, where="post", color=plot.VERMILLION, label="FCCL, as it came")
    axes.step(sent.time_ps / US, sent.value - base, where="post", color=plot.BLUE, label="FCTBS, blocks sent")
    inside = (limit.time_ps >= begin) & (limit.time_ps <= end)
    axes.plot(limit.time_ps[inside] / US, limit.value[inside] - base, "v", color=plot.VERMILLION, ms=6)
    times = np.linspace(begin, end, 4000).astype(np.int64)
    axes.fill_between(
        times / US,
        schematic.at(sent, times) - base,
        schematic.at(limit, times) - base,
        color=plot.SKY,
        alpha=0.35,
        lw=0,
        label="credits: FCCL − FCTBS",
        step="post",
    )
    axes.set_xlim(*SHOWN_US)
    axes.set_ylim(0, 1.04 * float((limit.value[inside] - base).max()))
    period = quantities.parse_time(run.meta["scenario"]["switch"]["credits"]["period"]) / US
    axes.set_ylabel(f"blocks of {BLOCK} B, from {SHOWN_US[0] / 1e3:g} ms on")
    axes.set_title(f"(b) Credits: an FCCL each Tc = {period:.0f} µs")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.06), ncols=3)


def _window(axes: Axes, series: Series, unit: float) -> None:
    inside = (series.time_ps >= SHOWN_US[0] * US) & (series.time_ps <= SHOWN_US[1] * US)
    values = series.value[inside] / unit
    axes.set_xlim(*SHOWN_US)
    margin = 0.08 * (values.max() - values.min())
    axes.set_ylim(values.min() - margin, values.max() + margin)


def _draw_sending(axes: Axes, run: Results, word: str) -> None:
    off = measures.off_intervals(run, "P2", PRIORITY)
    spans = [(o.start_ps / US, (o.end_ps - o.start_ps) / US) for o in off]
    axes.broken_barh([(SHOWN_US[0], SHOWN_US[1] - SHOWN_US[0])], (0, 1), facecolors=plot.GREEN, alpha=0.5)
    axes.broken_barh(spans, (0, 1), facecolors=plot.OFF_COLOUR)
    axes.set_yticks([0.5], ["P2"])
    axes.set_ylim(0, 1)
    axes.grid(visible=False)
    axes.set_title(f"green: sends (ON); black: {word} (OFF)", fontsize=8, fontweight="normal")
