"""numpy and polars, imported where they are first used.

They take 0.4 s of CPU to import, twice what a command and the library that parses its words take: help, and commands
without tables, do without them. What draws imports them as usual, and matplotlib, which takes longer.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray
else:

    class _Late:
        """A module that is not imported yet."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            return getattr(importlib.import_module(self._name), attribute)

    np, pl = _Late("numpy"), _Late("polars")
    #: Only for annotations.
    NDArray = list

__all__ = ["NDArray", "np", "pl"]
