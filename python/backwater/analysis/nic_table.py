"""A table of message sizes as it was measured: goodput of one queue pair by size and depth, one line each.

The columns are ``size_bytes``, ``goodput_gbps``, and the depth in a column ``depth`` or at the end of the name in
``arm`` (``p4_engine_depth1024``). Other columns, lines that begin with ``#`` and empty lines count for nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from backwater.errors import UsageError, reason

#: Messages of an entry, and messages under way, may be as large as those of a scenario.
_LARGEST, _DEEPEST = 10**15, 1_000_000
#: Lines of a table; no measurement has more.
_MOST = 10_000
_COLUMNS = "size_bytes, goodput_gbps, and depth or arm"
_DEPTH = re.compile(r"depth[-_]?(\d+)$")


@dataclass(frozen=True)
class Row:
    """One measurement."""

    #: The line of the file.
    line: int
    #: What was measured: the name in `arm`, or the depth.
    arm: str
    size: int
    depth: int
    gbps: float


class _FieldError(Exception):
    """What is wrong with a field: the text, and what would do."""


def read(file: Path) -> list[Row]:
    """The rows of a table; raises UsageError with line and column of the first one that is wrong."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({reason(error)})") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    return parse(text, str(file))


def parse(text: str, origin: str) -> list[Row]:
    """The rows of a text."""
    lines = _lines(text)
    number, names = next(lines, (1, []))
    words = [name.strip() for _, name in names]
    missing = [name for name in ("size_bytes", "goodput_gbps") if name not in words]
    if not ("depth" in words or "arm" in words):
        missing.append("depth (or arm)")
    if missing:
        raise UsageError(
            f"{origin}, line {number}: the first line names the columns, and {', '.join(missing)} is missing; "
            f"it needs {_COLUMNS}"
        )
    if twice := next((name for name in words if name and words.count(name) > 1), None):
        raise UsageError(f"{origin}, line {number}: two columns are called {twice}; leave one out")
    rows: list[Row] = []
    for line, fields in lines:
        if len(fields) != len(words):
            column = fields[-1][0]
            raise UsageError(
                f"{origin}, line {line}, column {column}: {len(fields)} fields, but the first line names {len(words)}"
            )
        of = dict(zip(words, fields, strict=True))
        rows.append(_row(line, of, origin))
        if len(rows) > _MOST:
            raise UsageError(f"{origin}, line {line}: more than {_MOST} rows; is it the right file?")
    if not rows:
        raise UsageError(f"{origin}: there is no row; each line after the first has {_COLUMNS}")
    return rows


def _lines(text: str) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """Lines that count, by their numbers: each field with the column at which it begins."""
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            fields, column = [], 1
            for field in line.split(","):
                fields.append((column, field))
                column += len(field) + 1
            yield number, fields


def _row(line: int, of: dict[str, tuple[int, str]], origin: str) -> Row:
    try:
        name = "size_bytes"
        size = _whole(of[name][1], _LARGEST)
        name = "goodput_gbps"
        gbps = _positive(of[name][1])
        name = "depth" if "depth" in of else "arm"
        depth = _whole(of[name][1], _DEEPEST) if name == "depth" else _depth(of[name][1])
    except _FieldError as bad:
        column, text = of[name]
        raise UsageError(f"{origin}, line {line}, column {column}: {name} = {text.strip()!r} {bad}") from None
    arm = of["arm"][1].strip() if "arm" in of else f"depth {depth}"
    return Row(line, arm, size, depth, gbps)


def _whole(text: str, most: int) -> int:
    said = text.strip()
    if not (said.isascii() and said.isdigit() and len(said) <= 18 and 1 <= int(said) <= most):
        raise _FieldError(f"is not allowed; give a whole number from 1 to {most}")
    return int(said)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= 100_000:
        raise _FieldError("is not allowed; give Gbps above 0 and up to 100000, such as 79.23")
    return value


def _depth(text: str) -> int:
    found = _DEPTH.search(text.strip())
    if found is None:
        raise _FieldError("says no depth; let it end in depth1 (or depth64), or add a column depth")
    return _whole(found[1], _DEEPEST)
