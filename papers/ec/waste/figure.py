"""The link that OPT and AIMD waste at r = 0.5, read in every way that the paper's 1.8 % may be meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable

from papers.ec.compare import FROM_1K, waste
from papers.ec.measured import CYCLE_NS, HEADER, SIZES, Point, Window, mean, most, over, points
from papers.ec.panels import LABELS, SIZE_LABELS, colour

R = 0.5
#: What the paper prints.
PAPER_PERCENT = 1.8
BASELINES = ("opt", "aimd")


def _headers(one: Window, size: int) -> float | None:
    return one.retransmission * HEADER / (size + HEADER)


#: Each reading: how it is called, and its value for a window and a size, as a share.
READINGS: dict[str, tuple[str, Callable[[Window, int], float | None]]] = {
    "resent_bytes": ("bytes sent again, of the link", lambda one, _: one.retransmission),
    "resent_of_sent": ("packets sent again, of all sent", lambda one, _: over(one.resent, one.sent + one.resent)),
    "resent_per_cycle": (
        "packets sent again, per cycle of 2.5 ns",
        lambda one, _: one.resent * CYCLE_NS / (one.seconds * 1e9),
    ),
    "full_of_accepted": (
        "packets that found no room, of those accepted",
        lambda one, _: over(one.full, one.accepted),
    ),
    "episodes_of_accepted": ("NACKs, of packets accepted", lambda one, _: over(one.nacks, one.accepted)),
    "resent_headers": ("headers sent again, of the link", _headers),
}
#: Where OPT's waste is held against arithmetic: every size at r = 0.5, and 2 KB at larger r.
OWN: tuple[Point, ...] = (
    *(("opt", size, R) for size in FROM_1K),
    *(("opt", 2048, r) for r in (0.6, 0.7, 0.8, 0.9)),
)


def percents(found: Mapping[Point, Window], reading: str) -> dict[tuple[str, int], float]:
    """A reading by policy and size, in percent."""
    value = READINGS[reading][1]
    pairs = {(policy, size): found.get((policy, size, R)) for policy in BASELINES for size in SIZES}
    return {at: 100 * (value(one, at[1]) or 0.0) for at, one in pairs.items() if one is not None}


def metrics(runs: Runs) -> Measurements:
    found = points(runs, "unicast")
    largest = {f"{name}_percent_most": most(percents(found, name).values()) for name in READINGS}
    return largest | {"opt_resent_over_own": waste(found, OWN)}


def _means(seeds: Seeds, reading: str) -> dict[tuple[str, int], float]:
    every = [percents(points(runs, "unicast"), reading) for runs in seeds]
    return {at: mean(one[at] for one in every) or 0.0 for at in every[0]}


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "What is wasted at r = 0.5, one sender, in every reading", 10.5, 5.6) as made:
        for axes, name in zip(made.subplots(2, 3).flat, READINGS, strict=True):
            found = _means(seeds, name)
            sizes = [size for size in SIZES if ("opt", size) in found]
            for side, policy in ((-0.2, "opt"), (0.2, "aimd")):
                places = [place + side for place in range(len(sizes))]
                heights = [found[policy, size] for size in sizes]
                axes.bar(places, heights, 0.38, color=colour(policy), alpha=0.8, label=LABELS[policy])
            axes.axhline(PAPER_PERCENT, color=plot.BLACK, ls="--", lw=1)
            axes.set_xticks(range(len(sizes)), [SIZE_LABELS[size] for size in sizes])
            axes.set_title(READINGS[name][0], fontsize=8)
            axes.set_ylabel("%")
        handles, labels = made.axes[0].get_legend_handles_labels()
        handles.append(made.axes[0].get_lines()[0])
        made.legend(handles, [*labels, "the paper's 1.8 %"], loc="outside lower center", ncols=3)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    found = {name: _means(seeds, name) for name in READINGS}
    ats = list(next(iter(found.values())))
    sizes = [size for policy, size in ats if policy == "opt"]
    headings = ("reading", "policy", *(SIZE_LABELS[size] for size in sizes))
    rows = tuple(
        (READINGS[name][0], LABELS[policy], *(f"{found[name][policy, size]:.2f} %" for size in sizes))
        for name in READINGS
        for policy in BASELINES
    )
    return [NumberTable("what is wasted at r = 0.5, by reading; the paper says up to 1.8 %", headings, rows, words=2)]
