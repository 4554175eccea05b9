"""Measures that tables of sweeps have of a run (docs/sweeps.md lists them)."""

from __future__ import annotations

from backwater.cli.explaining.entry import Entry
from backwater.experiments.sweep_measures import MEASURES


def entries() -> list[Entry]:
    """All of them, in the order of the tables; their units are in their names."""
    of = {"traffic": "each traffic entry", "run": "the run as a whole"}
    return [
        Entry(f"sweep.{name}", "measure", measure.meaning, "", {"of": of[measure.scope]})
        for name, measure in MEASURES.items()
    ]
