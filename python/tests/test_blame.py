"""Blame: roots, branches, culprits, victims and their losses, on scenes where they are known by construction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from backwater.analysis.blame import Blame, report
from blame_scenes import FIGURE_2, UNEVEN, branches_of, overlapped_trees, roots_of, spread_tree, verdicts_of
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

VICTIMS = Path(__file__).parents[2] / "papers" / "tcd" / "scenarios" / "victims.toml"


def test_an_isolated_tree_has_one_root_and_its_branches_lie_up_the_chain_of_switches(isolated: Blame) -> None:
    assert roots_of(isolated) == ["P3 T2->R1"]
    found = branches_of(isolated, "P3 T2->R1")
    depths = {name: found[name]["depth"] for name in ("P2 L0->T2", "P0 T0->L0", "P1 T1->L0", "A0->T2")}
    assert depths == {"P2 L0->T2": 1, "P0 T0->L0": 2, "P1 T1->L0": 2, "A0->T2": 1}
    # Whatever else a PAUSE was for, of these ports nearly all OFF time is for P3.
    assert all(row["weighted_ps"] > 0.99 * row["off_ps"] for row in found.values())


#: One flow at the rate of its ports, and for a moment another to the same receiver.
_FULL = """
[[traffic]]
name = "F2"
kind = "long-lived"
from = "S2"
to = "R0"
cc = { kind = "none" }
[[traffic]]
name = "G"
kind = "bursts"
from = "A0"
to = "R0"
size = "500KB"
rounds = 1
interval = "1ms"
start = "1ms"
"""


_DETECTORS = [f"switch.detector.kind={kind}" for kind in ("red", "tcd", "np-ecn")]


@pytest.mark.parametrize("detector", _DETECTORS)
def test_a_queue_that_a_pause_has_piled_up_and_that_stays_makes_no_root(
    runs: Callable[..., Blame], detector: str
) -> None:
    # P1 and P2 carry one flow from a 40 Gbps link to a 40 Gbps link: they can never be overloaded.
    blame = runs("full", FIGURE_2.format(until="8ms") + _FULL, detector)
    assert "P2 L0->T2" in branches_of(blame, "T2->R0")
    assert roots_of(blame) == ["T2->R0"]


@pytest.mark.parametrize("detector", _DETECTORS)
def test_p0_and_p2_are_no_roots_where_the_sources_links_keep_them_from_overload(
    runs: Callable[..., Blame], detector: str
) -> None:
    # Two sources at 20 Gbps each are all that ever comes by P0 and P2.
    short = [f"traffic.{name}.until=50ms" for name in ("victims", "culprits", "A")]
    flags = [f"probe.{name}=true" for name in ("marks", "pauses", "blame")]
    blame = runs("victims", VICTIMS.read_text(encoding="utf-8"), detector, *short, *flags)
    assert {"P0 T0->L0", "P2 L0->T2"} <= set(blame.branches["branch"])
    assert roots_of(blame) == ["P3 T2->R1"]
    # All that S0 sends goes to R0, which is never congested.
    fed = set(blame.feeding["traffic"])
    assert "victims" not in fed
    assert blame.unexplained_ps == 0


def test_in_figure_3_of_the_tcd_paper_f1_and_the_bursts_are_culprits_and_f0_and_f2_victims(isolated: Blame) -> None:
    assert verdicts_of(isolated) == {"F1": {"culprit"}, "A": {"culprit"}, "F0": {"victim"}, "F2": {"victim"}}
    victims = isolated.flows.filter(pl.col("verdict") == "victim")
    # They meet no long queue that is not for P3's sake.
    assert (victims["gate_ps"] + victims["backlog_ps"] > 20 * victims["queue_ps"]).all()


def test_a_branch_that_two_trees_share_has_its_off_time_split_between_their_roots(overlapped: Blame) -> None:
    assert roots_of(overlapped) == ["P3 T2->R1", "T2->R0"]
    trees = [branches_of(overlapped, root) for root in roots_of(overlapped)]
    shared = [tree["P2 L0->T2"] for tree in trees]
    assert all(row["weighted_ps"] > 0.1 * row["off_ps"] for row in shared)
    # The hosts belong to one tree each.
    for mine, other, traffic in ((0, 1, "A1"), (1, 0, "A0")):
        assert f"{traffic}->T2" in trees[mine]
        assert f"{traffic}->T2" not in trees[other]
    fed = {
        root: set(overlapped.feeding.filter(pl.col("root_port") == root)["traffic"]) for root in roots_of(overlapped)
    }
    assert fed == {"P3 T2->R1": {"F1", "to-R1"}, "T2->R0": {"F0", "to-R0"}}


def test_a_root_inside_another_tree_is_a_branch_until_that_one_lets_go(covered: Blame) -> None:
    assert roots_of(covered) == ["P2 L0->T2", "P3 T2->R1"]
    p2 = covered.roots.filter(pl.col("root_port") == "P2 L0->T2").to_dicts()[0]
    as_branch = branches_of(covered, "P3 T2->R1")["P2 L0->T2"]
    assert as_branch["last_ps"] < p2["first_ps"]
    # P0 and P1 are held for P3's sake first, then for P2's.
    for port in ("P0 T0->L0", "P1 T1->L0"):
        first, then = branches_of(covered, "P3 T2->R1")[port], branches_of(covered, "P2 L0->T2")[port]
        assert (first["depth"], then["depth"]) == (2, 1)
        assert first["first_ps"] < then["first_ps"]
    assert {"F0", "F2"} <= set(covered.feeding.filter(pl.col("root_port") == "P2 L0->T2")["traffic"])


def test_f0_and_f2_are_held_back_until_p2_is_a_root_and_culprits_from_then_on(covered: Blame) -> None:
    p2 = covered.roots.filter(pl.col("root_port") == "P2 L0->T2").to_dicts()[0]
    rows = covered.flows.filter(pl.col("traffic").is_in(["F0", "F2"])).to_dicts()
    assert [row["verdict"] for row in rows] == ["culprit", "culprit"]
    for row in rows:
        assert p2["first_ps"] <= row["culprit_from_ps"] < p2["first_ps"] + 10**8
        # They start at 1.183 ms, and P3 holds them back from then on.
        assert 10**9 < row["held_before_ps"] <= row["culprit_from_ps"] - 1_183_000_000
    # In each bin they are culprits only if P2 is a root in it.
    curves = covered.flow_curves(100_000_000)
    assert curves is not None
    own = curves.filter(pl.col("flow").is_in([row["flow"] for row in rows]) & pl.col("is_culprit"))
    assert own["time_ps"].min() >= p2["first_ps"] // 10**8 * 10**8
    assert any("held before that for" in str(column.header) for column in _columns(covered))


def _columns(blame: Blame) -> list[Any]:
    return [column for part in report.report(blame, 3) if isinstance(part, Table) for column in part.columns]


def test_a_victim_without_an_end_is_shown_with_what_it_lost_at_its_source(isolated: Blame) -> None:
    tables = [part for part in report.report(isolated, 3) if isinstance(part, Table)]
    endless = next(table for table in tables if str(table.title).startswith("Victims that have no end"))
    headings = [str(column.header) for column in endless.columns]
    assert headings[2:] == ["paced", "NIC held", "NIC queue", "behind gates", "held ports' queues", "other queues"]


def test_a_flow_of_which_nothing_arrived_can_be_a_culprit(isolated: Blame) -> None:
    score = isolated.score
    assert score is not None
    assert isolated.flows.filter(pl.col("verdict") == "culprit").height == score.culprits
    assert score.culprits == isolated.feeding["flow"].n_unique()


@pytest.mark.parametrize("scene", ["isolated", "overlapped", "covered"])
def test_all_off_time_of_every_port_is_shared_out_among_roots(scene: str, request: pytest.FixtureRequest) -> None:
    blame: Blame = request.getfixturevalue(scene)
    shares = blame.branches.group_by("queue").agg(pl.col("weighted_ps").sum())
    totals = blame.queues.filter(pl.col("paused_ps") > 0).join(shares, on="queue", how="full", coalesce=True)
    assert totals.height >= 15
    assert (totals["paused_ps"] - totals["weighted_ps"]).is_between(-5, 5).all()
    assert blame.unexplained_ps == 0
    off = blame.gates.off.group_by("queue").agg(length=(pl.col("on_ps") - pl.col("off_ps")).sum())
    same = blame.queues.join(off, on="queue")
    assert (same["length"] == same["paused_ps"]).all()


def test_no_root_is_held_while_it_is_a_root(covered: Blame) -> None:
    free = covered.crowding.filter(~pl.col("is_held")).select("queue", "start_ps", "end_ps").unique()
    both = free.join(covered.gates.held, on="queue").filter(
        (pl.col("start") < pl.col("end_ps")) & (pl.col("end") > pl.col("start_ps"))
    )
    # A crowd counts by its middle: it may reach into a held period by half of the 100 µs at which crowds are cut.
    overlap = pl.min_horizontal("end", "end_ps") - pl.max_horizontal("start", "start_ps")
    assert both.select(overlap).to_series().max() in (None, 0)


def test_what_a_flow_lost_is_the_sum_of_its_parts_to_the_picosecond(overlapped: Blame) -> None:
    finished = overlapped.flows.filter(pl.col("lost_ps").is_not_null())
    assert finished.height > 50
    assert finished.filter(pl.col("lost_ps") > 10**9).height > 0
    assert (finished["rest_ps"] == 0).all()


_APPLICATION = """
[[traffic]]
name = "application"
kind = "constant"
from = ["h0", "h1"]
to = "h5"
rate = "7Gbps"
jitter = 0.1
size = "300001B"
"""


@pytest.mark.parametrize("override", ["topology.spine-rate=10Gbps", "traffic.web.load=0.9"])
def test_what_a_flow_would_wait_alone_is_not_counted_as_lost(runs: Callable[..., Blame], override: str) -> None:
    # Short last packets, an application that spaces them, and links that are slower than the first.
    finished = runs("waiting", UNEVEN + _APPLICATION, override).flows.filter(pl.col("lost_ps").is_not_null())
    assert finished.height > 20
    assert finished.filter(pl.col("ideal_wait_ps") > 0).height > 10
    assert (finished["rest_ps"] == 0).all()


def test_what_messages_of_a_connection_wait_for_each_other_is_a_part_of_their_loss(runs: Callable[..., Blame]) -> None:
    # Twenty rounds at 11 Gbps from each of seven hosts into one link: rounds wait for the ones before them.
    shared = runs("overlapped", overlapped_trees(), "traffic.to-R1.connection=pair")
    bursts = shared.flows.filter(pl.col("lost_ps").is_not_null(), pl.col("traffic").cast(pl.String) == "to-R1")
    assert bursts.height > 50
    assert (bursts["rest_ps"] == 0).all()
    assert (bursts["connection_wait_ps"] > 0).any()
    assert (runs("overlapped", overlapped_trees()).flows["connection_wait_ps"] == 0).all()


def test_a_network_without_a_pause_has_no_branch_and_no_victim(runs: Callable[..., Blame]) -> None:
    blame = runs("uneven", UNEVEN, "traffic.web.load=0.15")
    assert blame.results.meta["totals"]["pauses"] == 0
    assert blame.branches.height == 0
    assert "victim" not in set(blame.flows["verdict"])


@pytest.mark.parametrize("how", ["spray", "flowlet", "adaptive"])
def test_a_tree_of_flows_that_take_both_spines_has_one_root_and_branches_on_every_way(
    how: str, runs: Callable[..., Blame]
) -> None:
    """A and B have 60 Gbps for the 40 Gbps of h3's link, and 68 Gbps with V for the 80 Gbps of two spines.

    So that link alone is overloaded. Whatever feeds it is held back: both spines, both of the leaf's links to them, the
    links of A and B. V shares the spines only.
    """
    blame = runs(f"spread-{how}", spread_tree(how))
    assert roots_of(blame) == ["leaf1->h3"]
    found = branches_of(blame, "leaf1->h3")
    assert {name: row["depth"] for name, row in found.items()} == {
        "spine0->leaf1": 1,
        "spine1->leaf1": 1,
        "leaf0->spine0": 2,
        "leaf0->spine1": 2,
        "h0->leaf0": 3,
        "h1->leaf0": 3,
    }
    # 20 Gbps too much fill six ingresses up to their Xoff of 320 KB: those of leaf1 and of the spines, of which V has
    # 8/68, and two of leaf0. Then A and B get 20 of their 30 Gbps each: for a third of what is left of the 2 ms their
    # links are held back. Bursts do not fill the two spines evenly.
    filled = 320_000 * 8 / 20e9 * (4 * 60 / 68 + 2) * 1e12
    for host in ("h0", "h1"):
        off = found[f"{host}->leaf0"]["off_ps"]
        assert off == pytest.approx((2e9 - filled) / 3, rel=0.06 if how != "flowlet" else 0.12)
    assert verdicts_of(blame) == {"A": {"culprit"}, "B": {"culprit"}, "V": {"victim"}}


@pytest.mark.parametrize("how", ["spray", "flowlet", "adaptive"])
def test_flows_that_take_both_spines_and_fit_their_links_have_no_tree(how: str, runs: Callable[..., Blame]) -> None:
    blame = runs(f"no-tree-{how}", spread_tree(how, tree=False))
    assert blame.roots.is_empty()
    assert verdicts_of(blame) == {"A": {"unaffected"}, "V": {"unaffected"}}
