"""The same scenario on another network: its `[topology]` taken from another file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from backwater.errors import UsageError
from backwater.scenario.scenario import Scenario


def on(scenario: Scenario, file: Path) -> Scenario:
    """The scenario with the network of `file`: a TOML file with a [topology], or a topology.txt of the HPCC simulator.

    Raises UsageError for a file that is neither.
    """
    section = _section(file)
    name = f"{Path(scenario.origin).stem}-on-{file.stem}{Path(scenario.origin).suffix}"
    return Scenario("".join([*_lines(scenario.text, inside=False), "\n", section]), name, scenario.base_dir)


def alone(file: Path) -> str:
    """The [topology] of a file, at its place: all other lines are empty, so that messages name the right ones.

    Raises UsageError for a file without one.
    """
    section = _section(file)
    if file.suffix != ".toml":
        return section
    kept: list[str] = []
    within = False
    for line in Scenario.load(file).text.splitlines(keepends=True):
        header = _HEADER.fullmatch(line.strip())
        within = header[1] == "topology" if header is not None else within
        kept.append(line if within else "\n")
    return "".join(kept)


def _section(file: Path) -> str:
    text = Scenario.load(file).text
    if file.suffix != ".toml":
        return f'[topology]\nkind = "hpcc"\nfile = {json.dumps(str(file.absolute()))}\n'
    try:
        topology = tomllib.loads(text).get("topology")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"--topology {file}: {error}") from None
    found = "".join(_lines(text, inside=True))
    if not isinstance(topology, dict) or not found:
        raise UsageError(f"--topology {file}: it has no [topology]; name a TOML file that has one, or a topology.txt")
    # What it names stands beside the file that is read.
    named = {key: file.absolute().parent / str(topology[key]) for key in ("file", "table") if key in topology}
    kept = [line for line in found.splitlines(keepends=True) if line.partition("=")[0].strip() not in named]
    places = "".join(f"{key} = {json.dumps(str(path))}\n" for key, path in named.items())
    return f"{kept[0]}{places}{''.join(kept[1:])}"


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
