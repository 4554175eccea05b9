"""Backwater: a laboratory for congestion in lossless networks.

>>> import backwater
>>> results = backwater.run("scenarios/single-congestion-point.toml", seed=1)   # doctest: +SKIP
>>> results.flows.collect()                                                     # doctest: +SKIP

A scenario is one TOML file; :func:`run` writes one results folder and returns it as :class:`Results`, whose tables are
lazy polars frames. The command line (``backwater --help``) uses the same words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater._core import InvariantError, ScenarioError, __version__

if TYPE_CHECKING:
    from backwater.results import Results
    from backwater.running import run, validate

__all__ = ["InvariantError", "Results", "ScenarioError", "__version__", "run", "validate"]

_HOMES = {"Results": "backwater.results", "run": "backwater.running", "validate": "backwater.running"}


def __getattr__(name: str) -> object:
    """Import what needs polars or threads only when it is used, so that ``backwater --help`` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'backwater' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
