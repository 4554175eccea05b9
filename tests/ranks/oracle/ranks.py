"""Ranks that carry out programs: two-sided messages matched as MPI does, eager or by rendezvous; puts, gets, flush."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from network import TIMER, Message, World
from settings import ANY, FOREVER, INTERNAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from settings import Settings

# An operation: its name and its numbers.
Op = tuple[str, *tuple[int, ...]]
# (end, rank, series, label, start)
Timing = tuple[int, int, int, int, int]


@dataclass
class Receive:
    """A posted receive."""

    source: int
    room: int
    tag: int
    set: int

    def takes(self, message: Message) -> bool:
        """Whether a message is one for it."""
        tagged = message.tag < INTERNAL if self.tag == ANY else message.tag == self.tag
        return tagged and self.source in (ANY, message.src)


class Rank:
    """One rank. It does one thing after the other; its NIC answers requests without it."""

    def __init__(self, m: Machine, name: int, ops: list[Op]) -> None:
        self.m, self.name, self.ops = m, name, ops
        self.posted: list[Receive] = []
        self.early: list[Message] = []  # arrived before their receive
        self.here: deque[Receive] = deque()  # complete but for the rank's own work
        self.open = [0] * 8  # requests of each set
        self.remote = 0  # puts and gets under way
        self.numbers = 0
        self.sends: dict[int, Message] = {}  # rendezvous that wait for their CTS
        self.matched: dict[tuple[int, int], Receive] = {}
        self.timers: dict[int, int] = {}
        self.asleep = True  # until its start
        self.ended: int | None = None
        self.steps = self.carry_out()

    def go_on(self) -> None:
        """Goes on until it waits for time or for a message."""
        if self.ended is not None:
            return
        try:
            pause = next(self.steps)
        except StopIteration:
            self.ended = self.m.w.now
            return
        if pause is not None:
            self.asleep = True
            self.m.w.at(self.m.w.now + pause, TIMER, self.awake)

    def awake(self) -> None:
        """Its pause is over."""
        self.asleep = False
        self.go_on()

    def news(self) -> None:
        """Something has come that a waiting rank looks at."""
        if not self.asleep:
            self.go_on()

    def until(self, done: Callable[[], bool]) -> Iterator[int | None]:
        """Waits; meanwhile it takes what is there, one after the other, and leaves as soon as it may."""
        while not done():
            if self.here:
                receive = self.here.popleft()
                yield self.m.s.receive
                self.open[receive.set] -= 1
            else:
                yield None

    def none_open(self, sets: int) -> bool:
        """Whether no request of some sets is outstanding."""
        return not any(self.open[i] for i in range(8) if sets >> i & 1)

    def carry_out(self) -> Iterator[int | None]:
        """The program."""
        at = 0
        rounds: dict[int, int] = {}
        while at < len(self.ops):
            name, *given = self.ops[at]
            here, at = at, at + 1
            if name == "isend":
                yield self.m.s.send
                self.isend(*given)
            elif name == "irecv":
                self.irecv(Receive(*given))
            elif name in ("put", "get"):
                yield self.m.s.send
                self.aside(name, *given)
            elif name == "wait":
                yield from self.until(partial(self.none_open, given[0]))
            elif name == "flush":
                yield from self.until(lambda: self.remote == 0)
            elif name == "compute":
                yield given[0]
            elif name == "loop":
                rounds[here] = given[0]
                if given[0] == 0:
                    at = given[1]
            elif name == "end":
                loop = given[0] - 1
                if rounds[loop] != FOREVER:
                    rounds[loop] -= 1
                if rounds[loop] != 0:
                    at = given[0]
            elif name == "start":
                self.timers[given[0]] = self.m.w.now
            elif name == "stop":
                timer, series, label = given
                self.m.timings.append((self.m.w.now, self.name, series, label, self.timers[timer]))

    def isend(self, to: int, size: int, tag: int, set_: int) -> None:
        """A message is given to its channel."""
        message = Message("eager", self.name, to, size, tag)
        if not self.m.local(self.name, to):
            self.open[set_] += 1
            message.left = partial(self.sent, set_)
            if size > self.m.s.eager:
                self.numbers += 1
                message = Message("rts", self.name, to, self.m.s.control, tag, self.numbers)
                data = Message("data", self.name, to, size, tag, self.numbers, partial(self.sent, set_))
                self.sends[self.numbers] = data
        self.m.give(message)

    def irecv(self, receive: Receive) -> None:
        """A receive takes the first message that came before it, or waits for one."""
        for i, message in enumerate(self.early):
            if receive.takes(message):
                del self.early[i]
                self.open[receive.set] += 1
                self.match(receive, message)
                return
        self.open[receive.set] += 1
        self.posted.append(receive)

    def aside(self, kind: str, to: int, size: int) -> None:
        """A put, or the request of a get. The answer to a get is as long as `tag` says."""
        self.remote += 1
        if self.m.local(self.name, to):
            self.m.w.at(self.m.w.now + self.m.s.local, TIMER, self.answered)
        elif kind == "put":
            self.m.give(Message("put", self.name, to, size))
        else:
            self.m.give(Message("get", self.name, to, self.m.s.control, size))

    def match(self, receive: Receive, message: Message) -> None:
        """A message and its receive have found each other."""
        if message.kind == "eager":
            if message.size > receive.room:
                raise ValueError(f"rank {self.name}: {message.size} B for a receive of {receive.room} B")
            self.here.append(receive)
            return
        self.matched[message.src, message.number] = receive
        self.m.give(Message("cts", self.name, message.src, self.m.s.control, 0, message.number))

    def arrived(self, message: Message) -> None:
        """A message is here."""
        kind = message.kind
        if kind in ("eager", "rts"):
            receive = next((receive for receive in self.posted if receive.takes(message)), None)
            if receive is None:
                self.early.append(message)
                return
            self.posted.remove(receive)
            self.match(receive, message)
        elif kind == "data":
            self.here.append(self.matched.pop((message.src, message.number)))
        elif kind == "cts":
            self.m.give(self.sends.pop(message.number))
        elif kind == "put":
            self.m.give(Message("put_ack", self.name, message.src, self.m.s.control))
        elif kind == "get":
            self.m.give(Message("got", self.name, message.src, message.tag))
        else:
            self.remote -= 1
        self.news()

    def answered(self) -> None:
        """A put or get within the host is done."""
        self.remote -= 1
        self.news()

    def sent(self, set_: int) -> None:
        """The last bit of a message has left."""
        self.open[set_] -= 1
        self.news()


class Machine:
    """Ranks on hosts."""

    def __init__(self, settings: Settings, host_of: list[int], programs: list[list[Op]], starts: list[int]) -> None:
        self.s, self.w = settings, World(settings, host_of)
        self.timings: list[Timing] = []
        self.ranks = [Rank(self, name, ops) for name, ops in enumerate(programs)]
        for host in self.w.hosts:
            host.deliver = lambda message: self.ranks[message.dst].arrived(message)
        for rank, start in zip(self.ranks, starts, strict=True):
            self.w.at(start, TIMER, rank.awake)

    def local(self, a: int, b: int) -> bool:
        """Whether two ranks live on one host."""
        return self.w.host_of[a] == self.w.host_of[b]

    def give(self, message: Message) -> None:
        """A message goes its way: over the network, or within its host."""
        if self.local(message.src, message.dst):
            self.w.at(self.w.now + self.s.local, TIMER, lambda: self.ranks[message.dst].arrived(message))
        else:
            self.w.hosts[self.w.host_of[message.src]].give(message)

    def run(self) -> list[Timing]:
        """All of it."""
        self.w.run()
        return self.timings
