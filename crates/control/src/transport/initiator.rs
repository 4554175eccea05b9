//! Initiator of a stream: go-back-N by sequence numbers.
//!
//! Reference: EC paper (Chong, Krishnan: Addressing Endpoint-induced Congestion, 2023), section II-A; the authors' public simulator
//! (commit 6ef0eb3) for the order of things during a replay and after a timeout.
//!
//! ```text
//!   streaming ── NACK(n) ──▶ replay n+1 ..= newest ── last one resent: remembered ACKs count ──▶ streaming
//!       │                      │  ▲ NACK(m): to m+1, at once or when the last one has been resent
//!       └───── timeout ────────┴──┴─▶ recovery: resend what expired, nothing new ── all acknowledged ──▶ streaming
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | moves | | at once with the proposed policy, else at the end | the authors' public simulator |
//!
//! Sizes and times of the packets are the caller's, in a ring with one place for each of [`Initiator::freed`]` + 1 ..= `
//! [`Initiator::newest`]; `packets` of [`Acked`], [`Nacked`] and `acked` of [`Sent`] are to be popped from its front.
//!
//! Known deviations: a replay passes over packets that an ACK has covered since it began, and a NACK counts as an ACK of what it
//! covers (the paper: "with the last accepted packet sequence number"), also where it is ignored otherwise. On a path that keeps
//! packets in order the first makes no difference.

/// What a NACK does that comes while its stream is sending again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum ReplayMoves {
    /// The next packet is the one after that of the NACK.
    AtOnce,
    /// What was to be sent again is sent to its end, then from that of the NACK on.
    AtEnd,
}

/// What reliability would send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A packet that has not been sent yet; its number will be [`Initiator::newest`]` + 1`.
    New,
    /// This one, another time.
    Again(u32),
    /// Nothing until an ACK comes or a packet expires.
    Nothing,
}

/// A packet was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its number.
    pub seq: u32,
    /// Whether it had been sent before.
    pub again: bool,
    /// Packets freed now: the replay has ended and remembered ACKs count.
    pub acked: u32,
}

/// An ACK took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Packets freed now.
    pub packets: u32,
    /// Packets that neither an ACK nor a NACK has covered before, also if this one is only remembered: those from
    /// [`Initiator::oldest`] before the call.
    pub covered: u32,
    /// `covered`, or where a NACK has covered them all, those that no ACK has.
    pub fresh: u32,
    /// Whether there are none: a duplicate.
    pub repeat: bool,
}

/// A NACK took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nacked {
    /// Packets freed now.
    pub packets: u32,
    /// Packets that neither an ACK nor a NACK has covered before.
    pub covered: u32,
    /// A replay begins, moves or will begin when this one ends.
    pub replay: bool,
    /// It says nothing new, or comes while a timeout is being mended.
    pub ignored: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
enum Mode {
    Streaming,
    /// After a NACK.
    Replay,
    /// After a timeout.
    Recovery,
}

/// One stream at its initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Initiator {
    /// The caller's ring begins behind this one.
    freed: u32,
    /// The latest that an ACK or NACK has covered; above `freed` only during a replay.
    covered: u32,
    /// The latest that an ACK has covered, NACKs left aside.
    seen: u32,
    newest: u32,
    /// Next one to be resent; none if above `last`.
    again: u32,
    last: u32,
    /// A NACK that waits for the end of the replay.
    later: Option<u32>,
    mode: Mode,
    moves: ReplayMoves,
}

impl Initiator {
    /// A stream of which nothing has been sent.
    pub const fn new(moves: ReplayMoves) -> Self {
        Self {
            freed: 0,
            covered: 0,
            seen: 0,
            newest: 0,
            again: 1,
            last: 0,
            later: None,
            mode: Mode::Streaming,
            moves,
        }
    }

    /// What reliability would send now.
    #[inline]
    pub const fn next(&self) -> Next {
        if self.again <= self.last {
            Next::Again(self.again)
        } else if matches!(self.mode, Mode::Streaming) {
            Next::New
        } else {
            Next::Nothing
        }
    }

    /// The packet of [`Self::next`] was sent.
    ///
    /// # Panics
    /// In a debug build, if that was nothing.
    #[inline]
    pub fn sent(&mut self) -> Sent {
        if let Next::Again(seq) = self.next() {
            self.again += 1;
            return Sent { seq, again: true, acked: self.end_of_replay() };
        }
        debug_assert!(self.next() == Next::New, "nothing was to be sent");
        self.newest += 1;
        Sent { seq: self.newest, again: false, acked: 0 }
    }

    /// An ACK of everything up to `seq` takes effect.
    #[inline]
    pub fn on_ack(&mut self, seq: u32) -> Acked {
        let more = seq.min(self.newest).saturating_sub(self.seen);
        self.seen += more;
        let covered = self.cover(seq);
        let fresh = if covered > 0 { covered } else { more };
        Acked { packets: self.end_of_replay(), covered, fresh, repeat: fresh == 0 }
    }

    /// A NACK takes effect: `seq` was accepted, and everything behind it was lost.
    pub fn on_nack(&mut self, seq: u32) -> Nacked {
        let stale = seq < self.covered || seq > self.newest;
        let covered = self.cover(seq);
        let ignored = stale || self.mode == Mode::Recovery || seq == self.newest;
        if !ignored {
            if self.mode == Mode::Replay && self.moves == ReplayMoves::AtEnd && self.again <= self.last {
                self.later = Some(seq);
            } else {
                self.mode = Mode::Replay;
                (self.again, self.last) = (seq + 1, self.newest);
            }
        }
        Nacked { packets: self.end_of_replay(), covered, replay: !ignored, ignored }
    }

    /// Nothing was heard of [`Self::oldest`] for too long: as if a NACK asked for it and all behind it. What a queue pair does after a
    /// timeout (InfiniBand specification, volume 1, §9.7.6.1.3), where PUTs recover ([`Self::on_timeout`]).
    pub fn on_implied_nack(&mut self) -> Nacked {
        self.on_nack(self.covered)
    }

    /// The packets from [`Self::oldest`] to `through` have expired: they are resent in order, and nothing new until all that was
    /// sent is acknowledged.
    pub fn on_timeout(&mut self, through: u32) {
        let last = if self.mode == Mode::Recovery { self.last.max(through) } else { through };
        (self.again, self.last) = (self.covered + 1, last.min(self.newest));
        self.later = None;
        self.mode = Mode::Recovery;
    }

    /// Notes an ACK. The packets that it covers first.
    fn cover(&mut self, seq: u32) -> u32 {
        let seq = seq.min(self.newest);
        let more = seq.saturating_sub(self.covered);
        self.covered += more;
        self.again = self.again.max(self.covered + 1);
        more
    }

    /// If nothing is left to be resent: packets freed by that. Starts the replay that waits.
    fn end_of_replay(&mut self) -> u32 {
        if self.again <= self.last {
            return 0;
        }
        let packets = self.covered - self.freed;
        self.freed = self.covered;
        match self.mode {
            Mode::Replay => {
                self.mode = Mode::Streaming;
                if let Some(seq) = self.later.take().filter(|&seq| seq >= self.covered && seq < self.newest) {
                    self.mode = Mode::Replay;
                    (self.again, self.last) = (seq + 1, self.newest);
                }
            }
            Mode::Recovery if self.covered == self.newest => self.mode = Mode::Streaming,
            Mode::Streaming | Mode::Recovery => {}
        }
        packets
    }

    /// The last packet that is no longer kept: the caller's ring begins behind it.
    #[inline]
    pub const fn freed(&self) -> u32 {
        self.freed
    }

    /// The first packet that no ACK has covered: the one whose timer counts. Above [`Self::newest`] if there is none.
    #[inline]
    pub const fn oldest(&self) -> u32 {
        self.covered + 1
    }

    /// The last packet that has been sent; 0 for none.
    #[inline]
    pub const fn newest(&self) -> u32 {
        self.newest
    }

    /// Packets that are kept: sent and not freed.
    #[inline]
    pub const fn outstanding(&self) -> u32 {
        self.newest - self.freed
    }

    /// Whether packets are left to be resent.
    #[inline]
    pub const fn replaying(&self) -> bool {
        self.again <= self.last
    }

    /// Whether an expired packet keeps new ones back.
    #[inline]
    pub fn recovering(&self) -> bool {
        self.mode == Mode::Recovery
    }
}
