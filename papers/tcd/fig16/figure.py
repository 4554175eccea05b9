"""Figure 16: FCT slowdown by flow size in the fat tree, DCQCN with ECN against DCQCN with TCD."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from backwater.analysis import plot, slowdown
from backwater.common.statistics import estimate
from backwater.papers import Measurements, Runs, Seeds
from backwater.results import Results
from matplotlib.axes import Axes

from papers.tcd.slowdowns import CUTS, SCHEMES, compare, name, over, sides
from papers.tcd.slowdowns_panels import LABELS, Part, Printed, draw_slowdowns, parts_panel, plain_numbers, top

#: What the paper's text prints, over a baseline that it does not define.
PRINTED = (
    Printed("hadoop", "dcqcn", "median", 80_000, 10.8),
    Printed("hadoop", "dcqcn+tcd", "median", 80_000, 3.6),
    Printed("web-search", "dcqcn", "median", 500_000, 4.6),
    Printed("web-search", "dcqcn+tcd", "median", 500_000, 2.5),
)


#: The gains that are taken apart: those that claims are about.
SHOWN = (
    Part("hadoop", "median", "under", "80KB"),
    Part("hadoop", "p99", "under", "50KB"),
    Part("hadoop", "p95", "from", "100KB"),
    Part("web-search", "median", "under", "500KB"),
    Part("web-search", "p99", "under", "500KB"),
    Part("web-search", "p99", "from", "1MB"),
)
#: Offered load by network, of the runs beside the paper's; at 0.6 the network of the figure has no run of its own.
LOADS = {"hadoop": (0.4, 0.6, 0.8, 1.0), "one-hash": (0.2, 0.25, 0.3, 0.4, 0.6)}
NETWORKS = {"hadoop": "a hash per switch", "one-hash": "one hash for all switches"}
STYLES = {"hadoop": ("-", "o"), "one-hash": ("--", "s")}


class Small(NamedTuple):
    """A percentile of the flows smaller than a size."""

    percentile: str
    below: str

    def of(self, run: Results) -> float | None:
        """Its slowdown in a run of Hadoop."""
        flows = slowdown.flows(run, base="analytic")
        return sides(flows, CUTS["hadoop"][self.below])[0][self.percentile]


MEASURED = (Small("median", "80KB"), Small("p99", "50KB"))


def name_at(network: str, scheme: str, load: float) -> str:
    """Name of the Hadoop run in a network at a load, as experiment.toml makes it."""
    return name("hadoop", scheme) if (network, load) == ("hadoop", 0.6) else f"{network} {scheme} at {load}"


def metrics(runs: Runs) -> Measurements:
    found = compare(runs, "dcqcn")
    # A quick look has no other loads.
    for network, load in ((network, load) for network, loads in LOADS.items() for load in loads):
        plain, tcd = (runs.get(name_at(network, scheme, load)) for scheme in ("dcqcn", "dcqcn+tcd"))
        if plain is None or tcd is None:
            continue
        for small in MEASURED:
            before, after = small.of(plain), small.of(tcd)
            label = f"{small.percentile}_under_{small.below}_{network}_at_{load}"
            found |= {f"dcqcn_{label}": before, f"dcqcn+tcd_{label}": after, f"gain_{label}": over(before, after)}
    return found


def draw(seeds: Seeds, file: Path) -> None:
    title = "Figure 16: FCT slowdown by flow size, DCQCN"
    if name_at("one-hash", "dcqcn", 0.6) not in seeds[0]:
        draw_slowdowns(seeds, "dcqcn", PRINTED, SHOWN, file, title=title)
        return
    with plot.picture(file, title, 9.6, 12.2) as made:
        above, middle, below = made.subfigures(3, 1, height_ratios=[1.25, 0.85, 1])
        top(above, seeds, "dcqcn", PRINTED)
        axes = middle.subplots()
        parts_panel(axes, seeds, "dcqcn", SHOWN)
        axes.legend()
        panels = below.subplots(1, 2)
        for panel, small in zip(panels, MEASURED, strict=True):
            draw_loads(panel, seeds, small)
        below.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", handlelength=3.2, ncols=2)


def draw_loads(axes: Axes, seeds: Seeds, small: Small) -> None:
    """A percentile of the small Hadoop flows over the load, in both networks."""
    for network, loads in LOADS.items():
        style, marker = STYLES[network]
        for scheme in ("dcqcn", "dcqcn+tcd"):
            values = [[small.of(runs[name_at(network, scheme, load)]) for runs in seeds] for load in loads]
            found = [estimate([value for value in row if value is not None]) for row in values]
            colour = plot.SCHEME_COLOURS[SCHEMES[scheme]]
            label = f"{SCHEMES[scheme]}, {NETWORKS[network]}"
            means = [value.mean for value in found]
            axes.plot(loads, means, ls=style, marker=marker, ms=3, color=colour, label=label)
            low, high = [max(value.low, 1) for value in found], [value.high for value in found]
            axes.fill_between(loads, low, high, color=colour, alpha=0.12, lw=0)
    for text in PRINTED:
        if (text.workload, text.percentile) == ("hadoop", small.percentile):
            axes.axhline(text.value, color=plot.SCHEME_COLOURS[SCHEMES[text.scheme]], lw=5, alpha=0.25)
            axes.text(1, text.value, f"paper: {text.value}", transform=axes.get_yaxis_transform(), ha="right", size=7)
    axes.set_yscale("log")
    plain_numbers(axes)
    axes.set_title(f"Hadoop below {small.below.removesuffix('KB')} KB, {LABELS[small.percentile]}")
    axes.set_xlabel("load, over the hosts' links")
    axes.set_ylabel("FCT slowdown, authors' base")
