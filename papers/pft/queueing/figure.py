"""F_C by where packets wait in a switch, by routing and by the range of RI's random number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable

from papers.pft.measured import NONE, Beside, beside
from papers.pft.panels import mean, spread

PAPER = 2.58
QUEUEING = {"output": "in the order of arrival", "voq": "virtual output queues, in turn"}
ROUTING = {"ecmp": "ECMP", "d-mod-k": "D-mod-k"}
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
    inside = sum(all(1.5 <= of[bits] <= 4 for bits in JUDGED) for of in found.values())
    return values | {"combinations_from_1.5_to_4": inside}


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "F_C of AT-RI, m = 18, by the queues of the switches", 8, 4) as made:
        axes = made.subplots()
        for (queueing, routing), every in combinations(seeds[0]).items():
            found = [[factor(runs, (queueing, routing), bits) for runs in seeds] for bits in every]
            colour = plot.BLUE if queueing == "output" else plot.GREY
            line = "-" if routing == "ecmp" else "--"
            label = f"{QUEUEING[queueing]}, {ROUTING[routing]}"
            axes.plot(every, [mean(values) for values in found], color=colour, ls=line, marker="o", ms=4, label=label)
            # Lines from the least to the most of the seeds: bands would cover each other.
            axes.vlines(
                every, [min(values) for values in found], [max(values) for values in found], color=colour, ls=line
            )
        axes.axhline(PAPER, color=plot.BLACK, ls=":", lw=1)
        axes.axhline(1, color=plot.GREY, lw=1)
        right = axes.get_xlim()[1]
        axes.annotate(
            f"paper: {PAPER}", (right, PAPER), (-3, 3), textcoords="offset points", fontsize=8, ha="right", va="bottom"
        )
        ticks = sorted({bits for every in combinations(seeds[0]).values() for bits in every})
        axes.set_xticks(ticks, [f"2^{bits}" for bits in ticks])
        axes.set(xlabel="R, with m = 18", ylabel="F_C (mean, least and most of seeds)", ylim=(0, None))
        axes.grid(visible=True, axis="y")
        made.legend(loc="outside lower center", ncols=2)


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
            "GPCNeT's tests beside congestors without throttling, mean over seeds (least to most)",
            ("queues", "routing", "latency, µs", "bandwidth, MiB/s per process"),
            tuple(
                (QUEUEING[queueing], ROUTING[routing], *_plain(seeds, (queueing, routing)))
                for queueing, routing in every
            ),
            words=2,
        ),
    ]


def _plain(seeds: Seeds, combination: Combination) -> tuple[str, str]:
    found: list[Beside] = [beside(runs[f"{' '.join(combination)} {NONE}"]) for runs in seeds]
    return spread([one.latency for one in found]), spread([one.bandwidth for one in found])
