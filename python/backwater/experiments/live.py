"""A view of runs while they go on (``--live``): how far, how fast, and which ports are hot."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Group
from rich.live import Live as Screen
from rich.table import Table

from backwater import _core
from backwater.common import quantities, terminal
from backwater.common.terminal import Printer
from backwater.experiments.executor import Job, Outcome, Watcher
from backwater.experiments.progress import Lines

#: How often the view is drawn, and how often a line is said where there is no terminal, in seconds.
_REFRESH_HZ = 2
_LINE_S = 10.0
#: So many runs and ports are shown.
_RUNS = 12
_PORTS = 8


@dataclass
class Standing:
    """How one run stands."""

    label: str
    began: float
    fraction: float = 0.0
    progress: _core.Progress | None = None
    look: _core.Look | None = None
    #: Packet-hops per second between the last two looks.
    pace: float = 0.0
    seen: float = 0.0

    def take(self, fraction: float, progress: _core.Progress, now: float) -> None:
        """Learn how far it is `now`, on the clock of the wall."""
        self.fraction, self.progress = fraction, progress
        look, last = progress["look"], self.look
        if look is None or look == last:
            return
        since, before = (self.seen, last["packet_hops"]) if last else (self.began, 0)
        self.pace = (look["packet_hops"] - before) / max(now - since, 1e-3)
        self.look, self.seen = look, now

    def left_s(self, now: float) -> float | None:
        """The seconds that are left, if the rest goes as quickly; None as long as nobody can know."""
        return (now - self.began) / self.fraction * (1 - self.fraction) if self.fraction > 0 else None

    def cells(self, now: float) -> tuple[str, str, str, str]:
        """Simulated time, flows, pace and what is left."""
        if self.progress is None:
            return "begins", "", "", ""
        at, end = self.progress["sim_time_ps"], self.progress["expected_end_ps"]
        flows = f"{quantities.count(self.look['flows_done'])} of " if self.look else ""
        left = self.left_s(now)
        return (
            f"{quantities.time(at)} ({self.fraction:.0%})" if end else quantities.time(at),
            f"{flows}{quantities.count(self.progress['flows'])}",
            f"{self.pace / 1e6:.2f} M/s" if self.look else "",
            "not known" if left is None else f"about {left:.0f} s",
        )

    def line(self, now: float) -> str:
        """The same in a line, with the longest queue and the ports that are held back."""
        at, flows, pace, left = self.cells(now)
        if self.progress is None:
            return f"{self.label}: begins"
        parts = [f"{at} simulated", f"{flows} flows"]
        if pace:
            parts.append(f"{pace.removesuffix('/s')} packet-hops/s")
        parts.append(f"time left {left}")
        ports = self.look["ports"] if self.look else []
        if ports and ports[0][1]:
            parts.append(f"longest queue {ports[0][0]} {quantities.size(ports[0][1])}")
        held = [name for name, _, closed, _ in ports if closed]
        if held:
            parts.append(f"held back {', '.join(held[:3])}{' and others' if len(held) > 3 else ''}")
        return f"{self.label}: {', '.join(parts)}"


class Live(Lines):
    """Watches runs and looks at them while they go on; says a line when one ends, as without it."""

    live = True

    def __init__(self, console: Printer, jobs: Sequence[Job]) -> None:
        super().__init__(console, jobs)
        self._standing: dict[int, Standing] = {}
        self._changes = threading.Lock()

    def started(self, job: Job) -> None:
        """Show the run."""
        with self._changes:
            self._standing[id(job)] = Standing(job.label, time.monotonic())

    def advanced(self, job: Job, fraction: float, progress: _core.Progress) -> None:
        """Learn how far it is."""
        super().advanced(job, fraction, progress)
        with self._changes:
            self._standing[id(job)].take(fraction, progress, time.monotonic())

    def finished(self, outcome: Outcome) -> None:
        """Show it no more, and say that it ended."""
        with self._changes:
            self._standing.pop(id(outcome.job), None)
        super().finished(outcome)

    def standing(self) -> list[Standing]:
        """The runs under way, those first that began first."""
        with self._changes:
            return list(self._standing.values())

    def __rich__(self) -> Group:
        """What a terminal shows."""
        now, runs = time.monotonic(), self.standing()
        return Group(_runs_table(runs, now), _ports_table(runs)) if runs else Group()

    def lines(self) -> list[str]:
        """What a log gets, a line for each run under way."""
        now = time.monotonic()
        return [one.line(now) for one in self.standing()]


def _runs_table(runs: Sequence[Standing], now: float) -> Table:
    made = terminal.table("", ["run"], ["simulated", "flows arrived", "packet-hops", "time left"])
    for one in runs[:_RUNS]:
        made.add_row(one.label, *one.cells(now))
    if len(runs) > _RUNS:
        made.caption = f"and {len(runs) - _RUNS} runs more"
    return made


def _ports_table(runs: Sequence[Standing]) -> Table:
    several = len(runs) > 1
    made = terminal.table("Hottest ports", [*(["run"] if several else []), "port", "held back"], ["in all", "queue"])
    ports = [(one.label, *port) for one in runs if one.look for port in one.look["ports"]]
    ports.sort(key=lambda port: (-port[2], not port[3]))
    for label, name, queue, closed, held in ports[:_PORTS]:
        words = [*([label] if several else []), name, "now" if closed else ""]
        made.add_row(*words, quantities.time(held) if held else "", quantities.size(queue))
    return made


@contextmanager
def live(jobs: Sequence[Job]) -> Iterator[Watcher]:
    """Watch `jobs` where stderr goes: a view on a terminal, elsewhere a line for each run every ten seconds."""
    console = terminal.stderr()
    watcher = Live(console, jobs)
    if console.is_terminal:
        with Screen(watcher, console=console, refresh_per_second=_REFRESH_HZ, transient=True):
            yield watcher
        return
    over = threading.Event()

    def say() -> None:
        while not over.wait(_LINE_S):
            for line in watcher.lines():
                console.say(line)

    thread = threading.Thread(target=say, daemon=True)
    thread.start()
    try:
        yield watcher
    finally:
        over.set()
        thread.join()
