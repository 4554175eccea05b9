"""Tables as CSV, one file each, with the names of the columns in the first line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backwater.common import atomic_files
from backwater.errors import UsageError
from backwater.results import Results


def write(run: Results, tables: Sequence[str], folder: Path) -> list[Path]:
    """Write these tables, or all, into a folder; returns the files."""
    unknown = [name for name in tables if not run.has(name)]
    if unknown:
        raise UsageError(f"{run.folder} has no table {unknown[0]!r} (it has {', '.join(run.tables)}); see [probe]")
    made = []
    for name in tables or list(run.tables):
        out = folder / f"{name}.csv"
        with atomic_files.asked(out) as place:
            run.table(name).sink_csv(place)
        made.append(out)
    return made
