"""Who does runs: threads of this machine, or a Ray cluster."""

from __future__ import annotations

from functools import partial

from backwater.errors import UsageError
from backwater.experiments import ray_engine
from backwater.experiments.executor import Engine, run_jobs


def engine(on: str, address: str | None, jobs: int | None) -> Engine:
    """What is asked for: ``here`` or ``ray``, the address of a cluster, runs at a time."""
    if on == "ray":
        return ray_engine.cluster(address, jobs)
    if on != "here":
        raise UsageError(f'on = {on!r}: it may be "here" or "ray"')
    if address is not None:
        raise UsageError('an address is that of a Ray cluster, and so needs --on ray (in Python on="ray")')
    return partial(run_jobs, workers=jobs)
