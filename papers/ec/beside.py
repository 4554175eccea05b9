"""Our numbers beside those of the authors' public simulator, as pictures and as tables of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Seeds
from backwater.papers.number_tables import NumberTable

from papers.ec import authors
from papers.ec.authors import COMMIT, Known
from papers.ec.measured import POLICIES, SIZES, Point, Window, points
from papers.ec.panels import (
    LABELS,
    SIZE_COLOURS,
    SIZE_LABELS,
    Windows,
    known_line,
    legend_beside,
    line,
    seen,
    size_handles,
)

#: What is compared: ours, and the reference's.
_WHAT: Mapping[str, tuple[Callable[[Window], float], Callable[[Known], float | None]]] = {
    "goodput": (lambda one: one.goodput, lambda one: one.goodput),
    "retransmissions": (lambda one: one.retransmission, lambda one: one.retransmission),
    "largest difference of two senders": (lambda one: one.difference, lambda one: one.difference),
}


@dataclass(frozen=True)
class Swept:
    """A figure of runs that sweep the endpoint's rate, or another number: ours, and the reference's."""

    workload: str
    title: str
    #: What is compared, and where its axis ends.
    tops: Mapping[str, float]
    #: What is swept, on the axis and in tables.
    along: str = "endpoint's rate r, share of the link"
    column: str = "r"
    sizes: Sequence[int] = SIZES
    #: Whether goodput could be what is swept.
    diagonal: bool = True
    log: bool = False

    def draw(self, seeds: Seeds, file: Path) -> None:
        """A panel per policy, a line per size, in rows of what is compared."""
        ours, theirs = self._windows(seeds), authors.points(self.workload)
        several = len(self.tops) > 1
        with plot.picture(file, self.title, 10.5, 2.9 * len(self.tops) + 0.9) as made:
            grid = made.subplots(len(self.tops), len(POLICIES), squeeze=False, sharex=True)
            for row, (name, top) in zip(grid, self.tops.items(), strict=True):
                for axes, policy in zip(row, POLICIES, strict=True):
                    for size in self.sizes:
                        look = {"colour": SIZE_COLOURS[size], "marker": plot.marker(SIZES.index(size))}
                        line(axes, ours, policy, size, _WHAT[name][0], **look)
                        known_line(axes, theirs, policy, size, _WHAT[name][1], **look)
                    if self.diagonal and name == "goodput":
                        axes.axline((0, 0), slope=1, color=plot.GREY, lw=0.8, ls=":")
                    axes.set_title(f"{LABELS[policy]}: {name}" if several else LABELS[policy])
                    axes.set_ylim(0, top)
                    if self.log:
                        axes.set_xscale("log", base=2)
                row[0].set_ylabel("share of the link" if several else f"{name},\nshare of the link")
            for axes in grid[-1]:
                axes.set_xlabel(self.along)
            swept = sorted({at[2] for one in ours for at in one} | {at[2] for at in theirs})
            for axes in grid.flat:
                axes.set_xticks(swept, [f"{one:g}" for one in swept])
                axes.minorticks_off()
                axes.set_xlim(swept[0] / (1.1 if self.log else 1), swept[-1] * (1.1 if self.log else 1))
            legend_beside(made, size_handles(self.sizes))

    def tables(self, seeds: Seeds) -> list[NumberTable]:
        """One table for each thing compared: by policy, size and place ours, theirs, and how far apart."""
        windows, known = self._windows(seeds), authors.points(self.workload)
        headings = ("policy", "size", self.column, "ours", f"authors' simulator {COMMIT}", "ours less theirs")
        made = []
        for name in self.tops:
            ours, theirs = _WHAT[name]
            rows = [_row(windows, at, ours, theirs(one)) for at, one in known.items()]
            title = f"{name}, as shares of the link: ours and the authors' public simulator"
            made.append(NumberTable(title, headings, tuple(row for row in rows if row[3] != "–"), words=2))
        return made

    def _windows(self, seeds: Seeds) -> Windows:
        return [points(runs, self.workload) for runs in seeds]


def _row(seeds: Windows, at: Point, ours: Callable[[Window], float], there: float | None) -> tuple[str, ...]:
    here = seen(seeds, at, ours)
    policy, size, swept = at
    apart = "–" if here is None or there is None else f"{here - there:+.4f}"
    return LABELS[policy], SIZE_LABELS[size], f"{swept:g}", number(here), number(there, "aborted"), apart


def number(value: float | None, none: str = "–") -> str:
    """A share of the link to four digits."""
    return none if value is None else f"{value:.4f}"
