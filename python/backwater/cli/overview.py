"""What ``backwater --help`` prints, made of the tables in `cli` without the library that parses commands.

That library takes longer to import than a person likes to wait for a list of words.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence

#: Lines are not longer, however wide the terminal is.
_WIDEST = 100


def text(
    about: str,
    commands: Sequence[tuple[str, str]],
    groups: Sequence[tuple[str, str, Sequence[tuple[str, str, str]]]],
    width: int | None = None,
) -> str:
    """Usage, every command with its summary, and where to find out more."""
    room = width_of_lines(width)
    plain = [(name(path), summary) for path, summary in commands]
    grouped = [(f"{group} {word}", summary) for group, _, members in groups for _, word, summary in members]
    indent = max(len(word) for word, _ in plain + grouped) + 4
    lines = ["Usage: backwater COMMAND [OPTIONS]", "", *wrapped(about, room), "", "Commands:"]
    for word, summary in plain + grouped:
        first, *rest = wrapped(summary, max(room - indent, 20))
        lines += [f"  {word:<{indent - 2}}{first}", *(" " * indent + line for line in rest)]
    return "\n".join([*lines, "", *_MORE])


def width_of_lines(width: int | None = None) -> int:
    """As wide as the terminal, or as what is given, and not wider than is read with ease."""
    return min(width or shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)


_MORE = (
    "backwater COMMAND --help      what a command takes",
    "backwater explain WORD        what a word, a column, an algorithm or an error means",
    "backwater --version           the version",
)


def name(path: str) -> str:
    """The name of a command from where its function is.

    >>> name("run:run"), name("trace:import_")
    ('run', 'import')
    """
    function = path.partition(":")[2]
    return _NAMES.get(function, function.strip("_").replace("_", "-"))


#: Commands that are not called as their function is.
_NAMES = {"on_switches": "testbed"}


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
