"""Blame where a host is slower than its link: the host is the root, not the switch port in front of it.

h0 to h3 are at leaf0, h4 to h7 at leaf1, the spine between them; links carry 40 Gbps. h4 and h5 send 14 Gbps each to
h0, which drains 20 Gbps; h6 sends messages to hosts beside h0, h7 to h6. No link is offered more than it carries.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater
import polars as pl
import pytest
from backwater.analysis.blame import Blame, report
from backwater.cli import main
from backwater.errors import Exit
from blame_scenes import branches_of, roots_of, verdicts_of

if TYPE_CHECKING:
    from collections.abc import Callable

SCENARIO = Path(__file__).parents[2] / "scenarios" / "slow-endpoint.toml"
DRAIN = "h0 (drains 20Gbps)"
#: The port of the switch that h0 pauses, and those that are held in turn, with their distance.
CHAIN = {"leaf0->h0": 1, "spine0->leaf0": 2, "leaf1->spine0": 3}
#: The same network with InfiniBand's credits.
CREDITS = (
    "profile=infiniband",
    "topology.rate=32Gbps",
    "host.drain=16Gbps",
    "switch.credits.period=25us",
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Blame]:
    folder = tmp_path_factory.mktemp("slow")
    known: dict[tuple[str, ...], Blame] = {}

    def run(*overrides: str, scheme: str = "PFC") -> Blame:
        key = (scheme, *overrides)
        if key not in known:
            out = folder / str(len(known))
            known[key] = Blame(backwater.run(SCENARIO, overrides=overrides, scheme=scheme, out=out))
        return known[key]

    return run


@pytest.fixture
def held(runs: Callable[..., Blame]) -> Blame:
    return runs()


def _port(blame: Blame, name: str) -> int:
    return int(blame.queues.filter((pl.col("port") == name) & (pl.col("priority") == 3))["queue"].item())


def test_the_slow_host_is_the_only_root_and_the_ports_towards_it_are_branches_up_to_the_sources(held: Blame) -> None:
    assert roots_of(held) == [DRAIN]
    branches = branches_of(held, DRAIN)
    assert {name: branches[name]["depth"] for name in CHAIN} == CHAIN
    assert {"h4->leaf1", "h5->leaf1"} <= set(branches)
    assert "h7->leaf1" not in branches
    # Nearly all OFF time is for its sake; what messages hold back for each other is little.
    own = held.roots.filter(pl.col("root_port") == DRAIN)["weighted_ps"].item()
    assert own > 0.95 * held.branches.select(pl.col("weighted_ps").sum()).item()


def test_the_port_before_a_host_that_drains_half_of_its_rate_is_off_for_half_of_the_time(held: Blame) -> None:
    own = held.gates.off.filter((pl.col("queue") == _port(held, "leaf0->h0")) & (pl.col("off_ps") > 1_000_000_000))
    off = own.select(pl.col("on_ps").sum() - pl.col("off_ps").sum()).item()
    end = int(held.results.meta["sim_time_ps"])
    assert off / (end - 1_000_000_000) == pytest.approx(0.5, abs=0.01)


def test_flows_to_the_slow_host_are_culprits_those_that_pass_the_same_ports_victims_and_others_neither(
    held: Blame,
) -> None:
    verdicts = verdicts_of(held)
    assert verdicts["to-slow"] == {"culprit"}
    assert verdicts["local"] == {"unaffected"}
    messages = held.flows.filter((pl.col("traffic") == "messages") & (pl.col("packets") > 0))
    assert messages.select((pl.col("verdict") == "victim").mean()).item() > 0.9
    assert set(messages["verdict"]) <= {"victim", "unaffected"}
    assert set(held.feeding.filter(pl.col("root_port") == DRAIN)["traffic"]) == {"to-slow"}


def test_what_messages_to_a_slow_host_lose_is_the_sum_of_its_parts_with_the_receive_queue_among_them(
    runs: Callable[..., Blame],
) -> None:
    blame = runs('traffic.messages.to=["h0", "h1"]')
    finished = blame.flows.filter((pl.col("traffic") == "messages") & pl.col("lost_ps").is_not_null())
    assert finished.height > 100
    assert (finished["rest_ps"] == 0).all()
    to_slow = finished.filter(pl.col("dst") == "h0")
    # A full receive queue of about 200 KB at 20 Gbps, and at least the last packet itself.
    assert (to_slow["drain_ps"] > 0).all()
    assert 40e6 < to_slow.select(pl.col("drain_ps").median()).item() < 105e6
    assert (finished.filter(pl.col("dst") != "h0")["drain_ps"] == 0).all()


def test_a_host_that_keeps_up_is_nobodys_root(runs: Callable[..., Blame]) -> None:
    blame = runs("host.drain=unlimited")
    assert not blame.branches.height
    assert "culprit" not in set(blame.flows["verdict"])
    blame = runs("host.drain=40Gbps")
    assert not blame.branches.height


def test_tcd_finds_every_port_before_a_slow_host_held_and_none_congested(runs: Callable[..., Blame]) -> None:
    blame = runs("switch.detector.kind=tcd")
    assert roots_of(blame) == [DRAIN]
    score = blame.score
    assert score is not None
    assert score.ue_marks > 1000
    assert score.ue_precision is not None
    assert score.ue_precision > 0.99
    # Nothing tells the sources of the root.
    assert score.recall == pytest.approx(0, abs=0.01)


def test_puts_whose_target_delays_its_acks_hold_nobody_back(runs: Callable[..., Blame]) -> None:
    blame = runs(scheme="PUT+DACK")
    assert not blame.branches.height
    assert blame.results.table("flows").collect()["resent_packets"].sum() == 0


def test_ecn_marks_at_held_ports_only_and_finds_culprits_by_it(runs: Callable[..., Blame]) -> None:
    score = runs("switch.detector.kind=red").score
    assert score is not None
    assert score.ce_marks > 1000
    assert score.precision == pytest.approx(0, abs=0.01)
    assert score.flow_recall == 1


def test_under_credits_the_drain_is_the_root_as_well(runs: Callable[..., Blame]) -> None:
    blame = runs(*CREDITS)
    drain = "h0 (drains 16Gbps)"
    assert roots_of(blame)[0] == drain
    assert blame.roots["root_port"][0] == drain
    branches = branches_of(blame, drain)
    assert {name: branches[name]["depth"] for name in CHAIN} == CHAIN
    assert verdicts_of(blame)["to-slow"] == {"culprit"}
    assert verdicts_of(blame)["local"] == {"unaffected"}


def test_a_host_that_is_slow_now_and_then_is_the_root_then(runs: Callable[..., Blame]) -> None:
    pattern = 'host.pattern={kind="on-off", low="5Gbps", high-for="1ms", low-for="1ms"}'
    blame = runs("host.drain=40Gbps", pattern)
    drain = "h0 (drains 40Gbps or 5Gbps)"
    assert blame.roots["root_port"][0] == drain
    # It pauses its switch only in the low phases.
    off = blame.gates.off.filter(pl.col("queue") == _port(blame, "leaf0->h0"))
    assert off.height > 50
    assert ((off["off_ps"] // 1_000_000_000) % 2 == 1).all()
    # What the sources kept back meanwhile they send at line rate afterwards, and that is more than one link carries.
    assert set(roots_of(blame)) <= {drain, "leaf1->spine0"}


def test_where_nobody_can_be_held_back_a_slow_host_is_a_root_without_branches(tmp_path: Path) -> None:
    lossy = SCENARIO.with_name("put-incast.toml")
    watched = ["probe.blame=true", "probe.pauses=true", "run.until=500us"]
    blame = Blame(backwater.run(lossy, overrides=watched, scheme="dack", out=tmp_path / "lossy"))
    assert roots_of(blame) == ["h0 (drains 51.2Gbps)"]
    assert not blame.branches.height
    assert verdicts_of(blame) == {"in": {"culprit"}}


def test_the_report_names_the_host_with_its_speed(held: Blame, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["blame", str(held.results.folder)]) == Exit.OK
    out = capsys.readouterr().out
    assert DRAIN in out
    values: dict[str, Any] = report.values(held, 100_000_000)
    assert values["roots"][0]["root_port"] == DRAIN
    assert values["flows"]["culprit"] == 2
