"""What ``backwater --help`` prints, made of the tables in `cli` without the library that parses commands.

That library takes longer to import than a person likes to wait for a list of words.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping

#: Lines are not longer, however wide the terminal is.
_WIDEST = 100


def text(about: str, commands: Mapping[str, str], width: int | None = None) -> str:
    """Usage, every command with its summary, and where to find out more."""
    room = width_of_lines(width)
    indent = max(map(len, commands)) + 4
    lines = ["Usage: backwater COMMAND [OPTIONS]", "", *wrapped(about, room), "", "Commands:"]
    for words, summary in commands.items():
        first, *rest = wrapped(summary, max(room - indent, 20))
        lines += [f"  {words:<{indent - 2}}{first}", *(" " * indent + line for line in rest)]
    return "\n".join([*lines, "", *_MORE])


def width_of_lines(width: int | None = None) -> int:
    """As wide as the terminal, or as what is given, and not wider than is read with ease."""
    return min(width or shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)


_MORE = (
    "backwater COMMAND --help      what a command takes",
    "backwater explain WORD        what a word, a column, an algorithm or an error means",
    "backwater --version           the version",
)


def wrapped(words: str, room: int) -> Iterator[str]:
    """Lines of so many characters, broken between words."""
    line = ""
    for word in words.split():
        if line and len(line) + 1 + len(word) > room:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line
