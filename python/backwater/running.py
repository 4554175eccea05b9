"""Running scenarios: one, or many at once on all cores, with progress; what is finished is kept.

The core releases the GIL while it runs, so threads are enough. A run that is interrupted writes what it has and says
that it is partial.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from backwater import _core
from backwater.errors import UsageError, require_text
from backwater.staging import Staged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from backwater.extend.loading import Functions
    from backwater.results import Results


@dataclass(frozen=True)
class Scenario:
    """The text of a scenario file and where it came from; paths in it are relative to `base_dir`."""

    text: str
    origin: str
    base_dir: Path
    #: Whether it has no file, so that nothing but its text tells it from others.
    nameless: bool = False

    @classmethod
    def load(cls, file: str | Path) -> Scenario:
        """Read a scenario file; its meaning is checked by :func:`validate` and at the start of a run."""
        path = Path(file)
        require_text(path.absolute())
        try:
            text = _read(path).decode("utf-8")
        except FileNotFoundError:
            raise UsageError(f"there is no scenario file {path.absolute()}") from None
        except IsADirectoryError:
            raise UsageError(f"{path.absolute()} is a folder, not a scenario file") from None
        except PermissionError:
            raise UsageError(f"{path.absolute()} may not be read") from None
        except OSError as error:
            raise UsageError(f"{path.absolute()} cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{path} is not UTF-8 text (byte {error.start} is 0x{error.object[error.start]:02x}); save it as UTF-8"
            ) from None
        return cls(text, str(path), path.absolute().parent)

    @property
    def name(self) -> str:
        """What results are called by: the file's stem; of a scenario.toml, the one of its folder, the folder's name.

        One without a file is called by its content.
        """
        path = Path(self.origin)
        if self.nameless:
            return f"{path.stem}-{hashlib.sha256(self.text.encode()).hexdigest()[:8]}"
        return path.stem if path.name != "scenario.toml" else path.absolute().parent.name or path.stem

    def resolve(self, overrides: Sequence[str] = ()) -> dict[str, Any]:
        """The whole scenario with every default filled in; raises `ScenarioError` with a pointed message."""
        resolved: dict[str, Any] = json.loads(
            _core.validate(self.text, self.origin, str(self.base_dir), list(overrides))
        )
        return resolved


def _read(path: Path) -> bytes:
    """The bytes of a file; of a named pipe too, unless nobody writes to it, which would mean waiting for ever."""
    if not path.is_fifo():
        return _core.read_input(path, _core.MOST_WRITTEN)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        first = pipe.read(1 << 16)
        if first == b"":
            raise UsageError(f"{path} is a pipe that nobody writes to")
        os.set_blocking(pipe.fileno(), True)
        read = [first or b""]
        while (more := pipe.read(1 << 20)) and sum(map(len, read)) <= _core.MOST_WRITTEN:
            read.append(more)
        if sum(map(len, read)) > _core.MOST_WRITTEN:
            raise UsageError(f"{path} gives more than {_core.MOST_WRITTEN} bytes: is it a scenario?")
        return b"".join(read)


@dataclass(frozen=True)
class Job:
    """One run to do. `out` None keeps nothing on disk; `cost` is what it takes, in CPU seconds as far as known.

    `stage` makes the folder that the run writes to until it is over.
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


@dataclass(frozen=True)
class Outcome:
    """What became of a job: its run.json, or why there is none."""

    job: Job
    summary: dict[str, Any] | None
    error: BaseException | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the run, or it never started because others were stopped."""
        return isinstance(self.error, KeyboardInterrupt)


class Watcher(Protocol):
    """Who is told how far the runs are; called from worker threads."""

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


@dataclass
class _Pool:
    """Runs jobs in threads; `stop` makes every run end at its next report of progress."""

    watcher: Watcher | None
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self, job: Job) -> Outcome:
        """One job, start to end, in the calling thread."""
        if self.stop.is_set():
            return Outcome(job, None, KeyboardInterrupt())
        if self.watcher:
            self.watcher.started(job)
        functions = staged = None
        try:
            functions = functions_of(job)
            staged = None if job.out is None else job.stage(job.out)
            text = _core.run(
                job.scenario.text,
                job.scenario.origin,
                str(job.scenario.base_dir),
                list(job.overrides),
                None if staged is None else str(staged.folder),
                job.threads,
                job.seed,
                lambda progress: self._report(job, progress, functions),
                functions.for_core() if functions else None,
            )
            if staged is not None:
                staged.keep()
            outcome = Outcome(job, json.loads(text))
        except KeyboardInterrupt as interrupt:
            # Also where it came in the middle of what is done with a run that is over.
            self.stop.set()
            outcome = _kept(job, staged, interrupt)
        except _core.UserFunctionError as fault:
            from backwater.extend import faults

            told = faults.explained(str(fault), functions) if functions else fault
            # A call that Ctrl-C ended did not fail by itself.
            outcome = Outcome(job, None, KeyboardInterrupt() if self.stop.is_set() else told)
        except Exception as error:  # noqa: BLE001  a failed run must not take the others with it
            outcome = Outcome(job, None, error)
        finally:
            if staged is not None:
                staged.close()
        return self._finished(outcome)

    def _finished(self, outcome: Outcome) -> Outcome:
        if self.watcher:
            try:
                self.watcher.finished(outcome)
            except KeyboardInterrupt as interrupt:
                # Polars at work in this thread takes Ctrl-C for itself, and the main thread hears nothing of it.
                self.stop.set()
                return Outcome(outcome.job, None, interrupt)
        return outcome

    def _report(self, job: Job, progress: _core.Progress, functions: Functions | None) -> None:
        if self.stop.is_set():
            if functions:
                functions.interrupt()
            raise KeyboardInterrupt
        if self.watcher:
            self.watcher.advanced(job, fraction_done(progress), progress)


def functions_of(job: Job) -> Functions | None:
    """The functions of the user's that a job's scenario names, ready to be called; None if it names none."""
    if not any("custom" in text for text in (job.scenario.text, *job.overrides)):
        return None
    from backwater.extend import loading

    return loading.functions_of(job)


def _kept(job: Job, staged: Staged | None, interrupt: KeyboardInterrupt) -> Outcome:
    """What an interrupted run left behind."""
    try:
        return Outcome(job, None if staged is None else staged.keep_partial(), interrupt)
    except UsageError as error:
        return Outcome(job, None, error)


def run_jobs(jobs: Sequence[Job], workers: int | None = None, watcher: Watcher | None = None) -> list[Outcome]:
    """Run every job, `workers` at a time (default: one per core), and return their outcomes in the order of `jobs`.

    Ctrl-C ends the running ones at once, keeping their results as partial, and starts no others.
    """
    pool = _Pool(watcher)
    with ThreadPoolExecutor(max_workers=min(workers or cores(), len(jobs)) or 1) as executor:
        futures = [executor.submit(pool.run, job) for job in jobs]
        _wait(futures, pool.stop)
    return [future.result() for future in futures]


def _wait(futures: list[Future[Outcome]], stop: threading.Event) -> None:
    pending = set(futures)
    while pending:
        try:
            # A timeout lets Python look for Ctrl-C, also where waiting for a lock cannot be interrupted.
            _, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
        except KeyboardInterrupt:
            stop.set()


def run(
    scenario: str | Path,
    *,
    overrides: Sequence[str] = (),
    scheme: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    out: str | Path | None = None,
) -> Results:
    """Run one scenario file and return its results.

    `overrides` are ``"key=value"`` texts as of ``--set``; `scheme` is the name of one of the file's schemes (None: the
    file as it is, without any). Results go to `out`, by default to
    ``results/<scenario>-s<seed>`` in the working folder. Raises `ScenarioError` for bad input, `ValueError` for a seed
    that is not a 64-bit number, and `InvariantError` if the model broke a promise.
    """
    from backwater.results import Results

    _checked_seed(seed)
    loaded, given = Scenario.load(scenario), tuple(overrides)
    if scheme is not None:
        from backwater import schemes

        given = schemes.of(loaded, overrides, [scheme])[0].overrides
    folder = Path(out) if out is not None else Path("results") / folder_name(loaded, overrides, seed, scheme or "")
    job = Job(loaded.origin, loaded, given, seed, folder, threads, scheme or "")
    outcome = run_jobs([job], workers=1)[0]
    if outcome.error is not None:
        raise outcome.error
    return Results(folder)


def validate(scenario: str | Path, *, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Check a scenario file and return it with every default filled in."""
    return Scenario.load(scenario).resolve(overrides)


def folder_name(scenario: Scenario, overrides: Sequence[str], seed: int | None, scheme: str = "") -> str:
    """Name of a run's results folder: the scenario's, the scheme, what was overridden, the seed.

    `overrides` are those of the user; what a scheme sets is in its name. Of a key that is given more than once the last
    value is run, and named. What would not fit, or not survive, in the name of a folder is replaced by a hash.
    """
    last = {key.strip(): value.strip() for key, _, value in (text.partition("=") for text in overrides)}
    # The seed is named anyway; under --seeds it is not the one that was given.
    last.pop("run.seed", None)
    words = [*([scheme] if scheme else []), *(f"{key}-{value.strip(_QUOTES)}" for key, value in last.items())]
    changes = "".join(f"-{word}" for word in words)
    if len(changes) > 60 or not all(c.isalnum() or c in ".-_+" for c in changes):
        changes = "-" + hashlib.sha256("\n".join(words).encode()).hexdigest()[:8]
    shown = seed if seed is not None else scenario.resolve(overrides)["run"]["seed"]
    return f"{scenario.name}{changes}-s{shown}"


_QUOTES = "\"'"
#: Seeds are 64-bit numbers.
MAX_SEED = 2**64 - 1


def numbered(scenario: Scenario, overrides: Sequence[str], first: int | None, count: int) -> range:
    """The seeds of `count` runs, from `first` or from the scenario's own on; raises UsageError beyond the last."""
    begin = first if first is not None else int(scenario.resolve(overrides)["run"]["seed"])
    if begin + count - 1 > MAX_SEED:
        raise UsageError(f"{count} seeds from {begin} go beyond the last, 2**64 - 1; begin at {MAX_SEED - count + 1}")
    return range(begin, begin + count)


def _checked_seed(seed: int | None) -> None:
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise ValueError(f"seed = {seed} is not between 0 and 2**64 - 1")
