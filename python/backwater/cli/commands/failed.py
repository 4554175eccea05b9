"""What a command says of runs that failed: all of them, each by its name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from backwater._core import InvariantError, ScenarioError
from backwater.common import codes
from backwater.experiments.executor import Outcome
from backwater.extend.errors import UserCodeError


def of(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The runs that failed, and not because somebody stopped them."""
    return [outcome for outcome in outcomes if outcome.error is not None and not outcome.interrupted]


def raise_first(outcomes: Sequence[Outcome]) -> None:
    """Raise the failure of the first run that failed, if one did; those of the others are printed.

    Where there are several runs each failure has the name of its run before it.
    """
    failed = of(outcomes)
    for outcome in failed[1:]:
        print(f"{outcome.job.label}: {outcome.error}", file=sys.stderr)
    if not failed or failed[0].error is None:
        return
    error = failed[0].error
    if len(outcomes) > 1 and isinstance(error, (InvariantError, ScenarioError, UserCodeError)):
        named = type(error)(f"{failed[0].job.label}: {error}")
        # What a function of the user's raised is told with its lines.
        raise codes.as_coded(named, codes.of_error(error)) from error.__cause__
    raise error


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Plain values for ``--json``: which run it was, and the message that a person would have read."""
    kinds = {InvariantError: "invariant", OSError: "output"}
    kind = next((word for error, word in kinds.items() if isinstance(outcome.error, error)), "input")
    scheme = {"scheme": outcome.job.scheme} if outcome.job.scheme else {}
    sweep = {"sweep": list(outcome.job.sweep)} if outcome.job.sweep else {}
    known = {"seed": outcome.job.seed, "status": "failed"}
    return scheme | sweep | known | {"error": {"kind": kind, "message": str(outcome.error)}}
