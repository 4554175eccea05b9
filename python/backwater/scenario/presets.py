"""What is published of switches and NICs: `switch.preset` and `host.nic.preset`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from backwater import _core


@dataclass(frozen=True)
class Preset:
    """One device."""

    #: `tomahawk5`.
    name: str
    #: The key that chooses it.
    key: str
    #: What it is called.
    title: str
    #: What its fastest port carries, what all carry together, how many it has at most.
    port: str
    capacity: str = ""
    ports: int | None = None
    #: By key of a scenario the value.
    values: Mapping[str, Any] = field(default_factory=dict)
    #: By key, or part of one before a dot, where the values are from.
    sources: Mapping[str, str] = field(default_factory=dict)
    #: By key why it has no value.
    not_set: Mapping[str, str] = field(default_factory=dict)

    def source(self, key: str) -> str:
        """Where the value of a key is from: the nearest that is said of it."""
        parts = key.split(".")
        return next(
            self.sources[begin]
            for begin in (".".join(parts[:length]) for length in range(len(parts), 0, -1))
            if begin in self.sources
        )


@cache
def presets() -> tuple[Preset, ...]:
    """All of them, switches first."""
    found = []
    for key, devices in json.loads(_core.presets()).items():
        for name, text in devices.items():
            device = text["device"]
            found.append(
                Preset(
                    name,
                    key,
                    device["name"],
                    device["port"],
                    device.get("capacity", ""),
                    device.get("ports"),
                    dict(_flat(text.get("values", {}))),
                    text["sources"],
                    text.get("not-set", {}),
                )
            )
    return tuple(found)


def _flat(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value
