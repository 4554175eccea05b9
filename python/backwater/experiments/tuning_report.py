"""What the best trial is worth on seeds that were not tuned on, beside the scenario as it is; what is written of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater._core import __version__
from backwater.common.atomic_files import write_asked
from backwater.common.late import pl
from backwater.common.statistics import Estimate, estimate
from backwater.errors import UsageError
from backwater.experiments import content_key, sweep_tables
from backwater.experiments.toml_document import shown
from backwater.experiments.tuning import Trial, Tuning
from backwater.experiments.tuning_file import Task


@dataclass(frozen=True)
class Judged:
    """The best trial and the scenario as it is; `gain` is how much better the best is, seed by seed."""

    best: Trial
    before: Estimate
    best_report: Estimate
    before_report: Estimate
    gain: Estimate

    @property
    def verdict_word(self) -> str:
        """better, unclear or not better: what the interval of the gain says."""
        if self.gain.mean <= 0:
            return "not better"
        if self.gain.half_width is None or self.gain.low <= 0:
            return "unclear"
        return "better"

    def verdict(self, task: Task) -> str:
        """A sentence on it."""
        seeds = f"on {len(task.report_seeds)} seeds that were not tuned on"
        if self.verdict_word == "not better":
            return f"{seeds} it is no better than the scenario as it is: what was found is luck, or there is no gain"
        told = f"better by {sweep_tables.with_interval(task.objective, self.gain)} (seed by seed, 95 %)"
        if self.before_report.mean:
            told += f", {abs(100 * self.gain.mean / self.before_report.mean):.0f} %"
        if self.verdict_word == "unclear":
            return f"{seeds} it is {told}, which may be luck: more report-seeds would tell"
        return f"{seeds} it is {told}"


def of(tuning: Tuning) -> Judged:
    """Run the best trial and the scenario as it is on the seeds of the report."""
    task, best, before = tuning.task, tuning.best, tuning.before
    if best is None or before is None:
        raise UsageError("no trial could be run")
    plain = tuning.point({}, task.report_seeds)
    found = tuning.point(best.values, task.report_seeds)
    sign = 1 if task.maximize else -1
    pairs = zip(found.values, plain.values, strict=True)
    return Judged(best, before, found, plain, estimate([sign * (new - old) for new, old in pairs]))


def facts(tuning: Tuning, found: Judged) -> dict[str, Any]:
    """Plain values for ``--json`` and tune.json."""
    task = tuning.task

    def told(value: Estimate | None) -> dict[str, Any] | None:
        return None if value is None else {"mean": value.mean, "ci95": value.half_width, "values": list(value.values)}

    return {
        "objective": task.objective,
        "traffic": task.traffic or None,
        "scheme": task.scheme[0] if task.scheme else None,
        "goal": "maximize" if task.maximize else "minimize",
        "trials": len(tuning.trials),
        "failed": sum(trial.objective is None for trial in tuning.trials),
        "best": {"trial": found.best.number + 1, "values": dict(found.best.values), "set": found.best.overrides()},
        "seeds": list(task.seeds),
        "tuned_on": {"as_it_is": told(found.before), "best": told(found.best.objective)},
        "report_seeds": list(task.report_seeds),
        "reported": {
            "as_it_is": told(found.before_report),
            "best": told(found.best_report),
            "gain": told(found.gain),
            "verdict": found.verdict_word,
        },
        "importance": tuning.importance,
    }


def trials(tuning: Tuning) -> pl.DataFrame:
    """One row for each trial, in the order in which they were chosen."""
    task = tuning.task
    columns = {"trial": pl.Series([trial.number + 1 for trial in tuning.trials], dtype=pl.Int64)}
    for one in task.parameters:
        values = [trial.values[one.key] for trial in tuning.trials]
        plain = all(isinstance(value, str) for value in values) or not any(
            isinstance(value, str | list | dict) for value in values
        )
        columns[one.key] = pl.Series(values if plain else [shown(value, 200) for value in values], strict=False)
    every = [trial.objective for trial in tuning.trials]
    columns[f"{task.objective}_mean"] = pl.Series([e and e.mean for e in every], dtype=pl.Float64)
    columns[f"{task.objective}_ci95"] = pl.Series([e and e.half_width for e in every], dtype=pl.Float64)
    columns["status"] = pl.Series(["failed" if e is None else "complete" for e in every], dtype=pl.String)
    columns["why"] = pl.Series([trial.why for trial in tuning.trials], dtype=pl.String)
    return pl.DataFrame(columns)


def write(tuning: Tuning, found: Judged, folder: Path) -> list[Path]:
    """trials.csv, trials.parquet and tune.json, each whole or not at all."""
    table, task = trials(tuning), tuning.task
    made = {
        "version": __version__,
        "core": content_key.core_build(),
        "optuna": tuning.optuna,
        "file": task.document.origin,
        "tuning": task.document.tables,
        "set": list(task.overrides),
        "scenario": task.scenario.origin,
        "scenario_text": task.scenario.text,
        **facts(tuning, found),
    }
    text = json.dumps(made, indent=1) + "\n"
    return [
        write_asked(folder / "trials.csv", table.write_csv),
        write_asked(folder / "trials.parquet", table.write_parquet),
        write_asked(folder / "tune.json", lambda part: part.write_text(text, encoding="utf-8")),
    ]
