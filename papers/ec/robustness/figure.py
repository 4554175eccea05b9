"""Where the paper's policy breaks: as in the public code, with a place for one packet after a NACK, and with none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from backwater.analysis import plot
from backwater.papers import Measurements, Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from matplotlib.lines import Line2D

from papers.ec import authors
from papers.ec.beside import number
from papers.ec.measured import mean, share, window

#: What is kept of the queue for a stream after a NACK, and how that is called in the reference.
KEPT = {"code": "as in the code", "one": "one packet", "none": "none"}
_KNOWN = {"code": "dack-code", "one": "dack-one", "none": "dack-none"}
COLOURS = {"code": plot.VERMILLION, "one": plot.SCHEME_COLOURS["dack"], "none": plot.BLACK}


class Case(NamedTuple):
    """What is hard, how it is called in the reference, and what goodput could be."""

    name: str
    ideal: float


R2K, R8K = share(2048), share(8192)
CASES = {
    "fast": Case("2 KB at r = 0.9", 0.9 * R2K),
    "large": Case("8 KB at r = 0.5", 0.5 * R8K),
    "overload": Case("eight times the load", 0.5 * R2K),
    "never-idle": Case("senders that never rest", 0.5 * R2K),
    "quarter": Case("queue of BDP/4", 0.7 * R2K),
    "eighth": Case("queue of BDP/8", 0.7 * R2K),
    "T36": Case("T = 36 KB, one sender", 0.5 * R2K),
    "T18": Case("T = 18 KB, r = 0.9", 0.9 * R2K),
}


def metrics(runs: Runs) -> Measurements:
    values: Metrics = {}
    for case, told in CASES.items():
        for kept in KEPT:
            one = window(runs[f"{case} {kept}"])
            values[f"{kept}_{case.replace('-', '_')}_resent"] = one.retransmission
            values[f"{kept}_{case.replace('-', '_')}_goodput_over_ideal"] = one.goodput / told.ideal
    half = window(runs["T4.5 one"])
    counts = {name: window(run) for name, run in runs.items() if name.startswith("count one")}
    return values | {
        "code_8KB_resent": values["code_large_resent"],
        "code_quarter_bdp_resent": values["code_quarter_resent"],
        "one_half_threshold_resent": half.retransmission,
        "one_half_threshold_goodput_over_ideal": half.goodput / (0.7 * R2K),
        "one_counts_resent": {name: one.retransmission for name, one in counts.items()},
        "one_counts_goodput_over_ideal": {name: one.goodput / (0.7 * R2K) for name, one in counts.items()},
    }


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Where the paper's policy breaks", 10.5, 4.6) as made:
        left, right = made.subplots(1, 2, sharey=True)
        for place, (case, told) in enumerate(CASES.items()):
            for side, kept in enumerate(KEPT):
                ones = [window(runs[f"{case} {kept}"]) for runs in seeds]
                there = authors.cases().get((told.name, _KNOWN[kept]))
                at = place + 0.26 * (side - 1)
                pairs = (
                    (left, [one.goodput / told.ideal for one in ones], there and there.goodput, told.ideal),
                    (right, [one.retransmission for one in ones], there and there.retransmission, 1.0),
                )
                for axes, values, known, unit in pairs:
                    axes.barh(at, sum(values) / len(values), 0.24, color=COLOURS[kept], alpha=0.8)
                    axes.plot(values, [at] * len(values), "o", ms=2.5, color=plot.BLACK, clip_on=False, alpha=0.6)
                    if known is not None:
                        axes.plot([known / unit], [at], "D", ms=5, mfc="none", color=plot.PURPLE, clip_on=False)
        left.set_yticks(range(len(CASES)), [told.name for told in CASES.values()])
        left.invert_yaxis()
        left.set(title="goodput", xlabel="share of the ideal", xlim=(0, 1.05))
        right.set(title="retransmissions", xlabel="share of the link", xlim=(0, None))
        for axes in (left, right):
            axes.grid(visible=True, axis="x")
            axes.grid(visible=False, axis="y")
        handles = [Line2D([], [], color=COLOURS[kept], lw=6, alpha=0.8, label=label) for kept, label in KEPT.items()]
        theirs = f"authors' simulator ({authors.COMMIT})"
        handles.append(Line2D([], [], color=plot.PURPLE, marker="D", ms=5, mfc="none", ls="none", label=theirs))
        made.legend(handles=handles, loc="outside lower center", ncols=4, title="kept of the queue after a NACK")


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for case, told in CASES.items():
        for kept, label in KEPT.items():
            ones = [window(runs[f"{case} {kept}"]) for runs in seeds]
            there = authors.cases().get((told.name, _KNOWN[kept]))
            ours = (mean(one.goodput for one in ones), mean(one.retransmission for one in ones))
            theirs = (there.goodput, there.retransmission) if there else (None, None)
            cells = (number(ours[0]), number(theirs[0]), number(ours[1]), number(theirs[1]))
            rows.append((told.name, label, number(told.ideal), *cells))
    headings = ("case", "kept after a NACK", "ideal", "goodput", "reference", "retransmissions", "reference")
    return [NumberTable("shares of the link, ours and the authors' public simulator", headings, tuple(rows), words=2)]
