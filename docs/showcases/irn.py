"""How much better IRN without PFC is than RoCE with PFC: the tables of lossless.md, from the runs of `compare`.

Runs that `backwater compare scenarios/irn.toml` has left in its folder are taken; those missing are run.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from backwater import Results
from backwater.common import quantities
from backwater.common.statistics import estimate
from backwater.experiments import comparison
from backwater.experiments.executor import run_jobs
from backwater.experiments.progress import watching
from backwater.experiments.store import RunFolders
from backwater.results import catalogue, measures
from backwater.scenario import schemes

ROOT = Path(__file__).parents[2]
CONTROLLERS = ("none", "TIMELY", "DCQCN")
NICS = ("RoCE PFC", "IRN", "IRN PFC", "RoCE")
MEASURES = catalogue.named("mean_slowdown mean_fct_ps p99_fct_ps")

Values = dict[str, list[float]]


def values(runs: Sequence[Results]) -> Values:
    """Each measure of each run, and what was lost and when nothing came."""
    found: Values = {}
    for run in runs:
        row = measures.of_traffic(run, MEASURES).row(0, named=True)
        flows = run.flows.collect()
        row |= {
            "drops": measures.drops(run),
            "timeouts": flows["timeouts"].sum(),
            "resent": flows["resent_packets"].sum(),
        }
        row["unfinished"] = flows["finish_ps"].null_count()
        for name, value in row.items():
            if name != "traffic":
                found.setdefault(name, []).append(float(value))
    return found


def shown(numbers: Sequence[float]) -> str:
    """The mean over the seeds, with half of the 95 % interval."""
    found = estimate(numbers)
    wide = f" ± {quantities.three_digits(found.half_width)}" if found.half_width else ""
    return quantities.three_digits(found.mean) + wide


def better(mine: Sequence[float], theirs: Sequence[float]) -> str:
    """By how much of theirs mine is less, in percent, seed by seed."""
    return shown([100 * (1 - one / other) for one, other in zip(mine, theirs, strict=True)])


def show(found: dict[str, Values]) -> None:
    """Two tables in Markdown: what came out, and how much better than RoCE with PFC."""
    names = [measure.name for measure in MEASURES]
    print("| scheme | mean slowdown | mean FCT, µs | p99 FCT, µs | dropped | sent again | timeouts | unfinished |")
    print("|---" * 8 + "|")
    for scheme, of in found.items():
        times = [shown(of["mean_slowdown"])] + [shown([value / 1e6 for value in of[name]]) for name in names[1:]]
        counts = [shown(of[name]) for name in ("drops", "resent", "timeouts", "unfinished")]
        print(f"| `{scheme}` | " + " | ".join(times + counts) + " |")
    print("\n| less than under `RoCE PFC` with the same controller, % | mean slowdown | mean FCT | p99 FCT |")
    print("|---" * 4 + "|")
    for scheme, of in found.items():
        base = f"{NICS[0]} {scheme.rpartition(' ')[2]}"
        if scheme != base and base in found:
            print(f"| `{scheme}` | " + " | ".join(better(of[name], found[base][name]) for name in names) + " |")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("results/compare/irn"), help="folder of `compare`")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds")
    parser.add_argument("--scheme", action="append", help="only these schemes")
    parser.add_argument("--set", action="append", default=[], dest="overrides", help="change a key in every scheme")
    options = parser.parse_args()
    only = options.scheme or [f"{nic} {controller}" for controller in CONTROLLERS for nic in NICS]
    listed = schemes.of_files([ROOT / "scenarios" / "irn.toml"], options.overrides, only)
    kept = RunFolders(options.runs, needed=("flows",))
    planned = comparison.plan(listed, range(1, options.seeds + 1), kept)
    missing = [job for jobs in planned.values() for job in jobs.values() if kept.find(job) is None]
    with watching(missing, quiet=False) as watcher:
        run_jobs(missing, watcher=watcher)
    show({name: values(runs) for name, runs in comparison.complete(planned, kept).items()})


if __name__ == "__main__":
    main()
