"""Runs that are kept by their content: a second call finds what the first one did, and does only what changed.

A run is named by its content key (:mod:`backwater.experiments.content_key`). Equal runs are one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from backwater.errors import UsageError
from backwater.experiments import content_key
from backwater.results import Results
from backwater.scenario.scenario import folder_name

if TYPE_CHECKING:
    from pathlib import Path

    from backwater.scenario.scenario import Scenario

#: What a Parquet file begins and ends with.
_MAGIC = b"PAR1"


@dataclass
class Store:
    """Runs below a folder. What a scenario depends on is looked up once: for one plan, not for longer."""

    root: Path
    _known: dict[tuple[Scenario, tuple[str, ...]], dict[str, Any]] = field(default_factory=dict)

    def folder(self, scenario: Scenario, overrides: tuple[str, ...], seed: int, scheme: str = "") -> Path:
        """The results folder of one run; raises `ScenarioError` for a scenario that cannot run.

        The hash at its end says which run it is, the words before it are for people: a run that another scheme has done
        keeps its folder.
        """
        if (scenario, overrides) not in self._known:
            self._known[scenario, overrides] = content_key.of(scenario, overrides)
        key = content_key.key(self._known[scenario, overrides], seed)[:12]
        there = min((self.root / "runs").glob(f"*-s{seed}-{key}"), default=None)
        return there or self.root / "runs" / f"{folder_name(scenario, (), seed, scheme)}-{key}"


def finished(run: Path) -> bool:
    """Whether a results folder holds a complete run, with every table whole; one that does not is to be run again."""
    try:
        found = Results(run)
        return found.complete and all(_whole(run / table["file"], table["bytes"]) for table in found.tables.values())
    except (OSError, UsageError):
        return False


def _whole(file: Path, size: int | None) -> bool:
    """Whether a Parquet file has its size and its two ends: a copy that broke off, or a full disk, shows there."""
    with file.open("rb") as table:
        begin = table.read(len(_MAGIC))
        end = table.seek(0, os.SEEK_END)
        if begin != _MAGIC or end < 2 * len(_MAGIC) or size not in (None, end):
            return False
        table.seek(-len(_MAGIC), os.SEEK_END)
        return table.read() == _MAGIC
