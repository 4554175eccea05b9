"""What became of each line of a user's file: a key, nothing, or a word on why it is not understood."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from backwater.errors import UsageError
from backwater.scenario.toml_writer import value_text

#: How many problems one message has at most.
_MOST = 20


class Fate(StrEnum):
    """What a line has become."""

    TAKEN = "taken"
    SAME = "as here"
    NONE = "no counterpart"
    UNKNOWN = "not understood"
    AGAINST = "contradicting"


@dataclass(eq=False)
class Line:
    """One value of a file: its place such as `WRED_PROFILE|lossless|ecn`, its line, and what became of it.

    Of a command line it is a flag, without a line.
    """

    place: tuple[str, ...]
    number: int
    value: str
    fate: Fate | None = None
    #: `switch.buffer = 32MiB`.
    key: str = ""
    why: str = ""

    @property
    def name(self) -> str:
        """The place in one word."""
        return printable("|".join(part for part in self.place if part))

    def become(self, fate: Fate, why: str = "", key: str = "") -> None:
        """Say what it has become; the first word stands, unless the line contradicts another one."""
        if self.fate is None or (fate is Fate.AGAINST and self.fate is not Fate.AGAINST):
            self.fate, self.why, self.key = fate, why, key

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        fate = str(self.fate)
        return {
            "place": self.name,
            "line": self.number,
            "value": printable(self.value),
            "became": fate,
            "key": self.key,
            "why": self.why,
        }


@dataclass
class Settings:
    """The keys of a scenario that the lines of one file or two make, and what is wrong with these lines."""

    keys: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def take(self, line: Line, key: str, value: Any, why: str = "") -> None:
        """Make a key of a line; one that has another value already is kept, and the line contradicts it."""
        known = self.keys.setdefault(key, value)
        if known != value:
            line.become(Fate.AGAINST, f"another line makes {key} = {value_text(known)}; the scenario has one value")
        else:
            line.become(Fate.TAKEN, why, f"{key} = {value_text(value)}")

    def wrong(self, origin: str, line: Line, what: str) -> None:
        """Keep a problem with a line."""
        self.problems.append(f"{origin}: line {line.number}: {line.name} {shown(line.value)} {what}")

    def number(self, origin: str, line: Line, least: int, most: int, unit: str) -> int | None:
        """The whole number of a line, or a problem."""
        text = line.value.strip()
        if re.fullmatch(r"[+-]?[0-9]{1,20}", text) and least <= int(text) <= most:
            return int(text)
        bare = "" if re.fullmatch(r"[+-]?[0-9]+", text) else "; write the number alone, without a unit"
        self.wrong(origin, line, f"is not a whole number{unit and f' of {unit}'} from {least} to {most}{bare}")
        return None

    def check(self) -> None:
        """Raise UsageError with all that is wrong."""
        if self.problems:
            more = len(self.problems) - _MOST
            rest = [f"and {more} more problems"] if more > 0 else []
            raise UsageError("\n  ".join(self.problems[:_MOST] + rest))

    def toml(self) -> str:
        """The keys as tables of a scenario."""
        tables: dict[str, list[str]] = {}
        for key, value in sorted(self.keys.items(), key=lambda pair: pair[0].rpartition(".")):
            table, _, name = key.rpartition(".")
            tables.setdefault(table, []).append(f"{name} = {value_text(value)}")
        return "\n".join("\n".join([f"[{table}]", *lines, ""]) for table, lines in tables.items())

    def overrides(self) -> list[str]:
        """The keys as `--set` takes them."""
        return [f"{key}={value if isinstance(value, str) else value_text(value)}" for key, value in self.keys.items()]


def printable(text: str, most: int = 60) -> str:
    """A text that any terminal can show, cut if it is long.

    >>> printable("AZURE"), printable("x" * 100, 8)
    ('AZURE', 'xxxxxxxx…')
    """
    plain = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text[: most + 1])
    return plain if len(plain) <= most else f"{plain[:most]}…"


def shown(text: str) -> str:
    """A value in quotes."""
    return f"'{printable(text, 40)}'"


def near(word: str, known: Iterable[str]) -> str:
    """A question for what was meant, if a known word is close.

    >>> near("WRED_PROFILES", ["WRED_PROFILE", "PORT"])
    '; WRED_PROFILE?'
    """
    found = get_close_matches(word[:80], list(known), 1, 0.8)
    return f"; {found[0]}?" if found else ""


def table(lines: Iterable[Line]) -> list[str]:
    """What became of the lines, those with the same answer together, as lines of a terminal."""
    groups: dict[tuple[Fate | None, str, str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.fate, line.place[0], line.key, line.why), []).append(line)
    told = []
    for fate in Fate:
        for (found, _, key, why), group in groups.items():
            if found is fate:
                told.append(f"{fate:<15} {_place(group)}: {' · '.join(part for part in (key, why) if part)}")
    return told


def _place(group: list[Line]) -> str:
    first = group[0]
    values = {line.value for line in group}
    value = f" {shown(first.value)}" if len(values) == 1 and first.value else ""
    if len(group) == 1:
        return f"{first.name}{value}" + (f" (line {first.number})" if first.number else "")
    return f"{first.name}{value} and {len(group) - 1} more (from line {min(line.number for line in group)})"
