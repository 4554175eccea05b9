"""What `Results` and `Runs` look like in a notebook, and their `.plot()`."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from backwater.analysis import run_notes
from backwater.common.late import pl
from backwater.results import Results, measures

if TYPE_CHECKING:
    pass

#: What a run can be asked to plot.
KINDS = ("queues", "rates", "slowdown")
#: So many rows of several runs are shown.
ROWS = 40


def html(results: Results) -> str:
    """A run in a notebook: what it was, what it says about itself, and its traffic."""
    lines = "".join(f"<div>{escape(line)}</div>" for line in run_notes.of(results))
    title = f"<b>{escape(str(results.folder))}</b>"
    return f"<div>{title}{lines}{_html_table(measures.by_traffic(results))}</div>"


def html_of_runs(title: str, rows: pl.DataFrame) -> str:
    """Several runs in a notebook."""
    more = f"<div>{rows.height - ROWS} more rows: .summary</div>" if rows.height > ROWS else ""
    return f"<div><b>{escape(title)}</b>{_html_table(rows.head(ROWS))}{more}</div>"


def _html_table(frame: pl.DataFrame) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in frame.columns)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:right'>{escape(_cell(value))}</td>" for value in row) + "</tr>"
        for row in frame.iter_rows()
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e6 else f"{value:,.0f}".replace(",", " ")
    return f"{value:,}".replace(",", " ") if isinstance(value, int) and not isinstance(value, bool) else str(value)
