"""The same scenario on another network: its `[topology]` taken from another file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from backwater.errors import UsageError
from backwater.scenario.scenario import Scenario


def on(scenario: Scenario, name: str, lines: str) -> Scenario:
    """The scenario with the network of these lines, a [topology], which is called `name`."""
    text = "".join([*_lines(scenario.text, inside=False), "\n", lines])
    return Scenario(text, named(scenario.origin, name), scenario.base_dir)


def named(origin: str, name: str) -> str:
    """What a scenario of `origin` is called on another network."""
    file = Path(origin)
    return f"{file.stem}-on-{name}{file.suffix}"


def alone(file: Path) -> str:
    """The [topology] of a file, at its place: all other lines are empty, so that messages name the right ones.

    Raises UsageError for a file without one.
    """
    text = Scenario.load(file).text
    if file.suffix != ".toml":
        return f'[topology]\nkind = "hpcc"\nfile = {json.dumps(str(file.absolute()))}\n'
    try:
        topology = tomllib.loads(text).get("topology")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: {error}") from None
    if not isinstance(topology, dict) or not any(_lines(text, inside=True)):
        raise UsageError(f"{file} has no [topology]; name a TOML file that has one, or a topology.txt")
    kept: list[str] = []
    within = False
    for line in text.splitlines(keepends=True):
        header = _HEADER.fullmatch(line.strip())
        within = header[1] == "topology" if header is not None else within
        kept.append(line if within else "\n")
    return "".join(kept)


def _lines(text: str, *, inside: bool) -> Iterator[str]:
    """The lines of the tables of [topology], or all others."""
    within = False
    for line in text.splitlines(keepends=True):
        header = _HEADER.fullmatch(line.strip())
        if header is not None:
            within = header[1] == "topology"
        if within == inside:
            yield line if line.endswith("\n") else line + "\n"


#: The header of a table, `[a.b]` or `[[a.b]]`, with the first part of its name; a line of a list of values is none.
_HEADER = re.compile(r"\[\[?\s*([A-Za-z_][\w-]*)\s*(?:\.[^\]]*)?\]\]?\s*(?:#.*)?")
