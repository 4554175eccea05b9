"""Runs of GPCNeT under several schemes: what is to be run, and what a folder of results holds."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backwater._core import ScenarioError
from backwater.analysis import gpcnet, gpcnet_blame, gpcnet_profile, gpcnet_tables
from backwater.analysis.gpcnet import Measured
from backwater.common import atomic_files
from backwater.common.late import pl
from backwater.errors import UsageError, require_folder
from backwater.experiments import comparison
from backwater.experiments.executor import Job
from backwater.experiments.store import Store
from backwater.io.importing import networks
from backwater.io.importing.profiles import PROFILE, line_rate, unlike
from backwater.io.importing.workloads import Place
from backwater.results import Results, measures
from backwater.results.measures import of_kind
from backwater.scenario import schemes, topologies
from backwater.scenario.scenario import Scenario
from backwater.scenario.schemes import Scheme

#: The scenario that is run if none is named.
SHIPPED = "gpcnet.toml"
#: Tables without which nothing can be told of a run: with tests, and of congestors alone.
NEEDED = ("flows", "timings")
NEEDED_ALONE = ("flows", "ranks")
#: In a folder of several runs: which of them are of which scheme.
FILE = "gpcnet.json"


def shipped() -> Path:
    """The scenario in the checkout that this package was built from, or below the working folder."""
    for root in (Path(__file__).parents[3], Path.cwd()):
        if (root / "scenarios" / SHIPPED).is_file():
            return root / "scenarios" / SHIPPED
    raise UsageError(f"scenarios/{SHIPPED} was not found; run this in the checkout, or name a scenario file")


def name_of(file: Path, topology: str | None) -> str:
    """What results are called: by the scenario's file, and by the network that takes the place of its own."""
    return Path(file if topology is None else topologies.named(str(file), _word(topology))).stem


def _word(topology: str) -> str:
    """A network in the name of a folder."""
    return Path(topology).stem if Path(topology).exists() else re.sub(r"[^\w.-]+", "-", topology)


def found_schemes(
    file: Path,
    place: Place,
    overrides: Sequence[str],
    only: Sequence[str],
    root: Path,
    *,
    quick: bool,
    alone: bool = False,
    blame: bool = False,
) -> tuple[list[Scheme], list[str], bool]:
    """The schemes that are run, checked, what the user should know, and whether a scheme is left out.

    `alone`: the congestors without any test. `blame`: with what the ground truth needs. `root`: the folder of the
    results, where files are kept that a network is made of.

    On another network a scheme that was not asked for by name may not fit: its buffers may be too small for longer
    links. Raises UsageError for a scenario without GPCNeT.
    """
    scenario = Scenario.load(file)
    given, notes = list(overrides), list[str]()
    if place.topology is None and (place.lfts or place.delay):
        raise UsageError("--lfts and --delay are of the network that --topology names; name one")
    if place.topology is not None:
        # Hosts have other names in another network; GPCNeT runs on all of them. What the user sets comes last.
        names = of_kind(scenario.resolve(overrides), "gpcnet")
        scenario, notes = _on(scenario, place, place.topology, overrides, root)
        given = [*(f"traffic.{name}.hosts=*" for name in names), *given]
    entry = _entry(scenario, given)
    before = gpcnet_profile.quick(entry) if quick else []
    if alone:
        before += gpcnet_profile.alone(entry, scenario.resolve(given)["run"].get("until"))
    given = [*before, *(gpcnet_blame.PROBES if blame else ()), *given]
    if place.topology is None or only:
        return schemes.of(scenario, given, only), notes, False
    found, left_out = _that_fit(scenario, given)
    return found, notes + left_out, bool(left_out)


def _on(
    scenario: Scenario, place: Place, topology: str, overrides: Sequence[str], root: Path
) -> tuple[Scenario, list[str]]:
    """The scenario on another network, and what the user should know of that."""
    profile = scenario.resolve(overrides)["profile"]
    made: dict[str, str] = {}
    found = networks.network_of(topology, line_rate(profile), made, lfts=place.lfts, delay=place.delay)
    lines, notes = found.lines, list(found.notes)
    for name, text in made.items():
        require_folder(root / "network", "--out")
        atomic_files.write_text(root / "network" / name, text)
        lines = lines.replace(json.dumps(name), json.dumps(str((root / "network" / name).absolute())))
    facts = networks.facts(found.lines, made)
    if facts is not None:
        notes += unlike(profile, (facts["slowest_link_bps"], facts["fastest_link_bps"]))
    if found.profile not in (PROFILE, profile):
        notes.append(f"profile {profile} stays that of the scenario; --set profile={found.profile} fits the network")
    return topologies.on(scenario, _word(topology), lines), [f"note: {note}" for note in notes]


def _that_fit(scenario: Scenario, overrides: Sequence[str]) -> tuple[list[Scheme], list[str]]:
    names = [entry["name"] for entry in scenario.resolve(overrides).get("scheme", [])]
    found: list[Scheme] = []
    wrong: dict[str, ScenarioError] = {}
    for name in names:
        try:
            found += schemes.of(scenario, overrides, [name])
        except ScenarioError as error:
            wrong[name] = error
    if not found:
        return schemes.of(scenario, overrides), []
    told = (
        f"{name} is left out: {str(error).splitlines()[0].removeprefix('error: ')}" for name, error in wrong.items()
    )
    return found, list(told)


def _entry(scenario: Scenario, overrides: Sequence[str]) -> dict[str, object]:
    resolved = scenario.resolve(overrides)
    names = of_kind(resolved, "gpcnet")
    if len(names) != 1:
        found = f"several, {', '.join(names)}" if names else "none"
        raise UsageError(f"{scenario.origin} must have one traffic entry of kind gpcnet; it has {found}")
    return next(entry for entry in resolved["traffic"] if entry["name"] == names[0])


def complete(planned: Mapping[int, Mapping[str, Job]], kept: Store) -> dict[str, list[Results]]:
    """By scheme, the results of the seeds that are complete under all; of a scheme without a name, by its label.

    If there is no such seed, those of the first seed, of the schemes under which it is complete.
    """
    by_seed = comparison.finished(planned, kept)
    jobs = next(iter(planned.values()))
    found: dict[str, list[Results]] = {}
    for runs in [one for one in by_seed if len(one) == len(jobs)] or by_seed[:1]:
        for name, run in runs.items():
            found.setdefault(name or jobs[name].scenario.name, []).append(run)
    return found


def of_folder(folder: Path) -> dict[str, list[Results]]:
    """The runs in a folder by scheme: one results folder, or a folder that holds several."""
    if (folder / "run.json").is_file():
        return {_scheme(folder): [Results(folder)]}
    if (folder / FILE).is_file():
        try:
            listed = json.loads((folder / FILE).read_text(encoding="utf-8"))["runs"]
            return {str(name): [Results(folder / one) for one in seeds] for name, seeds in listed.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{folder / FILE} is damaged ({error}); run backwater gpcnet again") from None
    found: dict[str, list[Results]] = {}
    for run in Results.find(folder):
        if of_kind(run.meta["scenario"], "gpcnet"):
            found.setdefault(_scheme(run.folder), []).append(run)
    if not found:
        raise UsageError(f"{folder} holds no results of GPCNeT: no run.json with traffic of kind gpcnet")
    # Seeds that only some have cannot be compared.
    shared = set.intersection(*({run.meta["seed"] for run in runs} for runs in found.values()))
    if not shared:
        raise UsageError(f"{folder}: no seed was run under all of {', '.join(found)}; name one of the folders in it")
    return {
        name: sorted((run for run in runs if run.meta["seed"] in shared), key=lambda run: int(run.meta["seed"]))
        for name, runs in found.items()
    }


def _scheme(folder: Path) -> str:
    """What a folder that `backwater run` made is of: its name without the seed."""
    return re.sub(r"-s\d+$", "", folder.resolve().name)


def rows(runs: Mapping[str, Sequence[Results]], measured: Mapping[str, Sequence[Measured]]) -> list[dict[str, Any]]:
    """The numbers of every run, a row for each test and phase."""
    return [
        row
        for name, seeds in runs.items()
        for run, one in zip(seeds, measured[name], strict=True)
        for row in gpcnet_tables.rows(name, int(run.meta["seed"]), one)
    ]


def write(root: Path, runs: Mapping[str, Sequence[Results]], measured: Mapping[str, Sequence[Measured]]) -> list[Path]:
    """Write the numbers as gpcnet.parquet, and which runs they are of."""
    table = root / "gpcnet.parquet"
    atomic_files.write_asked(table, pl.DataFrame(rows(runs, measured), infer_schema_length=None).write_parquet)
    listed = {
        name: [Path(os.path.relpath(run.folder, root)).as_posix() for run in seeds] for name, seeds in runs.items()
    }
    index = root / FILE
    atomic_files.write_text(index, json.dumps({"format": 1, "runs": listed}, indent=1) + "\n")
    return [table, index]


def measure(runs: Mapping[str, Sequence[Results]]) -> dict[str, list[Measured]]:
    """GPCNeT's numbers of every run."""
    return {name: [gpcnet.of(run) for run in seeds] for name, seeds in runs.items()}


def baselines(runs: Mapping[str, Sequence[Results]]) -> dict[str, str]:
    """By scheme the one without any control on the same switches; a scheme is left out if there is none.

    No control: no reaction point, no throttle, no isolation. Detectors that nobody listens to change nothing.
    """
    free = {
        _switches(seeds[0].meta["scenario"]): name
        for name, seeds in list(runs.items())[::-1]
        if _without_control(seeds[0].meta["scenario"])
    }
    own = {name: free.get(_switches(seeds[0].meta["scenario"])) for name, seeds in runs.items()}
    return {name: base for name, base in own.items() if base is not None}


def _switches(scenario: Mapping[str, Any]) -> str:
    """What switches are like, but for what detects and isolates."""
    switch = {key: value for key, value in scenario.get("switch", {}).items() if key not in ("detector", "isolation")}
    return json.dumps([switch, scenario.get("packet")], sort_keys=True)


def _without_control(scenario: Mapping[str, Any]) -> bool:
    kinds = (scenario.get("cc", {}).get("kind", "none"), measures.isolation(scenario), measures.throttle(scenario)[0])
    return set(kinds) == {"none"}
