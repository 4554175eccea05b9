"""A run that is stepped: `begin`, and what it returns."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self, SupportsIndex

from backwater import _core
from backwater.api.experiment import Experiment, planned, with_functions
from backwater.api.inputs import Inputs
from backwater.api.results import Results
from backwater.common.atomic_files import Staged
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.experiments.executor import ready
from backwater.experiments.resumed import resumed
from backwater.extend import UserFunction, faults
from backwater.extend.loading import Functions
from backwater.scenario.toml_writer import value_text

#: What a flow to come needs, and what it may say besides.
NEEDED = ("src", "dst", "size_bytes", "start_ps")
OPTIONAL = ("traffic", "priority")
#: What their numbers have at most.
_MOST = {
    "src": 2**32 - 1,
    "dst": 2**32 - 1,
    "size_bytes": 2**64 - 1,
    "start_ps": 2**64 - 1,
    "traffic": 2**16 - 1,
    "priority": 7,
}


class Completion(NamedTuple):
    """A flow that has ended; the names are those of the flows table."""

    flow: int
    traffic: str
    src: str
    dst: str
    size_bytes: int
    start_ps: int
    #: None: its queue pair has given it up.
    finish_ps: int | None


class SteppedRun:
    """A run that stands between two steps; `begin` makes one.

    What happens is the same however a run is cut into steps. Leaving a ``with`` block, or letting go of the run, ends
    it where it stands: its results are partial then, as of a run that was interrupted.
    """

    def __init__(
        self, core: _core.SteppedRun, staged: Staged, functions: Functions | None, inputs: Inputs, held: ExitStack
    ) -> None:
        self._core = core
        self._staged = staged
        self._functions = functions
        self._inputs = inputs
        self._now_ps, self._over = 0, False
        # The folder of a run is kept, too, that nobody closes.
        self._end = weakref.finalize(self, _close, core, staged, inputs, held)

    def step(self, until: str | SupportsIndex) -> Self:
        """Run to `until` (``"1ms"``, or picoseconds), and stand there, though all flows may be done before.

        A run with `run.until` stands there if that comes first. The interpreter is free meanwhile. Ctrl-C ends the run.
        Returns itself.
        """
        return self._step(until, to_completion=False)

    def step_to_completion(self, until: str | SupportsIndex = 2**64 - 1) -> Self:
        """Run as `step` does, but not beyond the first instant at which a flow ends.

        The run stands a picosecond later, so that what comes of that end can still be injected. It stays where it is
        while there are completions that were not asked for. Without `until` it runs until a flow ends, or all are done.
        """
        return self._step(until, to_completion=True)

    def _step(self, until: str | SupportsIndex, *, to_completion: bool) -> Self:
        instant = until if isinstance(until, str) else _whole(until, 2**64 - 1)
        if instant is None:
            raise UsageError(
                f'step: until = {until!r}; give a text such as "1ms", or whole picoseconds from 0 to {2**64 - 1}'
            )
        with self._told():
            try:
                self._core.step(instant, to_completion)
            finally:
                with suppress(_core.ScenarioError):
                    self._look()
        return self

    def _look(self) -> None:
        self._now_ps, self._over = self._core.stands()

    @property
    def now_ps(self) -> int:
        """How far it has come, in picoseconds: nothing at this instant or after it has happened.

        What is injected starts here or later.
        """
        return self._now_ps

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do: all flows that it knows are done, or `run.until` is reached.

        After the first of these it goes on with flows that are injected.
        """
        return self._over

    def save(self, file: str | Path) -> Path:
        """Save it where it stands, into a file from which `resume` goes on; returns the file.

        A file of that name is replaced as a whole. The run goes on as if nothing had been.
        """
        if self._inputs.files:
            raise UsageError(
                "save: flows of this run were given as a table; write them to a file, and name that in the scenario"
            )
        place = Path(file)
        with self._told():
            self._core.save(place)
        return place

    def completions(self) -> list[Completion]:
        """The flows that have ended since the last call, in the order in which they did."""
        return [Completion(*ended) for ended in self._core.completions()]

    def inject(self, flows: Mapping[str, Any] | Iterable[Mapping[str, Any]] | pl.DataFrame) -> range:
        """Add flows that start now or later; returns their numbers in the flows table.

        A flow is a mapping with `src` and `dst` (names of hosts, or their numbers), `size_bytes` and `start_ps`; and
        `traffic`, the entry whose transport, controller and priority it has, where there are several. `priority` gives
        it another one than its entry's. A table of polars with these columns will do, too. What happens is what would
        have if they had been the last flows of the scenario from the beginning.
        """
        rows = [flows] if isinstance(flows, Mapping) else flows
        if not isinstance(rows, list | tuple) and isinstance(rows, pl.DataFrame):
            rows = rows.iter_rows(named=True)
        if not hasattr(rows, "__iter__"):
            raise UsageError(f"inject: {rows!r} is no list of flows; give mappings with {', '.join(NEEDED)}")
        given = [_row(number, row) for number, row in enumerate(rows)]
        first = self._core.inject(given)
        self._look()
        return range(first, first + len(given))

    def finish(self) -> Results:
        """Run to the end, and return the results as `run` does."""
        return self._ended(self._core.finish)

    def stop(self) -> Results:
        """End it where it stands: results that are partial, unless the run is over."""
        return self._ended(self._core.stop)

    def close(self) -> None:
        """End it where it stands, if it is not finished."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ended(self, end: Callable[[], str]) -> Results:
        with self._told():
            try:
                end()
            finally:
                self._end()
        return Results(self._staged.place)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except _core.UserFunctionError as fault:
            raise (faults.explained(str(fault), self._functions) if self._functions else fault) from None


def _close(core: _core.SteppedRun, staged: Staged, inputs: Inputs, held: ExitStack) -> None:
    """Keep what a run has, finished or not."""
    with held:
        core.close()
        if staged.keep_partial() is not None:
            inputs.keep(staged.place)


def _whole(value: object, most: int) -> int | None:
    """A whole number from 0 to `most`, of Python or of numpy; None: it is none."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        whole = operator.index(value)
    except TypeError:  # An array of several numbers.
        return None
    return whole if 0 <= whole <= most else None


def _row(number: int, row: object) -> tuple[str | int | None, str | int, str | int, int, int, int | None]:
    if not isinstance(row, Mapping):
        raise UsageError(
            f"inject: flows[{number}] = {row!r} is no flow; give a mapping with {', '.join(NEEDED)}, such as "
            '{"src": 0, "dst": 1, "size_bytes": 100_000, "start_ps": 0}'
        )
    missing = [key for key in NEEDED if key not in row]
    unknown = [key for key in row if key not in (*NEEDED, *OPTIONAL)]
    if missing or unknown:
        wrong = f"has no {', '.join(missing)}" if missing else f"has {', '.join(unknown)}, which no flow has"
        raise UsageError(f"inject: flows[{number}] {wrong}; a flow is {', '.join(NEEDED)}, and {', '.join(OPTIONAL)}")
    given: dict[str, Any] = {}
    for key, most in _MOST.items():
        value = row.get(key)
        if (isinstance(value, str) and key in ("src", "dst", "traffic")) or (value is None and key in OPTIONAL):
            given[key] = value
            continue
        given[key] = _whole(value, most)
        if given[key] is None:
            named = "names, or " if key in ("src", "dst", "traffic") else ""
            raise UsageError(
                f"inject: flows[{number}]: {key} = {value!r}; allowed: {named}whole numbers from 0 to {most}"
            )
    return (
        given["traffic"],
        given["src"],
        given["dst"],
        given["size_bytes"],
        given["start_ps"],
        given["priority"],
    )


def begin(
    experiment: str | Path | Mapping[str, Any] | Experiment,
    *,
    seed: int | None = None,
    overrides: Sequence[str] = (),
    scheme: str | None = None,
    threads: int | None = None,
    out: str | Path | None = None,
    cc: UserFunction | None = None,
    detector: UserFunction | None = None,
) -> SteppedRun:
    """Make a run ready that stands at its beginning, to be stepped; the words are those of `run`.

    ::

        with bw.begin("incast.toml", out="results/stepped") as run:
            run.step(until="1ms")
            ended = run.completions()
            run.inject({"src": "h0", "dst": "h3", "size_bytes": 1_000_000, "start_ps": run.now_ps})
            results = run.finish()
    """
    one = with_functions(experiment, cc, detector)
    if seed is not None:
        one.seeds([seed])
    with ExitStack() as held:
        extra = held.enter_context(one.inputs.written())
        jobs = planned(one, (*overrides, *extra), scheme, threads, out)
        if len(jobs) != 1 or (place := jobs[0].out) is None:
            raise UsageError(f"this experiment has {len(jobs)} runs; one is stepped: begin each of them by itself")
        read, functions = ready(jobs[0])
        staged = held.enter_context(jobs[0].stage(place))
        core = read.begin(staged.folder, functions.for_core() if functions else None)
        return SteppedRun(core, staged, functions, one.inputs, held.pop_all())


def resume(
    checkpoint: str | Path,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002  the word of the command line
    threads: int | None = None,
    out: str | Path | None = None,
) -> SteppedRun:
    """Go on from a file that a run was saved in: a run that stands where that one stood.

    ::

        with bw.begin("incast.toml", out="results/warm") as run:
            run.step(until="1ms").save("warm.ckpt")
        with bw.resume("warm.ckpt", set={"cc.dcqcn.g": 0.01}, out="results/gentle") as run:
            results = run.finish()

    `set` gives keys other values that its state can follow: `run.until`, the parameters of controllers and detectors,
    and thresholds of PFC. `fault` may have more faults, which begin where the run stands or later. Results have what
    was recorded before, too. They go to `out`; without it to a folder with the name of the file, beside it.
    """
    changes = tuple(f"{key}={value_text(value)}" for key, value in (set or {}).items())
    job = resumed(Path(checkpoint), changes, threads, None if out is None else Path(out))
    if job.out is None:
        raise UsageError("resume: name a folder for the results")
    with ExitStack() as held:
        read, functions = ready(job)
        staged = held.enter_context(job.stage(job.out))
        core = read.begin(staged.folder, functions.for_core() if functions else None, job.checkpoint)
        run = SteppedRun(core, staged, functions, Inputs(), held.pop_all())
        run._look()  # noqa: SLF001  it does not stand at the beginning
        return run
