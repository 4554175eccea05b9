"""How the figures of the TCD paper show a port: its queue with the marks under it, and its sending rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from backwater.analysis import plot
from backwater.results import measures
from backwater.results.measures import Series
from matplotlib.axes import Axes

from papers.tcd.scene import PRIORITY, US, Scene, since

#: Bin of the sending rate, as in the authors' release up to the release of P2.
RATE_BIN_PS = 10 * US


@dataclass(frozen=True)
class Network:
    """What differs between the paper's pictures of Ethernet and of InfiniBand."""

    #: What marks packets without TCD.
    marking: str
    #: Until when the figures are drawn, after the start of the bursts.
    shown_ms: float
    #: Data rate of a link.
    line_gbps: int
    rate_ticks_gbps: tuple[int, ...]


ETHERNET = Network("ECN", 3.0, 40, (0, 10, 20, 30, 40))
INFINIBAND = Network("FECN", 6.0, 32, (0, 8, 16, 24, 32))


def draw_queue_and_rate(scenes: Mapping[str, Scene], file: Path, *, title: str, marks: bool, network: Network) -> None:
    """Per scene a column: P2's queue, on demand the CE marks that it set by flow, its sending rate."""
    heights = [3, 1, 2] if marks else [3, 2]
    with plot.picture(file, title, 6.6 * len(scenes), 5.4 if marks else 4.4) as made:
        grid = made.subplots(
            len(heights),
            len(scenes),
            squeeze=False,
            sharex=True,
            gridspec_kw={"height_ratios": heights, "hspace": 0.04},
        )
        for column, (name, scene) in enumerate(scenes.items()):
            queue, rate = grid[0][column], grid[-1][column]
            draw_queue(queue, scene, "P2", plot.SCHEME_COLOURS[network.marking])
            if marks:
                draw_marks(grid[1][column], scene, "P2", "CE")
            draw_rate(rate, scene, "P2", network)
            queue.set_title(name)
            rate.set_xlabel("time since the first burst [ms]")
        grid[0][0].set_xlim(0, network.shown_ms)


def draw_queue(axes: Axes, scene: Scene, port: str, colour: str) -> None:
    """The queue of a port."""
    series = scene.queue(port)
    plot.line(axes, series, unit=1e3, origin_ps=scene.bursts_ps, color=colour)
    axes.fill_between((series.time_ps - scene.bursts_ps) / 1e9, series.value / 1e3, color=colour, alpha=0.12, lw=0)
    start = scene.since_bursts_ms(scene.start_ps("F0"))
    axes.axvline(start, color=plot.GREY, ls=":", lw=1)
    label = f" F0, F2 start\n at {start * 1e3:.0f} µs"
    axes.text(start, 0.02, label, transform=axes.get_xaxis_transform(), va="bottom", fontsize=7)
    axes.set_ylabel(f"queue of {port} [KB]")
    axes.set_ylim(0)


def draw_marks(axes: Axes, scene: Scene, port: str, code: str) -> None:
    """When a port marked packets of F0, F1 and F2 that no port had marked before: one lane per flow."""
    flows = ("F0", "F1", "F2")
    for lane, flow in enumerate(reversed(flows)):
        times = measures.mark_times(scene.run, port, PRIORITY, code, flow)
        plot.ticks(axes, times, (lane + 0.1, lane + 0.9), plot.MARK_COLOURS[code], origin_ps=scene.bursts_ps)
    counts = {flow: scene.marks(port, code, flow) for flow in flows}
    axes.set_yticks([2.5, 1.5, 0.5], [f"{flow} ({count})" for flow, count in counts.items()])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(0, 3)
    axes.set_ylabel(f"{code} set at {port}")
    axes.grid(visible=False)


def draw_rate(axes: Axes, scene: Scene, port: str, network: Network) -> None:
    """The sending rate of a port in bins of 10 µs."""
    rate = since(measures.send_rate(scene.run, port, PRIORITY, RATE_BIN_PS), scene.bursts_ps)
    middle = Series(rate.time_ps - RATE_BIN_PS // 2, rate.value)
    plot.line(axes, middle, unit=1e9, origin_ps=scene.bursts_ps, color=plot.BLACK, linewidth=0.8)
    axes.set_ylabel(f"{port} sends [Gbps]")
    axes.set_yticks(network.rate_ticks_gbps)
    axes.set_ylim(0, 1.075 * network.line_gbps)
