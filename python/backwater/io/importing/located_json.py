"""JSON of tables, keys and fields, each with its line: what a message needs to name a place in the user's file."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn

from backwater.errors import UsageError
from backwater.io.importing.became import Line, printable, shown

_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass
class Row:
    """A key of a table: its line and its fields."""

    line: int
    fields: dict[str, Line]


@dataclass
class Document:
    """The tables of the file `origin` with their rows; `odd` are values where a table or a row should be."""

    origin: str
    tables: dict[str, dict[str, Row]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    odd: list[Line] = field(default_factory=list)

    def rows(self, table: str) -> dict[str, Row]:
        """The rows of a table, none if the file does not have it."""
        return self.tables.get(table, {})

    def all(self) -> Iterator[Line]:
        """Every value in it."""
        yield from self.odd
        for rows in self.tables.values():
            for row in rows.values():
                yield from row.fields.values()


def read(text: str, origin: str) -> Document:
    """The document of a text. Raises UsageError with the line for what is no JSON object, and for a name twice."""
    return _Reader(text.removeprefix("\ufeff"), origin).document()


class _Reader:
    def __init__(self, text: str, origin: str) -> None:
        self._text, self._origin = text, origin
        self._ends = [match.start() for match in re.finditer("\n", text)]
        # Numbers stay as they are written: SONiC has most of them in quotes.
        self._decoder = JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)

    def document(self) -> Document:
        start = self._skip(0)
        whole, end = self._value(start)
        if not isinstance(whole, dict):
            self._refuse(start, "a JSON object of tables is expected: config_db.json, or sonic-cfggen -d --print-data")
        if self._skip(end) != len(self._text):
            self._refuse(self._skip(end), "nothing may follow the object")
        made = Document(self._origin)
        for table, place, at in self._pairs(start):
            made.lines[table] = self._line(place)
            rows = made.tables[table] = {}
            for key, within, inner in self._below((table,), place, at, made):
                row = rows[key] = Row(self._line(within), {})
                for name, deepest, value in self._below((table, key), within, inner, made):
                    row.fields[name] = Line((table, key, name), self._line(deepest), _word(self._value(value)[0]))
        return made

    def _below(self, path: tuple[str, ...], place: int, at: int, made: Document) -> Iterator[tuple[str, int, int]]:
        """The pairs of the object at a place; what is none goes to what is odd."""
        if self._text[at] == "{":
            yield from self._pairs(at)
        else:
            made.odd.append(Line(path, self._line(place), _word(self._value(at)[0])))

    def _pairs(self, at: int) -> Iterator[tuple[str, int, int]]:
        """Of each pair of the object at a place, which is known to be JSON: its name, its place, that of its value."""
        seen: dict[str, int] = {}
        at = self._skip(at + 1)
        while self._text[at] == '"':
            name, end = self._value(at)
            if name in seen:
                where = f"line {self._line(seen[name])} has {shown(name)}, too"
                self._refuse(at, f"{where}: a name stands once in an object; keep one of them")
            seen[name] = at
            value = self._skip(self._skip(end) + 1)
            yield name, at, value
            at = self._skip(self._value(value)[1])
            at = self._skip(at + 1) if self._text[at] == "," else at

    def _value(self, at: int) -> tuple[Any, int]:
        try:
            return self._decoder.raw_decode(self._text, at)
        except JSONDecodeError as error:
            self._refuse(error.pos, f"this is no JSON ({error.msg})")
        except RecursionError:
            self._refuse(at, "this is nested too deeply; CONFIG_DB has tables, keys and fields")

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _line(self, at: int) -> int:
        return bisect_left(self._ends, at) + 1

    def _refuse(self, at: int, why: str) -> NoReturn:
        raise UsageError(f"{printable(self._origin, 200)}: line {self._line(at)}: {why}")


def _word(value: Any) -> str:
    """A value as SONiC writes it: a text, or texts with commas."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ",".join(value)
    return {True: "true", False: "false", None: "null"}[value] if value is None or isinstance(value, bool) else "{…}"
