//! DACK: the target paces the initiator by duplicate ACKs ("proposed policy").
//!
//! Reference: EC paper (Chong, Krishnan: Addressing Endpoint-induced Congestion, 2023), sections II-E and II-F, Fig. 2; the authors' public
//! simulator (commit 6ef0eb3) for the arithmetic of the allowance.
//!
//! ```text
//!                    DACK if marked ─▶ H(−1)                     a: packets that may be sent while halted
//!   ┌─────┐  marked IACK, a+1 ─▶ H(0)                            i: plain IACKs in H(1), the one that entered it too
//!   │ H∞  │◀───────────────────────────────────────────────┐
//!   └─────┘                                      IACK, i=L │
//!            IACK, a+1               IACK, a+2, i:=1     ┌─┴────┐
//!   ┌─────┐  marked IACK, a+1 ┌────┐───────────────────▶│ H(1)  │─┐ IACK, i<L: i+1, a+2
//!   │H(−1)│─────────────────▶│H(0)│◀───────────────────│       │◀┘
//!   └─────┘◀─────────────────└────┘  marked IACK, a+1   └──────┘
//!      ▲        DACK            ↺ marked IACK, a+1          │
//!      └────────────────────── DACK ────────────────────────┘
//!   NACK, in any state: H(−1); a := max(a, 1)
//!   DACK in a frame of its own during a replay: a+1 besides
//!   escape after the last ACK or NACK, while halted: H∞, a := 0
//! ```
//! An IACK covers a packet that none before it did; a DACK covers none. The mark of an IACK stands for a DACK right before it. A
//! DACK on a data packet counts only with a mark, as every packet carries the latest ACK.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | L (`count`) | IACKs | 6 | EC paper, section II-E |
//! | limits | | as OPT | EC paper, section III-A: "operates identically to the OPT scheme" |
//! | escape | time | 40 µs | the authors' public simulator: 16,000 cycles; the paper has none |
//! | grants | | per packet | reconstructed: the same as the authors' per ACK while no ACK is lost or coalesced |
//! | clear on opening | | yes | reconstructed: an allowance of the past says nothing about the next congestion |
//! | free packet | | once | reconstructed: in the authors' simulator an idle stream may send without limit until its next ACK |
//! | halt after a replay | | no | the authors' public simulator; the paper, section II-F: "returns to the H(−1) state" |
//!
//! Known deviations: the authors' escape waits for an empty allowance too; here that is an option (`escape_needs_none`). An ACK is one step of
//! the state machine however many packets it covers. A timeout frees one packet (neither source says what it does).
use backwater_units::{Rate, Span, Time};

use super::{AckFacts, Controller, Load, OptConfig, State};
use crate::ConfigError;
use crate::error::require;

/// What an ACK of several packets grants to a halted source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum Grants {
    /// As much as so many ACKs would.
    #[cfg_attr(feature = "config", serde(rename = "packet"))]
    PerPacket,
    /// As much as an ACK of one packet (the authors' public simulator, commit 6ef0eb3).
    #[cfg_attr(feature = "config", serde(rename = "ack"))]
    PerAck,
}

/// What a halted source may send that has nothing on its way or got a NACK, and is allowed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum FreeOne {
    /// One packet.
    #[cfg_attr(feature = "config", serde(rename = "one"))]
    Once,
    /// Any number until its next ACK (the authors' public simulator, commit 6ef0eb3).
    UntilAck,
}

/// Parameters of DACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DackConfig {
    /// Limits of what is outstanding, for new packets.
    pub limits: OptConfig,
    /// L: so many plain IACKs in H(1), then one more opens the gate.
    pub count: u32,
    /// Without an ACK for so long the gate opens; [`Span::MAX`] for never.
    pub escape: Span,
    /// Whether the escape also waits until the allowance is empty.
    pub escape_needs_none: bool,
    /// What IACKs are worth.
    pub grants: Grants,
    /// Whether the allowance is cleared when the gate opens.
    pub clear_on_open: bool,
    /// What goes without an allowance.
    pub free_one: FreeOne,
    /// Whether the end of a replay leads to H(−1).
    pub halt_after_replay: bool,
}

impl DackConfig {
    /// The defaults of the table above.
    pub const fn standard() -> Self {
        Self {
            limits: OptConfig::standard(),
            count: 6,
            escape: Span::from_us(40),
            escape_needs_none: false,
            grants: Grants::PerPacket,
            clear_on_open: true,
            free_one: FreeOne::Once,
            halt_after_replay: false,
        }
    }

    /// As in the authors' public simulator (commit 6ef0eb3), with the paper's L; the limit of packets is that of the table.
    pub const fn authors() -> Self {
        Self {
            escape_needs_none: true,
            grants: Grants::PerAck,
            clear_on_open: false,
            free_one: FreeOne::UntilAck,
            ..Self::standard()
        }
    }

    /// By the paper's words alone: one or two packets per IACK, no escape, H(−1) after a replay.
    pub const fn paper() -> Self {
        Self { escape: Span::MAX, grants: Grants::PerAck, halt_after_replay: true, ..Self::standard() }
    }

    /// Refuses parameters outside the ranges in which the algorithm is defined. `largest`: see [`OptConfig::validate`].
    pub fn validate(&self, largest: u32) -> Result<(), ConfigError> {
        self.limits.validate(largest)?;
        let count = f64::from(self.count);
        require(self.count >= 1, "count", count, "at least 1", "the EC paper has 6")?;
        require(self.escape > Span::ZERO, "escape", self.escape, "longer than 0ps", "take 40us, or never")
    }
}

/// How far the gate of a stream is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub enum Halt {
    /// H∞: not halted.
    Open,
    /// H(−1): a DACK was the latest.
    Minus,
    /// H(0): one IACK after it.
    Zero,
    /// H(1): more of them, so many.
    One(u32),
}

/// State machine of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Dack {
    halt: Halt,
    allowance: u32,
    free: bool,
    /// When the latest ACK or NACK took effect.
    latest: Time,
}

impl Dack {
    /// A new stream: not halted.
    pub const fn new() -> Self {
        Self { halt: Halt::Open, allowance: 0, free: false, latest: Time::ZERO }
    }

    /// How far the gate is open.
    #[inline]
    pub const fn halt(&self) -> Halt {
        self.halt
    }

    /// Packets that may be sent while halted.
    #[inline]
    pub const fn allowance(&self) -> u32 {
        self.allowance
    }

    fn on_dack(&mut self, facts: &AckFacts) {
        if self.halt == Halt::Open {
            if facts.marked {
                self.halt = Halt::Minus;
            }
            return;
        }
        self.halt = Halt::Minus;
        if facts.replaying && !facts.piggybacked {
            self.allowance = self.allowance.saturating_add(1);
        }
    }

    fn on_iack(&mut self, config: &DackConfig, facts: &AckFacts) {
        let (halt, worth) = match self.halt {
            _ if facts.marked => (Halt::Zero, 1),
            Halt::Open => return,
            Halt::Minus => (Halt::Zero, 1),
            Halt::Zero => (Halt::One(1), 2),
            Halt::One(count) if count < config.count => (Halt::One(count + 1), 2),
            Halt::One(_) => (Halt::Open, 2),
        };
        self.halt = halt;
        let packets = match config.grants {
            Grants::PerPacket => facts.packets,
            Grants::PerAck => 1,
        };
        self.allowance = self.allowance.saturating_add(packets.saturating_mul(worth));
        if halt == Halt::Open && config.clear_on_open {
            self.allowance = 0;
        }
    }
}

impl Controller for Dack {
    type Config = DackConfig;

    fn validate(config: &DackConfig, largest: u32) -> Result<(), ConfigError> {
        config.validate(largest)
    }

    fn new(_: &DackConfig, _line: Rate) -> Self {
        Self::new()
    }

    /// When the gate opens by itself if no ACK comes.
    #[inline]
    fn next_timer(&self, config: &DackConfig) -> Time {
        let waits = matches!(self.halt, Halt::Open) || (config.escape_needs_none && self.allowance > 0);
        if waits || config.escape == Span::MAX {
            Time::MAX
        } else {
            self.latest.saturating_add(config.escape)
        }
    }

    /// Opens the gate if it is time. Whether it was.
    fn advance(&mut self, config: &DackConfig, now: Time) -> bool {
        let at = self.next_timer(config);
        let due = at <= now && at < Time::MAX;
        if due {
            *self = Self { latest: now, ..Self::new() };
        }
        due
    }

    /// Whether the limits and the gate let this packet go.
    #[inline]
    fn may_send(&self, config: &DackConfig, load: &Load) -> bool {
        (matches!(self.halt, Halt::Open) || self.allowance > 0 || self.free) && config.limits.may_send(load)
    }

    /// A packet was sent.
    #[inline]
    fn on_sent(&mut self, config: &DackConfig, _now: Time, _: &Load) -> bool {
        if self.allowance > 0 {
            self.allowance -= 1;
            self.free = false;
        } else if matches!(config.free_one, FreeOne::Once) {
            self.free = false;
        }
        false
    }

    /// An ACK took effect.
    fn on_ack(&mut self, config: &DackConfig, now: Time, facts: &AckFacts) {
        if !(facts.repeat && facts.piggybacked && !facts.marked) {
            self.latest = now;
            if facts.repeat {
                self.on_dack(facts);
            } else {
                self.on_iack(config, facts);
            }
        }
        // An ACK that never comes would be the only thing that could open the gate.
        self.free |= facts.idle && self.halt != Halt::Open;
    }

    /// A NACK took effect.
    fn on_nack(&mut self, _: &DackConfig, now: Time) {
        self.halt = Halt::Minus;
        if self.allowance == 0 {
            self.allowance = 1;
        }
        self.latest = now;
    }

    /// The last packet of a replay was resent.
    fn on_replay_end(&mut self, config: &DackConfig) {
        if config.halt_after_replay {
            self.halt = Halt::Minus;
        }
    }

    /// Packets have expired: the first may go.
    fn on_timeout(&mut self, _: &DackConfig) {
        self.free = true;
    }

    /// For records.
    fn state(&self) -> State {
        let level = match self.halt {
            Halt::Open => State::OPEN,
            Halt::Minus => -1,
            Halt::Zero => 0,
            Halt::One(_) => 1,
        };
        State { level: Some(level), allowance: Some(u64::from(self.allowance)) }
    }
}

impl Default for Dack {
    fn default() -> Self {
        Self::new()
    }
}
