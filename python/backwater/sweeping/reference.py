"""The tables of docs/sweeps.md that are made from the code: keys and measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.sweeping import plan, task, values
from backwater.sweeping.measured import MEASURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backwater.sweeping.document import Key


def sections() -> dict[str, str]:
    """What stands below each heading."""
    return {
        "Keys of a sweep": f"{_keys(plan.KEYS)}\n\nA range, in `[axes]` and `[[zip]]`:\n\n{_keys(values.KEYS)}",
        "Keys of a tuning": f"{_keys(task.KEYS)}\n\nA range, in `[parameters]`:\n\n{_keys(task.RANGE_KEYS)}",
        "Measures": _measures(),
    }


def _keys(keys: Sequence[Key]) -> str:
    rows = [f"| `{key.name}` | {key.takes} | {key.default} | {key.meaning} | `{key.example}` |" for key in keys]
    return "\n".join(["| key | takes | default | meaning | example |", "|---|---|---|---|---|", *rows])


def _measures() -> str:
    of = {"traffic": "traffic entry", "run": "run"}
    rows = [f"| `{name}` | {of[one.of]} | {one.meaning} |" for name, one in MEASURES.items()]
    return "\n".join(["| measure | of each | what |", "|---|---|---|", *rows])
