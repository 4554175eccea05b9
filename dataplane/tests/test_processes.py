"""Whole runs: how they end, what they say, two processes in one time."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import switches
from switches import port, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

BED = """
[run]
window = "1ms"
frames = {frames}
[clock]
kind = "{clock}"
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
delay = "2us"
[[link]]
a = "T0"
b = "R0"
rate = "{to_receiver}"
delay = "2us"
[[flow]]
name = "F0"
from = "S0"
to = "R0"
rate = "line"
"""


def bed(**changes: Any) -> str:
    return BED.format(**{"frames": 16384, "clock": "clamp", "flow_control": "pfc", "to_receiver": "5Gbps"} | changes)


BAD_WORDS = {
    (): "--config FILE is missing",
    ("--config", "a", "b"): "there are words that belong to no option",
    ("--config", "a", "--duration", "5"): "--duration wants a time like 5s, 100ms or 20us, at most 10000000s, not `5`",
    ("--config", "a", "--duration", "-5s"): "--duration wants a time",
    ("--config", "a", "--duration", "99999999999999999999s"): "--duration wants a time",
    ("--config", "a", "--stats", "xml"): "--stats is json, live or none, not `xml`",
    ("--config", "a", "--prometheus", "65536"): "--prometheus wants a port from 0 to 65535, not `65536`",
    ("--config", "a", "--clock", "sun"): "--clock is step, clamp, lockstep or wall, not `sun`",
    ("--config", "a", "--seed", "-1"): "--seed wants a number",
    ("--config", "/nowhere.toml"): "/nowhere.toml",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_a_bad_command_line_is_told_and_nothing_is_started(words: tuple[str, ...]) -> None:
    ran = subprocess.run([switches.SWITCH, *words], capture_output=True, text=True, timeout=20, check=False)
    assert ran.returncode == 1
    assert BAD_WORDS[words] in ran.stderr
    assert ran.stdout == ""


def test_a_bad_file_is_told_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "bed.toml"
    file.write_text(bed().replace("window", "windwo"))
    ran = subprocess.run(
        [switches.SWITCH, "--config", str(file)], capture_output=True, text=True, timeout=20, check=False
    )
    assert ran.returncode == 1
    assert all(word in ran.stderr for word in ("windwo", "window", str(file)))


def test_by_the_step_clock_two_runs_are_the_same_to_the_last_digit(start: Callable[..., switches.Switch]) -> None:
    for flow_control in ("pfc", "credits"):
        config = bed(clock="step", flow_control=flow_control)
        one, other = (start(config, "--duration", "5ms") for _ in range(2))
        assert one.result() == other.result()
        said = port(one.result(), "T0", 1)
        # 5 Gbps for 5 ms less the way: 1082 B on the wire for each packet of 1000 B payload.
        assert said["tx_frames"] == pytest.approx(5e9 * 5e-3 / 8 / 1082, rel=0.03)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_traffic_ends_it_cleanly(start: Callable[..., switches.Switch], number: int) -> None:
    one = start(bed(), "--prometheus", "0").wait_until_running()
    wait_until(lambda: one.metrics()['backwater_port_rx_frames_total{node="T0",port="p0"}'] > 1000, "traffic")
    result = one.end(number)
    drops = port(result, "T0", 1)["drops"]
    assert {reason for reason, count in drops.items() if count} <= {"shutdown"}


def test_a_pool_that_runs_empty_stops_nothing(start: Callable[..., switches.Switch]) -> None:
    # More is sent than the slow link takes, nobody is paused, and no queue is full before the pool is.
    config = bed(frames=300, flow_control="none", to_receiver="100Mbps").replace(
        'kind = "switch"', 'kind = "switch"\nlossy-queue = "1GB"'
    )
    result = start(config, "--duration", "20ms").result()
    said = port(result, "T0", 1)
    assert said["queue_most_bytes"] < 300 * 1100
    assert said["tx_frames"] > 100
    assert sum(said["drops"].values()) == said["drops"]["shutdown"]


def test_counters_are_served_and_bad_requests_are_refused(start: Callable[..., switches.Switch]) -> None:
    one = start(bed(), "--prometheus", "0").wait_until_running()
    before = one.metrics()
    found = re.search(r"127\.0\.0\.1:(\d+)", one.errors)
    assert found
    at = int(found[1])

    def status(method: str, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", at, timeout=10)
        connection.request(method, path)
        return connection.getresponse().status

    assert [status("GET", "/"), status("POST", "/metrics"), status("HEAD", "/metrics")] == [404, 405, 200]
    for garbage in (b"\0\xff\r\n\r\n", b"GET\r\n\r\n", b"A" * 5000, b"GET /metrics"):
        with socket.create_connection(("127.0.0.1", at), timeout=10) as raw:
            raw.sendall(garbage)
            if garbage.endswith(b"metrics"):
                continue  # and goes away in the middle of it
            assert raw.recv(100).startswith(b"HTTP/1.1 400")
    after = one.metrics()
    assert all(after[name] >= value for name, value in before.items() if name.split("{")[0].endswith("_total"))
    wait_until(
        lambda: one.metrics()['backwater_port_pause_sent_total{node="T0",port="p0",priority="3"}'] > 0, "a PAUSE"
    )
    one.end()


def test_the_port_of_another_program_is_told(start: Callable[..., switches.Switch]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        one = start(bed(), "--prometheus", str(taken.getsockname()[1]))
        assert one.process.wait(30) == 2
        assert "choose another one, or 0" in one.errors


def test_the_live_table_shows_state_and_pauses(start: Callable[..., switches.Switch]) -> None:
    one = start(bed(), "--stats", "live").wait_until_running()
    wait_until(lambda: (one.folder / "stdout").read_text().count("t = ") > 1, "two tables")
    one.process.terminate()
    assert one.process.wait(30) == 0
    text = (one.folder / "stdout").read_text()
    assert re.search(r"^T0 +p1 +3 (ON|OFF) +(non-congestion|congestion|undetermined|judging) +\d+", text, re.MULTILINE)


def two_halves(device: Callable[[int], str], rate: str, delay: str) -> tuple[str, str]:
    """S0 and T0 in one process, T2 and R0 in the other."""
    page = f"/dev/shm/backwater-{uuid.uuid4().hex}"
    cut = f'rate = "{rate}"\ndelay = "{delay}"\n'
    head = '[run]\nwindow = "1ms"\nframes = 16384\n[flow-control]\nkind = "pfc"\n'
    clock = f'[clock]\nkind = "lockstep"\npage = "{page}"\nprocesses = 2\n'
    s0 = '[[node]]\nname = "S0"\nkind = "{}"\nmac = "02:00:00:00:00:01"\nip = "10.0.0.1"\n'
    r0 = '[[node]]\nname = "R0"\nkind = "{}"\nmac = "02:00:00:00:00:02"\nip = "10.0.0.2"\n'
    flow = '[[flow]]\nname = "F0"\nfrom = "S0"\nto = "R0"\nrate = "line"\n'
    left = (
        f'{head}{clock}process = 0\n{s0.format("sender")}{r0.format("remote")}[[node]]\nname = "T0"\nkind = "switch"\n'
        f'[[link]]\na = "S0"\nb = "T0"\n{cut}[[port]]\nnode = "T0"\ndevice = "{device(0)}"\n{cut}{flow}'
    )
    right = (
        f"{head}{clock}process = 1\n{s0.format('remote')}{r0.format('receiver')}"
        f'[[node]]\nname = "T2"\nkind = "switch"\n'
        f'[[link]]\na = "T2"\nb = "R0"\n{cut}[[port]]\nnode = "T2"\ndevice = "{device(1)}"\n{cut}{flow}'
    )
    return left, right


def memif(folder: Path) -> Callable[[int], str]:
    return lambda i: f"net_memif{i},role={'server' if i else 'client'},id=0,socket={folder}/memif,socket-abstract=no"


def check_halves(left: dict[str, Any], right: dict[str, Any], on_the_way: int) -> None:
    """Every packet that was made arrived, or waits at a place that is told, or is between the two at their end."""
    ports = [one for half in (left, right) for node in half["nodes"] for one in node["ports"]]
    for one in ports:
        assert {reason for reason, count in one["drops"].items() if count} <= {"shutdown"}, one
    there = port(right, "T2", 1)
    between = port(left, "T0", 1)["tx_frames"] - there["rx_frames"] - there["undelivered_frames"]
    assert 0 <= between <= on_the_way
    made = sum(flow["packets"] for node in left["nodes"] for flow in node.get("sent", ()))
    received = [flow for node in right["nodes"] for flow in node.get("received", ())]
    assert all(flow["missing"] == flow["late"] == flow["damaged"] == 0 for flow in received)
    assert received[0]["packets"] > 100
    waiting = sum(one["drops"]["shutdown"] + one["undelivered_frames"] for one in ports)
    assert made == sum(flow["packets"] for flow in received) + waiting + between


def test_two_processes_over_memif_keep_one_time(start: Callable[..., switches.Switch], tmp_path: Path) -> None:
    left, right = two_halves(memif(tmp_path), "10Gbps", "4us")
    # The client first: it has to wait for its server.
    one = start(left, "--duration", "10ms")
    time.sleep(0.5)
    other = start(right, "--duration", "10ms")
    # What 10 Gbps carry of 1082 B in the 4 us that one may be ahead of the other.
    check_halves(one.result(), other.result(), 5)
    # Nothing is left: neither the page of their clocks nor what DPDK makes for a process.
    page = re.search(r'page = "(.*)"', left)
    assert page
    assert not Path(page[1]).exists()
    assert not list(Path("/var/run/dpdk").glob(f"backwater{one.process.pid}"))


def test_two_processes_in_two_network_namespaces(
    start: Callable[..., switches.Switch], namespaces: tuple[str, str]
) -> None:
    left, right = two_halves(lambda i: f"net_af_packet{i},iface=cable", "1Gbps", "20us")
    one = start(left, "--duration", "20ms", namespace=namespaces[0])
    other = start(right, "--duration", "20ms", namespace=namespaces[1])
    # The kernel hands on what it has in bursts of its own.
    check_halves(one.result(), other.result(), 64)


def test_who_loses_its_peer_goes_on_and_says_so(start: Callable[..., switches.Switch], tmp_path: Path) -> None:
    left, right = two_halves(memif(tmp_path), "10Gbps", "4us")
    one = start(left)
    other = start(right, "--prometheus", "0")
    other.wait_until_running()
    name = '{node="T2",port="p1"}'
    wait_until(lambda: other.metrics()[f"backwater_port_rx_frames_total{name}"] > 1000, "traffic")
    one.process.kill()
    one.process.wait()
    wait_until(lambda: other.metrics()[f"backwater_port_up{name}"] == 0, "the link is down")
    wait_until(lambda: other.metrics()["backwater_lost_processes"] == 1, "nobody waits for the dead")
    result = other.end()
    assert result["lost_processes"] == 1
    assert "killed" in other.errors


def test_who_waits_for_a_peer_in_vain_says_so(start: Callable[..., switches.Switch], tmp_path: Path) -> None:
    left, _ = two_halves(memif(tmp_path), "10Gbps", "4us")
    one = start(left.replace("processes = 2", 'processes = 2\nlink-timeout = "300ms"'))
    assert one.process.wait(60) == 2
    assert "no link within 300 ms: is the other end running?" in one.errors


def test_windows_without_number_are_refused(start: Callable[..., switches.Switch]) -> None:
    one = start(bed().replace('"1ms"', '"1us"', 1), "--duration", "4294967296us")
    assert one.process.wait(30) == 2
    assert "run.window: 4294967296 windows of 1000 ns; allowed: at most 1048576 in a run" in one.errors


@pytest.mark.parametrize("device", ["net_null{},size=64", "net_tap{}"])
def test_other_devices_open_and_close(start: Callable[..., switches.Switch], device: str) -> None:
    ports = "".join(f'[[port]]\nnode = "T0"\ndevice = "{device.format(i)}"\n' for i in range(2))
    config = f'[run]\nframes = 4096\n[clock]\nkind = "wall"\n[[node]]\nname = "T0"\nkind = "switch"\n{ports}'
    result = start(config, "--duration", "200ms").result()
    assert len(result["nodes"][0]["ports"]) == 2
