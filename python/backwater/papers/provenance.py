"""Of which commit a report and its runs are: one of a tree with changes, or of several commits, says so."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from backwater.common import atomic_files
from backwater.experiments.executor import Job

FILE = "commits.json"
_CHANGED = " with changes that are not committed"


@dataclass(frozen=True)
class Tree:
    """The checkout that this package is in, as it is now."""

    commit: str
    changed: bool

    def __str__(self) -> str:
        return f"commit {self.commit}{_CHANGED if self.changed else ''}"


def tree() -> Tree | None:
    """The checkout; None if the package is in none, or git is not there."""
    home = Path(__file__).resolve().parents[3]
    if not (home / ".git").exists():
        return None
    git = ["git", "-C", str(home)]
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    try:
        commit, changes = (
            subprocess.run(  # noqa: S603
                [*git, *words], capture_output=True, text=True, check=True, timeout=10, env=environment
            ).stdout.strip()
            for words in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return Tree(commit, bool(changes))


def note(root: Path, jobs: Iterable[Job]) -> None:
    """Remember of which commit these runs will be: before they begin, as what ends them may leave no time for it."""
    begun = [job.out.name for job in jobs if job.out]
    now = tree()
    if begun and now is not None:
        known = _read(root) | dict.fromkeys(begun, str(now))
        root.mkdir(parents=True, exist_ok=True)
        atomic_files.write_text(root / FILE, json.dumps(known, indent=1) + "\n")


def marks(root: Path, runs: Iterable[Path], now: Tree | None) -> list[str]:
    """What a reader must know before citing a report: sentences, none for one commit without changes."""
    known = _read(root)
    of = Counter(known.get(run.name, "a commit that was not recorded") for run in runs)
    found = []
    if (now is not None and now.changed) or any(name.endswith(_CHANGED) for name in of):
        found.append("This report is of a tree with changes that are not committed: nobody can make it again")
    if len(of) > 1:
        told = ", ".join(f"{count} of {name}" for name, count in sorted(of.items()))
        found.append(f"This report is stitched from runs of several commits: {told}")
    return found


def _read(root: Path) -> dict[str, str]:
    try:
        found = json.loads((root / FILE).read_text(encoding="utf-8"))
        return {str(run): str(commit) for run, commit in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}
