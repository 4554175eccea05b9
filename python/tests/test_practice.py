"""``backwater doctor SCENARIO``: each rule is kept and broken by numbers that are computed here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from backwater.cli import main
from backwater.errors import Exit
from backwater.scenario import placement, practice
from backwater.scenario.practice import Advice
from backwater.scenario.scenario import Scenario

SCENARIOS = Path(__file__).parents[2] / "scenarios"
STAR = """[topology]
kind = "star"
hosts = 8
rate = "100Gbps"
delay = "1us"
[packet]
payload = "1024B"
header = "62B"
[ack]
size = "64B"
[[traffic]]
name = "bg"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"""


def looked(*overrides: str) -> dict[str, Advice]:
    found = practice.check(Scenario(STAR, "star.toml", Path()), overrides)
    return {one.rule: one for one in found}


def test_the_profile_of_data_centres_keeps_every_rule_but_the_buffer_of_a_small_switch() -> None:
    found = looked()
    # 32 MiB for 8 ports of 100 Gbps are 335 µs; published switches have 25 to 44 µs.
    assert [rule for rule, one in found.items() if not one.good] == ["buffer per port"]
    assert "336 µs" in found["buffer per port"].told
    assert looked("switch.buffer=4MB")["buffer per port"].good  # 40 µs
    assert found["oversubscription" if "oversubscription" in found else "mtu"].good


def test_headroom_is_that_of_the_standard() -> None:
    # 2 · 1 µs · 100 Gbps are 25 000 B, 2.017 µs of response 25 213 B, a PFC frame of 64 B, three packets of 1086 B.
    needs = 25_000 + 25_213 + 64 + 3 * 1086
    assert looked(f"switch.pfc.headroom={needs}B")["headroom"].good
    short = looked(f"switch.pfc.headroom={needs - 100}B")["headroom"]
    assert not short.good
    assert short.set == ('switch.pfc.headroom="802.1qbb"',)
    assert not looked('switch.pfc.headroom="auto"')["headroom"].good


def test_ecn_stays_below_xoff() -> None:
    # Static: kmax below Xoff.
    static = ("switch.pfc.threshold=static", "switch.pfc.xoff=500KB", "switch.pfc.xon=490KB")
    assert looked(*static, "switch.detector.kmin=100KB", "switch.detector.kmax=400KB")["ecn below xoff"].good
    late = looked(*static, "switch.detector.kmin=200KB", "switch.detector.kmax=800KB")["ecn below xoff"]
    # In their ratio of 4, kmax at half of Xoff.
    assert late.set == ("switch.detector.kmin=62500B", "switch.detector.kmax=250000B")
    # Dynamic: 10 MB less 8 times 100 KB of headroom and 4 KiB of reserve are 9 167 232 B, at alpha 1/8 a ninth of it.
    dynamic = (
        "switch.buffer=10MB",
        "switch.pfc.alpha=0.125",
        "switch.pfc.headroom=100KB",
        "switch.detector.kmin=100KB",
    )
    assert looked(*dynamic, "switch.detector.kmax=1018KB")["ecn below xoff"].good
    assert not looked(*dynamic, "switch.detector.kmax=1019KB")["ecn below xoff"].good


def test_it_is_said_where_all_ports_are_paused_at_once() -> None:
    # 10 MB, of which 8 ports keep 100 KB of headroom and no reserve: 9.2 MB; alpha = 1.
    dynamic = ("switch.pfc.threshold=dynamic", "switch.pfc.alpha=1.0", "switch.pfc.headroom=100KB")
    told = looked(*dynamic, "switch.pfc.reserve=0B", "switch.buffer=10MB")["ecn below xoff"].told
    assert "9.20 MB that ports share, 4.60 MB" in told
    assert told.endswith("each of 8 that are full at once at 1.02 MB")  # 9.2 / 9


def test_kmin_is_at_least_a_seventh_of_the_round_trip() -> None:
    # Two links: 4 µs of delay, and 2 · (1086 + 64) B at 100 Gbps, 184 ns: 4.184 µs, 52 300 B, a seventh is 7471 B.
    assert looked("switch.detector.kmin=7472B")["kmin and the round trip"].good
    low = looked("switch.detector.kmin=7470B")["kmin and the round trip"]
    assert not low.good
    # In whole KB.
    assert low.set[0] == "switch.detector.kmin=8000B"


def test_timers_acks_and_mtu() -> None:
    bytes_ = ("cc.dcqcn.variant=byte-counter", "cc.cnp-interval=50us", "cc.dcqcn.rate-timer=55us")
    assert looked(*bytes_, "cc.dcqcn.alpha-timer=55us")["dcqcn timers"].good
    assert not looked(*bytes_, "cc.dcqcn.alpha-timer=50us")["dcqcn timers"].good
    # 46 packets of 1086 B at 100 Gbps are 3.996 µs, 47 are 4.083 µs; NVIDIA's check is every 4 µs.
    assert looked("ack.every=46")["ack.every"].good
    late = looked("ack.every=47")["ack.every"]
    assert (late.good, late.set) == (False, ("ack.every=46",))
    assert looked("packet.payload=1000B")["mtu"].set == ("packet.payload=1024B",)


def test_what_is_advised_keeps_the_rule() -> None:
    broken = (
        "switch.buffer=100MB",
        "switch.detector.kmin=1KB",
        "switch.detector.kmax=2KB",
        "switch.pfc.headroom=40KB",
        "ack.every=100",
    )
    advised = [text for one in looked(*broken).values() for text in one.set]
    assert advised
    again = looked(*broken, *advised)
    assert all(again[rule].good for rule, one in looked(*broken).items() if not one.good)


@pytest.mark.parametrize("file", sorted(SCENARIOS.glob("*.toml")), ids=lambda file: file.stem)
def test_whoever_follows_the_advice_has_a_scenario_that_runs_and_comes_to_an_end_of_it(file: Path) -> None:
    scenario, settings = Scenario.load(file), list[str]()
    for _ in range(4):
        # Raises ScenarioError where advice makes a scenario that is refused.
        advised = [text for one in practice.check(scenario, settings) for text in one.set]
        if not advised:
            return
        settings += advised
    raise AssertionError(f"after four rounds there is still {advised}")


def test_the_command_prints_rules_and_has_a_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "star.toml"
    file.write_text(STAR, encoding="utf-8")
    assert main(["doctor", str(file), "--set", "switch.buffer=4MB"]) == Exit.OK
    assert main(["doctor", str(file), "--set", "switch.buffer=400MB", "--json"]) == Exit.CAVEATS
    out = capsys.readouterr().out
    rules = json.loads(out[out.index("{") :])["rules"]
    assert rules[0]["rule"] == "buffer per port"
    assert rules[0]["source"].startswith("presets of switches")
    assert main(["doctor", "--set", "run.seed=2"]) == Exit.BAD_INPUT


RAILS = """[topology]
kind = "rail"
units = 1
servers = 4
gpus = 4
rate = "100Gbps"
delay = "1us"
[[job]]
name = "train"
[[job.step]]
collective = "all-reduce"
size = "1MB"
"""


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        # gpu0.0 to gpu0.1, …, gpu0.3 to gpu1.0: another rail each time.
        ("", False),
        ('hosts = "gpu[0-1].*"', False),
        # One rail; and along the rails.
        ('hosts = "gpu*.0"', True),
        ('placement = "rails"', True),
    ],
)
def test_a_ring_of_packed_ranks_leaves_its_rail_at_every_hop(keys: str, kept: bool) -> None:
    text = RAILS.replace('name = "train"', f'name = "train"\n{keys}')
    found = {one.rule: one for one in practice.check(Scenario(text, "rails.toml", Path()), ())}
    assert found["rings on rails"].good == kept
    assert found["rings on rails"].set == (() if kept else ("job.train.placement=rails",))
    if not kept:
        again = practice.check(Scenario(text, "rails.toml", Path()), found["rings on rails"].set)
        assert all(one.good for one in again if one.rule == "rings on rails")
        scenario = Scenario(text, "rails.toml", Path())
        meta = {"scenario": scenario.resolve(()), "network": json.loads(scenario.read(()).topology())["network"]}
        assert placement.leaving(meta["scenario"], meta["network"]) == ["train"]


def test_a_run_of_an_older_version_is_judged_though_it_does_not_tell_which_switches_are_in_servers() -> None:
    scenario = Scenario(RAILS, "rails.toml", Path())
    network = json.loads(scenario.read(()).topology())["network"]
    older = {name: value for name, value in network.items() if name != "scale_up"}
    found = [practice.of(scenario.resolve(()), {"network": one}) for one in (network, older)]
    assert found[0] == found[1] != []


def test_a_job_whose_groups_are_servers_is_not_told_to_place_its_ranks_along_rails() -> None:
    # Ranks of a group would then be in several servers: another job.
    text = RAILS.replace('size = "1MB"', 'size = "1MB"\ngroup = 4')
    (found,) = [one for one in practice.check(Scenario(text, "rails.toml", Path()), ()) if one.rule == "rings on rails"]
    assert (found.good, found.set) == (False, ())
    assert "better written as compute" in found.told


def test_only_rings_are_looked_at() -> None:
    assert not _leaving(RAILS.replace('size = "1MB"', 'size = "1MB"\nalgorithm = "tree"'))
    assert not _leaving(RAILS.replace("all-reduce", "all-to-all"))
    assert _leaving(RAILS.replace("all-reduce", "reduce-scatter"))


def _leaving(text: str) -> list[str]:
    scenario = Scenario(text, "rails.toml", Path())
    return placement.leaving(scenario.resolve(()), json.loads(scenario.read(()).topology())["network"])
