"""Where the time of a reproduction goes: in the engine, or around it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from backwater.common import atomic_files
from backwater.experiments.executor import Outcome, cores
from backwater.papers.files import Part, read_json

FILE = "timing.json"


class Spent(Part):
    """timing.json: seconds of wall and CPU time, of which in the engine; the share outside it; wall time by phase."""

    wall_s: float
    cpu_s: float
    engine_cpu_s: float
    outside_engine: float
    runs: int
    cores: int
    phases_wall_s: dict[str, float]


def read(folder: Path) -> Spent | None:
    """What an earlier call took; None if it left nothing. Raises UsageError for a damaged file."""
    return read_json(folder / FILE, Spent, "remove it")


@dataclass
class Timing:
    """Wall and CPU time of one call, by phase; `engine_s` is the CPU time of the runs that it did."""

    phases: dict[str, float] = field(default_factory=dict)
    engine_s: float = 0.0
    runs: int = 0
    began: float = field(default_factory=time.monotonic)
    cpu_began: float = field(default_factory=time.process_time)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what is done within to a phase."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.monotonic() - begin

    def ran(self, outcomes: Sequence[Outcome]) -> None:
        """Count the engine's time of these runs."""
        done = [outcome.summary for outcome in outcomes if outcome.summary is not None]
        self.engine_s += sum(float(summary.get("cpu_s", 0.0)) for summary in done)
        self.runs += len(done)

    def spent(self) -> Spent:
        """What it took until now."""
        cpu = time.process_time() - self.cpu_began
        outside = max(cpu - self.engine_s, 0.0)
        return Spent(
            wall_s=round(time.monotonic() - self.began, 3),
            cpu_s=round(cpu, 3),
            engine_cpu_s=round(self.engine_s, 3),
            outside_engine=round(outside / cpu, 4) if cpu > 0 else 0.0,
            runs=self.runs,
            cores=cores(),
            phases_wall_s={name: round(seconds, 3) for name, seconds in self.phases.items()},
        )

    def write(self, folder: Path) -> Spent:
        """Write `timing.json`, and return what is in it."""
        spent = self.spent()
        folder.mkdir(parents=True, exist_ok=True)
        atomic_files.write_text(folder / FILE, spent.model_dump_json(indent=2) + "\n")
        return spent


def line(spent: Spent) -> str:
    """The same in a sentence."""
    phases = ", ".join(f"{name} {duration(seconds)}" for name, seconds in spent.phases_wall_s.items())
    return (
        f"{duration(spent.wall_s)} in all on {spent.cores} cores ({phases}); {spent.runs} runs; "
        f"CPU {duration(spent.cpu_s)}, of which {100 * spent.outside_engine:.0f} % outside the engine"
    )


def duration(seconds: float) -> str:
    """A time that a person waits: ``8.1 s``, ``12 min 5 s``, ``1 h 2 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
