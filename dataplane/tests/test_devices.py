"""What devices lose, and how long a frame may be: on virtual cables of the kernel (veth)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import switches
from switches import data, pfc, port, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = '[run]\n{run}\n[clock]\nkind = "wall"\n[flow-control]\n{flow_control}\n[[node]]\nname = "T0"\nkind = "switch"\n'
PFC = 'kind = "pfc"'
#: At 1 Mbps 65 535 quanta are 33 s.
PORT = '[[port]]\nnode = "T0"\ndevice = "net_af_packet{},iface={}"\nnominal = "1Mbps"\n'
RX = 'backwater_port_rx_frames_total{node="T0",port="p0"}'


def bed(interfaces: list[str], run: str = "frames = 1024", flow_control: str = PFC) -> str:
    ports = "".join(PORT.format(i, interface) for i, interface in enumerate(interfaces))
    return HEAD.format(run=run, flow_control=flow_control) + ports


def inside(cables: list[switches.Cable]) -> list[str]:
    return [cable.inside for cable in cables]


def learn(cables: list[switches.Cable]) -> None:
    for i, cable in enumerate(cables):
        cable.send(data(0xEE, i))
    for cable in cables:
        assert len(cable.received(2)) == 2


def flood_a_small_pool(one: switches.Switch, cables: list[switches.Cable]) -> int:
    """The output is paused, and more comes in than there are buffers (256) and places in the kernel's ring (512)."""
    learn(cables)
    cables[1].send(pfc(3, 65535))
    gate = 'backwater_port_gate_open{node="T0",port="p1",priority="3"}'
    wait_until(lambda: one.metrics()[gate] == 0, "the gate is closed")
    for _ in range(1000):
        cables[0].send(data(1, 0, size=60))
    missed = 'backwater_port_device_missed_total{node="T0",port="p0"}'
    wait_until(lambda: one.metrics()[missed] > 0, "the ring overflows")
    return 1001  # with the one that was learnt from


def test_a_device_that_lost_frames_of_a_lossless_fabric_fails_the_run(
    start: Callable[..., switches.Switch], cables: list[switches.Cable]
) -> None:
    one = start(bed(inside(cables), "frames = 256"), "--prometheus", "0").wait_until_running()
    sent = flood_a_small_pool(one, cables)
    one.process.terminate()
    said = port(one.result(code=2), "T0", 0)
    assert said["rx_frames"] < 300
    assert said["device_missed"] > 100
    # Every packet is in a counter: taken in, still in the ring at the end, or lost by the kernel, which says so.
    assert said["rx_frames"] + said["undelivered_frames"] + said["device_missed"] == sent
    assert f"port p0: its device lost {said['device_missed']} frames" in one.errors
    assert "run.frames" in one.errors


def test_a_fabric_that_may_lose_frames_does_not_fail(
    start: Callable[..., switches.Switch], cables: list[switches.Cable]
) -> None:
    slow = bed(inside(cables), "frames = 256", 'kind = "none"').replace("nominal", "rate")
    one = start(slow, "--prometheus", "0").wait_until_running()
    learn(cables)
    missed = 'backwater_port_device_missed_total{node="T0",port="p0"}'
    while one.metrics()[missed] == 0:
        for _ in range(1000):
            cables[0].send(data(1, 0, size=60))
    said = port(one.end(), "T0", 0)
    assert said["device_missed"] > 0
    assert "its device lost" not in one.errors


def test_the_live_table_has_a_column_for_what_devices_lost(
    start: Callable[..., switches.Switch], cables: list[switches.Cable]
) -> None:
    one = start(bed(inside(cables)), "--stats", "live").wait_until_running()
    one.process.terminate()
    assert one.process.wait(30) == 0
    lines = (one.folder / "stdout").read_text().splitlines()
    assert lines[1].split()[-2:] == ["dropped", "lost"]
    assert lines[2].split()[-1] == "0"


def mtu(interface: str) -> int:
    return int(Path(f"/sys/class/net/{interface}/mtu").read_text())


def test_long_frames_pass_whole(start: Callable[..., switches.Switch], cables: list[switches.Cable]) -> None:
    for cable in cables:
        switches.ip("link", "set", cable.outside, "mtu", "16370")
    one = start(bed(inside(cables), 'frame-bytes = "16KiB"\nframes = 1024')).wait_until_running()
    assert [mtu(name) for name in inside(cables)] == [16370] * 3
    for size in (1982, 1983, 2048, 9000, 16384):
        cables[0].send(data(1, 0, size=size))
        for cable in cables[1:]:
            frame = cable.socket.recvfrom(20000)[0]
            assert frame == data(1, 0, size=size)
    result = one.end()
    assert "MTU" not in one.errors
    assert port(result, "T0", 0)["device_rx_errors"] == 0
    assert [mtu(name) for name in inside(cables)] == [1500] * 3


def test_a_device_that_refuses_long_frames_says_so(
    start: Callable[..., switches.Switch], cables: list[switches.Cable]
) -> None:
    # A macvlan has at most the MTU of what is below.
    above = f"{cables[1].inside}m"
    switches.ip("link", "add", "link", cables[1].inside, "name", above, "type", "macvlan", "mode", "passthru")
    switches.quiet(above)
    one = start(bed([cables[0].inside, above]), "--prometheus", "0").wait_until_running()
    refused = "refuses an MTU of 2034 for frames of 2048 bytes (run.frame-bytes): Invalid argument"
    assert f"net_af_packet1,iface={above}: {refused}" in one.errors
    assert "it stays at 1500, longer frames are dropped (too_long)" in one.errors
    assert one.errors.count("MTU") == 1
    switches.ip("link", "set", cables[0].outside, "mtu", "2034")
    cables[0].send(data(1, 0, size=1518), data(1, 0, size=1519), data(1, 0, size=2048))
    wait_until(lambda: one.metrics()[RX] == 3, "all came in")
    said = port(one.end(), "T0", 1)
    assert (said["drops"]["too_long"], said["tx_frames"]) == (2, 1)


def refusal(start: Callable[..., switches.Switch], device: str) -> str:
    one = start(bed(["x"]).replace("net_af_packet0,iface=x", device))
    assert one.process.wait(30) == 2
    return one.errors


def test_what_stands_in_the_way_of_an_interface_is_told(
    start: Callable[..., switches.Switch], cables: list[switches.Cable]
) -> None:
    assert "net_af_packet0,iface=nowhere: there is no such network interface" in refusal(
        start, "net_af_packet0,iface=nowhere"
    )
    assert "iface=NAME is missing" in refusal(start, "net_af_packet0")
    small = refusal(start, f"net_af_packet0,iface={cables[0].inside},framesz=2048")
    assert "longer frames than 1982 bytes would be cut, run.frame-bytes is 2048; allowed: at least 2304" in small


def test_frames_that_the_kernel_took_and_did_not_send_are_lost(
    start: Callable[..., switches.Switch], cables: list[switches.Cable]
) -> None:
    one = start(bed(inside(cables))).wait_until_running()
    # The far end takes frames of up to 1500 B of payload, and the kernel drops what is longer on its way there.
    switches.ip("link", "set", cables[0].outside, "mtu", "2034")
    cables[0].send(data(1, 0, size=2000))
    assert cables[1].received(1, 0.3) == []
    one.process.terminate()
    result = one.result(code=2)
    assert [port(result, "T0", i)["device_tx_errors"] for i in (1, 2)] == [1, 1]
    assert "port p1: its device lost 1 frames (0 missed, 0 errors coming in, 1 going out)" in one.errors
