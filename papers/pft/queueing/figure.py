"""F_C by where packets wait in a switch, by routing and by the range of RI's random number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable

from papers.pft.measured import NONE, Beside, beside, impacts
from papers.pft.panels import mean, spread

PAPER = 2.58
QUEUEING = {
    "output": "in the order of arrival",
    "voq": "virtual output queues, in turn",
    "input": "one FIFO per input",
    "oldest-first": "the oldest first",
    "shared": "one memory for all ports",
}
COLOURS = dict(zip(QUEUEING, (plot.BLUE, plot.GREY, plot.VERMILLION, plot.GREEN, plot.PURPLE), strict=True))
ROUTING = {"ecmp": "ECMP", "d-mod-k": "D-mod-k", "adaptive": "adaptive"}
#: The R of PFT-P12-queueing: written down before the grid was run.
JUDGED = (26, 27, 28)
#: The setting of §IV-C.
M = 18

Combination = tuple[str, str]


def combinations(runs: Runs) -> dict[Combination, tuple[int, ...]]:
    """The range of the random number in bits, by queueing and routing, of the runs that there are."""
    names = [name.split() for name in runs]
    every = dict.fromkeys((queueing, routing) for queueing, routing, *_ in names)
    return {
        (queueing, routing): tuple(
            sorted(int(name[-1]) for name in names if name[:2] == [queueing, routing] and name[2] != NONE)
        )
        for queueing, routing in every
    }


def factor(runs: Runs, combination: Combination, bits: int) -> float:
    """F_C of AT-RI against no throttling on the same switches and ways."""
    at = " ".join(combination)
    return beside(runs[f"{at} AT-RI {bits}"]).factor(beside(runs[f"{at} {NONE}"]))


def metrics(runs: Runs) -> Metrics:
    found = {key: {bits: factor(runs, key, bits) for bits in every} for key, every in combinations(runs).items()}
    values: Metrics = {f"{' '.join(key)} {bits}": value for key, of in found.items() for bits, value in of.items()}
    inside = sum(all(1.5 <= of[bits] <= 4 for bits in JUDGED if bits in of) for of in found.values())
    return values | {"combinations_from_1.5_to_4": inside}


def draw(seeds: Seeds, file: Path) -> None:
    every = combinations(seeds[0])
    routings = list(dict.fromkeys(routing for _, routing in every))
    with plot.picture(file, "F_C of AT-RI, m = 18, by router and routing", 4 * len(routings), 4.5) as made:
        panels = made.subplots(1, len(routings), sharey=True, squeeze=False)[0]
        for axes, routing in zip(panels, routings, strict=True):
            known = {queueing: bits for (queueing, other), bits in every.items() if other == routing}
            for place, (queueing, bits) in enumerate(known.items()):
                found = [[factor(runs, (queueing, routing), one) for runs in seeds] for one in bits]
                # Lines from the least to the most of the seeds, side by side: they would cover each other.
                beside_each_other = [one + 0.08 * (place - (len(known) - 1) / 2) for one in bits]
                look = {"color": COLOURS[queueing], "ls": plot.dashes(queueing)}
                label = QUEUEING[queueing] if routing == routings[0] else None
                axes.plot(beside_each_other, [mean(values) for values in found], marker="o", ms=4, label=label, **look)
                low, high = [min(values) for values in found], [max(values) for values in found]
                axes.vlines(beside_each_other, low, high, color=COLOURS[queueing], lw=1)
            axes.axhline(PAPER, color=plot.BLACK, ls=":", lw=1)
            axes.axhline(1, color=plot.GREY, lw=1)
            ticks = sorted({one for bits in known.values() for one in bits})
            axes.set_xticks(ticks, [f"2^{one}" for one in ticks])
            axes.set(title=ROUTING[routing], xlabel="R, with m = 18", yscale="log")
            axes.set_yticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"], minor=False)
            axes.minorticks_off()
            axes.grid(visible=True, axis="y")
        right = panels[-1].get_xlim()[1]
        panels[-1].annotate(
            f"paper: {PAPER}", (right, PAPER), (-3, 3), textcoords="offset points", fontsize=8, ha="right", va="bottom"
        )
        panels[0].set_ylabel("F_C (mean, least and most of seeds)")
        made.legend(loc="outside lower center", ncols=3)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    every = combinations(seeds[0])
    columns = sorted({bits for known in every.values() for bits in known})
    rows = [
        (
            QUEUEING[queueing],
            ROUTING[routing],
            *(
                spread([factor(runs, (queueing, routing), bits) for runs in seeds]) if bits in known else "–"
                for bits in columns
            ),
        )
        for (queueing, routing), known in every.items()
    ]
    headings = ("queues", "routing", *(f"R = 2^{bits}" for bits in columns))
    return [
        NumberTable("F_C of AT-RI with m = 18, mean over seeds (least to most)", headings, tuple(rows), words=2),
        NumberTable(
            "GPCNeT beside congestors without throttling, and the impact: how many times worse than alone",
            ("queues", "routing", "latency, µs", "impact", "bandwidth, MiB/s per process", "impact"),
            tuple(
                (QUEUEING[queueing], ROUTING[routing], *_plain(seeds, (queueing, routing)))
                for queueing, routing in every
            ),
            words=2,
        ),
        NumberTable(
            "Congestion impact factors of latency and of bandwidth with AT-RI, mean over seeds",
            headings,
            tuple(
                (
                    QUEUEING[queueing],
                    ROUTING[routing],
                    *(_impacts(seeds, (queueing, routing), bits) if bits in known else "–" for bits in columns),
                )
                for (queueing, routing), known in every.items()
            ),
            words=2,
        ),
    ]


def _plain(seeds: Seeds, combination: Combination) -> tuple[str, str, str, str]:
    runs_of = [runs[f"{' '.join(combination)} {NONE}"] for runs in seeds]
    found: list[Beside] = [beside(run) for run in runs_of]
    latency, bandwidth = zip(*(impacts(run) for run in runs_of), strict=True)
    return (
        spread([one.latency for one in found]),
        spread(latency),
        spread([one.bandwidth for one in found]),
        spread(bandwidth),
    )


def _impacts(seeds: Seeds, combination: Combination, bits: int) -> str:
    found = [impacts(runs[f"{' '.join(combination)} AT-RI {bits}"]) for runs in seeds]
    latency, bandwidth = zip(*found, strict=True)
    return f"{mean(latency):.1f}, {mean(bandwidth):.1f}"
