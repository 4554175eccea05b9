"""What the scripts of showcases share: the runs of a scene, those that are missing run first, and cells of tables."""

from collections.abc import Callable, Sequence
from pathlib import Path

from backwater import Results
from backwater.common.statistics import Estimate, with_interval
from backwater.experiments import comparison
from backwater.experiments.executor import run_jobs
from backwater.experiments.progress import watching
from backwater.experiments.store import RunFolders
from backwater.results.catalogue import Measure
from backwater.scenario import schemes
from backwater.scenario.schemes import Scheme

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def runs(
    scenario: str,
    folder: Path,
    seeds: Sequence[int],
    overrides: Sequence[str] = (),
    keep: Callable[[Scheme], bool] = lambda _: True,
) -> dict[str, list[Results]]:
    """Every seed of a scenario under the schemes to keep, in the folder of `backwater compare`."""
    listed = [one for one in schemes.of_files([SCENARIOS / f"{scenario}.toml"], overrides) if keep(one)]
    kept = RunFolders(folder, needed=("flows",))
    planned = comparison.plan(listed, seeds, kept)
    missing = [job for jobs in planned.values() for job in jobs.values() if kept.find(job) is None]
    with watching(missing, quiet=False) as watcher:
        run_jobs(missing, watcher=watcher)
    failed = sorted({name for jobs in planned.values() for name, job in jobs.items() if kept.find(job) is None})
    for name in failed:
        print(f"without {name}: a run of it failed")
    whole = {seed: {name: job for name, job in jobs.items() if name not in failed} for seed, jobs in planned.items()}
    return comparison.complete(whole, kept)


def cell(measure: Measure, value: Estimate | None) -> str:
    """A mean and half of its interval, as tables have it; a dash where there is nothing to measure."""
    if value is None:
        return "–"
    return measure.show(value.mean) if value.identical else with_interval(value, measure.show)
