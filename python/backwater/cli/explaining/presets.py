"""Presets of switches and NICs: what is published of each, where, and what is not."""

from __future__ import annotations

from backwater.cli.explaining.entry import Entry
from backwater.scenario.presets import Preset, presets


def entries() -> list[Entry]:
    """One for each preset."""
    return [
        Entry(
            preset.name,
            "preset",
            f'{preset.title}. Write {preset.key} = "{preset.name}".',
            "\n".join([*_values(preset), *_not_set(preset)]),
            {"carries": carries(preset), "source": preset.sources["device"]},
        )
        for preset in presets()
    ]


def carries(preset: Preset) -> str:
    """Its rates in words."""
    ports = f", at most {preset.ports} ports" if preset.ports else ""
    together = f", {preset.capacity} together" if preset.capacity else ""
    return f"ports of up to {preset.port}{ports}{together}"


def _values(preset: Preset) -> list[str]:
    return [f"{key} = {value} ({preset.source(key)})" for key, value in preset.values.items()]


def _not_set(preset: Preset) -> list[str]:
    return [f"{key} is not set. {why}" for key, why in preset.not_set.items()]
