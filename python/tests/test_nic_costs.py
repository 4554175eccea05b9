"""What a NIC takes its time for, each by arithmetic.

Two hosts stand at a switch, with links of 100 Gbps and 100 ns and packets of 1000 B on the wire.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backwater import _core

#: One way: two links, and twice a packet of 1000 B at 100 Gbps (80 ns), in ps.
_WAY = 2 * 100_000 + 2 * 80_000
#: Back: an ACK of 125 B takes 10 ns on each link.
_BACK = 2 * 100_000 + 2 * 10_000

_SCENE = """
profile = "roce"
topology = {{ kind = "star", hosts = {hosts}, rate = "100Gbps", delay = "100ns" }}
packet = {{ payload = "1000B", header = "0B" }}
ack = {{ size = "125B" }}
cc = {{ kind = "none" }}
switch = {{ detector = {{ kind = "none" }} }}
{more}
"""
_LOOP = """
[[traffic]]
name = "{name}"
kind = "closed-loop"
from = "{source}"
to = "h0"
size = "{size}B"
depth = {depth}
messages = {messages}
"""


def _run(more: str, *loops: dict[str, Any], hosts: int = 2) -> int:
    """When the last message has been acknowledged, in ps."""
    entries = [
        _LOOP.format(**{"name": f"t{number}", "source": "h1", "size": 1000, "depth": 1, "messages": 1} | loop)
        for number, loop in enumerate(loops)
    ]
    text = _SCENE.format(hosts=hosts, more=more) + "".join(entries)
    with tempfile.TemporaryDirectory() as folder:
        _core.Scenario(text, "test", ".", []).run(folder)
        return int(pl.read_parquet(Path(folder) / "flows.parquet")["acked_ps"].max())  # type: ignore[arg-type]


def _nic(**keys: str) -> str:
    told = ", ".join(f'{key.replace("_", "-")} = "{value}"' for key, value in keys.items())
    return f"host = {{ nic = {{ {told} }} }}"


def test_a_closed_loop_posts_the_next_message_when_the_one_before_it_has_been_acknowledged() -> None:
    assert _run("", {"messages": 7}) == 7 * (_WAY + _BACK)


def test_a_gap_between_acknowledgement_and_posting_adds_to_every_message_but_the_first() -> None:
    assert _run("", {"messages": 7, "depth": '1\ngap = "3us"'}) == 7 * (_WAY + _BACK) + 6 * 3_000_000


def test_with_a_depth_of_two_two_messages_are_under_way() -> None:
    # The second one follows on the wire; then each waits for its own ACK: two messages a round trip.
    assert _run("", {"messages": 8, "depth": 2}) == 4 * (_WAY + _BACK) + 80_000


def test_every_message_is_posted_some_time_before_its_first_packet() -> None:
    assert _run(_nic(post_delay="3us"), {"messages": 7}) == 7 * (3_000_000 + _WAY + _BACK)


def test_messages_that_wait_are_posted_meanwhile() -> None:
    # All eight are posted at once: the delay is there once.
    assert _run(_nic(post_delay="3us"), {"messages": 8, "depth": 8}) == 3_000_000 + 7 * 80_000 + _WAY + _BACK


def test_a_gap_keeps_the_messages_of_a_queue_pair_apart() -> None:
    # Eight messages of two packets, 160 ns each on the wire, and seven gaps.
    end = _run(_nic(message_gap="200ns"), {"messages": 8, "depth": 8, "size": 2000})
    assert end == 7 * (160_000 + 200_000) + 80_000 + _WAY + _BACK


def test_a_gap_costs_nothing_where_the_round_trip_is_longer() -> None:
    assert _run(_nic(message_gap="200ns"), {"messages": 7}) == 7 * (_WAY + _BACK)


def test_the_message_rate_of_a_nic_is_shared_by_its_queue_pairs() -> None:
    # Two queue pairs with four messages each: eight messages, one every 500 ns.
    loops = [{"messages": 4, "depth": 4, "name": name} for name in ("a", "b")]
    assert _run(_nic(message_interval="500ns"), *loops) == 7 * 500_000 + _WAY + _BACK


def test_an_idle_queue_pair_begins_at_a_rate_of_its_own() -> None:
    # At 50 Gbps a packet takes 160 ns: after each of the first three the next one is 80 ns later.
    keys = {"start_bytes": "2500B", "start_rate": "50Gbps"}
    one = _run(_nic(**keys), {"size": 10_000})
    assert one == 3 * 160_000 + 6 * 80_000 + _WAY + _BACK
    assert _run(_nic(**keys), {"size": 10_000, "messages": 5}) == 5 * one


def test_a_queue_pair_that_was_not_idle_does_not_begin_again() -> None:
    keys = {"start_bytes": "2500B", "start_rate": "50Gbps"}
    end = _run(_nic(**keys), {"size": 10_000, "messages": 3, "depth": 3})
    assert end == 3 * 80_000 + 29 * 80_000 + _WAY + _BACK


def test_a_ceiling_is_for_messages_that_are_larger_than_the_cache() -> None:
    # 40 Gbps drain a packet in 200 ns: ten of them 2 us after the first has come in.
    host = 'host = { drain = "40Gbps", cached = "5KB" }'
    assert _run(host, {"size": 10_000}) == _WAY + 10 * 200_000 + _BACK
    assert _run(host, {"size": 5_000}) == 4 * 80_000 + _WAY + _BACK
    # What is under way counts together: two messages of 5 KB fill the cache.
    assert _run(host, {"size": 5_000, "messages": 2, "depth": 2}) == _WAY + 10 * 200_000 + _BACK


_MARKS = """
profile = "roce"
topology = { kind = "star", hosts = 3, rate = "100Gbps", delay = "100ns" }
ack = { every = 0 }
cc = { kind = "dcqcn", np = "each-mark", dcqcn = { variant = "byte-counter" } }
switch = { detector = { kind = "red", kmin = "10KB", kmax = "10KB", pmax = 1.0 } }
probe = { frames = ["h0->s"] }
"""


def _first_cnp(delay: str) -> int:
    """When the first CNP begins to leave, in ps."""
    entry = '[[traffic]]\nname = "two"\nkind = "incast"\nfrom = ["h1", "h2"]\nto = "h0"\nsize = "100KB"\n'
    text = _MARKS + f'[host.nic]\ncnp-delay = "{delay}"\n' + entry
    with tempfile.TemporaryDirectory() as folder:
        _core.Scenario(text, "test", ".", []).run(folder)
        frames = pl.read_parquet(Path(folder) / "frames.parquet")
    return int(frames.filter(pl.col("kind") == "cnp")["time_ps"].min())  # type: ignore[arg-type]


def test_a_cnp_takes_its_time_to_be_made() -> None:
    assert _first_cnp("2us") - _first_cnp("0ns") == 2_000_000


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"post_delay": "2s"}, "host.nic.post-delay"),
        ({"message_gap": "-1ns"}, "host.nic.message-gap"),
        ({"start_bytes": "4"}, "host.nic.start-bytes"),
        ({"start_rate": "fast"}, "host.nic.start-rate"),
        ({"profile": "connectx-9"}, "connectx-5"),
        ({"profile": "nowhere.toml"}, "cannot be read"),
        ({"profile": "connectx-5", "preset": "connectx9"}, "connectx9"),
    ],
)
def test_what_is_no_cost_is_refused_by_its_key(keys: dict[str, str], said: str) -> None:
    with pytest.raises(_core.ScenarioError, match=said):
        _run(_nic(**keys), {})


def test_a_profile_stands_under_what_the_scenario_gives() -> None:
    text = _SCENE.format(hosts=2, more=_nic(profile="connectx-5", post_delay="1us")) + _LOOP.format(
        name="loop", source="h1", size=1000, depth=1, messages=1
    )
    known = json.loads(_core.Scenario(text, "test", ".", []).run())["scenario"]["host"]
    assert known["nic"]["post-delay"] == "1us"
    assert known["queue"] == "262.016KB"


def test_a_slower_link_than_the_device_has_is_fine_and_a_faster_one_is_refused() -> None:
    faster = _SCENE.replace("100Gbps", "200Gbps").format(hosts=2, more=_nic(profile="connectx-5"))
    with pytest.raises(_core.ScenarioError, match="more than 100Gbps"):
        _core.Scenario(faster + _LOOP.format(name="a", source="h1", size=1, depth=1, messages=1), "test", ".", []).run()
