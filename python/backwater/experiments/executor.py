"""Running scenarios: one, or many at once on all cores, with progress; what is finished is kept.

The core releases the GIL while it runs, so threads are enough. A run that is interrupted writes what it has and says
that it is partial.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from backwater import _core
from backwater.common import codes
from backwater.common.atomic_files import Staged
from backwater.errors import UsageError
from backwater.experiments import content_key
from backwater.experiments.estimates import Estimate
from backwater.extend import faults
from backwater.extend.loading import Functions, functions_of
from backwater.scenario.scenario import Scenario


@dataclass(frozen=True)
class Job:
    """One run to do. `out` None keeps nothing on disk; `cost` is what it takes, in CPU seconds as far as known.

    `stage` makes the folder that the run writes to until it is over. `sweep` are the values of the axes of its plan as
    ``--set`` takes them, `values` the same as they are. Of a run that a cache may have, `key` says what its content is.
    """

    label: str
    scenario: Scenario
    overrides: tuple[str, ...] = ()
    seed: int | None = None
    out: Path | None = None
    threads: int | None = None
    scheme: str = ""
    sweep: tuple[str, ...] = ()
    cost: float = 1.0
    stage: Callable[[Path], Staged] = Staged
    values: tuple[Any, ...] = ()
    key: str = ""
    estimate: Estimate | None = None
    #: Whether the processes that were joined share the run.
    shared: bool = False
    profiled: bool = False
    #: What it goes on from, if it does not begin.
    checkpoint: _core.Checkpoint | None = None
    #: Where it is saved, and after how many seconds again.
    saves: tuple[Path, float] | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a job, whose `out` is where its results are: its run.json, or why there is none."""

    job: Job
    summary: dict[str, Any] | None
    error: BaseException | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the run, or it never started because others were stopped."""
        return isinstance(self.error, KeyboardInterrupt)


class Engine(Protocol):
    """Who does jobs, each with a place of its own: threads of this machine, or a cluster."""

    def __call__(self, jobs: Sequence[Job], *, watcher: Watcher | None) -> list[Outcome]:
        """Run them; their outcomes in the same order."""


class Watcher(Protocol):
    """Who is told how far the runs are; called from worker threads. One that is `live` has them looked at meanwhile."""

    live: bool

    def started(self, job: Job) -> None:
        """A run begins."""

    def advanced(self, job: Job, fraction: float, progress: _core.Progress) -> None:
        """A run is at `fraction` of its end (an estimate where the end is not a time)."""

    def finished(self, outcome: Outcome) -> None:
        """A run ended, one way or the other."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fraction_done(progress: _core.Progress) -> float:
    """How much of a run is behind it; the last hundredth is left to what comes after the expected end."""
    end = progress["expected_end_ps"]
    return min(0.99, progress["sim_time_ps"] / end) if end else 0.0


def ready(job: Job) -> tuple[_core.Scenario, Functions | None]:
    """The scenario of a job as the core reads it, and the functions that it names."""
    own = {"run.threads": job.threads, "run.seed": job.seed, "run.profiled": "true" if job.profiled else None}
    given = (f"{key}={value}" for key, value in own.items() if value is not None)
    read = job.scenario.read([*job.overrides, *given])
    return read, functions_of(read, job.scenario.base_dir)


def _program() -> int:
    """A number that differs between builds of the core."""
    return int(content_key.build()[:16], 16)


@dataclass
class _Pool:
    """Runs jobs in threads; once `stopped`, every run ends at its next report of progress.

    That is a flag without a lock: a handler of signals, which may interrupt itself, sets it.
    """

    watcher: Watcher | None
    stopped: bool = False

    def run(self, job: Job) -> Outcome:
        """One job, start to end, in the calling thread."""
        if self.stopped:
            return Outcome(job, None, KeyboardInterrupt())
        if self.watcher:
            self.watcher.started(job)
        functions = staged = place = None
        try:
            read, functions = ready(job)
            staged = None if job.out is None else job.stage(job.out)
            place = None if staged is None else staged.place
            text = read.run(
                None if staged is None else staged.folder,
                lambda progress: self._report(job, progress, functions),
                functions.for_core() if functions else None,
                self.watcher is not None and self.watcher.live,
                _program() if job.shared else None,
                job.checkpoint,
                job.saves,
            )
            if staged is not None:
                staged.keep()
            outcome = Outcome(job, json.loads(text))
        except KeyboardInterrupt as interrupt:
            # Also where it came in the middle of what is done with a run that is over.
            self.stopped = True
            outcome = _kept(job, staged, interrupt)
        except _core.UserFunctionError as fault:
            told = faults.explained(str(fault), functions) if functions else fault
            # A call that Ctrl-C ended did not fail by itself.
            outcome = Outcome(job, None, KeyboardInterrupt() if self.stopped else told)
        except OSError as error:
            outcome = Outcome(job, None, _of_place(error, job, staged))
        except Exception as error:  # noqa: BLE001  a failed run must not take the others with it
            outcome = Outcome(job, None, error)
        finally:
            if staged is not None:
                staged.close()
        outcome = self._finished(outcome)
        if job.out is None or staged is None or staged.place == place:
            return outcome
        return replace(outcome, job=replace(job, out=job.out.with_name(staged.place.name)))

    def _finished(self, outcome: Outcome) -> Outcome:
        if self.watcher:
            try:
                self.watcher.finished(outcome)
            except KeyboardInterrupt as interrupt:
                # Polars at work in this thread takes Ctrl-C for itself, where the handler is still its own.
                self.stopped = True
                return Outcome(outcome.job, None, interrupt)
        return outcome

    def _report(self, job: Job, progress: _core.Progress, functions: Functions | None) -> None:
        if self.stopped:
            if functions:
                functions.interrupt()
            raise KeyboardInterrupt
        if self.watcher:
            self.watcher.advanced(job, fraction_done(progress), progress)


def _of_place(error: OSError, job: Job, staged: Staged | None) -> OSError:
    """What the core could not write, by the name that the file would have at the end: it has another one meanwhile."""
    if staged is None or error.filename is not None:
        return error
    told = str(error).replace(str(staged.folder), str(job.out)).replace(".parquet.part", ".parquet")
    return codes.as_coded(OSError(told), codes.of_error(error))


def _kept(job: Job, staged: Staged | None, interrupt: KeyboardInterrupt) -> Outcome:
    """What an interrupted run left behind."""
    try:
        return Outcome(job, None if staged is None else staged.keep_partial(), interrupt)
    except UsageError as error:
        return Outcome(job, None, error)


def run_jobs(jobs: Sequence[Job], workers: int | None = None, watcher: Watcher | None = None) -> list[Outcome]:
    """Run every job, `workers` at a time (default: one per core), and return their outcomes in the order of `jobs`.

    Those that take longest begin first, so that no core waits for the last of them.
    Ctrl-C ends the running ones at once, keeping their results as partial, and starts no others.
    """
    pool = _Pool(watcher)
    with _heard(pool), ThreadPoolExecutor(max_workers=min(workers or cores(), len(jobs)) or 1) as executor:
        try:
            begun = sorted(range(len(jobs)), key=lambda place: -jobs[place].cost)
            futures = {place: executor.submit(pool.run, jobs[place]) for place in begun}
            pending = set(futures.values())
            while pending:
                # A timeout lets Python look for Ctrl-C, also where waiting for a lock cannot be interrupted.
                pending = wait(pending, timeout=0.2).not_done
        except BaseException:
            # Of a handler that is not Python's own: the executor waits for what was begun before it lets go.
            pool.stopped = True
            raise
    return [futures[place].result() for place in range(len(jobs))]


def raise_first(outcomes: Sequence[Outcome]) -> None:
    """Raise the error of the first run that has one."""
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error


@contextmanager
def _heard(pool: _Pool) -> Iterator[None]:
    """Ctrl-C stops the pool and is no exception: one comes anywhere, and could leave a lock of the executor held.

    Handlers are the main thread's; those that somebody else has set are left to them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) is signal.default_int_handler]

    def stop(*_: object) -> None:
        pool.stopped = True

    try:
        for one in asked:
            signal.signal(one, stop)
        yield
    finally:
        for one in asked:
            signal.signal(one, signal.default_int_handler)
