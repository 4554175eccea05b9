"""``backwater resume``: a run goes on from the file that it was saved in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from backwater.cli.commands.run import reported, say_if_elsewhere, work_for_the_first
from backwater.cli.options import AtLeastOne, Every, Flag, Json, Set
from backwater.common import processes as shared
from backwater.experiments.executor import run_jobs
from backwater.experiments.live import live as watch_live
from backwater.experiments.plan import Plan, Seeds
from backwater.experiments.progress import watching
from backwater.experiments.resumed import resumed, saved_every


def resume(
    checkpoint: Path,
    /,
    *,
    set_: Set = None,
    threads: AtLeastOne = None,
    checkpoint_every: Every = None,
    out: Path | None = None,
    html: Flag = False,
    live: Flag = False,
    json_: Json = False,
) -> int:
    """Go on from a file that a run was saved in, and print what `backwater run` prints.

    The outcome is that of a run that was never broken off: the same digest, the same tables. Below `mpirun` several
    processes go on with it, however many saved it.

    Parameters
    ----------
    checkpoint
        The file: of `backwater run --checkpoint-every`, or of `save` in Python, Rust or C.
    set_
        Go on with another value of a key that the run's state can follow: `run.until`, the parameters of controllers
        (`--set cc.dcqcn.g=0.01`) and detectors, and thresholds of PFC; or with more faults (`fault`). May be given more
        than once.
    threads
        How many threads; the trajectory is the same for any number.
    checkpoint_every
        Go on saving it, whenever so much time has passed: 30s, 10m, 2h.
    out
        The results folder; one with the name of the file if not given, beside it.
    html
        Write view.html, the page that shows the run, into the results folder.
    live
        Show on the terminal how far the run is while it goes on, how fast, and its hottest ports.
    json_
        Print only JSON; of a run that failed, what was wrong.
    """
    own = shared.join()
    job = replace(resumed(checkpoint, tuple(set_ or ()), threads, out), shared=own.count > 1)
    todo = [saved_every(job, checkpoint_every)]
    if own.rank:
        return work_for_the_first(todo)
    with watch_live(todo) if live else watching(todo, quiet=json_) as watcher:
        outcomes = run_jobs(todo, 1, watcher)
    say_if_elsewhere(todo, outcomes)
    complete = all(one.summary is not None and one.summary["status"] == "complete" for one in outcomes)
    if complete and not set_ and out is None and job.checkpoint is not None and job.checkpoint.passes():
        # The run that was killed would have removed it at its end. With results elsewhere it may go on once more.
        checkpoint.unlink(missing_ok=True)
    plan = Plan(scenario=job.scenario.once(), overrides=job.overrides, axes=(), schemes=(), seeds=Seeds(1, None))
    return reported(plan, outcomes, json_, html, 1)
