"""`Results` as users have them: a results folder with what can be asked of it at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.analysis import critical, pictures
from backwater.analysis.blame import Blame
from backwater.analysis.critical import Critical
from backwater.api import notebook
from backwater.common.late import pl
from backwater.results import Results as Folder
from backwater.results import measures
from backwater.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Results(Folder):
    """One finished (or interrupted) run, and no other: if the folder holds another run by now, reading says so.

    `meta` is run.json: version, command, resolved scenario, seed, digest, caveats, totals. Every table is a lazy polars
    frame; `backwater describe FOLDER` lists the columns with their units.
    """

    def view(self, beside: Folder | None = None) -> View:
        """The page that shows this run, with another `beside` it if given; shows itself in a notebook."""
        return View([self] if beside is None else [self, beside])

    @property
    def summary(self) -> pl.DataFrame:
        """One row per traffic entry: flows, packets, marks, goodput, FCT, slowdown."""
        return measures.by_traffic(self)

    def blame(self) -> Blame:
        """Who held whom back: roots, branches, culprits, victims; needs `probe.blame` in the scenario."""
        return Blame(self)

    def critical(self, job: str | None = None, iteration: int | None = None) -> list[Critical]:
        """The critical path of each application, or of one; `iteration`: of one iteration of a collective."""
        critical.whole(self)
        return [critical.of(self, path, iteration) for path in critical.paths(self, job, iteration)]

    def plot(self, kind: str | None = None, *, width: str | float | None = None) -> Figure:
        """A matplotlib figure: ``"queues"`` or ``"rates"`` over time (`probe.sample`), or ``"slowdown"`` of the flows.

        By default queues where some are sampled, else slowdown. With a `width` (``"3.33in"``, or a number of inches) it
        is made for print: letters of 7 to 9 points, no title.
        """
        with pictures.asked(None, width).printed():
            figure: Figure = pictures.load("run_picture").of_run(self, kind)
            return figure

    def _repr_html_(self) -> str:
        return notebook.html(self)
