"""``backwater cache``: the runs that `sweep` and `tune` keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from backwater.cli.options import Json
from backwater.common import quantities
from backwater.experiments.sweep import cache_at

_DAY_S = 86_400


def info(*, cache: Path | None = None, json_: Json = False) -> None:
    """Print where the cache is, how many runs it has, and how large it is.

    Parameters
    ----------
    cache
        The folder; $BACKWATER_CACHE or ~/.cache/backwater if not given.
    json_
        Print JSON.
    """
    with cache_at(cache) as kept:
        entries = list(kept.entries())
        size = sum(one for _, one, _ in entries)
        if json_:
            print(json.dumps({"folder": str(kept.folder), "runs": len(entries), "bytes": size}))
        else:
            print(f"{kept.folder}: {quantities.counted(len(entries), 'run')}, {quantities.size(size)}")


def clear(
    *,
    older_than: Annotated[float | None, Parameter(validator=validators.Number(gte=0))] = None,
    cache: Path | None = None,
    json_: Json = False,
) -> None:
    """Remove what the cache has. Tables of sweeps stay, and runs that are under way.

    Parameters
    ----------
    older_than
        Only what no sweep has asked for in so many days.
    cache
        The folder; $BACKWATER_CACHE or ~/.cache/backwater if not given.
    json_
        Print JSON.
    """
    with cache_at(cache) as kept:
        count, freed = kept.clear(None if older_than is None else older_than * _DAY_S)
        if json_:
            print(json.dumps({"folder": str(kept.folder), "removed": count, "bytes": freed}))
        else:
            print(f"{kept.folder}: removed {quantities.counted(count, 'run')}, {quantities.size(freed)}")
