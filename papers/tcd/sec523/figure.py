"""§5.2.3: the rate that TIMELY allows a victim whose round-trip time jumps because of PAUSEs, alone and with TCD."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater import measures, plot

from papers.tcd.scene import PRIORITY, Scene, since

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from backwater.measures import Series
    from backwater.results import Results

#: Label of each run, which is also the name of its colour.
SCHEMES = {"timely": "TIMELY", "tcd": "TIMELY+TCD"}
#: Until when the figure is drawn, after the start of the bursts.
SHOWN_MS = 5.0


def rate(run: Results) -> Series:
    """The rate that F0 is allowed, since the bursts started."""
    return since(measures.allowed_rate(run, "F0"), Scene(run).bursts_ps)


def lowest_share(run: Results) -> float | None:
    """The lowest rate of F0 from the start of the bursts until P2's last OFF period ended, over that at their start.

    None if PFC never held P2, or still does at the end of the run.
    """
    allowed, released = rate(run), Scene(run).release_ps("P2")
    if released is None:
        return None
    while_held = allowed.value[allowed.time_ps <= released]
    return float(while_held.min() / while_held[0])


def metrics(runs: Mapping[str, Results]) -> dict[str, float | bool | None]:
    found: dict[str, float | bool | None] = {}
    for name in SCHEMES:
        scene = Scene(runs[name])
        released = scene.release_ps("P2")
        found[f"victim_lowest_share_{name}"] = lowest_share(runs[name])
        found[f"p2_release_ms_{name}"] = None if released is None else scene.since_bursts_ms(released)
    return found


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    runs = seeds[0]
    with plot.style():
        made = plot.figure(7.2, 3.8)
        axes, strips = made.subplots(2, 1, sharex=True, height_ratios=[5, 1])
        for lane, (name, label) in enumerate(SCHEMES.items()):
            scene = Scene(runs[name])
            series = rate(runs[name])
            colour = plot.SCHEME_COLOURS[label]
            plot.line(axes, series, unit=1e9, origin_ps=scene.bursts_ps, color=colour, label=label)
            off = measures.off_intervals(runs[name], "P2", PRIORITY)
            plot.off(strips, off, (1.1 - lane, 1.9 - lane), origin_ps=scene.bursts_ps)
        axes.set_ylabel("rate that F0 is allowed [Gbps]")
        axes.set_ylim(0, 21)
        axes.legend()
        strips.set_yticks([1.5, 0.5], list(SCHEMES.values()))
        strips.set_ylim(0, 2)
        strips.set_ylabel("P2 is OFF")
        strips.grid(visible=False)
        strips.set_xlim(0, SHOWN_MS)
        strips.set_xlabel("time since the first burst [ms]")
        made.suptitle("§5.2.3: the rate of a victim while PFC holds its path", fontsize=11, fontweight="bold")
        plot.save(made, file)
