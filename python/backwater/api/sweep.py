"""``bw.sweep``: a sweep from Python, with the words of sweep files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.experiments import engines, sweep_file
from backwater.experiments.executor import raise_first
from backwater.experiments.progress import watching
from backwater.experiments.sweep import Sweep, cache_at
from backwater.experiments.toml_document import Document

__all__ = ["sweep"]


def sweep(
    file: str | Path | None = None,
    *,
    scenario: str | Path | None = None,
    set: Sequence[str] | None = None,  # noqa: A002  the words of the file
    axes: Mapping[str, Iterable[Any] | Mapping[str, Any]] | None = None,
    zip: Sequence[Mapping[str, Iterable[Any]]] | None = None,  # noqa: A002
    schemes: Sequence[str] | None = None,
    seeds: int | Iterable[int] | Mapping[str, int] | None = None,
    measures: Sequence[str] | None = None,
    jobs: int | None = None,
    cache: bool | str | Path = True,
    on: Literal["here", "ray"] = "here",
    address: str | None = None,
    out: str | Path | None = None,
    progress: bool = False,
) -> pl.DataFrame:
    """Run a sweep and return one row per run and traffic entry: the keys that vary, ``seed``, measures, ``digest``.

    `file` is a sweep file; `scenario`, `set`, `axes`, `zip`, `schemes`, `seeds` and `measures` are what it may say
    (docs/sweeps.md), and replace what it says. Without a file paths count from the working folder::

        frame = bw.sweep(scenario="star.toml", axes={"traffic.web.load": [0.2, 0.4]}, seeds=5)
        frame.group_by("traffic.web.load", "traffic").agg(bw.ci("mean_fct_ps"))

    What `cache` has is not run again: True is the usual one, a path another, False none. `jobs` are the runs at a
    time; `on` and `address` as of ``--on ray``. With `out` the tables are written to that folder, too. `progress` shows
    how far it is.

    Every combination is checked before anything runs. Raises `UsageError` and `ScenarioError` for bad input; if runs
    fail, the error of the first, when all others are done and in the cache. After Ctrl-C the same call goes on where it
    was.
    """
    given = {
        "scenario": None if scenario is None else str(scenario),
        "set": set,
        "axes": axes,
        "zip": zip,
        "schemes": schemes,
        "seeds": seeds,
        "measures": measures,
    }
    found = sweep_file.of(_document(file, {name: _plain(value) for name, value in given.items() if value is not None}))
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise UsageError(f"jobs = {jobs!r}: give a number of runs at a time, from 1")
    run = engines.engine(on, address, jobs)
    with cache_at(None if isinstance(cache, bool) else Path(cache), wanted=cache is not False) as kept:
        asked = Sweep.of(found, kept)
        asked.run(asked.missing(), run, partial(watching, quiet=not progress))
        raise_first(asked.outcomes)
        frame = asked.frame()
        if out is not None:
            asked.write(frame, Path(out))
    return frame


def _document(file: str | Path | None, given: Mapping[str, Any]) -> Document:
    if file is None:
        return Document("sweep()", Path.cwd(), given)
    read = Document.load(file, "sweep file")
    lines = {path: line for path, line in read.lines.items() if path.partition(".")[0] not in given}
    tables = {**read.tables, **given}
    if "scenario" in given:
        # What is given in a call counts from where the call is.
        tables["scenario"] = str(Path(str(given["scenario"])).absolute())
    return Document(read.origin, read.base, tables, lines)


def _plain(value: Any) -> Any:
    """Tuples, ranges, arrays and series as lists, numbers of numpy as numbers: what TOML would give."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, str | bytes | bool | int | float):
        return value
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist") and callable(value.tolist):
        return value.tolist()
    if isinstance(value, Iterable):
        return [_plain(one) for one in value]
    return value
