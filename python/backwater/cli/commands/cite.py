"""``backwater cite``: how to cite Backwater, and the papers behind a scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from backwater.cli.options import Json
from backwater.errors import UsageError
from backwater.results import Results
from backwater.scenario import references, schemes
from backwater.scenario.scenario import Scenario


def cite(where: Path | None = None, /, *, json_: Json = False) -> None:
    """Print BibTeX of Backwater and of the papers that a scenario's algorithms, network and workloads come from.

    A comment before each entry says which settings it stands behind.

    Parameters
    ----------
    where
        A scenario file, of which every scheme counts, or a folder with results, of which every run counts. Without it,
        the entry of Backwater alone.
    json_
        Print JSON.
    """
    found = [references.PROGRAM, *references.of(_scenarios(where) if where else [])]
    if json_:
        print(json.dumps([one.as_json() for one in found], indent=2))
    else:
        print("\n".join(one.bibtex() for one in found), end="")


def _scenarios(where: Path) -> list[dict[str, Any]]:
    """The scenarios of a file or a folder, with every default filled in."""
    if not where.is_dir():
        return [one.scenario.resolve(one.overrides) for one in schemes.of(Scenario.load(where))]
    found = [run.meta["scenario"] for run in Results.find(where)]
    if not found:
        raise UsageError(f"{where} holds no results; give a folder that `backwater run` wrote, or a scenario file")
    return found
