"""The plan of a reproduction on disk, `runs.json` beside its report: what was asked for, and where the runs are."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from backwater.common import atomic_files
from backwater.errors import UsageError
from backwater.papers.paper_figure import Given
from backwater.papers.reproduce import FigureRun, Reproduction

FILE = "runs.json"


@dataclass(frozen=True)
class Manifest:
    """A call of `backwater reproduce`: its words, and its plan."""

    system: str
    command: str
    figures: tuple[str, ...]
    profiles: tuple[str, ...]
    quick: bool
    plan: Reproduction
    #: A user's own rows, and the checkout that they need.
    given: Given = field(default_factory=Given)

    def write(self, folder: Path) -> Path:
        """Write it to `folder`; the paths of runs in it are relative to there, so that both may move together."""
        cells = [
            asdict(cell) | {"folder": Path(os.path.relpath(cell.folder, folder)).as_posix()} for cell in self.plan.cells
        ]
        asked = [[figure, profile, count] for (figure, profile), count in self.plan.seeds.items()]
        facts = {name: getattr(self, name) for name in ("system", "command", "figures", "profiles", "quick")}
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / FILE
        given = {name: str(path) for name, path in asdict(self.given).items() if path is not None}
        whole = {"format": 1, **facts, "given": given, "seeds": asked, "blocked": self.plan.blocked, "cells": cells}
        atomic_files.write_text(file, json.dumps(whole, indent=1) + "\n")
        return file

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read it back; raises UsageError for a folder without one, and for one that is damaged."""
        file = folder / FILE
        try:
            data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            cells = [
                FigureRun(**(cell | {"folder": folder / cell["folder"], "overrides": tuple(cell["overrides"])}))
                for cell in data["cells"]
            ]
            seeds = {(figure, profile): int(count) for figure, profile, count in data["seeds"]}
            blocked = [(figure, profile, int(seed)) for figure, profile, seed in data["blocked"]]
            return cls(
                data["system"],
                data["command"],
                tuple(data["figures"]),
                tuple(data["profiles"]),
                bool(data["quick"]),
                Reproduction(cells=cells, seeds=seeds, blocked=blocked),
                Given(**{name: Path(path) for name, path in data.get("given", {}).items()}),
            )
        except (FileNotFoundError, NotADirectoryError):
            raise UsageError(f"{folder} is not the folder of a report: {_instead(folder)}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{file} is damaged ({error}); run backwater reproduce again") from None


def _instead(folder: Path) -> str:
    """What to give in the place of a folder without a manifest."""
    if folder.is_file():
        return "it is a file"
    parts = sorted(file.parent for file in folder.glob(f"*/{FILE}"))
    if parts:
        return f"it has no {FILE}; what was run is in {', '.join(map(str, parts))}"
    return f"it has no {FILE}; see backwater reproduce --help"
