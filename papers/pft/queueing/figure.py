"""F_C by where packets wait in a switch, by routing, by strategy and by the range of RI's random number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from matplotlib.axes import Axes

from papers.pft.measured import NONE, beside, impacts
from papers.pft.panels import mean, spread

PAPER = 2.58
QUEUEING = {
    "output": "in the order of arrival",
    "shared": "one memory for all ports",
    "input": "one FIFO per input",
    "oldest-first": "the oldest first",
    "voq": "virtual output queues, in turn",
}
COLOURS = dict(zip(QUEUEING, (plot.BLUE, plot.PURPLE, plot.VERMILLION, plot.GREEN, plot.GREY), strict=True))
ROUTING = {"ecmp": "ECMP", "d-mod-k": "D-mod-k", "adaptive": "adaptive"}
#: The setting of §IV-C with the R of PFT-P12-queueing.
BEST = "AT-RI 28"
#: Every cell that a router may have, as its column is headed.
CELLS = {
    **{f"AT-RI {bits}": f"AT-RI\n2^{bits}" for bits in (26, 27, 28, 30)},
    "FT-RI 28": "FT-RI\n2^28",
    "AT-FI 8": "AT-FI\nn = 8",
    "FT-FI 8": "FT-FI\nn = 8",
}

#: Routing and queues.
Router = tuple[str, str]
#: F_C by cell.
Factors = dict[str, float]


def routers(runs: Runs) -> list[Router]:
    """Of the runs that there are."""
    found = {(name.split()[0], name.split()[2]) for name in runs}
    return [(routing, queueing) for routing in ROUTING for queueing in QUEUEING if (routing, queueing) in found]


def name(router: Router, cell: str) -> str:
    """The run of a cell, such as ``ecmp AT-RI output 28``, or of none, ``ecmp none output``."""
    strategy, *value = cell.split()
    return " ".join([router[0], strategy, router[1], *value])


def factors(runs: Runs, router: Router) -> Factors:
    """F_C of every cell that was run, against no throttling on the same switches and ways."""
    none = beside(runs[name(router, NONE)])
    return {cell: beside(runs[name(router, cell)]).factor(none) for cell in CELLS if name(router, cell) in runs}


def metrics(runs: Runs) -> Metrics:
    found = {router: factors(runs, router) for router in routers(runs)}
    values: Metrics = {name(router, cell): value for router, of in found.items() for cell, value in of.items()}
    helped = [value for of in found.values() for value in of.values()]
    return values | {
        BEST.replace(" ", "_"): {" ".join(router): of[BEST] for router, of in found.items() if BEST in of},
        "cells_above_one_share": sum(value > 1 for value in helped) / len(helped),
    }


def draw(seeds: Seeds, file: Path) -> None:
    every = routers(seeds[0])
    routings = list(dict.fromkeys(routing for routing, _ in every))
    with plot.picture(file, "F_C by router, routing, strategy and R (m = 18)", 4.3 * len(routings), 4.9) as made:
        panels = made.subplots(1, len(routings), sharey=True, squeeze=False)[0]
        for axes, routing in zip(panels, routings, strict=True):
            _panel(axes, routing, [router for router in every if router[0] == routing], seeds, routing == routings[0])
        panels[-1].annotate(
            f"paper: {PAPER}", (1, PAPER), (-3, 3), xycoords=("axes fraction", "data"), textcoords="offset points",
            fontsize=8, ha="right", va="bottom",
        )  # fmt: skip
        panels[0].set_ylabel("F_C (mean, least and most of seeds)")
        made.legend(loc="outside lower center", ncols=3)


def _panel(axes: Axes, routing: str, every: Sequence[Router], seeds: Seeds, first: bool) -> None:
    known = [cell for cell in CELLS if name(every[0], cell) in seeds[0]]
    for place, router in enumerate(every):
        found = [factors(runs, router) for runs in seeds]
        values = [[one[cell] for one in found] for cell in known]
        # Side by side: they would cover each other.
        at = [number + 0.13 * (place - (len(every) - 1) / 2) for number in range(len(known))]
        colour = COLOURS[router[1]]
        label = QUEUEING[router[1]] if first else None
        axes.plot(at, list(map(mean, values)), ls="none", marker=plot.marker(place), ms=5, color=colour, label=label)
        axes.vlines(at, list(map(min, values)), list(map(max, values)), color=colour, lw=1)
    axes.axhline(PAPER, color=plot.BLACK, ls=":", lw=1)
    axes.axhline(1, color=plot.GREY, lw=1)
    axes.set_xticks(range(len(known)), [CELLS[cell] for cell in known])
    axes.tick_params(axis="x", labelsize=8)
    axes.set(title=ROUTING[routing], yscale="log")
    axes.set_yticks([0.25, 0.5, 1, 2, 4, 8, 16], ["0.25", "0.5", "1", "2", "4", "8", "16"], minor=False)
    axes.minorticks_off()
    axes.grid(visible=True, axis="y")


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    none = lambda router: [beside(runs[name(router, NONE)]) for runs in seeds]  # noqa: E731
    return [
        _table(
            "F_C, mean over seeds (least to most); RI with m = 18, by R",
            seeds,
            lambda router, cell: spread([factors(runs, router)[cell] for runs in seeds]),
        ),
        NumberTable(
            "GPCNeT beside congestors without throttling, and the impact: how many times worse than alone",
            ("routing", "queues", "latency, µs", "impact", "bandwidth, MiB/s per process", "impact"),
            tuple(
                (
                    ROUTING[router[0]],
                    QUEUEING[router[1]],
                    spread([one.latency for one in none(router)]),
                    spread(_impacts(seeds, router, NONE)[0]),
                    spread([one.bandwidth for one in none(router)]),
                    spread(_impacts(seeds, router, NONE)[1]),
                )
                for router in routers(seeds[0])
            ),
            words=2,
        ),
        _table(
            "Congestion impact factors of latency and of bandwidth with throttling, mean over seeds",
            seeds,
            lambda router, cell: ", ".join(f"{mean(values):.1f}" for values in _impacts(seeds, router, cell)),
        ),
    ]


def _table(title: str, seeds: Seeds, told: Callable[[Router, str], str]) -> NumberTable:
    """A line for each router, a column for each cell."""
    cells = [cell for cell in CELLS if any(name(router, cell) in seeds[0] for router in routers(seeds[0]))]
    rows = tuple(
        (
            ROUTING[router[0]],
            QUEUEING[router[1]],
            *(told(router, cell) if name(router, cell) in seeds[0] else "–" for cell in cells),
        )
        for router in routers(seeds[0])
    )
    return NumberTable(title, ("routing", "queues", *(CELLS[cell].replace("\n", " ") for cell in cells)), rows, words=2)


def _impacts(seeds: Seeds, router: Router, cell: str) -> tuple[list[float], list[float]]:
    """Of latency and of bandwidth, by seed."""
    found = [impacts(runs[name(router, cell)]) for runs in seeds]
    return [latency for latency, _ in found], [bandwidth for _, bandwidth in found]
