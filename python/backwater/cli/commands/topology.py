"""``backwater topology``: what a network is like, before anything runs in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.table import Table

from backwater.cli.options import Json, Set
from backwater.common import terminal
from backwater.scenario import network_facts


def topology(
    file: Path,
    /,
    *,
    set_: Set = None,
    json_: Json = False,
) -> None:
    """Print the size of a network, its diameter, bisection, oversubscription, and which routings can deadlock.

    Only the [topology] of the file counts.

    Parameters
    ----------
    file
        A TOML file with a [topology], or a topology.txt of the HPCC simulator.
    set_
        Override a key: topology.KEY=VALUE. May be given several times.
    json_
        Print JSON, with all nodes and links.
    """
    facts = network_facts.of(file, set_ or [])
    if json_:
        print(json.dumps(facts, indent=2))
    else:
        _print(file, facts)


def _print(file: Path, facts: dict[str, Any]) -> None:
    console = terminal.stdout()
    console.say(f"{file}: {facts['kind']}, routing {facts['routing']}")
    console.print(_sizes(network_facts.lines(facts)))
    console.print(_routings(facts["deadlock"]))
    for line in network_facts.circles(facts["deadlock"]):
        console.say(line)


def _sizes(lines: list[tuple[str, str, str]]) -> Table:
    table = Table(title="Network", title_justify="left", header_style="bold")
    table.add_column("what", no_wrap=True)
    table.add_column("value", justify="right")
    table.add_column("meaning", overflow="fold")
    for line in lines:
        table.add_row(*line)
    return table


def _routings(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Deadlock, all to all", title_justify="left", header_style="bold")
    table.add_column("routing", no_wrap=True)
    table.add_column("lanes", justify="right")
    table.add_column("free of deadlock", overflow="fold")
    for row in rows:
        free = "not known" if row["free"] is None else "yes" if row["free"] else "no"
        table.add_row(row["routing"], str(row["lanes"]), free)
    return table
