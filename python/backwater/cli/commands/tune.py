"""``backwater tune``: settings found by Optuna, judged on seeds that were not tuned on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Literal

from backwater.cli.options import AtLeastOne, Json, Set
from backwater.common import terminal
from backwater.errors import Exit, UsageError, require_folder
from backwater.experiments import sweep_tables, tuning_file, tuning_report
from backwater.experiments.engines import engine
from backwater.experiments.store import OwnFolder
from backwater.experiments.sweep import cache_at
from backwater.experiments.toml_document import Document
from backwater.experiments.tuning import Trial, Tuning
from backwater.experiments.tuning_report import Judged
from backwater.results.catalogue import CATALOGUE


def tune(
    file: Path,
    /,
    *,
    set_: Set = None,
    trials: AtLeastOne = None,
    jobs: AtLeastOne = None,
    on: Literal["here", "ray"] = "here",
    address: str | None = None,
    cache: Path | None = None,
    out: Path | None = None,
    json_: Json = False,
) -> int:
    """Look for settings of a scenario that make a measure small or large, as a tuning file says.

    Every trial is the mean over the same seeds. At the end the best setting and the scenario as it is are run over
    other seeds: a gain that was luck does not show there. The same file gives the same trials, on any number of cores;
    runs are taken from the cache, so that the same command goes on where it was stopped. Writes trials.csv,
    trials.parquet and tune.json. Needs Optuna (`pip install 'backwater[tune]'`). The keys of the file are in
    docs/sweeps.md.

    Parameters
    ----------
    file
        The tuning: a TOML file that names a scenario, an objective and parameters.
    set_
        Change a key of the scenario in all runs: `--set run.until=2ms`. May be given more than once.
    trials
        How many settings are tried, instead of what the file says; more of them begin with the same.
    jobs
        How many runs at the same time; one per core if not given.
    on
        Where to run: here, or on a Ray cluster (`pip install 'backwater[ray]'`).
    address
        Of the Ray cluster; one on this machine is started if neither this nor RAY_ADDRESS is given.
    cache
        The folder of runs that were done before; $BACKWATER_CACHE or ~/.cache/backwater if not given.
    out
        The folder of the tables; `results/<name of the file>` if not given.
    json_
        Print JSON: what was best, on which seeds, files.
    """
    run = engine(on, address, jobs)
    asked = tuning_file.of(Document.load(file, "tuning file"), set_ or (), trials)
    own = OwnFolder.of(Path("results") / file.stem, file)
    folder = out or own.place
    with cache_at(cache) as kept:
        tuning = Tuning(asked, run, kept)
        try:
            tuning.search(lambda trial, best: None if json_ else _tell(tuning, trial, best))
            if tuning.best is None:
                raise UsageError(f"none of {len(tuning.trials)} trials could be run: {tuning.trials[0].why}")
            found = tuning_report.of(tuning)
        except KeyboardInterrupt:
            print(
                f"interrupted: {len(tuning.trials)} of {asked.trials} trials done; the same command goes on from there",
                file=sys.stderr,
            )
            return Exit.CAVEATS
        if out is None:
            own.claim()
        require_folder(folder, "--out")
        files = tuning_report.write(tuning, found, folder)
    if json_:
        print(json.dumps({**tuning_report.facts(tuning, found), "files": list(map(str, files))}, indent=2))
    else:
        _report(tuning, found, files)
    return Exit.OK


def _tell(tuning: Tuning, trial: Trial, best: Trial | None) -> None:
    show = CATALOGUE[tuning.task.objective].show
    value = "failed" if trial.objective is None else show(trial.objective.mean)
    if best is trial:
        value += ", best so far"
    elif best is not None and best.objective is not None:
        value += f" (best {show(best.objective.mean)})"
    why = f": {trial.why}" if trial.why else ""
    words = " ".join(trial.overrides())
    print(f"[{trial.number + 1}/{tuning.task.trials}] {words}: {value}{why}", file=sys.stderr)


def _report(tuning: Tuning, found: Judged, files: list[Path]) -> None:
    task, console = tuning.task, terminal.stdout()
    name = f"{task.objective} of {task.traffic}" if task.traffic else task.objective
    seeds = ((task.seeds, "tuned on"), (task.report_seeds, "not tuned on"))
    headings = (f"{len(some)} seed{'s' if len(some) > 1 else ''} {of}" for some, of in seeds)
    table = terminal.table(name, ["setting"], headings)
    rows: list[tuple[str, Any, Any]] = [
        ("as it is", found.before, found.before_report),
        (f"trial {found.best.number + 1}", found.best.objective, found.best_report),
    ]
    for words, *values in rows:
        table.add_row(words, *(sweep_tables.with_interval(task.objective, value) for value in values))
    console.print(table)
    goal = "largest" if task.maximize else "smallest"
    failed = sum(trial.objective is None for trial in tuning.trials)
    some = f", {failed} of them failed" if failed else ""
    lines = [
        f"{goal} of {len(tuning.trials)} trials{some} ({tuning.done} runs done, {tuning.cached} from the cache):",
        *(f"  --set {text}" for text in found.best.overrides()),
        found.verdict(task),
    ]
    if tuning.importance:
        shares = ", ".join(f"{key} {100 * share:.0f} %" for key, share in tuning.importance.items())
        lines.append(f"parameters that set the best tenth of the trials apart (PED-ANOVA): {shares}")
    for line in [*lines, f"written: {', '.join(map(str, files))}"]:
        console.say(line, soft_wrap=True)
