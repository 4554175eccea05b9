"""TOML files that are not scenarios: what is wrong in them is told with its line, its value and what would do."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from backwater.errors import UsageError
from backwater.scenario.scenario import Scenario
from backwater.scenario.toml_writer import value_text


@dataclass(frozen=True)
class Key:
    """A key that a file may have: for messages and for the reference in docs/sweeps.md."""

    name: str
    takes: str
    default: str
    meaning: str
    example: str


@dataclass(frozen=True)
class Document:
    """The tables of a file, or of a call, which has no lines; paths in it count from `base`."""

    origin: str
    base: Path
    tables: Mapping[str, Any]
    lines: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, file: str | Path, what: str) -> Document:
        """Read a file; raises UsageError where it is not there or no TOML."""
        try:
            read = Scenario.load(file)
        except UsageError as error:
            raise UsageError(str(error).replace("scenario file", what)) from None
        try:
            # A mark of the byte order at the start is no part of the text.
            text = read.text.removeprefix("\ufeff").replace("\r\n", "\n")
            tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{read.origin}: {_with_line_first(str(error))}") from None
        except RecursionError:
            raise UsageError(f"{read.origin}: lists or tables are nested too deeply to be read") from None
        return cls(read.origin, read.base_dir, tables, _lines(text))

    def fail(self, path: str, message: str) -> NoReturn:
        """Raise UsageError for what stands at `path`, keys with dots between, with its line or that of its table."""
        raise UsageError(f"{self.place(path)}: {message}")

    def place(self, path: str) -> str:
        """The name of the file, and the line of what stands at `path`, or of its table."""
        place = path
        while place and place not in self.lines:
            place = place.rpartition(".")[0]
        return f"{self.origin}: line {self.lines[place]}" if place else self.origin

    def require_known(self, table: Mapping[str, Any], path: str, keys: Iterable[str], what: str) -> None:
        """Refuse keys that are not among `keys`, with the nearest one that is."""
        known = list(keys)
        for name in table:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}? " if near else ""
                self.fail(_below(path, name), f"{name!r} is not a key of {what}; {hint}it has {', '.join(known)}")

    def texts(self, path: str, key: Key, found: Any, *, optional: bool = False) -> tuple[str, ...]:
        """A list of texts, each once."""
        if not isinstance(found, list) or not all(isinstance(one, str) and one for one in found):
            self.fail(path, f"{key.name} = {shown(found)}: give a {key.takes}, such as {key.example}")
        if not found and not optional:
            self.fail(path, f"{key.name} = []: list at least one, such as {key.example}")
        for one in found:
            if found.count(one) > 1:
                self.fail(path, f"{key.name} lists {one!r} twice; list it once")
        return tuple(found)

    def whole(self, path: str, key: Key, found: Any, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        if not isinstance(found, int) or isinstance(found, bool) or not low <= found <= high:
            self.fail(path, f"{key.name} = {shown(found)}: give a whole number from {low} to {high}")
        return found

    def one_of(self, path: str, name: str, found: Any, known: Iterable[str]) -> str:
        """One of several words."""
        words = list(known)
        if found not in words:
            near = difflib.get_close_matches(str(found), words, 1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            self.fail(path, f"{name} = {shown(found)}: {hint}it may be {', '.join(words)}")
        return str(found)


def shown(value: Any, most: int = 60) -> str:
    """A value as TOML writes it, shortened."""
    try:
        text = "{}" if value == {} else value_text(value)
    except (UsageError, RecursionError):
        text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _with_line_first(message: str) -> str:
    """As all other messages: "Invalid value (at line 3, column 5)" says its line at the end."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if found is None:
        return f"this is no TOML: {message}"
    place = f"line {found[2]}, column {found[3]}" if found[2] else "at the end"
    return f"{place}: this is no TOML: {found[1]}"


_PART = r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'"""
_DOTTED = rf"(?:{_PART})(?:\s*\.\s*(?:{_PART}))*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_ENTRY = re.compile(rf"\s*({_DOTTED})\s*=")


def _lines(text: str) -> dict[str, int]:
    """The line of each header and of each key that begins a line, by its path with dots."""
    found: dict[str, int] = {}
    table, counts = "", dict[str, int]()
    for number, line in enumerate(text.split("\n"), start=1):
        header, entry = _HEADER.match(line), _ENTRY.match(line)
        if header:
            table = _path(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                found.setdefault(table, number)
                table = f"{table}.{counts[table]}"
            found.setdefault(table, number)
        elif entry:
            found.setdefault(_below(table, _path(entry[1])), number)
    return found


def _path(dotted: str) -> str:
    return ".".join(part.strip("\"'") for part in re.findall(_PART, dotted))
