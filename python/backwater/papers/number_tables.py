"""Tables that a figure of a paper has below its picture: ``tables(seeds)`` of its figure.py returns them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NumberTable:
    """Rows of texts under headings; the first `words` columns are words, the others numbers."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.headings):
                raise ValueError(f"{self.title}: a row of {len(row)} under {len(self.headings)} headings")
