"""§5.2.3: the rate that TIMELY allows a victim whose round-trip time jumps because of PAUSEs, alone and with TCD."""

from __future__ import annotations

from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results, measures
from backwater.results.measures import Series

from papers.tcd.scene import PRIORITY, Scene, since

#: Label of each run, and its colour.
SCHEMES = {
    "timely": ("TIMELY", plot.SCHEME_COLOURS["TIMELY"]),
    "tcd": ("TIMELY+TCD", plot.SCHEME_COLOURS["TIMELY+TCD"]),
    "tcd later": ("TIMELY+TCD,\nThigh 1 ms", plot.BLUE),
}
#: Until when the figure is drawn, after the start of the bursts.
SHOWN_MS = 5.0


def rate(run: Results) -> Series:
    """The rate that F0 is allowed, since the bursts started."""
    return since(measures.allowed_rate(run, "F0"), Scene(run).bursts_ps)


def lowest_share(run: Results) -> float:
    """The lowest rate that F0 is allowed from the start of the bursts to the end of the run, over that at their start.

    PFC alone can lower it, so the window need not end with the last PAUSE: the packets that it held are acknowledged
    after it.
    """
    allowed = rate(run).value
    return float(allowed.min() / allowed[0])


def metrics(runs: Runs) -> Metrics:
    found: Metrics = {}
    for name, run in runs.items():
        scene, word = Scene(run), name.replace(" ", "_")
        released = scene.release_ps("P2")
        found[f"victim_lowest_share_{word}"] = lowest_share(run)
        found[f"p2_release_ms_{word}"] = None if released is None else scene.since_bursts_ms(released)
    return found


def draw(seeds: Seeds, file: Path) -> None:
    runs = seeds[0]
    with plot.picture(file, "§5.2.3: the rate of a victim while PFC holds its path", 7.6, 4.6) as made:
        axes, strips = made.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        top = len(SCHEMES) - 1
        for lane, (name, (label, colour)) in enumerate(SCHEMES.items()):
            scene = Scene(runs[name])
            look = {"color": colour, "label": label, "ls": "--" if lane > 1 else "-"}
            plot.line(axes, rate(runs[name]), unit=1e9, origin_ps=scene.bursts_ps, **look)
            off = measures.off_intervals(runs[name], "P2", PRIORITY)
            plot.off(strips, off, (top - lane + 0.1, top - lane + 0.9), origin_ps=scene.bursts_ps)
        axes.set_ylabel("rate that F0 is allowed [Gbps]")
        axes.set_ylim(0, 21)
        axes.legend()
        strips.set_yticks([lane + 0.5 for lane in range(len(SCHEMES))], [label for label, _ in SCHEMES.values()][::-1])
        strips.set_ylim(0, len(SCHEMES))
        strips.set_title("P2 is OFF")
        strips.grid(visible=False)
        strips.set_xlim(0, SHOWN_MS)
        strips.set_xlabel("time since the first burst [ms]")
