"""The pages of the reference: commands, keys of scenarios, exit codes, algorithms, made from the code itself."""

from __future__ import annotations

import contextlib
import io
import json
import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cyclopts import App

_ROOMS = ("detector", "reaction", "reaction/pft", "flow_control", "isolation", "arbitration", "notify", "transport")


def pages(root: Path) -> dict[str, str]:
    """Every page by its place among the pages."""
    return {
        "reference/commands.md": commands(),
        "reference/scenario.md": scenario(),
        "reference/exit-codes.md": exit_codes(),
        "reference/algorithms.md": algorithms(root / "crates" / "control" / "src"),
        "reference/python.md": python(),
    }


def commands() -> str:
    """The help of every command."""
    parts = ["# Commands", "What `--help` prints. Every table is JSON with `--json` where the command has it."]
    for words in [(), *_words()]:
        parts += [f"## backwater {' '.join(words)}".rstrip(), f"```text\n{_help(words)}\n```"]
    return "\n\n".join(parts) + "\n"


def command_line() -> App:
    """The command line as cyclopts knows it, made already or when it is asked for."""
    from backwater import cli

    made = vars(cli)["app"]
    return cast("App", made if hasattr(made, "parse_args") else made())


def _words() -> Iterator[tuple[str, ...]]:
    app = command_line()
    for name in app:
        if name.startswith("-"):
            continue
        yield (name,)
        yield from ((name, inner) for inner in app[name] if not inner.startswith("-"))


def _help(words: tuple[str, ...]) -> str:
    from rich.console import Console

    said = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(said):
        command_line().help_print(
            list(words), console=Console(file=said, width=76, color_system=None, force_terminal=False)
        )
    return said.getvalue().strip()


def scenario() -> str:
    """Every key of a scenario, table by table."""
    from backwater import _core

    schema = json.loads(_core.schema())
    parts = [
        "# Keys of a scenario",
        "Made from the JSON Schema (`backwater schema`), with which editors complete keys. Where profiles differ the "
        "text says so, with the source of each value; the column *default* has that of the profile `authors`.",
    ]
    parts += [_keys("The file itself", schema)]
    for name in sorted(schema["$defs"]):
        kind = schema["$defs"][name]
        parts.append(_keys(name, kind))
    return "\n\n".join(part for part in parts if part) + "\n"


def _keys(name: str, kind: dict[str, Any]) -> str:
    parts = [f"## {name}", _prose(kind.get("description", ""))]
    choices = kind.get("oneOf") or kind.get("anyOf") or []
    plain = [choice for choice in choices if "properties" not in choice]
    if "enum" in kind:
        parts.append(", ".join(f"`{value!r}`".replace("'", '"') for value in kind["enum"]))
    if plain:
        parts.append(
            "\n".join(f"- {_type(choice)}: {_line(choice.get('description', ''))}".rstrip(": ") for choice in plain)
        )
    if "properties" in kind:
        parts.append(_table(kind))
    for choice in choices:
        if "properties" in choice:
            tag = next(
                (f'{key} = "{value["const"]}"' for key, value in choice["properties"].items() if "const" in value), ""
            )
            parts += [f"### {name}: `{tag}`" if tag else "", _prose(choice.get("description", "")), _table(choice)]
    if not choices and "enum" not in kind and "properties" not in kind:
        parts.append(_type(kind))
    return "\n\n".join(part for part in parts if part)


def _table(kind: dict[str, Any]) -> str:
    rows = [
        f"| `{key}` | {_type(value)} | {_default(value)} | {_line(value.get('description', ''))}{_range(value)} |"
        for key, value in sorted(kind["properties"].items())
    ]
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows])


def _default(value: dict[str, Any]) -> str:
    if "default" not in value or value["default"] is None:
        return ""
    return "`" + json.dumps(value["default"], ensure_ascii=False).replace("|", "\\|") + "`"


def _range(value: dict[str, Any]) -> str:
    low, high = (value.get(f"x-{end}", value.get(end)) for end in ("minimum", "maximum"))
    if low is None and high is None:
        return ""
    return (
        f" From {low} to {high}." if None not in (low, high) else f" From {low}." if high is None else f" Up to {high}."
    )


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "const" in value:
        return f'`"{value["const"]}"`'
    if "enum" in value:
        return ", ".join(f'`"{entry}"`' for entry in value["enum"])
    inner = value.get("oneOf") or value.get("anyOf")
    if inner:
        return " or ".join(_type(entry) for entry in inner if entry.get("type") != "null")
    kind = value.get("type", "any")
    if isinstance(kind, list):
        kind = " or ".join(entry for entry in kind if entry != "null")
    return f"list of {_type(value['items'])}" if kind == "array" and "items" in value else str(kind)


def _prose(text: str) -> str:
    return re.sub(r"(?<!`)<", "&lt;", text)


def _line(text: str) -> str:
    return _prose(" ".join(text.split())).replace("|", "\\|")


def exit_codes() -> str:
    """Exit codes and exceptions."""
    from backwater import InvariantError, ScenarioError, UserCodeError
    from backwater.errors import MEANS, Exit, UsageError

    rows = [f"| {code.value} | `{code.name}` | {MEANS[code]} |" for code in Exit]
    errors = (ScenarioError, UsageError, UserCodeError, InvariantError)
    kinds = [f"| `backwater.{error.__name__}` | {_line((error.__doc__ or '').split('.')[0])} |" for error in errors]
    codes = ["# Exit codes and errors", "", "| code | name | means |", "|---|---|---|", *rows]
    return "\n".join([*codes, "", "In Python:", "", "| exception | means |", "|---|---|", *kinds, ""])


def algorithms(source: Path) -> str:
    """What each algorithm says of itself: its idea, its reference."""
    parts = [
        "# Algorithms",
        "What the files of `crates/control` say of themselves: the idea, the paper, what was read into it.",
    ]
    for room in _ROOMS:
        parts.append(f"## {room.replace('_', ' ').replace('/', ': ')}")
        for file in sorted((source / room).glob("*.rs")):
            head = re.match(r"(?://!.*\n)+", file.read_text(encoding="utf-8"))
            if head and file.stem != "mod":
                text = re.sub(r"^//! ?", "", head[0], flags=re.MULTILINE)
                parts += [f"### `{room}/{file.name}`", re.sub(r"\[(`[^`]*`)\](?!\()(?:\([^)]*\))?", r"\1", text)]
    return "\n\n".join(parts) + "\n"


def python() -> str:
    """The interface for Python, by mkdocstrings."""
    import backwater
    from backwater import _HOMES

    parts = ["# Python", "`import backwater as bw`. [Python](../python.md) shows how it is used."]
    of_core = {"InvariantError", "ScenarioError", "__version__"}
    parts += [
        f"::: {_HOMES.get(name, 'backwater.extend')}.{name}"
        for name in backwater.__all__
        if name not in of_core and not name.isupper()
    ]
    return "\n\n".join(parts) + "\n"
