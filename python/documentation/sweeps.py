"""Tables of the reference (docs/reference): keys of sweep and tuning files, measures."""

from __future__ import annotations

from collections.abc import Sequence

from backwater.experiments import axis_values, sweep_file, tuning_file
from backwater.experiments.sweep_measures import MEASURES
from backwater.experiments.toml_document import Key


def keys() -> dict[str, str]:
    """The keys of a sweep file and of a tuning file, by a heading."""
    return {
        "A sweep": f"{_keys(sweep_file.KEYS)}\n\nA range, in `[axes]` and `[[zip]]`:\n\n{_keys(axis_values.KEYS)}",
        "A tuning": f"{_keys(tuning_file.KEYS)}\n\nA range, in `[parameters]`:\n\n{_keys(tuning_file.RANGE_KEYS)}",
    }


def _keys(keys: Sequence[Key]) -> str:
    rows = [f"| `{key.name}` | {key.takes} | {key.default} | {key.meaning} | `{key.example}` |" for key in keys]
    return "\n".join(["| key | takes | default | meaning | example |", "|---|---|---|---|---|", *rows])


def measures() -> str:
    """Every measure that tables of sweeps have."""
    of = {"traffic": "traffic entry", "run": "run"}
    better = {"minimize": "less", "maximize": "more", None: ""}
    rows = [f"| `{name}` | {of[one.scope]} | {better[one.better]} | {one.meaning} |" for name, one in MEASURES.items()]
    return "\n".join(["| measure | of each | better | what |", "|---|---|---|---|", *rows])
