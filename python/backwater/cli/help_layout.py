"""How ``--help`` looks: cyclopts says what there is, here are the lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cyclopts.help import HelpEntry, HelpPanel
from rich.console import Console, ConsoleOptions

from backwater.cli.overview import width_of_lines, wrapped

#: Defaults that say nothing: a flag's, and those of lists.
_NOTHING = (None, "True", "False", "()", "[]")
#: Wider than this, names have their meaning in the next line.
_MOST_INDENT = 26


class Layout:
    """Plain lines: a name, its meaning beside it, what holds if it is not given.

    `summaries` are those of commands that have not been imported.
    """

    def __init__(self, summaries: Mapping[str, str]) -> None:
        self._summaries = summaries

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """The arguments, the options or the commands."""
        rows = [
            (name, self._summaries.get(name) or _meaning(entry)) for entry in panel.entries for name in [_name(entry)]
        ]
        if rows:
            _print(console, [f"{panel.title}:", *_table(rows, _room(options)), ""])

    def render_usage(self, console: Console, _options: ConsoleOptions, usage: Any) -> None:
        """The line of usage."""
        if usage:
            _print(console, [f"Usage: {str(usage).strip()}", ""])

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        """What the command does."""
        for paragraph in filter(None, _plain(description).split("\n\n")):
            _print(console, [*wrapped(paragraph, _room(options)), ""])


def _room(options: ConsoleOptions) -> int:
    return min(options.max_width, width_of_lines())


def _print(console: Console, lines: list[str]) -> None:
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


def _plain(described: Any) -> str:
    """The words of what cyclopts would have rich draw."""
    text = getattr(described, "primary_renderable", described)
    return str(getattr(text, "plain", text) or "").strip()


def _name(entry: HelpEntry) -> str:
    return entry.positional_label or ", ".join(entry.all_options)


def _meaning(entry: HelpEntry) -> str:
    """The words of the docstring, the choices that there are, and what holds if it is not given."""
    said = [_plain(entry.description)]
    if entry.choices:
        said.append(f"[choices: {', '.join(entry.choices)}]")
    if entry.required:
        said.append("[required]")
    elif entry.default not in _NOTHING:
        said.append(f"[default: {entry.default}]")
    return " ".join(filter(None, said))


def _table(rows: list[tuple[str, str]], room: int) -> Iterator[str]:
    indent = min(max(len(name) for name, _ in rows) + 4, _MOST_INDENT)
    for name, meaning in rows:
        first, *rest = wrapped(meaning, max(room - indent, 20))
        if len(name) + 4 > indent:
            yield f"  {name}"
            yield " " * indent + first
        else:
            yield f"  {name:<{indent - 2}}{first}"
        yield from (" " * indent + line for line in rest)
