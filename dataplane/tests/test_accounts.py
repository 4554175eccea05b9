"""The counters as accounts: every packet is in one of them, and JSON and Prometheus have the same ones."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
import switches
from switches import port, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

BED = """
[run]
window = "1ms"
frames = 4096
[clock]
kind = "clamp"
[flow-control]
kind = "{flow_control}"
[detector]
kind = "tcd"
[[node]]
name = "S0"
kind = "sender"
[[node]]
name = "T0"
kind = "switch"
[[node]]
name = "R0"
kind = "receiver"
[[link]]
a = "S0"
b = "T0"
rate = "10Gbps"
delay = "20us"
[[link]]
a = "T0"
b = "R0"
rate = "5Gbps"
delay = "20us"
[[flow]]
name = "F0"
from = "S0"
to = "R0"
rate = "line"
"""
#: The ports of each link.
LINKS = ((("S0", 0), ("T0", 0)), (("T0", 1), ("R0", 0)))


@pytest.mark.parametrize("flow_control", ["pfc", "credits"])
def test_every_packet_of_a_run_that_is_broken_off_is_in_a_counter(
    start: Callable[..., switches.Switch], flow_control: str
) -> None:
    one = start(BED.format(flow_control=flow_control), "--prometheus", "0").wait_until_running()
    wait_until(lambda: one.metrics()['backwater_port_rx_frames_total{node="R0",port="p0"}'] > 1000, "traffic")
    result = one.end()
    for node in result["nodes"]:
        ports = node["ports"]
        came = sum(p["rx_frames"] + p["flood_copies"] + p["made_frames"] for p in ports)
        went = sum(p["rx_control"] + p["tx_frames"] + p["consumed_frames"] + sum(p["drops"].values()) for p in ports)
        assert came == went > 0, node["name"]
    on_the_way = 0
    for ends in LINKS:
        one_end, other = (port(result, *end) for end in ends)
        for a, b in ((one_end, other), (other, one_end)):
            assert a["tx_frames"] + a["tx_control"] - a["unsent_frames"] == b["rx_frames"] + b["undelivered_frames"]
            on_the_way += b["undelivered_frames"]
    # 20 us at 5 and at 10 Gbps: a run that stops in the middle has something on its wires.
    assert on_the_way > 0
    sent, received = result["nodes"][0]["sent"][0], result["nodes"][2]["received"][0]
    assert sent["packets"] == port(result, "S0", 0)["made_frames"]
    assert received["packets"] == port(result, "R0", 0)["consumed_frames"]
    left = [p for node in result["nodes"] for p in node["ports"]]
    lost = sum(p["drops"]["shutdown"] + p["unsent_frames"] + p["undelivered_frames"] for p in left)
    assert 0 <= sent["packets"] - received["packets"] <= lost
    assert result["unaccounted_frames"] == 0


#: What is no counter: names, and the clock's name, which Prometheus has as a label.
NO_COUNTERS = {"name", "kind", "flow", "nodes", "ports", "sent", "received"}
#: The same under another name.
OTHER_NAMES = {"now_ps": "time_seconds", "clock": "clock_info"}
#: What means something only while the run goes on.
ONLY_LIVE = {"port_queue_bytes", "port_gate_open", "port_state"}


def names_in(document: Any, prefix: str = "") -> set[str]:
    """The counters of a result, by the names that Prometheus should have for them."""
    found = set()
    for name, value in document.items():
        if name in ("nodes", "ports", "sent", "received"):
            below = {"nodes": "node_", "ports": "port_"}.get(name, f"{name}_")
            found |= {n for one in value for n in names_in(one, below)}
        elif name not in NO_COUNTERS:
            found.add(prefix + OTHER_NAMES.get(name, name))
    return found


def test_json_and_prometheus_have_the_same_counters(start: Callable[..., switches.Switch]) -> None:
    one = start(BED.format(flow_control="pfc"), "--prometheus", "0").wait_until_running()
    served = one.metrics()
    result = one.end()
    families = {re.sub(r"_total$", "", name.split("{")[0].removeprefix("backwater_")) for name in served}
    assert names_in(result) == families - ONLY_LIVE
    # Each reason, each state, each flow has its own sample.
    reasons = {match[1] for name in served if (match := re.search(r'reason="(\w+)"', name))}
    assert reasons == set(port(result, "T0", 0)["drops"])
    states = {match[1] for name in served if (match := re.search(r'state="([\w-]+)"', name))}
    assert states == {"non-congestion", "congestion", "undetermined", "judging"}
    assert served['backwater_sent_packets_total{node="S0",flow="F0"}'] > 0


def test_an_off_period_that_is_not_over_counts(
    start: Callable[..., switches.Switch], cables: list[switches.Cable]
) -> None:
    ports = "".join(
        f'[[port]]\nnode = "T0"\ndevice = "net_af_packet{i},iface={cable.inside}"\nnominal = "1Mbps"\n'
        for i, cable in enumerate(cables)
    )
    head = '[clock]\nkind = "wall"\n[flow-control]\nkind = "pfc"\n[[node]]\nname = "T0"\nkind = "switch"\n'
    one = start(head + ports, "--prometheus", "0").wait_until_running()
    # 65 535 quanta at 1 Mbps are 33 s.
    cables[1].send(switches.pfc(3, 65535))
    name = 'backwater_port_paused_ps_total{node="T0",port="p1",priority="3"}'
    wait_until(lambda: one.metrics()[name] > 0, "the pause is seen while it lasts")
    before = one.metrics()[name]
    wait_until(lambda: one.metrics()[name] > before, "and goes on")
    assert port(one.end(), "T0", 1)["paused_ps"][3] > before
