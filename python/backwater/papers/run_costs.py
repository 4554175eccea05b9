"""What runs are expected to take: measured on an earlier seed or call, else as the figure says.

Only the order of runs and the ETA depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from backwater.common import atomic_files
from backwater.experiments.executor import Job, Outcome
from backwater.papers.reproduce import Reproduction


def _file(root: Path, *, quick: bool) -> Path:
    return root / ("costs-quick.json" if quick else "costs.json")


def read(root: Path, *, quick: bool) -> dict[str, float]:
    """CPU seconds by kind of run, as measured by earlier calls; empty if there were none."""
    try:
        found = json.loads(_file(root, quick=quick).read_text(encoding="utf-8"))
        return {str(key): float(value) for key, value in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def expected(made: Reproduction, known: Mapping[str, float]) -> Reproduction:
    """The plan with the costs of its jobs set to what is known of their kind."""
    made.jobs = {folder: replace(job, cost=known.get(_kind(job), job.cost)) for folder, job in made.jobs.items()}
    return made


def learn(root: Path, known: Mapping[str, float], outcomes: Sequence[Outcome], *, quick: bool) -> None:
    """Remember what these runs took."""
    took = {
        _kind(outcome.job): max(float(outcome.summary.get("cpu_s", 0.0)), 1e-3)
        for outcome in outcomes
        if outcome.summary is not None and outcome.error is None
    }
    if took:
        root.mkdir(parents=True, exist_ok=True)
        atomic_files.write_text(_file(root, quick=quick), json.dumps(dict(known) | took, indent=1) + "\n")


def _kind(job: Job) -> str:
    """A run without its seed."""
    return job.label.rpartition(" seed ")[0]
