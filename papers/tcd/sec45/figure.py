"""§4.5: what TCD calls P2 in the priority that PFC holds there, and in another one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results, measures

from papers.tcd.scene import MS, PRIORITY, Scene, settle

__all__ = ["draw", "metrics", "settle"]

#: Of F0 and F2.
OTHER = 4
RUNS = ("in turn", "strict")
#: Until when the figure is drawn, after the start of the bursts.
SHOWN_MS = 5.0


def marks(run: Results, code: str, priority: int) -> int:
    """How many packets of a priority P2 marked."""
    return len(measures.mark_times(run, "P2", priority, code))


def metrics(runs: Runs) -> Metrics:
    found: Metrics = {}
    for name in RUNS:
        run, word = runs[name], name.replace(" ", "_")
        found |= {
            f"ue_f1_at_p2_{word}": marks(run, "UE", PRIORITY),
            f"ce_at_p2_{word}": marks(run, "CE", PRIORITY),
            f"ue_f0_and_f2_at_p2_{word}": marks(run, "UE", OTHER),
            f"marks_f0_and_f2_at_p2_{word}": sum(marks(run, code, OTHER) for code in ("UE", "CE")),
            f"off_periods_of_f1_{word}": len(measures.off_intervals(run, "P2", PRIORITY)),
            f"off_periods_of_f0_and_f2_{word}": len(measures.off_intervals(run, "P2", OTHER)),
        }
    return found


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "§4.5: P2 in two priorities", 7.6, 4.4) as made:
        rows = iter(made.subplots(len(RUNS) * 2, 1, sharex=True))
        for name in RUNS:
            run = seeds[0][name]
            begin = Scene(run).bursts_ps
            for priority, label in ((PRIORITY, "F1"), (OTHER, "F0, F2")):
                axes = next(rows)
                plot.band(axes, measures.state_intervals(run, "P2", priority), (1, 2))
                off = measures.off_intervals(run, "P2", priority)
                plot.off(axes, off, (0, 0.9))
                plot.ticks(axes, np.array([period.start_ps for period in off]), (0, 0.9), plot.OFF_COLOUR)
                axes.set_ylim(0, 2)
                axes.set_xlim(begin / MS, begin / MS + SHOWN_MS)
                axes.set_yticks([1], [f"{label}\n{name}"])
                axes.grid(visible=False)
        axes.set_xlabel("time [ms]")
        handles, labels = zip(*[pair for pair in plot.state_legend() if "mark" not in pair[1]], strict=True)
        made.legend(handles, labels, loc="outside lower center", ncols=plot.legend_columns(made, labels))
