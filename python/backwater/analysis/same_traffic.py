"""Whether two schemes have the same network and the same traffic, and what differs if they do not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from backwater.common import quantities
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.results import Results, measures
from backwater.scenario.schemes import Scheme

#: What of a traffic entry or a job belongs to a scheme: what carries it, who controls its rate, and how.
_OF_SCHEMES = ("cc", "connection", "control", "name", "put", "transport")
_NOTHING = "nothing"
#: Keys that name a file, whose text counts.
_FILES = (".file", ".trace", ".program")
_ADVICE = "make [topology], [[traffic]] and [[job]] equal"


def require_settings(one: Scheme, other: Scheme) -> None:
    """Raise UsageError, with the first key that differs, unless `[topology]` and who sends what are the same.

    What carries a traffic entry or a job and who controls its rate may differ, and which file a setting is read from,
    if what is in it is the same.
    """
    mine, others = _settings(one), _settings(other)
    differ = [key for key in mine | others if mine.get(key) != others.get(key)]
    if not differ:
        return
    key, more = differ[0], len(differ) - 1
    values = [_shown(found.get(key, _NOTHING)) for found in (mine, others)]
    rest = f" and {more} more key{'s' if more > 1 else ''}" if more else ""
    raise UsageError(
        f"{one.name} and {other.name} do not have the same traffic: {key} is {values[0]} against {values[1]}{rest}; "
        f"{_ADVICE}"
    )


def _settings(scheme: Scheme) -> dict[str, Any]:
    resolved = scheme.scenario.resolve(scheme.overrides)
    base = scheme.scenario.base_dir
    found = dict(_flat("topology", resolved["topology"], base))
    for word in ("traffic", "job"):
        for entry in resolved.get(word, []):
            own = {key: value for key, value in entry.items() if key not in _OF_SCHEMES}
            found |= _flat(f"{word}.{entry['name']}", own, base)
    return found


def _flat(name: str, value: Any, base: Path) -> Iterator[tuple[str, Any]]:
    """Every single value, by its key with dots."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner, base)
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for number, inner in enumerate(value, start=1):
            yield from _flat(f"{name}[{number}]", inner, base)
    elif name.endswith(_FILES) and isinstance(value, str):
        yield name, f"a file with the hash {hashlib.sha256((base / value).read_bytes()).hexdigest()[:12]}"
    else:
        yield name, value


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def require_flows(name: str, run: Results, other_name: str, other: Results) -> None:
    """Raise UsageError, with the first difference, unless two runs have the same flows."""
    mine, others = _flows(run), _flows(other)
    if mine.equals(others):
        return
    seed = run.meta["seed"]
    told = f"{name} and {other_name} do not have the same traffic (seed {seed})"
    if len(mine) != len(others):
        raise UsageError(f"{told}: {len(mine)} flows against {len(others)}; {_ADVICE}")
    rows = zip(mine.to_dicts(), others.to_dicts(), strict=True)
    one, two = next((one, two) for one, two in rows if one != two)
    number = sum(a != b for a, b in zip(mine.rows(), others.rows(), strict=True))
    raise UsageError(
        f"{told}: {number} of {len(mine)} flows differ, first {_flow(one)} against {_flow(two)}; {_ADVICE}"
    )


def _flows(run: Results) -> pl.DataFrame:
    names = [pl.col(key).cast(pl.String) for key in ("src", "dst")]
    # How much a supplied flow carries, its application decides as it runs.
    supplied = pl.col("traffic").cast(pl.String).is_in(measures.supplied(run.meta["scenario"]))
    size = pl.when(~supplied).then(pl.col("size_bytes"))
    # When a message of an application starts depends on those before it, and so on the scheme.
    scenario = run.meta["scenario"]
    applications = measures.applications(scenario) + measures.programs(scenario) + measures.jobs(scenario)
    start = pl.when(~pl.col("traffic").cast(pl.String).is_in(applications)).then(pl.col("start_ps"))
    chosen = run.flows.select(*names, start_ps=start, size_bytes=size).collect()
    return chosen.sort("start_ps", "src", "dst", "size_bytes")


def _flow(row: Mapping[str, Any]) -> str:
    size = "endless" if row["size_bytes"] is None else f"{row['size_bytes']} B"
    start = "" if row["start_ps"] is None else f" at {quantities.time(row['start_ps'])}"
    return f"{row['src']}->{row['dst']} {size}{start}"
