"""`make testbed-rdma`: two guests with soft-RoCE run ib_send_bw and ib_write_bw through the switch.

Guests are qemu's, emulated (no KVM), with Debian's kernel (rdma_rxe) on taps; the switch has the taps by af_packet. A
functional test: it says nothing about speed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
#: Name, role, address, MAC, tap.
GUESTS = (
    ("b", "server", "10.1.0.2", "10.1.0.1", "02:00:00:00:01:02", "bwtapb"),
    ("a", "client", "10.1.0.1", "10.1.0.2", "02:00:00:00:01:01", "bwtapa"),
)
#: rxe knows no checksums by hardware: what a virtual NIC may leave undone is switched off.
OFFLOADS = ("csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo", "host_tso4", "host_tso6")
PLAIN_NIC = ",".join(f"{name}=off" for name in (*OFFLOADS, "host_ecn", "host_ufo", "mrg_rxbuf"))
MESSAGE_BYTES, MTU_BYTES = 4096, 1024


def make_taps() -> None:
    for *_, tap in GUESTS:
        subprocess.run(["ip", "link", "del", tap], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["ip", "tuntap", "add", "dev", tap, "mode", "tap"], check=True)
        Path(f"/proc/sys/net/ipv6/conf/{tap}/disable_ipv6").write_text("1")
        subprocess.run(["ip", "link", "set", tap, "up"], check=True)


def remove_taps() -> None:
    for *_, tap in GUESTS:
        subprocess.run(["ip", "link", "del", tap], stderr=subprocess.DEVNULL, check=False)


def start_guest(guest: tuple[str, ...], folder: Path, messages: int) -> subprocess.Popen[bytes]:
    name, role, address, peer, mac, tap = guest
    words = f"console=ttyS0 quiet panic=-1 ipv6.disable=1 backwater.role={role} backwater.ip={address}"
    command = ["qemu-system-x86_64", "-accel", "tcg", "-m", "384", "-nographic", "-no-reboot", "-nodefaults"]
    command += ["-serial", "stdio", "-kernel", str(folder / "vmlinuz"), "-initrd", str(folder / "initramfs.gz")]
    command += ["-append", f"{words} backwater.peer={peer} backwater.messages={messages}"]
    command += ["-netdev", f"tap,id=n0,ifname={tap},script=no,downscript=no"]
    command += ["-device", f"virtio-net-pci,netdev=n0,mac={mac},{PLAIN_NIC}"]
    log = (folder / f"guest-{name}.log").open("wb")
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


def end(process: subprocess.Popen[bytes], number: int, patience_s: float) -> None:
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the switch counted."""
    folder = arguments.folder
    result, capture = folder / "switch.json", folder / "switch.pcapng"
    make_taps()
    guests: list[subprocess.Popen[bytes]] = []
    switch = None
    try:
        guests = [start_guest(guest, folder, arguments.messages) for guest in GUESTS]
        # A tap is up when qemu has opened it.
        time.sleep(2)
        command = [
            str(arguments.switch),
            "--config",
            str(HERE / "switch.toml"),
            "--stats",
            "json",
            "--capture",
            str(capture),
        ]
        with result.open("wb") as out:
            switch = subprocess.Popen(command, stdout=out)
            deadline = time.monotonic() + arguments.timeout
            while any(guest.poll() is None for guest in guests):
                if time.monotonic() > deadline or switch.poll() is not None:
                    break
                time.sleep(0.5)
            end(switch, signal.SIGTERM, 20)
        if switch.returncode != 0:
            sys.exit(f"testbed-rdma: the switch ended with exit code {switch.returncode}")
    finally:
        for process in [*guests, *([switch] if switch else [])]:
            end(process, signal.SIGKILL, 5)
        remove_taps()
    return dict(json.loads(result.read_text()))


def counters(log: str, test: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(rf"BACKWATER counter {test} (\w+) (\d+)", log)}


def captured(file: Path, display_filter: str) -> int:
    found = subprocess.run(
        ["tshark", "-r", str(file), "-Y", display_filter, "-T", "fields", "-e", "frame.number"],
        capture_output=True,
        text=True,
        check=True,
    )
    return len(found.stdout.split())


def port(document: dict[str, Any], node: str, name: str) -> dict[str, Any]:
    return next(p for n in document["nodes"] if n["name"] == node for p in n["ports"] if p["name"] == name)


def judge(document: dict[str, Any], folder: Path, messages: int) -> list[tuple[bool, str]]:
    """Each thing that must be so, and whether it is."""
    logs = {name: (folder / f"guest-{name}.log").read_text(errors="replace") for name in ("a", "b")}
    checks = [
        (f"BACKWATER ended {test} 0" in logs[name], f"guest {name}: {test} ends well")
        for test in ("ib_send_bw", "ib_write_bw")
        for name in ("a", "b")
    ]
    # Counters of soft-RoCE go on from one test to the next: all data packets of both must have arrived.
    wanted = 2 * messages * MESSAGE_BYTES // MTU_BYTES
    arrived = counters(logs["b"], "ib_write_bw").get("rcvd_pkts", 0)
    lost = [counters(logs[name], "ib_write_bw").get("rcvd_seq_err", -1) for name in ("a", "b")]
    checks.append(
        (
            arrived >= wanted,
            f"guest b: {arrived} packets arrived, at least {wanted} were needed ({messages} messages twice)",
        )
    )
    checks.append((lost == [0, 0], f"no packet is missing in a sequence: {lost[0]} and {lost[1]}"))
    dropped = {
        f"{n['name']}.{p['name']} {why}": count
        for n in document["nodes"]
        for p in n["ports"]
        for why, count in p["drops"].items()
        # A guest that has ended leaves its link behind without a carrier.
        if count and why not in ("reserved", "shutdown", "link_down")
    }
    checks.append((not dropped, f"the switches drop nothing: {dropped or 0}"))
    spine = port(document, "T0", "P0")
    checks.append(
        (sum(spine["off_periods"]) > 0, f"T0 obeys PAUSEs of T2: P0 was held back {sum(spine['off_periods'])} times")
    )
    # What T0 marked already is not counted again by T2.
    marked = port(document, "T2", "guest")["marked_ce"]
    all_marked = marked + spine["marked_ce"]
    checks.append((marked > 0, f"T2 marks CE at the slow port: {marked} packets"))
    capture = folder / "switch.pcapng"
    visible = captured(
        capture, 'infiniband.bth && ip.dsfield.ecn == 3 && ip.dst == 10.1.0.2 && frame.interface_name contains "T2"'
    )
    checks.append((visible == all_marked, f"tshark sees the marks: {visible} RoCEv2 packets with CE"))
    pauses = captured(capture, "macc.opcode == 0x0101")
    checks.append((pauses > 0, f"tshark sees the PAUSEs: {pauses} PFC frames"))
    return checks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--switch", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where guest.sh put the kernel; logs go there, too")
    parser.add_argument("--messages", type=int, default=200, help="of 4096 B, in each test")
    parser.add_argument("--timeout", type=float, default=300, help="seconds")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("testbed-rdma: taps want root")
    if not Path("/dev/net/tun").exists():
        sys.exit("testbed-rdma: this machine has no /dev/net/tun")
    checks = judge(run(arguments), arguments.folder, arguments.messages)
    for good, text in checks:
        print("ok  " if good else "FAIL", text)
    if not all(good for good, _ in checks):
        sys.exit(f"testbed-rdma: see {arguments.folder}/guest-a.log, guest-b.log, switch.json, switch.pcapng")


if __name__ == "__main__":
    main()
