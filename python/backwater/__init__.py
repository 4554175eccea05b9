"""Backwater: a laboratory for congestion in lossless networks.

>>> import backwater
>>> results = backwater.run("scenarios/single-congestion-point.toml", seed=1)   # doctest: +SKIP
>>> results.flows.collect()                                                     # doctest: +SKIP

A scenario is one TOML file; :func:`run` writes one results folder and returns it as :class:`Results`, whose tables are
lazy polars frames. The command line (``backwater --help``) uses the same words.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from backwater._core import InvariantError, ScenarioError, __version__

if TYPE_CHECKING:
    from backwater.api.experiment import Experiment, run
    from backwater.api.results import Results
    from backwater.api.runs import Runs, ci
    from backwater.api.stepped import Completion, SteppedRun, begin, resume
    from backwater.api.sweep import paired, sweep
    from backwater.errors import ResultsChangedError, UsageError
    from backwater.extend import (
        ACK,
        CE,
        CNP,
        CONGESTION,
        DEPARTURE,
        JUDGING,
        NEVER,
        NON_CONGESTION,
        RESUME,
        SEND,
        TIMER,
        UE,
        UNDETERMINED,
        PlainPythonWarning,
        UserCodeError,
        congestion_control,
        detector,
    )
    from backwater.scenario.scenario import validate

#: Where names live that are not of `backwater.extend`. They are imported when they are used, so that
#: ``backwater --help`` and ``import backwater`` stay quick.
_HOMES = {
    "Completion": "backwater.api.stepped",
    "Experiment": "backwater.api.experiment",
    "Results": "backwater.api.results",
    "ResultsChangedError": "backwater.errors",
    "Runs": "backwater.api.runs",
    "SteppedRun": "backwater.api.stepped",
    "UsageError": "backwater.errors",
    "begin": "backwater.api.stepped",
    "ci": "backwater.api.runs",
    "paired": "backwater.api.sweep",
    "resume": "backwater.api.stepped",
    "run": "backwater.api.experiment",
    "sweep": "backwater.api.sweep",
    "validate": "backwater.scenario.scenario",
}

__all__ = [
    "ACK",
    "CE",
    "CNP",
    "CONGESTION",
    "DEPARTURE",
    "JUDGING",
    "NEVER",
    "NON_CONGESTION",
    "RESUME",
    "SEND",
    "TIMER",
    "UE",
    "UNDETERMINED",
    "Completion",
    "Experiment",
    "InvariantError",
    "PlainPythonWarning",
    "Results",
    "ResultsChangedError",
    "Runs",
    "ScenarioError",
    "SteppedRun",
    "UsageError",
    "UserCodeError",
    "__version__",
    "begin",
    "ci",
    "congestion_control",
    "detector",
    "paired",
    "resume",
    "run",
    "sweep",
    "validate",
]


def __getattr__(name: str) -> object:
    """Import what needs polars or threads only when it is used."""
    if name not in __all__:
        raise AttributeError(f"module 'backwater' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "backwater.extend")), name)


def __dir__() -> list[str]:
    """What there is, imported or not."""
    return sorted(__all__)
