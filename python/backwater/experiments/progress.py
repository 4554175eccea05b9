"""Progress of runs on the terminal: bars with an ETA, or one plain line per run where there is no terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from backwater import _core
from backwater.common import quantities, terminal
from backwater.common.terminal import Printer
from backwater.experiments.executor import Job, Outcome, Watcher


class _Plan:
    """Says once, before the first run starts, where the results of each of them would be cut off."""

    def __init__(self, console: Printer) -> None:
        self._console = console
        self._said = False
        self._lock = threading.Lock()

    def say(self, progress: _core.Progress) -> None:
        with self._lock:
            if not self._said and progress["plan"] is not None:
                limit = progress["plan"].removeprefix("at most ")
                self._console.say(f"limit of each run's results (probe.budget): {limit}")
            self._said = True


class Bars:
    """One bar per run under way, and one for all of them where there are several.

    That one moves by what runs cost, not by their number, so that its ETA holds when a few runs are most of the work.
    """

    live = False

    def __init__(self, console: Printer, progress: Progress, jobs: Sequence[Job]) -> None:
        self._progress = progress
        self._plan = _Plan(console)
        self._tasks: dict[int, TaskID] = {}
        self._fractions: dict[int, float] = {}
        self._lock = threading.Lock()
        self._ended = 0
        self._total = len(jobs)
        work = sum(job.cost for job in jobs)
        self._all = progress.add_task(f"{len(jobs)} runs", total=work, detail="") if len(jobs) > 1 else None

    def started(self, job: Job) -> None:
        """Show the run; its bar only pulses until its end is known."""
        with self._lock:
            self._tasks[id(job)] = self._progress.add_task(job.label, total=None, detail="")

    def advanced(self, job: Job, fraction: float, progress: _core.Progress) -> None:
        """Move its bar."""
        self._plan.say(progress)
        detail = f"{quantities.time(progress['sim_time_ps'])} simulated"
        total = 1.0 if progress["expected_end_ps"] else None
        self._progress.update(self._tasks[id(job)], completed=fraction, total=total, detail=detail)
        self._move(job, fraction)

    def finished(self, outcome: Outcome) -> None:
        """Take its bar away when there are others, else leave it as it ended."""
        task = self._tasks[id(outcome.job)]
        if self._all is not None:
            self._progress.remove_task(task)
        elif outcome.error is None:
            self._progress.update(task, completed=1.0, total=1.0)
        with self._lock:
            self._ended += 1
        self._move(outcome.job, 1.0)

    def _move(self, job: Job, fraction: float) -> None:
        if self._all is not None:
            with self._lock:
                self._fractions[id(job)] = fraction * job.cost
                done = sum(self._fractions.values())
            self._progress.update(self._all, completed=done, detail=f"{self._ended} of {self._total} done")


class Lines:
    """One line when a run ends, for logs and pipes; of many short runs only one a second is told."""

    live = False

    #: So few runs that each gets its line.
    _FEW = 20

    def __init__(self, console: Printer, jobs: Sequence[Job]) -> None:
        self._console = console
        self._plan = _Plan(console)
        self._total = len(jobs)
        self._work = sum(job.cost for job in jobs)
        self._done = 0
        self._worked = 0.0
        self._lock = threading.Lock()
        self._start = self._said = time.monotonic()

    def started(self, job: Job) -> None:
        """Say nothing yet."""

    def advanced(self, job: Job, fraction: float, progress: _core.Progress) -> None:  # noqa: ARG002
        """Say nothing but what may be written."""
        self._plan.say(progress)

    def finished(self, outcome: Outcome) -> None:
        """Count the run and say how long the rest will take."""
        with self._lock:
            self._done += 1
            self._worked += outcome.job.cost
            elapsed = time.monotonic() - self._start
            left = elapsed / self._worked * (self._work - self._worked)
            words = f"about {left:.0f} s" if left >= 1 else "less than 1 s"
            rest = f", {words} left" if self._done < self._total else ""
            now, ends = time.monotonic(), self._done == self._total
            if self._total > self._FEW and now - self._said < 1 and not ends and outcome.error is None:
                return
            self._said = now
            state = "interrupted" if outcome.interrupted else "failed" if outcome.error else "done"
            self._console.say(
                f"[{self._done}/{self._total}] {outcome.job.label}: {state} after {elapsed:.1f} s{rest}",
            )


@contextmanager
def watching(jobs: Sequence[Job], *, quiet: bool = False) -> Iterator[Watcher | None]:
    """The right watcher of `jobs` for where stderr goes: bars on a terminal, lines elsewhere, nothing if `quiet`."""
    console = terminal.stderr()
    if quiet:
        yield None
    elif console.is_terminal:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f} %", table_column=Column(min_width=5)),
            TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True)),
            TextColumn("elapsed,", table_column=Column(min_width=8)),
            TimeRemainingColumn(table_column=Column(min_width=7, no_wrap=True)),
            TextColumn("left", table_column=Column(min_width=4)),
            TextColumn("[dim]{task.fields[detail]}", table_column=Column(overflow="ellipsis", no_wrap=True)),
        )
        with Progress(*columns, console=console) as progress:
            yield Bars(console, progress, jobs)
    else:
        yield Lines(console, jobs)
