"""Runs backwater-switch as a process, and the far ends of its links: for the tests beside it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SWITCH = os.environ.get("BACKWATER_SWITCH", str(ROOT / "target/dataplane/plain/backwater-switch"))
PATIENCE_S = 30.0
ETH_P_ALL = 3


def wait_until(true: Any, what: str, seconds: float = PATIENCE_S) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)


@dataclass
class Switch:
    """A running process."""

    process: subprocess.Popen[str]
    folder: Path
    namespace: str = ""

    @classmethod
    def start(cls, folder: Path, config: str, *options: str, namespace: str = "") -> Switch:
        """Starts one, with its files in `folder`."""
        folder.mkdir(exist_ok=True)
        (folder / "bed.toml").write_text(config)
        command = [SWITCH, "--config", str(folder / "bed.toml"), "--stats", "json", *options]
        if namespace:
            command = ["ip", "netns", "exec", namespace, *command]
        with (folder / "stdout").open("w") as out, (folder / "stderr").open("w") as err:
            return cls(subprocess.Popen(command, stdout=out, stderr=err, text=True), folder, namespace)

    @property
    def errors(self) -> str:
        """What it has said on stderr so far."""
        return (self.folder / "stderr").read_text()

    def wait_until_running(self) -> Switch:
        """Until its links are up and frames move."""
        wait_until(lambda: "running" in self.errors or self.process.poll() is not None, "the switch runs")
        assert self.process.poll() is None, self.errors
        return self

    def metrics(self) -> dict[str, float]:
        """What it serves to Prometheus."""
        url = re.search(r"http://\S+", self.errors)
        assert url, self.errors
        with urllib.request.urlopen(url[0], timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            text = answer.read().decode()
        return dict(samples(text))

    def end(self, number: int = signal.SIGTERM) -> dict[str, Any]:
        """Tells it to stop, and returns what it says."""
        self.process.send_signal(number)
        return self.result()

    def result(self, code: int = 0) -> dict[str, Any]:
        """What it says at its end, which accounts for every frame."""
        assert self.process.wait(PATIENCE_S * 3) == code, self.errors
        said = (self.folder / "stdout").read_text().splitlines()
        result: dict[str, Any] = json.loads(said[-1])
        assert result["leaked_frames"] == 0
        assert all(node.get("unaccounted_frames", 0) == 0 for node in result["nodes"])
        assert "Sanitizer" not in self.errors, self.errors
        assert "runtime error" not in self.errors, self.errors
        return result


def samples(text: str) -> Iterator[tuple[str, float]]:
    """The samples of a page of metrics, whose format is checked on the way (Prometheus, text format 0.0.4)."""
    kind = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, of = line.split(" ")
            assert name not in kind, f"{name}: two families of one name"
            kind[name] = of
        elif not line.startswith("# HELP "):
            match = re.fullmatch(r'([a-z_]+)(\{([a-z]+="[^"]*",?)*\})? ([0-9.e+-]+)', line)
            assert match, line
            assert kind[match[1]] in ("counter", "gauge"), line
            yield line.rsplit(" ", 1)[0], float(match[4])


def port(result: dict[str, Any], node: str, number: int) -> dict[str, Any]:
    found: dict[str, Any] = next(n for n in result["nodes"] if n["name"] == node)["ports"][number]
    return found


@dataclass
class Cable:
    """A veth pair: the switch has one end, the test the other."""

    inside: str
    outside: str
    socket: socket.socket

    def send(self, *frames: bytes) -> None:
        """Into the switch."""
        for frame in frames:
            self.socket.send(frame)

    def received(self, count: int, seconds: float = 5.0) -> list[bytes]:
        """Up to so many frames that came from the switch."""
        frames: list[bytes] = []
        end = time.monotonic() + seconds
        while len(frames) < count and time.monotonic() < end:
            self.socket.settimeout(max(0.01, end - time.monotonic()))
            try:
                frame, address = self.socket.recvfrom(4096)
            except TimeoutError:
                break
            if address[2] != socket.PACKET_OUTGOING:
                frames.append(frame)
        return frames


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def quiet(interface: str, namespace: str = "") -> None:
    """No router solicitations in our counts."""
    inside = ["ip", "netns", "exec", namespace] if namespace else []
    path = f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"
    subprocess.run([*inside, "sh", "-c", f"[ ! -e {path} ] || echo 1 > {path}"], check=True)
    subprocess.run([*inside, "ip", "link", "set", interface, "up"], check=True)


def cable(name: str) -> Cable:
    inside, outside = f"{name}i", f"{name}o"
    ip("link", "add", inside, "type", "veth", "peer", "name", outside)
    quiet(inside)
    quiet(outside)
    # Without a protocol until it is bound: before that a socket hears all interfaces.
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.bind((outside, ETH_P_ALL))
    return Cable(inside, outside, raw)


def mac(number: int) -> bytes:
    return bytes((2, 0, 0, 0, 0x77, number))


PAUSE_ADDRESS = bytes.fromhex("0180c2000001")


def data(to: int, source: int, priority: int = 3, size: int = 200) -> bytes:
    """IPv4 of a priority, ECN capable."""
    header = bytes((0x45, priority << 5 | 1)) + (size - 14).to_bytes(2) + bytes(4) + bytes((64, 17, 0, 0)) + bytes(8)
    return (mac(to) + mac(source) + b"\x08\x00" + header).ljust(size, b"\0")


def pfc(priority: int, quanta: int) -> bytes:
    """IEEE 802.3, annex 31D."""
    times = b"".join((quanta if p == priority else 0).to_bytes(2) for p in range(8))
    return (PAUSE_ADDRESS + mac(9) + b"\x88\x08\x01\x01" + (1 << priority).to_bytes(2) + times).ljust(60, b"\0")


def credit_message(lane: int, fctbs: int, fccl: int) -> bytes:
    return (
        PAUSE_ADDRESS + mac(9) + b"\x88\xb5\x01" + bytes((1 << lane, 0, 0)) + fctbs.to_bytes(8) + fccl.to_bytes(8)
    ).ljust(60, b"\0")
