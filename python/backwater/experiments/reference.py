"""The tables of docs/sweeps.md that are made from the code: keys and measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.experiments import axis_values, sweep_file, tuning_file
from backwater.experiments.sweep_measures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.experiments.toml_document import Key


def sections() -> dict[str, str]:
    """What stands below each heading."""
    return {
        "Keys of a sweep": _keys(sweep_file.KEYS)
        + "\n\nA range, in `[axes]` and `[[zip]]`:\n\n"
        + _keys(axis_values.KEYS),
        "Keys of a tuning": _keys(tuning_file.KEYS)
        + "\n\nA range, in `[parameters]`:\n\n"
        + _keys(tuning_file.RANGE_KEYS),
        "Measures": _measures(),
    }


def _keys(keys: Sequence[Key]) -> str:
    rows = [f"| `{key.name}` | {key.takes} | {key.default} | {key.meaning} | `{key.example}` |" for key in keys]
    return "\n".join(["| key | takes | default | meaning | example |", "|---|---|---|---|---|", *rows])


def _measures() -> str:
    of = {"traffic": "traffic entry", "run": "run"}
    rows = [f"| `{name}` | {of[one.scope]} | {one.meaning} |" for name, one in MEASURES.items()]
    return "\n".join(["| measure | of each | what |", "|---|---|---|", *rows])
