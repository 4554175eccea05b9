"""What ``backwater COMMAND --help`` prints, read from the source of the command without importing it.

What a command takes is the signature of its function, and what it says of it the docstring. To import both, and the
library that parses commands with what draws its boxes, takes longer than a person likes to wait for a page of words.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backwater.cli import overview

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Wider than this, names have their meaning in the next line.
_MOST_INDENT = 26


@dataclass(frozen=True)
class _Option:
    """One argument or option of a command."""

    shown: str
    words: str


def of_group(group: str, about: str, members: Sequence[tuple[str, str, str]], room: int) -> str:
    """The help of a group: its commands."""
    rows = [_Option(f"{group} {word}", summary) for _, word, summary in members]
    more = f"backwater {group} COMMAND --help      what a command takes"
    return "\n".join([f"Usage: backwater {group} COMMAND", "", about, "", *_table("Commands", rows, room), more])


def of_command(words: str, path: str, room: int) -> str:
    """The help of a command from where its function is, below `backwater.cli.commands`."""
    module, _, name = path.partition(":")
    shared, own = (
        ast.parse((Path(__file__).parent / file).read_text(encoding="utf-8")).body
        for file in ("options.py", f"commands/{module}.py")
    )
    function = next(node for node in own if isinstance(node, ast.FunctionDef) and node.name == name)
    aliases = {
        node.targets[0].id: node.value
        for node in (*shared, *own)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return _page(words, function, aliases, room)


def _page(words: str, function: ast.FunctionDef, aliases: dict[str, ast.expr], room: int) -> str:
    about, meanings = _docstring(ast.get_docstring(function) or "")
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(given.defaults)), *given.defaults]
    arguments, usage = [], ["Usage: backwater", words]
    for one, default in [*zip(plain, defaults, strict=True), *([(given.vararg, None)] if given.vararg else [])]:
        many = one is given.vararg or "tuple" in ast.unparse(_resolved(one, aliases))
        shown = f"{one.arg.rstrip('_').upper()}{'...' if many else ''}"
        free = default is not None or one is given.vararg
        usage.append(f"[{shown}]" if free else shown)
        arguments.append(_Option(shown, _meaning(one, default, meanings, aliases, required=not free)))
    options = [
        _Option(_flag(one, aliases), _meaning(one, default, meanings, aliases, required=default is None))
        for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if default is None:
            usage.append(f"{_flag(one, aliases)} {one.arg.strip('_').upper()}")
    lines = [" ".join([*usage, "[OPTIONS]"]), ""]
    for paragraph in about:
        lines += [*overview.wrapped(paragraph, room), ""]
    return "\n".join([*lines, *_table("Arguments", arguments, room), *_table("Options", options, room)]).rstrip()


def _resolved(one: ast.arg, aliases: dict[str, ast.expr]) -> ast.expr:
    """The annotation of an argument; what a name of the module stands for."""
    found = one.annotation or ast.Constant(value=None)
    return aliases.get(found.id, found) if isinstance(found, ast.Name) else found


def _flag(one: ast.arg, aliases: dict[str, ast.expr]) -> str:
    """The name of an option: `--like-this`, or as its Parameter says."""
    found = _resolved(one, aliases)
    named = {
        word.arg: word.value.value
        for call in ast.walk(found)
        if isinstance(call, ast.Call)
        for word in call.keywords
        if isinstance(word.value, ast.Constant)
    }
    name = str(named.get("name", "--" + one.arg.strip("_").replace("_", "-")))
    both = "bool" in ast.unparse(found) and "negative" not in named
    return f"{name}, --no-{name.removeprefix('--')}" if both else name


def _meaning(
    one: ast.arg,
    default: ast.expr | None,
    meanings: dict[str, str],
    aliases: dict[str, ast.expr],
    *,
    required: bool,
) -> str:
    """The words of the docstring, the choices that there are, and what holds if it is not given."""
    said = [meanings.get(one.arg, "")]
    choices = [
        str(leaf.value)
        for part in ast.walk(_resolved(one, aliases))
        if isinstance(part, ast.Subscript) and ast.unparse(part.value) == "Literal"
        for leaf in ast.walk(part.slice)
        if isinstance(leaf, ast.Constant)
    ]
    if choices:
        said.append(f"[choices: {', '.join(choices)}]")
    if required:
        said.append("[required]")
    elif shown := _default(default):
        said.append(f"[default: {shown}]")
    return " ".join(filter(None, said))


def _default(default: ast.expr | None) -> str:
    """A default as it would be given; nothing for none, for flags and for empty ones."""
    if isinstance(default, ast.Call) and default.args:
        default = default.args[0]
    value = default.value if isinstance(default, ast.Constant) else None
    return "" if value is None or isinstance(value, bool) else str(value)


def _docstring(text: str) -> tuple[list[str], dict[str, str]]:
    """Paragraphs, and the meaning of each parameter, of a docstring in numpy's form."""
    about, _, rest = text.partition("\nParameters\n----------\n")
    meanings: dict[str, str] = {}
    name = ""
    for line in rest.splitlines():
        if line and not line.startswith(" "):
            name = line.strip()
        elif line.strip():
            meanings[name] = f"{meanings.get(name, '')} {line.strip()}".strip()
    return [" ".join(part.split()) for part in about.split("\n\n") if part.strip()], meanings


def _table(heading: str, rows: Sequence[_Option], room: int) -> Iterator[str]:
    if not rows:
        return
    indent = min(max(len(row.shown) for row in rows) + 4, _MOST_INDENT)
    yield f"{heading}:"
    for row in rows:
        first, *rest = overview.wrapped(row.words, max(room - indent, 20))
        if len(row.shown) + 4 > indent:
            yield f"  {row.shown}"
            yield " " * indent + first
        else:
            yield f"  {row.shown:<{indent - 2}}{first}"
        yield from (" " * indent + line for line in rest)
    yield ""
