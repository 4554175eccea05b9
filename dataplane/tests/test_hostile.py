"""A switch on real devices, and neighbours that do what nobody should."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
import switches
from switches import data, mac, pfc, port, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable


def three_ports(cables: list[switches.Cable], flow_control: str = 'kind = "pfc"') -> str:
    ports = "".join(
        f'[[port]]\nnode = "T0"\ndevice = "net_af_packet{i},iface={cable.inside}"\nnominal = "10Gbps"\n'
        for i, cable in enumerate(cables)
    )
    return f'[clock]\nkind = "wall"\n[flow-control]\n{flow_control}\n[[node]]\nname = "T0"\nkind = "switch"\n{ports}'


@pytest.fixture
def bed(start: Callable[..., switches.Switch], cables: list[switches.Cable]) -> switches.Switch:
    return start(three_ports(cables), "--prometheus", "0").wait_until_running()


def learn(cables: list[switches.Cable]) -> None:
    """The switch hears of station n at cable n."""
    for i, cable in enumerate(cables):
        cable.send(data(0xEE, i))
    for i, cable in enumerate(cables):
        assert sorted(cable.received(2)) == [data(0xEE, j) for j in range(3) if j != i]


def test_learns_addresses_and_floods_what_it_has_not_learnt(bed: switches.Switch, cables: list[switches.Cable]) -> None:
    learn(cables)
    cables[0].send(data(1, 0, size=1000))
    assert cables[1].received(1) == [data(1, 0, size=1000)]
    assert cables[2].received(1, 0.3) == []
    result = bed.end()
    assert port(result, "T0", 0)["flood_copies"] == 1
    assert result["nodes"][0]["addresses"] == 3


def tagged(frame: bytes, *tags: bytes) -> bytes:
    """The frame behind tags, the outer first; without any, behind that of priority 3 in VLAN 5."""
    return frame[:12] + b"".join(tags or (b"\x81\x00\x60\x05",)) + frame[12:]


#: What is sent, and how the switch calls it.
BAD = {
    "runt": [mac(1) + mac(0) + b"\x08\x00" + b"\x45" * 10, mac(1) + mac(0) + b"\x86\xdd" + b"\x60" * 39],
    "source": [mac(1) + b"\x03" + mac(0)[1:] + b"\x12\x34" + bytes(46)],
    "reserved": [bytes.fromhex("0180c200000e") + mac(0) + b"\x88\xcc" + bytes(46)],
    "mac_control": [
        switches.PAUSE_ADDRESS + mac(0) + b"\x88\x08\x00\x01\xff\xff" + bytes(42),
        pfc(3, 9)[:14] + bytes(46),
        tagged(switches.PAUSE_ADDRESS + mac(0) + b"\x88\x08\x00\x01\xff\xff" + bytes(42)),
    ],
    "pfc": [
        pfc(3, 9)[:30],
        pfc(3, 9)[:16] + b"\x01" + pfc(3, 9)[17:],
        b"\xff" * 6 + pfc(3, 9)[6:],
        # MAC control lies below the layer that tags (IEEE 802.1Q, 6.8): what is tagged is none.
        tagged(pfc(3, 9)),
        tagged(pfc(3, 9), b"\x81\x00\x01\x01"),
        tagged(pfc(3, 9), b"\x88\xa8\x60\x05", b"\x81\x00\x60\x05"),
    ],
    "credit": [
        switches.credit_message(3, 0, 0)[:20],
        switches.credit_message(3, 0, 0)[:14] + b"\x07" + switches.credit_message(3, 0, 0)[15:],
        tagged(switches.credit_message(3, 0, 0)),
        tagged(switches.credit_message(3, 0, 0), b"\x88\xa8\x60\x05"),
    ],
    "credit_lane": [switches.credit_message(3, 0, 0)],
}


def test_every_bad_frame_is_counted_by_what_is_wrong_with_it(
    bed: switches.Switch, cables: list[switches.Cable]
) -> None:
    for frames in BAD.values():
        cables[0].send(*frames)
    total = sum(map(len, BAD.values()))
    name = '{node="T0",port="p0"}'
    wait_until(lambda: bed.metrics()[f"backwater_port_rx_frames_total{name}"] == total, "all frames came in")
    said = bed.end()
    drops = port(said, "T0", 0)["drops"]
    assert {reason: count for reason, count in drops.items() if count} == {
        reason: len(bad) for reason, bad in BAD.items()
    }
    assert port(said, "T0", 0)["pause_received"] == [0] * 8, "none was obeyed"
    assert [port(said, "T0", other)["tx_frames"] for other in (1, 2)] == [0, 0], "none was passed on"


def test_a_pause_holds_frames_and_a_resume_lets_them_go(
    start: Callable[..., switches.Switch], cables: list[switches.Cable]
) -> None:
    # At 1 Mbps 65 535 quanta are 33 s: no race with this test's own pace.
    bed = start(three_ports(cables).replace("10Gbps", "1Mbps"), "--prometheus", "0").wait_until_running()
    learn(cables)
    cables[1].send(pfc(3, 65535))
    name = '{node="T0",port="p1",priority="3"}'
    wait_until(lambda: bed.metrics()[f"backwater_port_gate_open{name}"] == 0, "the gate is closed")
    cables[0].send(*(data(1, 0) for _ in range(5)), data(1, 0, priority=4))
    assert cables[1].received(1) == [data(1, 0, priority=4)], "another priority is not held"
    assert cables[1].received(1, 0.2) == []
    cables[1].send(pfc(3, 0))
    assert cables[1].received(5) == [data(1, 0)] * 5
    said = port(bed.end(), "T0", 1)
    assert (said["pause_received"][3], said["resume_received"][3], said["off_periods"][3]) == (1, 1, 1)


def test_a_peer_that_never_resumes_is_found_by_the_watchdog(
    start: Callable[..., switches.Switch], cables: list[switches.Cable]
) -> None:
    config = three_ports(cables, 'kind = "pfc"\nwatchdog = "100ms"\nwatchdog-restore = "100ms"')
    # At 100 Mbps one PAUSE lasts for 335 ms: no race with this test's own pace.
    bed = start(config.replace("10Gbps", "100Mbps"), "--prometheus", "0").wait_until_running()
    learn(cables)
    cables[1].send(pfc(3, 65535))
    time.sleep(0.02)
    cables[0].send(*(data(1, 0) for _ in range(5)))
    name = '{node="T0",port="p1"}'
    wait_until(lambda: bed.metrics()[f"backwater_port_storms_total{name}"] == 1, "a storm is found")
    wait_until(lambda: bed.metrics()[f"backwater_port_storms_over_total{name}"] == 1, "and it ends")
    cables[0].send(data(1, 0))
    assert cables[1].received(1) == [data(1, 0)]
    said = port(bed.end(), "T0", 1)
    assert said["drops"]["watchdog"] == 5


def test_credit_messages_from_the_future_and_the_past_are_refused(
    start: Callable[..., switches.Switch], cables: list[switches.Cable]
) -> None:
    bed = start(three_ports(cables, 'kind = "credits"\nbuffer = "6400B"'), "--prometheus", "0").wait_until_running()
    cables[0].send(
        switches.credit_message(3, 0, 2**64 - 1),
        switches.credit_message(3, 2**63, 100),
        switches.credit_message(3, 0, 99),
    )
    cables[0].send(switches.credit_message(5, 0, 100), switches.credit_message(3, 0, 100))
    name = '{node="T0",port="p0"}'
    wait_until(lambda: bed.metrics()[f"backwater_port_rx_frames_total{name}"] == 5, "all came in")
    said = port(bed.end(), "T0", 0)
    assert (said["drops"]["credit_future"], said["drops"]["credit_past"], said["drops"]["credit_lane"]) == (2, 1, 1)
    assert said["credit_received"] == 1
    assert said["credit_sent"] > 10
    assert "bed.toml:5: warning: flow-control.buffer" in bed.errors


def test_a_cable_that_is_pulled_out_does_no_harm(bed: switches.Switch, cables: list[switches.Cable]) -> None:
    learn(cables)
    switches.ip("link", "set", cables[1].inside, "down")
    cables[0].send(*(data(1, 0) for _ in range(100)))
    time.sleep(0.2)
    cables[0].send(data(2, 0))
    assert cables[2].received(1) == [data(2, 0)]
    bed.end()
