//! Requester and responder of a queue pair with selective repeat.
//!
//! Reference: Mittal et al.: Revisiting Network Support for RDMA (IRN, SIGCOMM 2018), §3.1 (loss recovery), §3.2 (BDP-FC).
//!
//! ```text
//!   requester:  regular ── NACK, or timeout ──▶ recovery: the packet of the cumulative ACK, then what is lost, then new ones
//!                  ▲                                │ timeout: the same again
//!                  └── cumulative ACK above what had been sent when it began
//!   lost: not acknowledged, and one with a higher number has been
//!
//!   responder:  expected ──▶ take it and those that were kept behind it: ACK(next expected)
//!               later one ─▶ keep it: NACK(expected, its number)
//!               older one ─▶ duplicate: ACK(expected)
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | BDP cap | bytes of payload | bandwidth-delay product | IRN §3.2 |
//! | after a NACK | | lost | IRN §3.1; `All`: conweave-ns3 sends again all that no SACK has covered, what is in flight included |
//! | after a timeout | | lost | IRN §3.1; `All`: as TCP does (RFC 6675 §5.1) |
//! | NACK again | ps | every time | IRN §3.1; conweave-ns3: once per 4 µs for a packet that is held already |
//!
//! Packets are numbered from 0. Which of those under way have been acknowledged by themselves is the caller's ring of bits, with room
//! for all that may be under way; what the responder keeps is the caller's, too, who says whether it holds a packet already.
//!
//! Known deviations: a packet that is lost a second time is sent again after a timeout only; the paper does not say. A BDP cap that is
//! no multiple of the payload is as good as the next one.
use backwater_units::{Span, Time};

/// What counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum Lost {
    /// What is missing below a packet that has arrived.
    Lost,
    /// All that is under way and not known to have arrived.
    All,
}

/// How a requester recovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectiveConfig {
    /// What a NACK brings again.
    pub after_nack: Lost,
    /// What a timeout brings again.
    pub after_timeout: Lost,
}

/// A requester.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Requester {
    /// The first packet that no cumulative ACK has covered.
    oldest: u32,
    /// Packets sent: the number of the next new one.
    newest: u32,
    /// The next one to look at during recovery: none from `oldest` up to here is to be sent again.
    again: u32,
    /// What is missing below it counts as lost.
    lost_below: u32,
    /// Recovery ends when `oldest` has come so far.
    recovers: Option<u32>,
}

impl Requester {
    /// What is to be sent again now; `None`: new packets may go, as far as [`Self::may_send`] allows.
    #[inline]
    pub fn again(&self) -> Option<u32> {
        (self.recovers.is_some() && self.again < self.lost_below).then_some(self.again)
    }

    /// Whether a new packet may go while `payload` bytes of each count against a cap of `cap` bytes.
    #[inline]
    pub const fn may_send(&self, payload: u32, cap: u64) -> bool {
        ((self.newest - self.oldest) as u64) * (payload as u64) < cap
    }

    /// The packet of [`Self::again`], or else the next new one, was sent. Its number, and whether it had been sent before.
    pub fn sent(&mut self, arrived: &[u64]) -> (u32, bool) {
        if let Some(number) = self.again() {
            self.again += 1;
            self.pass(arrived);
            return (number, true);
        }
        self.newest += 1;
        (self.newest - 1, false)
    }

    /// An ACK of all before `expected`. Whether it says something new.
    pub fn on_ack(&mut self, expected: u32, arrived: &mut [u64]) -> bool {
        let expected = expected.min(self.newest);
        let fresh = expected > self.oldest;
        while self.oldest < expected {
            set(arrived, self.oldest, false);
            self.oldest += 1;
        }
        self.again = self.again.max(self.oldest);
        if self.recovers.is_some_and(|end| self.oldest >= end) {
            self.recovers = None;
        }
        self.pass(arrived);
        fresh
    }

    /// A NACK: all before `expected` has arrived, and packet `number`. Whether the cumulative part says something new.
    pub fn on_nack(
        &mut self,
        config: &SelectiveConfig,
        expected: u32,
        number: u32,
        arrived: &mut [u64],
    ) -> bool {
        let fresh = self.on_ack(expected, arrived);
        if number < self.oldest || number >= self.newest {
            return fresh;
        }
        set(arrived, number, true);
        let begins = self.recovers.is_none();
        if begins {
            self.begin();
        }
        match config.after_nack {
            Lost::Lost => self.lost_below = self.lost_below.max(number),
            Lost::All if begins => self.lost_below = self.newest,
            Lost::All => {}
        }
        self.pass(arrived);
        fresh
    }

    /// Nothing has come for too long: recovery begins anew. Without anything under way nothing happens.
    pub fn on_timeout(&mut self, config: &SelectiveConfig, arrived: &[u64]) {
        if self.oldest < self.newest {
            self.begin();
            if config.after_timeout == Lost::All {
                self.lost_below = self.newest;
            }
            self.pass(arrived);
        }
    }

    /// Recovery begins with the packet of the cumulative ACK. What has arrived stands from one recovery to the next.
    fn begin(&mut self) {
        self.again = self.oldest;
        self.lost_below = self.lost_below.max(self.oldest + 1);
        self.recovers = Some(self.newest);
    }

    /// Passes over what has arrived.
    fn pass(&mut self, arrived: &[u64]) {
        while self.again < self.lost_below && has(arrived, self.again) {
            self.again += 1;
        }
    }

    /// The first packet that no cumulative ACK has covered.
    #[inline]
    pub const fn oldest(&self) -> u32 {
        self.oldest
    }

    /// The number of the next new packet.
    #[inline]
    pub const fn newest(&self) -> u32 {
        self.newest
    }

    /// Whether it recovers from a loss.
    #[inline]
    pub const fn recovering(&self) -> bool {
        self.recovers.is_some()
    }
}

/// Words of a ring of bits for so many packets under way.
pub const fn words(packets: u32) -> usize {
    packets.div_ceil(64) as usize
}

fn place(bits: &[u64], number: u32) -> (usize, u64) {
    let at = number as usize % (64 * bits.len());
    (at / 64, 1 << (at % 64))
}

pub(super) fn has(bits: &[u64], number: u32) -> bool {
    let (word, bit) = place(bits, number);
    bits[word] & bit != 0
}

pub(super) fn set(bits: &mut [u64], number: u32, to: bool) {
    let (word, bit) = place(bits, number);
    if to { bits[word] |= bit } else { bits[word] &= !bit }
}

/// What a responder does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Take it, then what is kept of those behind it; acknowledge what is expected then.
    InOrder,
    /// Keep it; say that it has come, if so.
    Early {
        /// Whether a NACK goes back.
        nack: bool,
    },
    /// It has come before: drop it, acknowledge what is expected.
    Duplicate,
    /// It is kept already: drop it; say once more that it has come, if so.
    Held {
        /// Whether a NACK goes back.
        nack: bool,
    },
}

/// A responder: what it remembers beside what it expects and keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Responder {
    nacked: Option<Time>,
}

impl Responder {
    /// Packet `number` has come `now`, `expected` is the next in order, and it is `held` already, or not. A held one is answered again
    /// `every` so long while the same is expected, if that is given.
    pub fn on_packet(
        &mut self,
        every: Option<Span>,
        number: u32,
        expected: u32,
        held: bool,
        now: Time,
    ) -> Taken {
        if number == expected {
            // What is expected next is another gap.
            self.nacked = None;
            return Taken::InOrder;
        }
        if number < expected {
            return Taken::Duplicate;
        }
        let recent = |every| self.nacked.is_some_and(|last| now.since(last) < every);
        let nack = !held || !every.is_some_and(recent);
        if nack {
            self.nacked = Some(now);
        }
        if held { Taken::Held { nack } } else { Taken::Early { nack } }
    }
}
