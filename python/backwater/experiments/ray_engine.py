"""Ray as the engine: runs on the machines of a cluster, results back in this machine's cache."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from backwater import _core, extras
from backwater.common import codes
from backwater.errors import UsageError
from backwater.experiments.content_key import core_build
from backwater.experiments.executor import Engine, Job, Outcome, Watcher, run_jobs
from backwater.scenario.scenario import Scenario

#: What a worker may raise, by its name.
_KINDS = {"ScenarioError": _core.ScenarioError, "InvariantError": _core.InvariantError, "UsageError": UsageError}
#: How often a run is begun again whose worker was lost.
_RETRIES = 2


def cluster(address: str | None = None, workers: int | None = None) -> Engine:
    """A Ray cluster, one of its cores for each run: that at `address` or RAY_ADDRESS, or one of this machine.

    That of this machine has `workers` cores, by default all, and is stopped at the end. Files that a scenario names
    must be at the same places on every machine, and the core must be the same build.
    """
    # Nothing is reported to anybody.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = extras.load("ray", "--on ray needs Ray, which is not installed: {}")

    def run(jobs: Sequence[Job], *, watcher: Watcher | None) -> list[Outcome]:
        with _connected(ray, address, workers):
            return _spread(ray, jobs, watcher)

    return run


@contextmanager
def _connected(ray: Any, address: str | None, workers: int | None) -> Iterator[None]:
    if ray.is_initialized():
        yield
        return
    package = str(Path(str(_core.__file__)).parents[1])
    paths = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH", ""))))
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address is None and "RAY_ADDRESS" not in os.environ:
        options |= {"address": "local", "num_cpus": workers, "include_dashboard": False}
    elif workers is not None:
        raise UsageError("--jobs is for this machine; a cluster that is there already has as many as it has cores")
    else:
        options["address"] = place = address or os.environ["RAY_ADDRESS"]
        _require_somebody(place)
    try:
        ray.init(**options, runtime_env={"env_vars": {"PYTHONPATH": paths}})
    except (ConnectionError, ValueError, RuntimeError) as error:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(f"there is no Ray cluster at {options['address']}: {told}") from None
    try:
        yield
    finally:
        ray.shutdown()


def _require_somebody(address: str) -> None:
    """Ray itself tries for minutes to reach an address at which nobody listens."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"there is no Ray cluster at {address} ({error}); --address is what `ray start --head` prints, or auto"
        ) from None


def _spread(ray: Any, jobs: Sequence[Job], watcher: Watcher | None) -> list[Outcome]:
    task = ray.remote(num_cpus=1, max_retries=_RETRIES)(remotely)
    # So many that no core waits for the next one, and no more: each waits in the memory of this process.
    most = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting, under_way = list(reversed(jobs)), dict[Any, Job]()
    outcomes: dict[str, Outcome] = {}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < most:
                job = waiting.pop()
                under_way[task.remote(*_given(job))] = job
            # A timeout lets Python look for Ctrl-C.
            done, _ = ray.wait(list(under_way), num_returns=1, timeout=0.5)
            for reference in done:
                job = under_way.pop(reference)
                # When it began is known to the cluster alone.
                if watcher:
                    watcher.started(job)
                outcomes[job.key] = _received(ray, reference, job)
                if watcher:
                    watcher.finished(outcomes[job.key])
    except KeyboardInterrupt as interrupt:
        for reference, job in under_way.items():
            ray.cancel(reference, force=True)
            outcomes[job.key] = Outcome(job, None, interrupt)
    return [outcomes.get(job.key) or Outcome(job, None, KeyboardInterrupt()) for job in jobs]


def _given(job: Job) -> tuple[Any, ...]:
    scenario = job.scenario
    return scenario.text, scenario.origin, str(scenario.base_dir), job.overrides, job.seed, core_build()


def remotely(
    text: str, origin: str, base: str, overrides: tuple[str, ...], seed: int, build: str
) -> tuple[str, dict[str, bytes]]:
    """One run, on a worker: its files, or the kind and message of what went wrong."""
    if core_build() != build:
        told = f"this worker has core {core_build()}, the sweep was planned with {build}; install the same on all"
        return "UsageError", {"message": told.encode()}
    with tempfile.TemporaryDirectory(prefix="backwater-") as folder:
        out = Path(folder) / "run"
        job = Job(origin, Scenario(text, origin, Path(base)), tuple(overrides), seed, out, 1)
        outcome = run_jobs([job], workers=1)[0]
        if outcome.error is not None:
            code = codes.of_error(outcome.error) or ""
            return type(outcome.error).__name__, {"message": str(outcome.error).encode(), "code": code.encode()}
        return "", {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def _received(ray: Any, reference: Any, job: Job) -> Outcome:
    """Keep what a worker sent."""
    try:
        kind, files = ray.get(reference)
    except ray.exceptions.RayError as error:
        told = (str(error) or type(error).__name__).splitlines()[0]
        return Outcome(job, None, UsageError(f"{job.label}: the cluster lost it ({told}); give the command again"))
    if kind:
        failed = _KINDS.get(kind, OSError)(files["message"].decode())
        return Outcome(job, None, codes.as_coded(failed, files.get("code", b"").decode() or None))
    if job.out is None:
        raise UsageError(f"{job.label} has no place for its results")
    try:
        with job.stage(job.out) as staged:
            for name, data in files.items():
                (staged.folder / name).write_bytes(data)
            staged.keep()
    except (OSError, UsageError) as error:
        return Outcome(job, None, error)
    return Outcome(job, json.loads(files["run.json"]))
