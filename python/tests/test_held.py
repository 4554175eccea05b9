"""Precision and recall of what flow control holds back, on scenes of which the times follow by arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from backwater.analysis.blame import held as scoring
from backwater.analysis.blame.held import Held

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
#: What the gates of NICs are of.
AT_NICS = {"dst-pfc": "destination", "bfc": "flow", "pyrrha": "root", "recn": "root", "fbicm": "destination"}

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
    assert held.right_ps == pytest.approx(at_source["A"] + at_source["B"])
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


@pytest.mark.parametrize("kind", AT_NICS)
def test_what_holds_less_than_a_priority_holds_no_victim(kind: str, runs: Callable[..., Blame]) -> None:
    blame = runs("held-star", TREE, *KEYED, f"switch.isolation.kind={kind}")
    held, at_source = blame.held, _at_source(blame)
    assert (held.precision, held.wrong_ps, held.unexplained_ps) == (1, 0, 0)
    assert at_source["V"] == 0
    assert held.right_ps == pytest.approx(at_source["A"] + at_source["B"])
    assert held.right_ps > 0
    closures = blame.results.table("closures").with_columns(pl.col("scope", "change").cast(pl.String)).collect()
    assert set(closures["scope"]) == {AT_NICS[kind]}
    # Whatever closes opens again.
    counts = dict(closures.group_by("change").len().iter_rows())
    assert counts["closed"] == counts["opened"] > 0


@pytest.mark.parametrize("flow_control", ["none", "pfc"])
@pytest.mark.parametrize("pauses", ["flow", "priority"])
def test_sources_pause_flows_to_the_root_or_all_of_a_priority(
    pauses: str, flow_control: str, runs: Callable[..., Blame]
) -> None:
    text = TREE.replace('size = "1KB"\nstart = "25us"', 'size = "200KB"')
    assert text != TREE
    own = ("switch.isolation.kind=sfc", f"switch.isolation.sfc.pauses={pauses}", "switch.isolation.sfc.threshold=60KB")
    blame = runs("held-sources", text, *KEYED, *own, f"switch.flow-control={flow_control}")
    held, at_source = blame.held, _at_source(blame)
    # Whoever is paused has his hold: h2 is the only root, and V does not go there.
    assert held.unexplained_ps == 0
    assert held.right_ps == pytest.approx(at_source["A"] + at_source["B"])
    assert held.wrong_ps == at_source["V"]
    closures = blame.results.table("closures").with_columns(pl.col("scope", "change").cast(pl.String)).collect()
    assert set(closures["scope"]) == {pauses}
    counts = dict(closures.group_by("change").len().iter_rows())
    assert counts["closed"] == counts["opened"] > 0
    if pauses == "priority":
        assert held.wrong_ps > 0
    elif flow_control == "none":
        assert (held.precision, held.wrong_ps) == (1, 0)


def test_under_pfc_there_is_no_table_of_closures(runs: Callable[..., Blame]) -> None:
    assert not runs("held-star", TREE).results.has("closures")


def test_pfc_holds_who_shares_links_with_the_tree(runs: Callable[..., Blame]) -> None:
    held = runs("held-leaves", TWO_LEAVES, V_IS_LONG).held
    assert held.unexplained_ps == 0
    assert held.wrong_ps > 0
    assert held.precision is not None
    assert 0 < held.precision < 1


@pytest.mark.parametrize("kind", AT_NICS)
def test_over_several_switches_holds_lead_to_their_root(kind: str, runs: Callable[..., Blame]) -> None:
    blame = runs("held-leaves", TWO_LEAVES, V_IS_LONG, *KEYED, f"switch.isolation.kind={kind}")
    held = blame.held
    assert (held.precision, held.wrong_ps, held.unexplained_ps) == (1, 0, 0)
    # A is held at switches, too, and B at its NIC.
    scopes = blame.results.table("closures").select(pl.col("scope").cast(pl.String).unique()).collect()["scope"]
    assert set(scopes) == {"root"} if kind in ("pyrrha", "recn") else {"queue", AT_NICS[kind]}
    # V feeds no root: what stands held beside it in the queues of its ports does not crowd them.
    assert dict(blame.flows.select("traffic", "verdict").iter_rows())["V"] != "culprit"


def test_the_gate_of_a_root_has_its_name(runs: Callable[..., Blame]) -> None:
    blame = runs("held-leaves", TWO_LEAVES, *KEYED, "switch.isolation.kind=pyrrha")
    keys = blame.results.table("closures").select("key").unique().collect()["key"].to_list()
    ports = blame.results.ports.select("node_index", "port_index", "port").unique().collect()
    names = {node * 1024 + port: name for node, port, name in ports.iter_rows()}
    # A and B meet at the last link to h3.
    assert [names[key].split("->")[1] for key in keys] == ["h3"]


def test_who_waits_for_a_window_is_held(runs: Callable[..., Blame]) -> None:
    blame = runs("held-leaves", TWO_LEAVES, *KEYED, "switch.isolation.kind=floodgate")
    held = blame.held
    # No NIC is held: A alone, which crosses the spine to h3, waits for a window, and V goes by.
    assert set(_at_source(blame).values()) == {0}
    waits = blame.results.table("waits").filter(pl.col("key").is_not_null()).collect()
    waits = waits.join(blame.flows.select("flow", "traffic"), on="flow")
    assert set(waits["traffic"]) == {"A"}
    last = waits.filter("last").select((pl.col("end_ps") - pl.col("start_ps")).sum()).item()
    assert last > 0
    assert (held.precision, held.right_ps, held.wrong_ps, held.unexplained_ps) == (1, last, 0, 0)
    # What is held and what waits at the last link add up to what its last packet spent at switches, but for the wire.
    alone = runs("held-leaves", TWO_LEAVES, 'run.only=["A"]', *KEYED, "switch.isolation.kind=floodgate").held
    assert (alone.held_ps, alone.missed_ps) == (0, 0)


def test_in_one_switch_there_is_no_window_to_wait_for(runs: Callable[..., Blame]) -> None:
    held = runs("held-star", TREE, *KEYED, "switch.isolation.kind=floodgate").held
    assert (held.held_ps, held.precision, held.recall) == (0, None, 0)


def _sums_hold(held: Held) -> None:
    assert min(held.right_ps, held.wrong_ps, held.unexplained_ps, held.missed_ps) >= 0
    assert all(share is None or 0 <= share <= 1 for share in (held.precision, held.recall))


# h2 takes 25 Gbps of what comes at 100: a packet each 320 ns.
SLOW = TREE.replace("[[traffic]]", '[host]\nof = "h2"\nqueue = "10MB"\ndrain = "25Gbps"\n[[traffic]]', 1)
ALONE = ('run.only=["A", "V"]', "host.pfc.xoff=480KB", "host.pfc.xon=400KB")


def test_what_a_slow_host_holds_for_long_is_missed(runs: Callable[..., Blame]) -> None:
    held = runs("held-slow", SLOW, *ALONE).held
    # Nothing is held: the last of 600 packets is there 600 packets of the link after the first, as V is one of them.
    # It is taken in 600 of the drain after that. K is where a host lets go: 400 packets.
    assert held.held_ps == 0
    assert held.missed_ps == 600 * 4 * PACKET - 600 * PACKET - 400 * 4 * PACKET
    assert held.recall == 0


def test_without_a_rate_there_is_no_recall(runs: Callable[..., Blame]) -> None:
    pattern = (
        "host.pattern.kind=on-off",
        "host.pattern.low=10Gbps",
        "host.pattern.high-for=10us",
        "host.pattern.low-for=10us",
    )
    held = runs("held-slow", SLOW, *ALONE, *pattern).held
    assert (held.unrated, held.recall) == (1, None)
    assert "host.pattern" in " ".join(held.notes)


def test_times_of_ten_milliseconds_are_not_too_long(runs: Callable[..., Blame]) -> None:
    small = ("host.drain=100Mbps", "host.queue=256KiB", "host.pfc.xoff=auto", "host.pfc.xon=auto", "run.until=100ms")
    blame = runs("held-slow", SLOW, *ALONE, *small)
    held, at_source = blame.held, _at_source(blame)
    assert at_source["A"] > 10**10
    _sums_hold(held)
    # V is wrongly held at its NIC, and nowhere else; A goes to h2.
    assert held.wrong_ps == at_source["V"]
    assert held.right_ps >= at_source["A"]


def test_an_application_that_sends_slowly_is_not_held(runs: Callable[..., Blame]) -> None:
    slow = '[[traffic]]\nname = "K"\nkind = "constant"\nfrom = "h4"\nto = "h5"\nrate = "5Gbps"\n[probe]'
    text = TREE.replace("hosts = 4", "hosts = 6").replace("[probe]", slow)
    alone, beside = runs("held-star", TREE).held, runs("held-constant", text).held
    # Nobody shares a link with K.
    assert beside.precision == pytest.approx(alone.precision)
    assert beside.wrong_ps == alone.wrong_ps


def test_what_is_held_at_the_end_is_said(runs: Callable[..., Blame]) -> None:
    # The first PAUSE comes after 100 KB of A and B stand at h2: from 19 us on. No RESUME goes before 29 us.
    held = runs("held-star", TREE, "run.until=25us", "traffic.V.start=24us").held
    assert held.at_end >= 2
    assert "held at the end" in " ".join(held.notes)


def test_nobody_knows_the_way_of_a_flow_that_has_not_come_anywhere(runs: Callable[..., Blame]) -> None:
    # The RESUME is there at resumed: V leaves then, and is not yet at h3 when the run ends.
    resumed = LINK + PACKET + 354 * PACKET + LINK + FRAME
    held = runs("held-star", TREE, f"run.until={resumed + LINK}ps").held
    assert held.wrong_ps == 0
    assert held.unexplained_ps == resumed - 25_000_000


def test_of_two_links_to_a_host_a_flow_takes_one(runs: Callable[..., Blame]) -> None:
    ends = "".join(
        f'[[topology.links]]\na = "h{n}"\nb = "s"\nrate = "100Gbps"\ndelay = "1us"\n' for n in (0, 1, 2, 3, 2)
    )
    star = 'kind = "star"\nhosts = 4\nrate = "100Gbps"\ndelay = "1us"\n'
    edges = 'kind = "edges"\nhosts = ["h0", "h1", "h2", "h3"]\nswitches = ["s"]\nparallel-links = true\n'
    blame = runs("held-parallel", TREE.replace(star, edges + ends))
    assert blame.queues.filter(pl.col("peer_index") == 2)["queue"].n_unique() >= 2
    held, at_source = blame.held, _at_source(blame)
    _sums_hold(held)
    assert held.wrong_ps <= at_source["V"]


def test_a_nic_holds_a_connection_by_one_name(runs: Callable[..., Blame]) -> None:
    many = 'kind = "poisson"\nfrom = "h0"\nto = "h2"\nsize = "20KB"\nload = 0.9\nuntil = "100us"\nconnection = "pair"'
    text = TREE.replace('kind = "flow"\nfrom = "h0"\nto = "h2"\nsize = "600KB"', many)
    assert text != TREE
    blame = runs("held-connection", text, *KEYED, "switch.isolation.kind=bfc", "run.until=1ms")
    held = blame.held
    assert held.held_ps > 0
    # Every closure has its hold: A goes to h2, the only root.
    assert (held.unexplained_ps, held.wrong_ps, held.precision) == (0, 0, 1)


@pytest.mark.parametrize("kind", ["pyrrha", "recn", "fbicm"])
def test_what_finds_no_queue_left_is_said(kind: str, runs: Callable[..., Blame]) -> None:
    # V has company at h5, too, so that there are two roots below the second leaf, and one queue for both before it.
    two = TWO_LEAVES.replace('name = "V"', 'name = "W"').replace('from = "h1"\nto = "h5"', 'from = "h2"\nto = "h5"')
    two = two[two.index('[[traffic]]\nname = "W"') : two.index("[probe]")]
    text = TWO_LEAVES.replace("[probe]", f"{two}[probe]")
    table = "pyrrha" if kind == "pyrrha" else "recn"
    sizes = ('traffic.V.start="0us"', "traffic.V.size=600KB", 'traffic.W.start="0us"', "traffic.W.size=600KB")
    fast = 'topology.spine-rate="400Gbps"'

    def held(queues: int) -> Held:
        own = (f"switch.isolation.kind={kind}", f"switch.isolation.{table}.queues={queues}")
        return runs("held-two-roots", text, *KEYED, *sizes, fast, *own).held

    found = held(1)
    assert found.refused > 0
    assert any("no queue was left" in note for note in found.notes)
    assert not any("no queue was left" in note for note in held(8).notes)


def test_what_is_unexplained_for_the_most_part_has_no_share() -> None:
    held = Held(right_ps=1, wrong_ps=1, unexplained_ps=3, wronged=1, missed_ps=1)
    assert (held.precision, held.recall, held.held_ps) == (None, None, 5)
    assert held.notes
    assert Held(1, 1, 2, 1, 1).precision == 0.5


def test_where_queues_are_held_blame_says_what_its_roots_are_of(runs: Callable[..., Blame]) -> None:
    keyed = runs("held-star", TREE, *KEYED, "switch.isolation.kind=bfc")
    assert "whole priorities" in " ".join(keyed.notes)
    assert "whole priorities" not in " ".join(runs("held-star", TREE).notes)


def test_the_last_packets_of_messages_are_followed_too() -> None:
    # Flow 1 had 3 messages, whose last packets waited at two ports, one of them at one only; flow 2 had 130 packets, of
    # which one waited.
    last = 2**32 - 1
    rows = [(1, 7, last), (1, 7, last), (1, 7, last), (1, 8, last), (1, 8, last), (2, 7, 64), (2, 8, 64)]
    waits = pl.DataFrame(rows, schema=["flow", "queue", "seq"], orient="row")
    waits = waits.with_columns(last=pl.col("seq") == last, packets=pl.when(pl.col("flow") == 1).then(3).otherwise(130))
    found = waits.with_columns(followed=scoring._followed()).select("flow", "followed").unique().sort("flow")
    assert found.rows() == [(1, 3), (2, 3)]
