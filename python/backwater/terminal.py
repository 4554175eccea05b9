"""Where commands print: a rich console that does not squeeze tables when nobody sees the width."""

from __future__ import annotations

from rich.console import Console

#: Columns that the widest table needs.
_WIDE = 150


def stdout() -> Console:
    """The console of standard output; in a pipe or a log, wide enough for every table."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)
