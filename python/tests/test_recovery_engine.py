"""Queue pairs that send again what is lost: every run equals the event-by-event program of recovery_rules.py.

Stars, sizes, starts, losses and settings are drawn. The engine says which frames its faults lost, and the program loses
the same ones. What a full port loses, each finds by itself.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import backwater
import pytest
from lossy_network import Packet, Star
from recovery_rules import Flow, Settings

if TYPE_CHECKING:
    from pathlib import Path

PAYLOAD, HEADER, REPLY = 952, 48, 64
#: 100 Gbps.
PS_PER_BYTE = 80
COLUMNS = ("packets", "resent_packets", "nacks", "timeouts", "dropped_packets", "duplicate_packets", "failed")


@dataclass
class Traffic:
    """A queue pair: one flow, or several messages in a closed loop."""

    src: int
    dst: int
    size: int
    start: int
    messages: int = 1
    depth: int = 1
    gap: int = 0

    def text(self, number: int) -> str:
        ends = f'name = "f{number}"\nfrom = "h{self.src}"\nto = "h{self.dst}"\n'
        what = f'size = "{self.size}B"\nstart = "{self.start}ps"\n'
        if self.messages == 1:
            return f'[[traffic]]\nkind = "flow"\n{ends}{what}'
        loop = f'messages = {self.messages}\ndepth = {self.depth}\ngap = "{self.gap}ps"\n'
        return f'[[traffic]]\nkind = "closed-loop"\n{ends}{what}{loop}'


@dataclass
class Draw:
    """One network with its flows."""

    selective: bool
    hosts: int
    delays: list[int]
    flows: list[Traffic]
    timeout: int
    low: int
    few: int
    cap: int
    room: int
    share: float
    retries: int
    backoff: bool
    seed: int

    def text(self) -> str:
        hosts = ", ".join(f'"h{host}"' for host in range(self.hosts))
        links = ",\n".join(
            f'  {{ a = "h{host}", b = "s", rate = "100Gbps", delay = "{delay}ps" }}'
            for host, delay in enumerate(self.delays)
        )
        flows = "\n".join(flow.text(number) for number, flow in enumerate(self.flows))
        kind = "selective-repeat" if self.selective else "go-back-n"
        gray = f'[[fault]]\nkind = "gray"\nswitch = "s"\nshare = {self.share}\nat = "0ps"\n' if self.share else ""
        return f"""profile = "ideal"
[run]
seed = {self.seed}
until = "100s"
[topology]
kind = "edges"
hosts = [{hosts}]
switches = ["s"]
links = [
{links}
]
[packet]
payload = "{PAYLOAD}B"
header = "{HEADER}B"
[ack]
every = 1
size = "{REPLY}B"
priority = 7
[cc]
kind = "none"
[switch]
flow-control = "none"
overflow = "drop"
port-buffer = "{self.room}B"
[switch.detector]
kind = "none"
[transport]
reliability = "{kind}"
[transport.go-back-n]
timeout = "{self.timeout}ps"
retries = {self.retries}
backoff = {str(self.backoff).lower()}
[transport.selective-repeat]
bdp = "{self.cap * PAYLOAD}B"
rto-low = "{self.low}ps"
rto-low-packets = {self.few}
rto-high = "{self.timeout}ps"
retries = {self.retries}
backoff = {str(self.backoff).lower()}
[probe]
drops = true
{flows}
{gray}"""


def draw(seed: int, *, selective: bool, loops: float = 0) -> Draw:
    """Delays and starts are odd numbers of picoseconds, so that nothing happens at one instant by chance."""
    of = random.Random(seed)  # noqa: S311
    hosts = of.randint(2, 6)
    flows = []
    for _ in range(of.randint(1, 8)):
        src, dst = of.sample(range(hosts), 2)
        if of.random() < 0.5:
            src, dst = (src, 0) if src else (src, dst)
        size = of.choice([of.randint(1, 3_000), of.randint(1, 60_000), of.randint(60_000, 300_000)])
        flow = Traffic(src, dst, size, of.randrange(1, 20_000_000))
        if of.random() < loops:
            flow.messages, flow.depth = of.randint(2, 12), of.randint(1, 4)
            flow.size, flow.gap = of.randint(1, 30_000), of.choice([0, of.randrange(1, 3_000_000)])
        flows.append(flow)
    low = of.randrange(12_000_000, 40_000_000)
    return Draw(
        selective,
        hosts,
        [of.randrange(100_000, 2_000_000) for _ in range(hosts)],
        sorted(flows, key=lambda flow: flow.start),
        low + of.randrange(1_000_000, 80_000_000),
        low,
        of.randint(1, 8),
        of.randint(2, 120),
        of.choice([4_000, 16_000, 64_000, 1_000_000]),
        of.choice([0.0, 0.002, 0.02, 0.1, 0.3]),
        of.randint(0, 7),
        of.random() < 0.5,
        seed,
    )


@dataclass
class Tail:
    """Tail drop: what waits at a port counts, what is on its wire does not."""

    star: Star
    room: int
    drops: list[tuple[int, int, int]] = field(default_factory=list)

    def enter(self, packet: Packet, egress: int) -> str | None:
        port = self.star.down[egress]
        if port.busy and sum(waits.size for waits in port.data) + packet.size > self.room:
            self.drops.append((self.star.clock.now, packet.flow.number, packet.seq))
            return "port-buffer"
        return None

    def leave(self, packet: Packet, egress: int) -> None:
        """Nothing: the queue itself is asked."""


def both(drawn: Draw, folder: Path) -> tuple[Any, Any] | None:
    """What the engine and the program say of the flows, and of what was dropped.

    Nothing if packets for one port came at one instant: then the order is the engine's own, drawn from its seed.
    """
    folder.mkdir()
    file = folder / "scenario.toml"
    file.write_text(drawn.text())
    results = backwater.run(file, out=folder / "results")
    rows = results.flows.sort("flow").collect().rows(named=True)
    groups = [[row for row in rows if row["traffic_index"] == number] for number in range(len(drawn.flows))]
    # By flow its queue pair, and the number of its first packet there.
    places = {
        row["flow"]: (number, at * -(-row["size_bytes"] // PAYLOAD))
        for number, of in enumerate(groups)
        for at, row in enumerate(of)
    }
    drops = [(row, *places[row["flow"]]) for row in results.drops.sort("time_ps").collect().rows(named=True)]
    gray = [
        (row["time_ps"], pair, row["data"], base + row["seq"] if row["data"] else -1)
        for row, pair, base in drops
        if row["reason"] == "gray"
    ]
    faults = set(gray)
    assert len(faults) == len(gray)

    # By egress port when a packet for it came last, and from where.
    latest: dict[int, tuple[int, int]] = {}
    ties: list[int] = []

    def faulty(packet: Packet) -> bool:
        egress = packet.flow.to if packet.is_data else packet.flow.source
        time, ingress = latest.get(egress, (-1, packet.ingress))
        if time == star.clock.now and ingress != packet.ingress:
            ties.append(egress)
        latest[egress] = (star.clock.now, packet.ingress)
        key = (star.clock.now, packet.flow.number, packet.is_data, packet.seq if packet.is_data else -1)
        if key in faults:
            faults.remove(key)
            return True
        return False

    star = Star(lambda size: size * PS_PER_BYTE, drawn.delays, classes=True)
    tail = Tail(star, drawn.room)
    star.admission, star.faulty = tail, faulty
    cap = drawn.cap if drawn.selective else None
    settings = Settings(
        *(PAYLOAD, HEADER, REPLY, drawn.selective, drawn.timeout, drawn.low, drawn.few, cap),
        retries=drawn.retries,
        backoff=drawn.backoff,
    )
    flows = [
        Flow(star, settings, of.src, of.dst, [of.size] * of.messages, of.start, number, of.depth, of.gap)
        for number, of in enumerate(drawn.flows)
    ]
    # Both go on until nothing is under way.
    star.clock.run()
    if ties:
        return None
    assert not faults, "the program never sent what the engine lost"

    ours = [
        (
            *([row[time] for row in of if row[time] is not None] for time in ("acked_ps", "finish_ps")),
            *(sum(row[column] for row in of) for column in COLUMNS),
        )
        for of in groups
    ]
    theirs = [
        (
            flow.acknowledged,
            flow.finished,
            *(flow.expected, flow.sent - flow.newest, flow.nacks, flow.timeouts, flow.discarded, flow.duplicates),
            flow.failed or 0,
        )
        for flow in flows
    ]
    full = [(row["time_ps"], pair, base + row["seq"]) for row, pair, base in drops if row["reason"] == "port-buffer"]
    return (ours, sorted(full)), (theirs, sorted(tail.drops))


def compare(seed: int, folder: Path, *, selective: bool, loops: float = 0) -> None:
    for attempt in range(20):
        found = both(draw(seed + 1000 * attempt, selective=selective, loops=loops), folder / str(attempt))
        if found:
            assert found[0] == found[1]
            return
    pytest.fail("twenty draws with packets that come at one instant")


@pytest.mark.parametrize("selective", [False, True], ids=["go-back-n", "selective-repeat"])
@pytest.mark.parametrize("seed", range(60))
def test_a_run_is_that_of_the_program(selective: bool, seed: int, tmp_path: Path) -> None:
    compare(seed, tmp_path, selective=selective)


@pytest.mark.parametrize("selective", [False, True], ids=["go-back-n", "selective-repeat"])
@pytest.mark.parametrize("seed", range(60))
def test_messages_of_a_connection_are_numbered_one_after_the_other(selective: bool, seed: int, tmp_path: Path) -> None:
    compare(seed, tmp_path, selective=selective, loops=0.7)
