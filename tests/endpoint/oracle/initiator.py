"""One stream at the host that sends it: go-back-N, and what each of the three policies lets it send."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from settings import Settings

# States of the gate of DACK, as in Fig. 2 of the paper: H-inf, H(-1), H(0), H1.
OPEN, HALTED, PACED, RISING = 2, -1, 0, 1


class Sender:
    """What an initiator knows about one stream."""

    def __init__(self, peer: int, settings: Settings) -> None:
        self.peer, self.s = peer, settings
        self.backlog: float = 0
        self.made: Callable[[], None] | None = None  # tells the application that the backlog has a place again
        self.acked = 0  # all up to here is out of the window
        self.newest = 0
        self.heard = 0  # highest number seen in an ACK
        self.replay = 0  # next number to send again; 0: no replay
        self.later = -1  # number of a NACK that came during a replay and waits for its end
        self.recovering = False  # after a timeout, until all is acknowledged
        self.sent_at: dict[int, int] = {}
        self.cwnd, self.ssthresh = settings.mss, settings.ssthresh
        self.state, self.allowance, self.counter = OPEN, 0, 0
        self.free = False  # one packet without an allowance
        self.last = 0  # when the last ACK took effect, or the gate closed

    @property
    def outstanding(self) -> int:
        """Packets in the window."""
        return self.newest - self.acked

    def may_send(self, again: bool) -> bool:
        """Whether the policy lets a packet go now; replays obey only the allowance of DACK."""
        s, after = self.s, (self.outstanding + 1) * self.s.wire
        if s.policy == "aimd":
            return again or self.outstanding == 0 or after <= self.cwnd
        if s.policy == "dack" and self.state != OPEN and self.allowance == 0 and not self.free:
            return False
        return again or (self.outstanding < s.packets and after <= s.bytes)

    def has_new(self) -> bool:
        """Whether reliability and policy let a new packet go now."""
        return not self.replay and not self.recovering and self.backlog >= 1 and self.may_send(False)

    def sent(self, now: int) -> tuple[int, bool]:
        """A packet goes: its number, and whether it is sent again. The replay, if one is on, goes first."""
        again = self.replay != 0
        if again:
            seq = self.replay
            self.replay = seq + 1 if seq < self.newest else 0
            if not self.replay:
                self.replay_ends()
        else:
            self.newest = seq = self.newest + 1
            self.backlog -= 1
            if self.made:
                self.made()
        if self.state != OPEN and self.allowance:
            self.allowance -= 1
        self.free = False
        self.sent_at[seq] = now
        return seq, again

    def replay_ends(self) -> None:
        """What was acknowledged meanwhile leaves the window; a NACK that waited starts the next replay."""
        self.leave()
        if self.acked <= self.later < self.newest:
            self.replay = self.later + 1
        self.later = -1

    def leave(self) -> None:
        """What ACKs cover leaves the window, unless a replay is on: then it does so at its end."""
        if not self.replay:
            self.safe(self.heard)
        if self.outstanding == 0:
            self.recovering = False
            self.free = True

    def safe(self, seq: int) -> None:
        """All up to `seq` leaves the window."""
        for old in range(self.acked + 1, seq + 1):
            self.sent_at.pop(old, None)
        self.acked = max(self.acked, seq)

    def on_ack(self, seq: int, marked: bool, alone: bool, now: int) -> str | None:
        """An ACK takes effect; its name, or None where it says nothing: a plain repeat aboard of a PUT."""
        fresh = max(0, seq - self.heard)
        if not fresh and not alone and not marked:
            return None
        self.heard, self.last = max(self.heard, seq), now
        replaying = self.replay != 0
        if replaying and self.replay <= self.heard:
            self.replay = self.heard + 1 if self.heard < self.newest else 0
            if not self.replay:
                self.replay_ends()
        self.leave()
        if self.s.policy == "aimd" and fresh:
            self.widen(fresh)
        if self.s.policy == "dack":
            self.step(fresh, marked, alone and replaying)
        return ("marked" if marked else "iack") if fresh else "dack"

    def widen(self, fresh: int) -> None:
        """Slow start below the threshold, about one MSS per round trip above it."""
        if self.cwnd < self.ssthresh:
            self.cwnd += min(fresh * self.s.wire, self.s.mss)
        elif self.cwnd:
            self.cwnd += self.s.mss * self.s.mss // self.cwnd

    def step(self, fresh: int, marked: bool, repeat_grants: bool) -> None:
        """One step of the state machine."""
        k = fresh if self.s.grants == "packet" else 1
        if not fresh:
            if self.state != OPEN or marked:
                self.state = HALTED
            self.allowance += repeat_grants
        elif marked or self.state == HALTED:
            self.state = PACED
            self.allowance += k
        elif self.state == PACED:
            self.state, self.counter = RISING, 1
            self.allowance += 2 * k
        elif self.state == RISING and self.counter < self.s.count:
            self.counter += 1
            self.allowance += 2 * k
        elif self.state == RISING:
            self.open()

    def open(self) -> None:
        """Back to H-inf."""
        self.state, self.allowance = OPEN, 0

    def on_nack(self, seq: int, now: int) -> bool:
        """A NACK takes effect: all after `seq` is lost. Whether it counts."""
        if self.recovering or seq < self.acked:
            return False
        self.last = now
        if self.s.policy == "aimd":
            self.cwnd = self.ssthresh = self.cwnd // 2
        if self.s.policy == "dack":
            self.state, self.free, self.allowance = HALTED, True, max(self.allowance, 1)
        if self.replay and self.s.policy != "dack":
            self.later = seq
        elif seq < self.newest:
            # What it covers is safe. The ACKs that pace a DACK stream still come, so `heard` stays.
            self.safe(seq)
            if self.s.policy != "dack":
                self.heard = max(self.heard, seq)
            self.replay = seq + 1
        return True
