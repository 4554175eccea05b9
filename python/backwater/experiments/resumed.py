"""Runs that go on from a file that one was saved in."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from backwater import _core
from backwater.errors import UsageError
from backwater.experiments.executor import Job
from backwater.experiments.store import OfFile
from backwater.scenario.scenario import Scenario

#: How such files end, where nobody gives them a name.
SUFFIX = ".ckpt"
#: Seconds of what times of the wall clock are given in.
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def resumed(file: Path, changes: tuple[str, ...], threads: int | None, out: Path | None = None) -> Job:
    """The run that goes on from `file`.

    Its results go to `out`. Without that they stand beside the file, in a folder of its name; results of another
    scenario file that has this folder are kept. Raises `ScenarioError` for what is no such file, or not whole.
    """
    checkpoint = _core.Checkpoint(file)
    text, base, overrides = checkpoint.source()
    scenario = Scenario(text, str(file), Path(base))
    given = (*overrides, *changes)
    if out is not None:
        return Job(str(file), scenario, given, None, out, threads, checkpoint=checkpoint)
    beside = file.with_suffix("") if file.suffix else file.with_name(f"{file.name}-resumed")
    return Job(str(file), scenario, given, None, beside, threads, stage=OfFile, checkpoint=checkpoint)


def saved_every(job: Job, text: str | None) -> Job:
    """The same run, saved again and again beside its results, if `text` says how often."""
    if text is None or job.out is None:
        return job
    return replace(job, saves=(job.out.with_name(f"{job.out.name}{SUFFIX}"), seconds(text)))


def seconds(text: str) -> float:
    """A time of the wall clock, in seconds.

    >>> seconds("10m"), seconds("1.5h"), seconds("30s")
    (600.0, 5400.0, 30.0)
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh])", text.strip())
    every = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not 0 < every <= 1e9:
        raise UsageError(
            f"--checkpoint-every {text} is no time; give seconds, minutes or hours above 0, such as 30s, 10m or 1.5h"
        )
    return every
