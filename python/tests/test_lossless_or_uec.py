"""The scenes of lossless fabrics and Ultra Ethernet: each scheme takes each scene or is left out; what must hold."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from backwater import ScenarioError
from backwater.scenario import schemes
from backwater.scenario.scenario import Scenario

SHOWCASES = Path(__file__).parents[2] / "docs" / "showcases"
FILE = Path(__file__).parents[2] / "scenarios" / "lossless-or-uec.toml"
TRIMMING = ("NSCC", "RCCC", "NSCC+RCCC", "one-way NSCC")
#: Whose switches hold packets back before memory runs out.
LOSSLESS = ("DCQCN", "DCQCN+TCD", "ICI+", "BFC")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SHOWCASES))
    spec = importlib.util.spec_from_file_location("lossless_or_uec", SHOWCASES / "lossless_or_uec.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lossless_or_uec", module)
    spec.loader.exec_module(module)
    return module


def test_each_scheme_takes_each_scene_or_is_left_out_for_what_it_refuses(made: ModuleType) -> None:
    scenario = Scenario.load(FILE)
    sets = {entry["name"]: entry["set"] for entry in scenario.resolve(())["scheme"]}
    assert len(sets) == 11
    for scene in made.SCENES.values():
        refused = scene.refused or {}
        assert [one.name for one in schemes.of(scenario, made.overrides(scene))] == [
            name for name in sets if name not in refused
        ]
        for name in refused:
            with pytest.raises(ScenarioError):
                scenario.resolve((*sets[name], *made.overrides(scene)))


def test_an_incast_loses_nothing_where_it_is_held_back_and_is_trimmed_where_it_is_not(
    made: ModuleType, tmp_path: Path
) -> None:
    """Of 36 hosts, each with 1 MB; small messages beside it for 100 us."""
    scene = made.SCENES["incast"]
    less = ("traffic.incast.size=1MB", "traffic.beside.until=100us")
    found = made.scenes.runs(made.NAME, tmp_path, [1], (*made.overrides(scene), *less))
    measured = made.measured(scene, found)
    number = {name: {key: of.mean for key, of in values.items()} for name, values in measured.network.items()}
    incast = {name: {key: of.mean for key, of in values["incast"].items()} for name, values in measured.entries.items()}
    for name in LOSSLESS:
        assert number[name]["switch_drops"] == incast[name]["resent_packets"] == 0
    for name in TRIMMING:
        # All windows at once are 36 times one and a half products of bandwidth and delay: a queue takes one.
        assert number[name]["trims"] > 0
        assert number[name]["switch_drops"] == 0
        # What is trimmed at is 101 packets of 4158 B: 8.39 us at 400 Gbps, the longest way there and back.
        assert number[name]["peak_queue_bytes"] <= 101 * 4158
    # Whoever waits for credits sends one window unasked for; by the sender's window more is cut until it is small.
    assert number["RCCC"]["trims"] < number["NSCC"]["trims"]
    assert number["drop NSCC"]["switch_drops"] > 0
    assert incast["drop NSCC"]["timeouts"] > 0
    for name, values in incast.items():
        # 36 MB by a link of 400 Gbps, of whose bytes 4096 of 4158 are payload.
        assert values["goodput_bps"] < 400e9 * 4096 / 4158
        assert 1 / 36 <= values["fairness"] <= 1
        assert values.get("unfinished", 0) == 0, name
    text = made.table(scene, measured)
    for heading in ("greatest slowdown", "fairness", "goodput", "trimmed by switches", "dropped by switches", "resent"):
        assert heading in text
    assert len([line for line in text.splitlines() if line.startswith("| `")]) == 11


def test_a_failed_link_costs_ultra_ethernet_less_than_its_detection_and_go_back_n_its_timer(
    made: ModuleType, tmp_path: Path
) -> None:
    """Seed 1, in which flows of DCQCN take the link that fails."""
    scene = made.SCENES["failed-link"]
    refused = dict.fromkeys(("DCQCN+TCD", "IRN", "RCCC", "NSCC+RCCC", "drop NSCC", "one-way NSCC"), "not asked")
    out = tuple(f"scheme.{name}.left-out={json.dumps(why)}" for name, why in refused.items())
    found = made.scenes.runs(made.NAME, tmp_path, [1], (*made.overrides(scene), *out))
    assert list(found) == ["DCQCN", "NSCC"]
    slowest = {name: run.flows.select("fct_ps").collect()["fct_ps"].max() for name, (run,) in found.items()}
    # The link fails at 50 us and is noticed 1 ms later. What is lost is sent again after 15 us and six queues.
    assert slowest["NSCC"] < 1.05e9
    # The timer of RDMA's tools: 4.096 us times 2^14.
    assert slowest["DCQCN"] > 4.096e6 * 2**14
    values = made.measured(scene, found)
    picture = made.draw({"failed-link": values}, ["DCQCN", "BFC", "NSCC"], tmp_path / "x.png", "one scene")
    assert picture.stat().st_size > 10_000
    assert "| `BFC` | refused: queues of flows" in made.table(scene, values)
