"""``backwater describe``: what a results folder holds, and what its columns mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from backwater import _core
from backwater.analysis import roles, run_notes
from backwater.cli.options import Json
from backwater.common import quantities, terminal
from backwater.results import Results


def describe(
    results: Path,
    /,
    *,
    json_: Json = False,
) -> None:
    """Print what a results folder holds: where ranks were, of each table the type, unit and meaning of every column.

    Parameters
    ----------
    results
        A results folder.
    json_
        Print JSON.
    """
    run = Results(results)
    for table in run.tables:
        run.check(table)
    columns = [entry for entry in json.loads(_core.dictionary()) if entry["table"] in run.tables]
    if json_:
        print(json.dumps({"run": run.meta, "roles": roles.of(run), "columns": columns}, indent=2))
    else:
        _print(run, columns)


def _print(run: Results, columns: list[dict[str, Any]]) -> None:
    console = terminal.stdout()
    console.say(f"{run.folder}: {run.meta['command']} (version {run.meta['version']})")
    for line in run_notes.of(run):
        console.say(line)
    if rows := roles.of(run):
        console.print(roles.table(rows))
    for name, info in run.tables.items():
        title = f"{info['file']}: {quantities.count(info['rows'])} rows, {quantities.size(info['bytes'])}"
        table = terminal.table(title, ("column", "type", "unit", "meaning"))
        for entry in columns:
            if entry["table"] == name:
                table.add_row(entry["column"], entry["type"], entry["unit"], entry["doc"])
        console.print(table)
