"""``backwater demo``: one congestion point, seen by the usual detector and by TCD."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backwater._core import ScenarioError
from backwater.analysis import pictures, run_notes, tables
from backwater.cli.options import Json
from backwater.common import terminal
from backwater.common.late import pl
from backwater.errors import Exit, UsageError
from backwater.experiments.executor import Job, raise_first, run_jobs
from backwater.experiments.progress import watching
from backwater.results import Results, measures
from backwater.scenario.scenario import Scenario

_SCENARIO = "single-congestion-point.toml"
_PORTS = ("P0", "P1", "P2", "P3")
#: The detectors that are compared, by their names in the picture: the usual one of Ethernet or InfiniBand, and TCD.
_ETHERNET = {"ECN": "red", "TCD": "tcd"}
_INFINIBAND = {"FECN": "fecn", "TCD": "tcd"}


def demo(
    *,
    scenario: Path | None = None,
    out: Path = Path("results/demo"),
    picture: Path | None = None,
    json_: Json = False,
) -> int:
    """Run one congestion point under ECN and under TCD, print a table of both and draw a picture.

    Port P3 is congested: bursts of fifteen hosts meet there. PFC holds back the ports before it, P0, P1 and P2, whose
    queues grow although nothing is wrong with them. ECN marks their packets as congested, so flows that never cross P3
    slow down; TCD calls the ports undetermined and marks UE. In a scenario with credits, such as
    scenarios/infiniband.toml, FECN takes the place of ECN.

    Parameters
    ----------
    scenario
        Another scenario with ports P0 to P3; scenarios/single-congestion-point.toml if not given.
    out
        Where the two results folders go.
    picture
        Where the picture goes; queue-and-state.png in the working folder if not given, under credits infiniband.png.
    json_
        Print JSON: the picture, and the run.json of each run.
    """
    loaded = Scenario.load(scenario or _shipped())
    credits_hold = measures.under_credits(_checked(loaded))
    schemes = _INFINIBAND if credits_hold else _ETHERNET
    picture = picture or Path("infiniband.png" if credits_hold else "queue-and-state.png")
    pictures.check(picture, "--picture", pictures.load("plot").formats())
    jobs = [
        Job(name, loaded, (f'switch.detector.kind="{kind}"',), None, out / name.lower())
        for name, kind in schemes.items()
    ]
    with watching(jobs, quiet=json_) as watcher:
        outcomes = run_jobs(jobs, None, watcher)
    if any(outcome.interrupted for outcome in outcomes):
        print("interrupted: no table and no picture without both runs", file=sys.stderr)
        return Exit.CAVEATS
    raise_first(outcomes)
    runs = {job.label: Results(job.out) for job in jobs if job.out is not None}
    drawn = pictures.load("congestion_point_picture").draw(
        runs,
        _PORTS[1:],
        picture,
        title=f"One congestion point, at P3: the ports before it under {' and under '.join(runs)}",
        origin_ps=_first_burst(next(iter(runs.values()))),
    )
    if json_:
        print(json.dumps({"picture": str(drawn), "runs": {name: run.meta for name, run in runs.items()}}, indent=2))
    else:
        _print(runs, drawn, loaded)
    return Exit.CAVEATS if any(run.meta["caveats"] for run in runs.values()) else Exit.OK


def _shipped() -> Path:
    """The scenario that comes with the package; in a checkout, a link to the one in scenarios/."""
    return (Path(__file__).parent / _SCENARIO).resolve()


def _checked(scenario: Scenario) -> dict[str, Any]:
    """The scenario, resolved before anything runs: a probe of a port that is not in its topology is refused."""
    names = ", ".join(f'"{port}"' for port in _PORTS)
    try:
        return scenario.resolve([f"probe.ports=[{names}]"])
    except ScenarioError:
        scenario.resolve()
        raise UsageError(
            f"{scenario.origin} has no ports {', '.join(_PORTS)}, which the demo shows; "
            'a topology of the kind "tcd-figure-2" has; others run with `backwater run`'
        ) from None


def _first_burst(run: Results) -> int:
    """When the bursts begin: the picture's time zero."""
    start = run.flows.filter(pl.col("traffic").cast(pl.String) == "A").select(pl.col("start_ps").min())
    return int(start.collect().item() or 0)


def _near(origin: str) -> str:
    """A file as one would type it from here."""
    path = Path(origin)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else origin


def _print(runs: Mapping[str, Results], picture: Path, scenario: Scenario) -> None:
    console = terminal.stdout()
    for name, run in runs.items():
        for line in run_notes.of(run):
            console.say(f"{name}: {line}")
    console.print(tables.traffic_table(runs, "Per flow"))
    console.print(tables.port_table(runs, _PORTS, "Per port"))
    folders = ", ".join(str(run.folder) for run in runs.values())
    console.say(f"picture: {picture}\nresults: {folders}")
    shown = shlex.join(str(run.folder) for run in runs.values())
    console.say(f"see them: backwater view {shown}")
    console.say(f"next: backwater run {shlex.quote(_near(scenario.origin))} --seeds 5")
