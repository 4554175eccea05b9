"""``bw.sweep``: a sweep from Python, with the words of sweep files; ``bw.paired`` tests its schemes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from backwater.analysis import scheme_tests
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.experiments import engines, sweep_file, sweep_tables
from backwater.experiments.executor import raise_first
from backwater.experiments.progress import watching
from backwater.experiments.sweep import Sweep, cache_at
from backwater.experiments.sweep_measures import MEASURES
from backwater.experiments.toml_document import Document

__all__ = ["paired", "sweep"]


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


def paired(frame: pl.DataFrame, *measures: str, by: str = "scheme") -> pl.DataFrame:
    """Test the schemes of a frame of :func:`sweep` against the first one, seed by seed, with one correction for all.

    One row for each traffic entry, measure, scheme and combination of the other keys (``at``): ``effect`` with ``low``
    and ``high`` (the geometric mean of the ratios with its 95 % interval, or the mean difference where a value is 0, as
    ``kind`` says), ``pairs``, ``p`` of Wilcoxon's signed-rank test, ``p_holm`` with Holm's correction, and what is
    ``shown``: lower, higher, or nothing. `measures` are columns of the frame; by default those that tell most. `by` may
    be a key instead, of which the traffic must not depend::

        bw.paired(bw.sweep("loads.toml", seeds=8), "p99_slowdown")
    """
    for name in (by, "seed", "traffic", *measures):
        if name not in frame.columns:
            raise UsageError(f"paired: the frame has no column {name!r}; it has {', '.join(frame.columns)}")
    if unknown := [name for name in measures if name not in MEASURES]:
        raise UsageError(f"paired: {unknown[0]!r} is no measure; there is {', '.join(MEASURES)}")
    if frame[by].n_unique() < 2:
        raise UsageError(f"paired: column {by!r} has one value only; there is nothing to compare")
    return scheme_tests.table(scheme_tests.of(sweep_tables.to_compare(frame, by), measures))


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
