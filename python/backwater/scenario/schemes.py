"""Schemes: the same traffic under other settings, from `[[scheme]]` of one scenario file or from several files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backwater.errors import UsageError
from backwater.scenario.scenario import Scenario, numbered


@dataclass(frozen=True)
class Scheme:
    """A scenario under one scheme: `overrides` are those of the scheme, then those of the user. An empty name: none."""

    name: str
    scenario: Scenario
    overrides: tuple[str, ...]

    @property
    def label(self) -> str:
        """The scenario's name, with that of the scheme if it has one."""
        return " ".join(filter(None, (self.scenario.name, self.name)))


def of(scenario: Scenario, overrides: Sequence[str] = (), only: Sequence[str] = ()) -> list[Scheme]:
    """The schemes of a file, in its order; one without a name for a file that lists none.

    `only` picks some of them by name, in its order. Raises UsageError for a name that the file does not have, and
    `ScenarioError` if the scenario is wrong under any scheme, so that nothing runs before.
    """
    listed = scenario.resolve(overrides).get("scheme", [])
    names = [entry["name"] for entry in listed]
    without = left_out(scenario, overrides)
    for name in only:
        if not names:
            raise UsageError(f"{scenario.origin} lists no schemes, so --scheme {name} means nothing; see [[scheme]]")
        if name not in names:
            raise UsageError(f"{scenario.origin} has no scheme {name!r}; it has {', '.join(names)}")
        if name in without:
            raise UsageError(f"{scenario.origin} leaves the scheme {name!r} out: {without[name]}")
    if not names:
        return [Scheme("", scenario, tuple(overrides))]
    entries = {entry["name"]: entry for entry in listed}
    chosen = dict.fromkeys(name for name in only or names if name not in without)
    found = [Scheme(name, scenario, (*entries[name]["set"], *overrides)) for name in chosen]
    for scheme in found:
        scenario.resolve(scheme.overrides)
    return found


def left_out(scenario: Scenario, overrides: Sequence[str] = ()) -> dict[str, str]:
    """The schemes of a file that make no sense and are not run, with the reason that it gives."""
    listed = scenario.resolve(overrides).get("scheme", [])
    return {entry["name"]: entry["left-out"] for entry in listed if "left-out" in entry}


def all_left_out(found: Sequence[Scheme]) -> dict[str, str]:
    """Those of the files of these schemes, by the name that a table has for them."""
    scenarios = list({id(scheme.scenario): scheme.scenario for scheme in found}.values())
    several = len(scenarios) > 1
    return {
        f"{scenario.name} {name}" if several else name: why
        for scenario in scenarios
        for name, why in left_out(scenario).items()
    }


def told(found: Sequence[Scheme], overrides: Sequence[str]) -> list[str]:
    """What makes schemes less different than their file means them: a sentence for each."""
    return replaced(found, overrides) + alike(found)


def alike(found: Sequence[Scheme]) -> list[str]:
    """Schemes whose settings are all the same: a sentence for each such group."""
    groups: dict[str, list[str]] = {}
    for scheme in found if len(found) > 1 else ():
        resolved = scheme.scenario.resolve(scheme.overrides)
        settings = {key: value for key, value in resolved.items() if key != "scheme"}
        groups.setdefault(json.dumps([settings, str(scheme.scenario.base_dir)]), []).append(scheme.name or scheme.label)
    return [
        f"{' and '.join(names)} have the same settings: their numbers are equal"
        for names in groups.values()
        if len(names) > 1
    ]


def replaced(found: Sequence[Scheme], overrides: Sequence[str]) -> list[str]:
    """What settings of the user replace of what schemes set themselves: a sentence for each."""
    sentences = []
    for text in overrides:
        key, _, value = text.partition("=")
        own = {
            scheme.name: part.partition("=")[2]
            for scheme in found
            for part in scheme.overrides[: len(scheme.overrides) - len(overrides)]
            if part.partition("=")[0].strip() == key.strip()
        }
        lost = [f"{name} ({was.strip()})" for name, was in own.items() if was.strip() != value.strip()]
        if lost:
            sentences.append(f"--set {text} replaces what the file sets in {', '.join(lost)}")
    return sentences


def of_files(files: Sequence[Path], overrides: Sequence[str] = (), only: Sequence[str] = ()) -> list[Scheme]:
    """The schemes of several files: each file is one, or as many as it lists. Names are made to differ."""
    if len(files) == 1:
        return of(Scenario.load(files[0]), overrides, only)
    found: list[Scheme] = []
    for file in files:
        scenario = Scenario.load(file)
        listed = of(scenario, overrides)
        found += [Scheme(scheme.label, scenario, scheme.overrides) for scheme in listed]
    names = [scheme.name for scheme in found]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two scenarios are called {name!r}: give their files different names")
    for name in only:
        if name not in names:
            raise UsageError(f"there is no scheme {name!r}; there are {', '.join(names)}")
    return [found[names.index(name)] for name in dict.fromkeys(only or names)]


def numbers(schemes: Sequence[Scheme], first: int | None, count: int) -> range:
    """The seeds of `count` runs of each scheme: from `first` or from the first scheme's own on, the same for all."""
    return numbered(schemes[0].scenario, schemes[0].overrides, first, count)
