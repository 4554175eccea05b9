"""How a run ends: in spite of slow clients, with a capture that can be read, with a message that helps."""

from __future__ import annotations

import re
import socket
import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import switches

HEAD = '[run]\nframes = 1024\n[clock]\nkind = "{}"\n'
SWITCH = '[[node]]\nname = "T{}"\nkind = "switch"\n'
LINK = '[[link]]\na = "T{}"\nb = "T{}"\nrate = "10Gbps"\ndelay = "1us"\n'
PAIR = SWITCH.format(0) + SWITCH.format(1) + LINK.format(0, 1)


def connect(one: switches.Switch) -> socket.socket:
    found = re.search(r"127\.0\.0\.1:(\d+)", one.errors)
    assert found
    return socket.create_connection(("127.0.0.1", int(found[1])), timeout=10)


def test_a_client_that_says_nothing_does_not_delay_the_end(start: Callable[..., switches.Switch]) -> None:
    """It may take two seconds while the run goes on. A busy machine makes an end long, but not three times."""
    seconds = []
    for _ in range(3):
        one = start(HEAD.format("clamp") + PAIR, "--prometheus", "0").wait_until_running()
        with connect(one) as silent:
            silent.sendall(b"GET /met")
            time.sleep(0.1)
            begun = time.monotonic()
            one.end()
            seconds.append(time.monotonic() - begun)
        if seconds[-1] < 1:
            return
    raise AssertionError(seconds)


def test_a_client_that_says_a_little_now_and_then_has_two_seconds(start: Callable[..., switches.Switch]) -> None:
    one = start(HEAD.format("clamp") + PAIR, "--prometheus", "0").wait_until_running()
    end = time.monotonic() + 20
    with connect(one) as slow:
        slow.settimeout(0.2)
        while time.monotonic() < end:
            try:
                slow.sendall(b"G")
                slow.recv(100)
            except TimeoutError:
                continue
            except OSError:
                pass
            break
    assert time.monotonic() < end
    one.end()


def test_lockstep_needs_a_file_that_says_who_takes_part(start: Callable[..., switches.Switch]) -> None:
    one = start(HEAD.format("clamp") + PAIR, "--clock", "lockstep")
    assert one.process.wait(30) == 1
    assert "--clock lockstep: " in one.errors
    assert "has another clock, and does not say who takes part; write kind = " in one.errors


def blocks(file: Path) -> list[int]:
    """The types of the blocks of a capture, which is whole."""
    data, types = file.read_bytes(), []
    while data:
        kind, length = struct.unpack_from("<II", data)
        assert len(data) >= length >= 12
        assert struct.unpack_from("<I", data, length - 4) == (length,)
        types.append(kind)
        data = data[length:]
    return types


def test_more_than_256_ports_can_be_captured(start: Callable[..., switches.Switch], tmp_path: Path) -> None:
    file = tmp_path / "all.pcapng"
    # 128 links, the most of one process, and a device.
    config = "".join(SWITCH.format(i) for i in range(4)) + 64 * (LINK.format(0, 1) + LINK.format(2, 3))
    config += '[[node]]\nname = "T4"\nkind = "switch"\n[[port]]\nnode = "T4"\ndevice = "net_null0"\n'
    one = start(HEAD.format("step") + config, "--duration", "10us", "--capture", str(file))
    one.result()
    assert blocks(file).count(1) == 257


def test_the_capture_of_a_run_that_fails_is_whole(start: Callable[..., switches.Switch], tmp_path: Path) -> None:
    file = tmp_path / "failed.pcapng"
    device = (
        f'[[port]]\nnode = "T0"\ndevice = "net_memif0,role=client,id=0,socket={tmp_path}/nobody,socket-abstract=no"\n'
    )
    config = HEAD.format("clamp") + 'link-timeout = "200ms"\n' + PAIR + device
    one, full = start(config, "--capture", str(file)), start(config, "--capture", "/dev/full")
    for run in (one, full):
        assert run.process.wait(30) == 2
        assert "no link within 200 ms" in run.errors
    # The section, and the three ports.
    assert blocks(file) == [0x0A0D0D0A, 1, 1, 1]
    assert "/dev/full: No space left on device after 0 frames" in full.errors
