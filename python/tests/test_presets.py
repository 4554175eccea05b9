"""Presets in Python: every value has a source, `explain` and the reference tell it."""

from __future__ import annotations

import json

import pytest
from backwater.cli import main
from backwater.common import quantities
from backwater.errors import Exit
from backwater.scenario.presets import presets


def test_every_value_has_a_source() -> None:
    assert {preset.key for preset in presets()} == {"switch.preset", "host.nic.preset", "host.nic.profile"}
    for preset in presets():
        assert preset.sources["device"]
        for key in preset.values:
            assert preset.source(key)
        # What is not set has no value, and says why.
        assert all(why.endswith(".") for why in preset.not_set.values())
        assert not set(preset.not_set) & set(preset.values)


def test_a_switch_carries_its_fastest_ports() -> None:
    for preset in presets():
        if preset.capacity:
            ports = quantities.parse_rate(preset.capacity) / quantities.parse_rate(preset.port)
            assert ports == int(ports)
            assert preset.ports is None or ports <= preset.ports


def test_explain_tells_what_is_published_and_what_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "tomahawk5", "--json"]) == Exit.OK
    entry = json.loads(capsys.readouterr().out)["found"][0]
    assert entry["kind"] == "preset"
    assert entry["facts"]["carries"] == "ports of up to 800Gbps, at most 512 ports, 51.2Tbps together"
    assert "switch.buffer = 164505640B (SONiC" in entry["text"]
    assert "cell is not set." in entry["text"]
