"""How the ConWeave simulator (ns-3) loses and recovers packets, as a program that shares no line with the crates.

Times are whole nanoseconds, cut as there. Where they leave the papers: docs/fidelity.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lossy_network import Packet, Star

if TYPE_CHECKING:
    from pathlib import Path

HEADER, REPLY, PAUSE = 48, 60, 43
#: That simulator's constant, whatever its packets are.
MTU = 1048
QUEUES = 8
PAUSE_NS, NACK_NS, GBN_NS = 5000, 4000, 4_000_000


@dataclass(frozen=True)
class Settings:
    """What a case says: `nopfc-irn-bdp104k-nocc` and the files beside it."""

    rate_bps: int
    payload: int
    buffer: int
    cap: int
    low_ns: int
    high_ns: int
    pfc: bool
    irn: bool
    controlled: bool

    def takes(self, size: int) -> int:
        # In seconds as a number with a fraction, cut to nanoseconds; an exact 80 ns even becomes 79 there.
        return int(size * 8 / self.rate_bps * 1e9)


class Memory:
    """Admission and PAUSE of a switch."""

    def __init__(self, star: Star, settings: Settings) -> None:
        self.star, self.settings = star, settings
        ports = len(star.down)
        own = ports * QUEUES * MTU
        self.room = [2 * settings.rate_bps * port.delay // 8_000_000_000 + 2 * MTU for port in star.down]
        #: The sum of headroom misses the last port, and takes one that does not exist, of 14,596 B.
        self.ingress_limit = settings.buffer - 14_596 - sum(self.room[:-1]) - own
        self.egress_limit = settings.buffer - own
        self.held = [0] * ports
        self.queued = [0] * ports
        self.extra = [0] * ports
        self.pausing: list[list[Any] | None] = [None] * ports

    def above(self, egress: int) -> int:
        return max(0, self.queued[egress] - MTU - 1)

    def enter(self, packet: Packet, egress: int) -> str | None:
        size, ingress = packet.size, packet.ingress
        used = sum(map(self.above, range(len(self.queued))))
        if used + size > self.egress_limit or self.above(egress) + size > self.egress_limit - used:
            return "egress"
        total = sum(self.held)
        beyond = total > self.ingress_limit
        if total + size > self.settings.buffer:
            return "ingress"
        if self.held[ingress] + size > MTU and beyond and self.extra[ingress] + size > self.room[ingress]:
            return "ingress"
        self.held[ingress] += size
        if sum(self.held) > self.ingress_limit:
            self.extra[ingress] += size
        self.queued[egress] += size
        above = self.held[ingress] - 2 * MTU
        if above > 0 and (above > (self.ingress_limit - sum(self.held)) / 16 or self.extra[ingress]):
            self._pause(ingress)
        return None

    def leave(self, packet: Packet, egress: int) -> None:
        size, ingress = packet.size, packet.ingress
        self.extra[ingress] -= min(size, self.extra[ingress])
        self.held[ingress] -= size
        self.queued[egress] -= size
        above = self.held[ingress] - 2 * MTU
        pausing, room = self.pausing[ingress], (self.ingress_limit - sum(self.held) - 16) / 16
        if pausing and not self.extra[ingress] and above < room:
            pausing.clear()
            self._send(ingress, 0)

    def _pause(self, ingress: int) -> None:
        if pausing := self.pausing[ingress]:
            pausing.clear()
        self.pausing[ingress] = self.star.clock.after(PAUSE_NS, lambda: self._forget(ingress))
        self._send(ingress, PAUSE_NS)

    def _forget(self, ingress: int) -> None:
        self.pausing[ingress] = None

    def _send(self, ingress: int, span: int) -> None:
        if self.settings.pfc:
            self.star.down[ingress].put(Packet(None, PAUSE, pause=span))


class Dcqcn:
    """The rate of a flow; marks come with NACKs alone, as there is no ECN."""

    GAIN, FLOOR, AI, HAI, TIMER_NS, ALPHA_NS, CUT_NS = 1 / 256, 100e6, 40e6, 100e6, 300_000, 1000, 4000

    def __init__(self, flow: Flow, line: int) -> None:
        self.flow, self.clock = flow, flow.star.clock
        self.rate: float = line
        self.line = line
        self.target: float = line
        self.alpha: float | None = None
        # A CNP since the last tick of each clock.
        self.seen = self.told = False
        self.stage = 0
        self.timer: list[Any] = []

    def notified(self) -> None:
        if self.alpha is None:
            self.alpha = 1.0
            self.target = self.rate
            self.seen = self.told = False
            self.clock.after(self.ALPHA_NS, self._alpha)
            self.clock.after(self.CUT_NS + 1, self._cut)
        else:
            self.seen = self.told = True

    def _alpha(self) -> None:
        if self.flow.done is not None or self.alpha is None:
            return
        self.alpha = (1 - self.GAIN) * self.alpha + (self.GAIN if self.seen else 0)
        self.seen = False
        self.clock.after(self.ALPHA_NS, self._alpha)

    def _cut(self) -> None:
        if self.flow.done is not None or self.alpha is None:
            return
        self.clock.after(self.CUT_NS, self._cut)
        if not self.told:
            return
        self.told = False
        if self.stage:
            self.target = self.rate
        self.rate = max(self.FLOOR, self.rate * (1 - self.alpha / 2))
        self.stage = 0
        self.timer.clear()
        self.timer = self.clock.after(self.TIMER_NS, self._grow)

    def _grow(self) -> None:
        if self.flow.done is not None:
            return
        self.timer = self.clock.after(self.TIMER_NS, self._grow)
        if self.stage:
            self.target = min(self.line, self.target + (self.AI if self.stage == 1 else self.HAI))
        self.rate = (self.rate + self.target) / 2
        self.stage += 1


@dataclass(frozen=True)
class Reply:
    """What a receiver answers: go-back-N's NACK has no block, IRN's reply may have one."""

    expected: int
    nack: bool
    block: tuple[int, int] | None = None
    notify: bool = False


class Flow:
    """A queue pair, and at its other end the receiver."""

    def __init__(self, star: Star, settings: Settings, source: int, to: int, size: int, start: int) -> None:
        self.star, self.settings, self.source, self.to, self.size, self.start = star, settings, source, to, size, start
        self.clock = star.clock
        self.next = self.una = self.highest = self.furthest = 0
        self.due = start
        self.blocks: list[tuple[int, int]] = []
        self.recovering = False
        self.until = 0
        self.sent = self.nacks = self.notified = self.timeouts = 0
        self.done: int | None = None
        self.timer: list[Any] = []
        self.dcqcn = Dcqcn(self, settings.rate_bps) if settings.controlled else None
        # The receiver's side.
        self.expected = 0
        self.stored: list[tuple[int, int]] = []
        self.nacked: tuple[int, int] | None = None
        self.clock.at(start, self._begin)

    def _begin(self) -> None:
        self.star.up[self.source].sources.append(self)
        self.star.up[self.source].go()

    # The sender.

    def can_send(self) -> bool:
        left = self.size - self.next
        if self.done is not None or left <= 0:
            return False
        if not self.settings.irn:
            return True
        flying = self.furthest - self.highest
        cap = self.settings.cap
        return flying + min(left, self.settings.payload) < cap or self.next < self.highest + cap

    def send(self) -> Packet:
        if self.settings.irn and self.blocks and self.blocks[0][0] == self.next:
            self.next = self.blocks.pop(0)[1]
        payload = min(self.settings.payload, self.size - self.next)
        packet = Packet(self, payload + HEADER, self.next, payload)
        self.next += payload
        self.furthest = max(self.furthest, self.next)
        self.sent += 1
        size = payload + HEADER
        self.due = self.clock.now + (int(size * 8 / self.dcqcn.rate * 1e9) if self.dcqcn else self.settings.takes(size))
        self._arm()
        return packet

    def _arm(self) -> None:
        span = GBN_NS
        if self.settings.irn:
            few = self.furthest - self.highest <= 3 * self.settings.payload
            span = self.settings.low_ns if few else self.settings.high_ns
        self.timer.clear()
        self.timer = self.clock.after(span, self._expired)

    def _expired(self) -> None:
        if self.done is not None or (self.settings.irn and self.settings.pfc):
            return
        self.timeouts += 1
        if self.settings.irn:
            self.recovering, self.until = True, self.next
        self.next = self.una
        self.star.up[self.source].go()

    def answered(self, reply: Reply) -> None:
        if self.done is not None:
            return
        self.nacks += reply.nack
        self.una = max(self.una, reply.expected)
        self.highest = max(self.highest, reply.expected)
        if reply.block:
            self.blocks = merged([*self.blocks, reply.block])
        if self.blocks and self.blocks[0][0] <= self.una:
            self.una = max(self.una, self.blocks[0][1])
        self.blocks = [block for block in self.blocks if block[0] >= self.una]
        self.next = max(self.next, self.una)
        self.timer.clear()
        if self.una >= self.size:
            self.done = self.clock.now
            self.star.up[self.source].go()
            return
        if self.next > self.una:
            self._arm()
        if self.recovering and self.una >= self.until:
            self.recovering = False
        if reply.nack:
            if not self.settings.irn:
                self.next = self.una
            elif not self.recovering:
                self.recovering, self.until, self.next = True, self.next, self.una
        elif self.settings.irn:
            self.recovering = False
        if reply.notify:
            self.notified += 1
            if self.dcqcn:
                self.dcqcn.notified()
        self.star.up[self.source].go()

    # The receiver.

    def receive(self, packet: Packet) -> None:
        reply = (self._irn if self.settings.irn else self._gbn)(packet)
        if reply:
            self.star.up[self.to].put(Packet(self, REPLY, reply=reply))

    def _gbn(self, packet: Packet) -> Reply | None:
        if packet.seq <= self.expected:
            self.expected = max(self.expected, packet.seq + packet.payload)
            return Reply(self.expected, nack=False)
        if self._quiet():
            return None
        return Reply(self.expected, nack=True, notify=True)

    def _quiet(self) -> bool:
        """Whether a NACK for what is expected has been sent less than 4 us ago; else one is noted now."""
        now = self.clock.now
        if self.nacked and self.nacked[0] == self.expected and now < self.nacked[1] + NACK_NS:
            return True
        self.nacked = (self.expected, now)
        return False

    def _irn(self, packet: Packet) -> Reply | None:
        block = (packet.seq, packet.seq + packet.payload)
        if packet.seq <= self.expected:
            self.expected = max(self.expected, block[1])
            while self.stored and self.stored[0][0] <= self.expected:
                self.expected = max(self.expected, self.stored.pop(0)[1])
            return Reply(self.expected, nack=bool(self.stored), block=block if self.stored else None)
        if any(first <= block[0] and block[1] <= last for first, last in self.stored):
            if self._quiet():
                return None
        else:
            self.stored = merged([*self.stored, block])
            self.nacked = (self.expected, self.clock.now)
        return Reply(self.expected, nack=True, block=block, notify=True)


def merged(blocks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Blocks in order, those that touch as one."""
    made: list[tuple[int, int]] = []
    for first, last in sorted(blocks):
        if made and first <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], last))
        else:
            made.append((first, last))
    return made


def keys(file: Path, separator: str) -> dict[str, str]:
    return dict(line.split(separator, 1) for line in file.read_text().split("\n") if separator in line)


def case(folder: Path) -> tuple[Star, list[Flow]]:
    """What a folder of that simulator's files describes, run to its end."""
    above = folder.parent
    config = keys(folder / "config.txt", " ")
    environment = dict(word.split("=", 1) for word in (folder / "env.txt").read_text().split())
    lines = (above / config["TOPOLOGY_FILE"]).read_text().splitlines()
    hosts = int(lines[0].split()[0]) - 1
    rate = int(
        float(lines[2].split()[2].removesuffix("bps").replace("Gbps", "e9").replace("G", "e9").replace("M", "e6"))
    )
    settings = Settings(
        rate_bps=rate,
        payload=int(config["PACKET_PAYLOAD_SIZE"]),
        buffer=int(environment["REF_BUFFER_BYTES"]),
        cap=int(environment["REF_IRN_BDP"]),
        low_ns=int(environment["REF_RTO_LOW"]) * 1000,
        high_ns=int(environment["REF_RTO_HIGH"]) * 1000,
        pfc=config["ENABLE_PFC"] == "1",
        irn=config["ENABLE_IRN"] == "1",
        controlled=config["CC_MODE"] == "1",
    )
    star = Star(settings.takes, [1000] * hosts)
    star.admission = Memory(star, settings)
    flows = []
    for line in (folder / "fct.txt").read_text().splitlines()[1:]:
        source, to, _, _, size, start, *_, number, _, _, _, _ = map(int, line.split())
        flows.append((number, source, to, size, start))
    # Of its flows the answers' own starts: that simulator loses up to 1 ns of what flow.txt says.
    made = [Flow(star, settings, *flow) for _, *flow in sorted(flows)]
    star.clock.run()
    return star, made
