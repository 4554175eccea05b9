"""How much of GPCNeT a run is: every number that is scaled, against the default of GPCNeT 1.3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backwater.analysis.gpcnet import CONGESTORS
from backwater.common.quantities import counted, parse_size, round_size

#: Fewer turns: for a first look, in a fraction of the time. Keys of the traffic entry.
QUICK = {
    "rings": 3,
    "latency.warm-up": 2,
    "latency.timed": 5,
    "bandwidth.warm-up": 1,
    "bandwidth.timed": 1,
    "allreduce.warm-up": 1,
    "allreduce.timed": 10,
    "warm-up-passes": 1,
}


def quick(entry: Mapping[str, Any]) -> list[str]:
    """Overrides that make a run of this traffic entry a quick one; what it has less of already stays."""
    name = entry["name"]
    return [f"traffic.{name}.{key}={value}" for key, value in QUICK.items() if _at(entry, key) > value]


#: How long congestors run alone if nothing says so.
ALONE = "1ms"


def alone(entry: Mapping[str, Any], until: object) -> list[str]:
    """Overrides by which the congestors of this traffic entry run alone, for `ALONE` unless the run has an end."""
    name = entry["name"]
    end = [] if until is not None else [f"run.until={ALONE}"]
    return [f"traffic.{name}.tests=[]", f"traffic.{name}.isolated=false", *end]


def _at(entry: Mapping[str, Any], key: str) -> int:
    value: Any = entry
    for part in key.split("."):
        value = value.get(part, 0) if isinstance(value, dict) else 0
    return int(value)


def lines(entry: Mapping[str, Any]) -> list[str]:
    """What differs from GPCNeT's defaults in a resolved traffic entry, one line each."""
    if not entry.get("tests", True):
        kinds = ", ".join(entry.get("congestors", CONGESTORS))
        together = f"the congestors alone, all kinds at the same time: {kinds} (GPCNeT: one after the other, for 10 s)"
        return [line for line in (together, _sizes(entry), _costs(entry)) if line]
    found = [
        _loops("random rings of latency and of bandwidth", _at(entry, "rings"), 30),
        _loops("latency: turns in each ring", _at(entry, "latency.timed"), 200),
        _loops("latency: turns of warm-up", _at(entry, "latency.warm-up"), 200),
        _loops("bandwidth: messages to each neighbour in a turn", _at(entry, "bandwidth.messages"), 8),
        _loops("bandwidth: turns in each ring", _at(entry, "bandwidth.timed"), 8),
        _loops("bandwidth: turns of warm-up", _at(entry, "bandwidth.warm-up"), 1),
        _loops("allreduce: turns", _at(entry, "allreduce.timed"), 200),
        _loops("allreduce: turns of warm-up", _at(entry, "allreduce.warm-up"), 1),
        "measurements of each test: 1 (GPCNeT: repeated for 10 s)",
        f"warm-up of the congestors: {counted(_at(entry, 'warm-up-passes'), 'turn')} of each "
        "(GPCNeT: 256 x 512, or 10 s)",
        "congestors alone: not measured (GPCNeT: each for 10 s)",
        _parts(entry),
        _sizes(entry),
        _costs(entry),
    ]
    return [line for line in found if line]


def _loops(what: str, mine: int, theirs: int) -> str:
    return "" if mine == theirs else f"{what}: {mine} (GPCNeT: {theirs})"


def _parts(entry: Mapping[str, Any]) -> str:
    """Whether all tests are run, and the default congestors on the default part of the nodes."""
    differ = []
    share = float(entry.get("congestor-share", 0.8))
    if share != 0.8:
        differ.append(f"congestors at {100 * share:g} % of the nodes (GPCNeT: 80 %)")
    missing = [name for name in CONGESTORS if name not in entry.get("congestors", CONGESTORS)]
    missing += [name for name in ("latency", "bandwidth", "allreduce") if name not in entry.get("tests", [name])]
    if missing:
        differ.append(f"left out: {', '.join(missing)}")
    return "; ".join(differ)


def _sizes(entry: Mapping[str, Any]) -> str:
    defaults = {"latency.size": 8, "bandwidth.size": 131_072, "allreduce.size": 8, "congestor-size": 4096}
    differ = []
    for key, theirs in defaults.items():
        value: Any = entry
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None and parse_size(str(value)) != theirs:
            differ.append(f"{key} {value} (GPCNeT: {theirs} B)")
    return "; ".join(differ)


def _costs(entry: Mapping[str, Any]) -> str:
    mpi = entry.get("mpi")
    if not mpi:
        return ""
    told = {"send": "to send", "receive": "to receive", "local": "between ranks of one host"}
    costs = ", ".join(f"{mpi[key]} {word}" for key, word in told.items() if key in mpi)
    eager = round_size(parse_size(str(mpi.get("eager", "16KiB"))))
    return f"MPI: {costs} for each message; rendezvous above {eager} (GPCNeT: whatever the machine has)"
