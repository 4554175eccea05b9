"""Where commands print: a rich console that does not squeeze tables when nobody sees the width."""

from __future__ import annotations

from rich.console import Console

#: Columns that the widest table needs.
_WIDE = 220


class _Console(Console):
    """Leaves a pipe that its reader closed to the command line, which ends quietly."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def stdout() -> Console:
    """The console of standard output; in a pipe or a log, wide enough for every table."""
    console = _Console()
    return console if console.is_terminal else _Console(width=_WIDE)
