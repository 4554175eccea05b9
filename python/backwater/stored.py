"""Runs that are kept by their content: a second call finds what the first one did, and does only what changed.

A run is named by what it runs: resolved scenario, files that it reads, seed, and the build of the core. Equal runs are
one.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.running import folder_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backwater.running import Scenario

#: What does not change a trajectory, and so is no part of a run's name.
_IMMATERIAL = ("threads", "engine", "seed")
#: What a Parquet file begins and ends with.
_MAGIC = b"PAR1"


def folder(root: Path, scenario: Scenario, overrides: tuple[str, ...], seed: int, scheme: str = "") -> Path:
    """The results folder of one run below `root`; raises `ScenarioError` for a scenario that cannot run.

    The hash at its end says which run it is, the words before it are for people: a run that another scheme has done
    keeps its folder.
    """
    content = _content(scenario, overrides)
    name = hashlib.sha256(f"{content} {seed}".encode()).hexdigest()[:12]
    there = min((root / "runs").glob(f"*-s{seed}-{name}"), default=None)
    return there or root / "runs" / f"{folder_name(scenario, (), seed, scheme)}-{name}"


def finished(run: Path) -> bool:
    """Whether a results folder holds a complete run, with every table whole; one that does not is to be run again."""
    try:
        meta = json.loads((run / "run.json").read_text(encoding="utf-8"))
        return bool(meta["status"] == "complete") and all(
            _whole(run / table["file"], table.get("bytes")) for table in meta["tables"].values()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _whole(file: Path, size: int | None) -> bool:
    """Whether a Parquet file has its size and its two ends: a copy that broke off, or a full disk, shows there."""
    with file.open("rb") as table:
        begin = table.read(len(_MAGIC))
        end = table.seek(0, os.SEEK_END)
        if begin != _MAGIC or end < 2 * len(_MAGIC) or size not in (None, end):
            return False
        table.seek(-len(_MAGIC), os.SEEK_END)
        return table.read() == _MAGIC


@lru_cache(maxsize=4096)
def _content(scenario: Scenario, overrides: tuple[str, ...]) -> str:
    """What a run depends on besides its seed, hashed."""
    resolved = scenario.resolve(overrides)
    # The other schemes of a file are no part of this run.
    material = {key: value for key, value in resolved.items() if key != "scheme"}
    material["run"] = {key: value for key, value in resolved["run"].items() if key not in _IMMATERIAL}
    hasher = hashlib.sha256(build().encode())
    hasher.update(json.dumps(material, sort_keys=True).encode())
    for file in _files(resolved):
        hasher.update((scenario.base_dir / file).read_bytes())
    return hasher.hexdigest()


def _files(value: Any) -> Iterator[str]:
    """Every file that a resolved scenario names."""
    if isinstance(value, dict):
        for key, inner in sorted(value.items()):
            if key == "file" and isinstance(inner, str):
                yield inner
            else:
                yield from _files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _files(inner)


@cache
def build() -> str:
    """The build of the core: another build could give other results under the same version."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()
