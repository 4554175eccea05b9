"""What Figure 2 has beside the six schemes: DCQCN under three sets of thresholds, tables of several sizes."""

from __future__ import annotations

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results
from matplotlib.axes import Axes

from papers.ici import trees
from papers.ici.measured import becn_peak, becns, first_becn_us, pauses
from papers.ici.panels import bar, scaled

#: Runs of DCQCN by how its thresholds are called.
THRESHOLDS = {
    "aggressive": "w2 dcqcn aggressive",
    "default": "w2 dcqcn",
    "conservative": "w2 dcqcn conservative",
}
#: Sizes of the table beside 32.
SIZES = ("8", "16", "24", "48", "unlimited")


def shares(run: Results) -> tuple[float, float]:
    """What background and trees get, of what the one offers and of what the links to the roots carry."""
    found = trees.measured(run)
    return float(found["background_share"] or 0), float(found["hot_share"] or 0)


def thresholds(runs: Runs) -> Metrics:
    """DCQCN with each set of thresholds, and against the default."""
    found: Metrics = {}
    for name, run in THRESHOLDS.items():
        background, hot = shares(runs[run])
        found |= {
            f"{name}_background_share": background,
            f"{name}_hot_share": hot,
            f"{name}_least_share": min(background, hot),
            f"{name}_pauses": pauses(runs[run]),
            f"{name}_becns": becns(runs[run]),
            f"{name}_first_becn_us": first_becn_us(runs[run]),
        }
    return found | {
        "conservative_pauses_over_dcqcn": trees.ratio(found, "pauses", "conservative", "default"),
        "conservative_first_becn_over_dcqcn": trees.ratio(found, "first_becn_us", "conservative", "default"),
        "aggressive_becns_over_dcqcn": trees.ratio(found, "becns", "aggressive", "default"),
        "aggressive_hot_over_dcqcn": trees.ratio(found, "hot_share", "aggressive", "default"),
    }


def draw_thresholds(axes: Axes, seeds: Seeds) -> None:
    """Shares of background and trees under DCQCN by its thresholds."""
    for place, run in enumerate(THRESHOLDS.values()):
        found = [shares(runs[run]) for runs in seeds]
        for side, index, hatch in ((-1, 0, ""), (1, 1, "////")):
            values = [one[index] for one in found]
            at = place + side * 0.2
            axes.bar(at, sum(values) / len(values), 0.38, color=plot.SCHEME_COLOURS["dcqcn"], alpha=0.7, hatch=hatch)
            axes.plot([at] * len(values), values, "o", ms=2.5, color=plot.BLACK, clip_on=False, alpha=0.6)
    axes.set_xticks(range(len(THRESHOLDS)), ["4–16, 100 %", "10–40, 20 %", "32–56, 10 %"], fontsize=7)
    axes.set_title("DCQCN by its thresholds (hatched: hot)")
    axes.set_xlabel("packets, probability")
    axes.set_ylabel("share of what there could be")


def draw_sizes(axes: Axes, seeds: Seeds) -> None:
    """The peak of BECNs of ICI+ by the size of the table, and DCQCN's as a line."""
    names = {"8": "w2 ici+ slots 8", "16": "w2 ici+ slots 16", "24": "w2 ici+ slots 24", "32": "w2 ici+"}
    names |= {size: f"w2 ici+ slots {size}" for size in ("48", "unlimited")}
    every: list[float] = []
    for place, run in enumerate(names.values()):
        values = [becn_peak(runs[run]) for runs in seeds]
        every += values
        bar(axes, place, values, plot.SCHEME_COLOURS["ici+"])
    plain = [becn_peak(runs["w2 dcqcn"]) for runs in seeds]
    axes.axhline(sum(plain) / len(plain), color=plot.SCHEME_COLOURS["dcqcn"], ls="--", lw=1)
    scaled(axes, [*every, *plain], "counts")
    axes.set_xticks(range(len(names)), list(names), fontsize=7)
    axes.set_title("peak of ICI+ by slots (line: DCQCN)")
    axes.set_xlabel("slots of the table")
    axes.set_ylabel("BECNs in 50 µs")
