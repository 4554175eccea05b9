//! AIMD: a congestion window that grows by ACKs and is halved by NACKs ("TCP-like").
//!
//! Reference: EC paper (Chong, Krishnan: Addressing Endpoint-induced Congestion, 2023), section III-A; RFC 5681; the authors' public
//! simulator (commit 6ef0eb3) for the steps.
//!
//! ```text
//!   ACK,  cwnd < ssthresh:  cwnd += min(acknowledged bytes, MSS)     slow start
//!   ACK,  cwnd ≥ ssthresh:  cwnd += MSS · MSS / cwnd                 congestion avoidance
//!   NACK:                   cwnd = ssthresh = max(cwnd / 2, floor)   also one that comes during a replay
//!   new packet:    bytes + size ≤ cwnd, or nothing is outstanding
//!   resent packet: always, or, if replays are gated, resent bytes that no ACK has covered + size ≤ cwnd, or there are none
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | MSS | B | 8,992 | EC paper, section III-A: 9 KB; 281 flits |
//! | initial | B | 8,992 | the authors' public simulator: one MSS |
//! | ssthresh | B | 128,000 | the authors' public simulator: its limit of outstanding bytes |
//! | floor | B | 0 | the authors' public simulator; RFC 5681, which the paper cites: two MSS |
//! | replays gated | | no | the authors' public simulator; the paper says that the window governs all outstanding data |
//!
//! The window is the only limit: that of OPT does not apply, in the authors' simulator either.
//!
//! Known deviations: windows are bytes, not flits of 32 B, but no divisor is below one flit. Without a floor a window below one MSS
//! grows by more than one MSS per ACK; RFC 5681 never has one. One packet may be outstanding however small the window is, as nothing
//! else would ever open it again. An ACK that covers nothing new opens nothing. A timeout leaves the window as it is; so does the
//! authors' simulator, other than RFC 5681.
use backwater_units::{Bytes, Rate, Time};

use super::{AckFacts, Controller, Load, State};
use crate::ConfigError;
use crate::error::require;

/// Least divisor of the growth: a flit of the authors' simulator, whose windows are whole flits.
const FLIT: u64 = 32;

/// Parameters of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AimdConfig {
    /// Maximum segment size: what the window grows by in a round trip, in bytes.
    pub mss: u64,
    /// First window, in bytes.
    pub initial: u64,
    /// Slow start ends at this window, in bytes.
    pub ssthresh: u64,
    /// Least window after a NACK, in bytes.
    pub floor: u64,
    /// Whether the window holds back resent packets too.
    pub gates_replay: bool,
}

impl AimdConfig {
    /// MSS of 9 KB (EC paper, section III-A), the rest as in the authors' public simulator (commit 6ef0eb3).
    pub const fn standard() -> Self {
        Self { mss: 8_992, initial: 8_992, ssthresh: 128_000, floor: 0, gates_replay: false }
    }

    /// By RFC 5681, which the paper cites: the window gates replays too, and does not fall below two segments.
    pub const fn rfc5681() -> Self {
        Self { floor: 2 * 8_992, gates_replay: true, ..Self::standard() }
    }

    /// Refuses a window that could not grow.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let fix = "the EC paper has 9 KB";
        require(self.mss > 0, "mss", Bytes::new(self.mss), "above 0B", fix)?;
        require(self.mss <= 1 << 30, "mss", Bytes::new(self.mss), "at most 1GiB", fix)?;
        require(self.initial > 0, "initial", Bytes::new(self.initial), "above 0B", "take one mss")
    }
}

/// The window of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Aimd {
    cwnd: u64,
    ssthresh: u64,
    /// Resent bytes that no ACK has covered since.
    resent: u64,
}

impl Aimd {
    /// A new stream.
    pub const fn new(config: &AimdConfig) -> Self {
        Self { cwnd: config.initial, ssthresh: config.ssthresh, resent: 0 }
    }

    /// The window, in bytes.
    #[inline]
    pub const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Where slow start ends, in bytes.
    #[inline]
    pub const fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
}

impl Controller for Aimd {
    type Config = AimdConfig;

    fn validate(config: &AimdConfig, _largest: u32) -> Result<(), ConfigError> {
        config.validate()
    }

    fn new(config: &AimdConfig, _line: Rate) -> Self {
        Self::new(config)
    }

    #[inline]
    fn state(&self) -> State {
        State { level: None, allowance: Some(self.cwnd) }
    }

    /// Whether the window lets this packet go.
    #[inline]
    fn may_send(&self, config: &AimdConfig, load: &Load) -> bool {
        let bytes = match (load.again, config.gates_replay) {
            (false, _) => load.bytes,
            (true, true) => self.resent,
            (true, false) => return true,
        };
        bytes == 0 || bytes + u64::from(load.size) <= self.cwnd
    }

    /// A packet was sent.
    #[inline]
    fn on_sent(&mut self, _: &AimdConfig, _now: Time, load: &Load) -> bool {
        if load.again {
            self.resent += u64::from(load.size);
        }
        false
    }

    /// An ACK took effect.
    #[inline]
    fn on_ack(&mut self, config: &AimdConfig, _now: Time, facts: &AckFacts) {
        self.resent = self.resent.saturating_sub(facts.bytes);
        if facts.repeat {
            return;
        }
        let step = if self.cwnd < self.ssthresh {
            facts.bytes.min(config.mss)
        } else {
            config.mss * config.mss / self.cwnd.max(FLIT)
        };
        self.cwnd = self.cwnd.saturating_add(step);
    }

    /// A NACK took effect.
    fn on_nack(&mut self, config: &AimdConfig, _now: Time) {
        self.cwnd = (self.cwnd / 2).max(config.floor);
        self.ssthresh = self.cwnd;
        self.resent = 0;
    }

    /// Packets have expired: none of those resent counts any longer.
    fn on_timeout(&mut self, _: &AimdConfig) {
        self.resent = 0;
    }
}
