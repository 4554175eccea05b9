"""Who sends in a scenario: its traffic entries, and its jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What a job may have instead of steps.
_INSTEAD = ("trace", "program", "gpcnet")


def of(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every traffic entry and every job of a resolved scenario.

    A job has what traffic entries have, too: `kind` (steps, trace, program or gpcnet), `transport` and `control`.
    """
    return [*scenario.get("traffic", []), *(_job(scenario, job) for job in scenario.get("job", []))]


def names(scenario: Mapping[str, Any]) -> list[str]:
    """Their names, in the order in which tables number them."""
    return [entry["name"] for entry in of(scenario)]


def _job(scenario: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, Any]:
    # Filled in by the run, and not written into the job.
    shared = {"transport": scenario.get("host", {}).get("transport", "roce"), "control": "cc"}
    kind = next((kind for kind in _INSTEAD if job.get(kind) is not None), "steps")
    return {"kind": kind} | shared | {key: value for key, value in job.items() if value is not None}
