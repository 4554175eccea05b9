"""Scenarios that are made in Python: values as TOML, graphs as topologies, tables of flows as files for a run."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from backwater.errors import UsageError


def value_text(value: Any) -> str:
    """A value as TOML writes it, in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, Path):
        return value_text(str(value))
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {value_text(one)}" for name, one in value.items()) + " }"
    if hasattr(value, "item") and callable(value.item):
        return value_text(value.item())
    if isinstance(value, Iterable):
        return "[" + ", ".join(value_text(one) for one in value) + "]"
    raise UsageError(
        f"{value!r} is a {type(value).__name__}, which a scenario cannot hold; give a number, a text, a list, a mapping"
    )


def toml(scenario: Mapping[str, Any]) -> str:
    """A scenario as the text of a file: values, then tables, then lists of tables."""
    lines = [f"{_key(name)} = {value_text(value)}" for name, value in scenario.items() if not _is_table(value)]
    for name, value in scenario.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{_key(name)}]", *(f"{_key(key)} = {value_text(one)}" for key, one in value.items())]
        elif _is_table(value):
            for entry in value:
                lines += ["", f"[[{_key(name)}]]", *(f"{_key(key)} = {value_text(one)}" for key, one in entry.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _is_table(value: Any) -> bool:
    entries = isinstance(value, list | tuple) and bool(value) and all(isinstance(one, Mapping) for one in value)
    return isinstance(value, Mapping) or entries


def _key(name: str) -> str:
    plain = bool(name) and all(c.isascii() and (c.isalnum() or c in "-_") for c in name)
    return name if plain else json.dumps(name, ensure_ascii=False)
