"""``backwater report``: the report of a reproduction again, from the runs that there are."""

from __future__ import annotations

from pathlib import Path

from backwater.cli.commands.reproduce import finish
from backwater.cli.options import Json
from backwater.papers.manifest import Manifest


def report(
    folder: Path,
    /,
    *,
    json_: Json = False,
) -> int:
    """Measure, draw and judge again what `backwater reproduce` ran, without running anything, and write the report.

    Claims, measures and drawings are those of the checkout as it is now. What is missing is named in the report, and
    its claims are "not run".

    Parameters
    ----------
    folder
        Where `backwater reproduce` wrote its report: results/reproduce/tcd of the whole paper, of a part a folder in
        there, such as results/reproduce/tcd/quick.
    json_
        Print only the verdicts, as JSON.
    """
    return finish(Manifest.read(folder), folder, _root(folder), None, as_json=json_)


def _root(folder: Path) -> Path:
    """The folder of the whole reproduction: that of a part is within it."""
    return folder if (folder / "runs").is_dir() or not (folder.parent / "runs").is_dir() else folder.parent
