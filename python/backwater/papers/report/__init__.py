"""Reports of a reproduction: the claims table for the terminal, as JSON and as Markdown, and one HTML page."""

from backwater.papers.report.order import every
from backwater.papers.report.text import (
    WHOSE,
    claims_table,
    held_by_tests,
    markdown,
    missing,
    of_quick_look,
    ours,
    tally,
)
from backwater.papers.report.write import write

__all__ = [
    "WHOSE",
    "claims_table",
    "every",
    "held_by_tests",
    "markdown",
    "missing",
    "of_quick_look",
    "ours",
    "tally",
    "write",
]
