"""Where commands print: a rich console that squeezes tables only as far as they stay readable."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO, Any, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Column, Table

from backwater.common.standard_streams import printable

#: Columns that the widest table needs.
_WIDE = 220
#: Wider than any table.
_WIDEST = 10_000


class Printer(Console):
    """What is printed is text: whatever a name holds, it does nothing to the terminal."""

    def say(self, text: object, **options: Any) -> None:
        """Print a line as it is, without colours for what looks like a number, or marks for styles."""
        self.print(text, highlight=False, markup=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Segments whose texts are printable."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(printable(text), style)


class _Console(Printer):
    """Tables are as narrow as they can be read."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a table that cannot be narrowed to the terminal is printed as wide as in a pipe."""
        tables = [item for item in objects if isinstance(item, Table)]
        if all(self._narrowed(table) for table in tables):
            super().print(*objects, **options)
            return
        width = max(_WIDE, *(self._needed(table) for table in tables))
        _Console(width=width, file=self.file, force_terminal=self.is_terminal).print(*objects, **options)

    def _needed(self, table: Table) -> int:
        """The width in which no cell breaks."""
        return Measurement.get(self, self.options.update(width=_WIDEST), table).maximum

    def _narrowed(self, table: Table) -> bool:
        """Set the widths of columns where a table is too wide; false if it must break more than lines of words.

        What names a row, in the first column, stays in one piece, as do numbers, which stand to the right.
        """
        ranges = [
            self._range(column, whole=number == 0 or column.justify == "right")
            for number, column in enumerate(table.columns)
        ]
        needed = self._needed(table)
        if needed <= self.width:
            return True
        spare = self.width - needed + sum(most - least for least, most in ranges)
        if spare < 0:
            return False
        stretch = sum(most - least for least, most in ranges)
        for column, (least, most) in zip(table.columns, ranges, strict=True):
            column.width = least + spare * (most - least) // max(stretch, 1)
        return True

    def _range(self, column: Column, *, whole: bool) -> tuple[int, int]:
        """The least and the largest width of a column; at the least, lines break between words, or in the heading."""
        room = self.options.update(width=_WIDEST)
        heading = Measurement.get(self, room, column.header)
        cells = [Measurement.get(self, room, cell) for cell in column.cells]
        least = max([heading.minimum, *((cell.maximum if whole else cell.minimum) for cell in cells)])
        return least, max([heading.maximum, *(cell.maximum for cell in cells)])


def table(title: str, words: Iterable[str] = (), numbers: Iterable[str] = ()) -> Table:
    """A table with columns of words, then columns of numbers, under these headings."""
    made = Table(title=title, title_justify="left", header_style="bold", caption_justify="left")
    for heading in words:
        made.add_column(heading, overflow="fold")
    for heading in numbers:
        made.add_column(heading, justify="right")
    return made


def stdout() -> Printer:
    """The console of standard output; in a pipe or a log, wide enough for every table."""
    file = _styled(sys.stdout)
    console = _Console(file=file)
    return console if console.is_terminal else _Console(file=file, width=_WIDE)


def stderr() -> Printer:
    """The console of standard error, for progress and notes."""
    return Printer(file=_styled(sys.stderr), stderr=True, soft_wrap=True)


def _styled(stream: IO[str]) -> IO[str]:
    return cast("IO[str]", getattr(stream, "styled", stream))
