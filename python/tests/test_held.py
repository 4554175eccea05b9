"""Precision and recall of what flow control holds back, on scenes of which the times follow by arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from backwater.analysis.blame import Blame

#: A packet is 1000 B, 80 ns at 100 Gbps; a frame that holds is 64 B; a link is 1 us long.
PACKET, FRAME, LINK = 80_000, 5_120, 1_000_000

# A and B, each at line rate, meet at h2. V goes from A's host to another one, past h2.
TREE = """
profile = "ideal"
[run]
until = "300us"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"
[switch.pfc]
xoff = "100KB"
xon = "50KB"
[switch.detector]
kind = "none"
[cc]
kind = "none"
[[traffic]]
name = "A"
kind = "flow"
from = "h0"
to = "h2"
size = "600KB"
[[traffic]]
name = "B"
kind = "flow"
from = "h1"
to = "h2"
size = "600KB"
[[traffic]]
name = "V"
kind = "flow"
from = "h0"
to = "h3"
size = "1KB"
start = "25us"
[probe]
blame = true
pauses = true
"""
KEYED = ("switch.flow-control=none", "switch.buffer=64MB")

# A comes over the spine, B does not: both flood h3. V goes the way of A to another host.
TWO_LEAVES = TREE.replace('kind = "star"\nhosts = 4', 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts-per-leaf = 3')
for name, there, here in (
    ("A", ("h0", "h2"), ("h0", "h3")),
    ("B", ("h1", "h2"), ("h4", "h3")),
    ("V", ("h0", "h3"), ("h1", "h5")),
):
    before = f'name = "{name}"\nkind = "flow"\nfrom = "{there[0]}"\nto = "{there[1]}"'
    assert before in TWO_LEAVES
    TWO_LEAVES = TWO_LEAVES.replace(before, f'name = "{name}"\nkind = "flow"\nfrom = "{here[0]}"\nto = "{here[1]}"')
V_IS_LONG = "traffic.V.size=300KB"


def _at_source(blame: Blame) -> dict[str, int]:
    rows = blame.results.flows.select(pl.col("traffic").cast(pl.String), pl.col("nic_held_ps").cast(pl.Int64))
    return dict(rows.collect().iter_rows())


def test_pfc_holds_a_victim_until_the_resume(runs: Callable[..., Blame]) -> None:
    blame = runs("held-star", TREE)
    held, at_source = blame.held, _at_source(blame)
    # Of A 228 packets have been sent when the PAUSE takes effect; the RESUME goes when 50 of them are left in the
    # switch. One of A and one of B leave in turn, from the arrival of the first on: the 178th of A is number 354 of
    # all, from 0.
    resumed = LINK + PACKET + 354 * PACKET + LINK + FRAME
    assert at_source["V"] == resumed - 25_000_000 == held.wrong_ps
    # What is held of A and B goes to h2, and nobody else is held: neither has a gate before its queue at the switch.
    assert held.right_ps == at_source["A"] + at_source["B"]
    assert held.unexplained_ps == 0
    assert held.precision == held.right_ps / (held.right_ps + held.wrong_ps)
    # Each last packet waits in the queue of h2, longer than K takes there.
    waits = blame.waits.filter("last").select((pl.col("end_ps") - pl.col("start_ps")).sort())["end_ps"].to_list()
    above = blame.results.table("crowds").select(pl.col("threshold_bytes").first()).collect().item()
    assert held.missed_ps == pytest.approx(sum(waits) - 2 * above * PACKET / 1000)
    assert held.recall == pytest.approx(held.right_ps / (held.right_ps + held.missed_ps))


def test_without_flow_control_nothing_is_held_and_all_is_missed(runs: Callable[..., Blame]) -> None:
    held = runs("held-star", TREE, *KEYED).held
    assert (held.right_ps, held.wrong_ps, held.precision, held.recall) == (0, 0, None, 0)
    assert held.missed_ps > 0


@pytest.mark.parametrize("kind", ["dst-pfc", "bfc"])
def test_what_holds_destinations_or_flows_holds_no_victim(kind: str, runs: Callable[..., Blame]) -> None:
    blame = runs("held-star", TREE, *KEYED, f"switch.isolation.kind={kind}")
    held, at_source = blame.held, _at_source(blame)
    assert (held.precision, held.wrong_ps, held.unexplained_ps) == (1, 0, 0)
    assert at_source["V"] == 0
    assert held.right_ps == pytest.approx(at_source["A"] + at_source["B"])
    assert held.right_ps > 0
    closures = blame.results.table("closures").with_columns(pl.col("scope", "change").cast(pl.String)).collect()
    assert set(closures["scope"]) == {"destination" if kind == "dst-pfc" else "flow"}
    # Whatever closes opens again.
    counts = dict(closures.group_by("change").len().iter_rows())
    assert counts["closed"] == counts["opened"] > 0


def test_under_pfc_there_is_no_table_of_closures(runs: Callable[..., Blame]) -> None:
    assert not runs("held-star", TREE).results.has("closures")


def test_pfc_holds_who_shares_links_with_the_tree(runs: Callable[..., Blame]) -> None:
    held = runs("held-leaves", TWO_LEAVES, V_IS_LONG).held
    assert held.unexplained_ps == 0
    assert held.wrong_ps > 0
    assert held.precision is not None
    assert 0 < held.precision < 1


@pytest.mark.parametrize("kind", ["dst-pfc", "bfc"])
def test_over_several_switches_holds_lead_to_their_root(kind: str, runs: Callable[..., Blame]) -> None:
    blame = runs("held-leaves", TWO_LEAVES, V_IS_LONG, *KEYED, f"switch.isolation.kind={kind}")
    held = blame.held
    assert (held.precision, held.wrong_ps, held.unexplained_ps) == (1, 0, 0)
    # A is held at switches, too, and B at its NIC.
    scopes = blame.results.table("closures").select(pl.col("scope").cast(pl.String).unique()).collect()["scope"]
    assert set(scopes) == {"queue", "destination" if kind == "dst-pfc" else "flow"}
    # V feeds no root: what stands held beside it in the queues of its ports does not crowd them.
    assert dict(blame.flows.select("traffic", "verdict").iter_rows())["V"] != "culprit"
