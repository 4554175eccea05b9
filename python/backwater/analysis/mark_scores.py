"""The score of the marks, over seeds: how right a detector was, as columns of a table that compares detectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from rich.markup import escape
from rich.table import Table

from backwater.analysis.blame import Score, score_of, threshold
from backwater.common import terminal
from backwater.common.statistics import Estimate, estimate, with_interval
from backwater.results import Results

#: Field of a score, heading.
COLUMNS = (
    ("precision", "precision"),
    ("recall", "recall"),
    ("flow_precision", "flow precision"),
    ("flow_recall", "flow recall"),
)
#: The name of the row that they stand in.
ROW = "all"


def note(runs: Iterable[Results]) -> str:
    """What the scores say, and the K that they were judged with."""
    known = threshold.of_all(run for run in runs if of(run) is not None)
    return (
        f"the marks of the whole run against the ground truth; recall: packets from roots that left with CE; "
        f"- where there was nothing to take a share of{f'; {known}' if known else ''}"
    )


@lru_cache(maxsize=4096)
def of(run: Results) -> Score | None:
    """The score of a run's marks, computed once for each `Results`."""
    return score_of(run)


def over_seeds(runs: Sequence[Results]) -> dict[str, Estimate]:
    """Each share's mean over the runs that have it; empty if no run has any."""
    scores = [score for score in map(of, runs) if score is not None]
    values = {key: [getattr(score, key) for score in scores] for key, _ in COLUMNS}
    known = {key: [value for value in column if value is not None] for key, column in values.items()}
    return {key: estimate(column, key) for key, column in known.items() if column}


def cells(runs: Sequence[Results]) -> list[str]:
    """One cell per column: ``94.6 ± 0.310 %``, with the number of seeds if some have no such share."""
    means = over_seeds(runs)
    return [_cell(means[key], len(runs)) if key in means else "-" for key, _ in COLUMNS]


def table(runs: Mapping[str, Sequence[Results]]) -> Table:
    """One row per name whose runs have a score: means over its complete runs, with 95 % confidence intervals."""
    whole = {name: [run for run in of_name if run.complete] for name, of_name in runs.items()}
    made = terminal.table("Marks", ["run"], [heading for _, heading in COLUMNS])
    for name, of_name in whole.items():
        made.add_row(escape(name), *cells(of_name))
    made.caption = note(run for of_name in whole.values() for run in of_name)
    return made


def _cell(share: Estimate, runs: int) -> str:
    some = f" ({len(share.values)} of {runs} seeds)" if len(share.values) < runs else ""
    width = None if share.half_width is None else 100 * share.half_width
    values = tuple(100 * value for value in share.values)
    return with_interval(Estimate(100 * share.mean, width, values, 0.0, 100.0), _percent) + some


def _percent(share: float) -> str:
    """Never 100 % of what is less than all."""
    shown = f"{share:.1f}"
    return f"{'99.9' if share < 100 and shown == '100.0' else shown} %"
