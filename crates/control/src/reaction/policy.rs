//! The policies of a reliable stream of PUTs: may its next packet leave?
//!
//! Reference: EC paper (Chong, Krishnan: Addressing Endpoint-induced Congestion, 2023), section III-A.
//!
//! ```text
//!   may_send ── packet leaves ──▶ on_sent ──▶ … network … ──▶ on_ack │ on_nack │ on_timeout │ on_replay_end │ on_deadline
//! ```
//! The parameters are those of [`OptConfig`], [`AimdConfig`] and [`DackConfig`]. Known deviations: see there.
use backwater_units::Time;

use super::{Aimd, AimdConfig, Dack, DackConfig, OptConfig};
use crate::ConfigError;

/// Parameters of a policy, shared by all streams that use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyConfig {
    /// A limit of what is outstanding.
    Opt(OptConfig),
    /// A congestion window.
    Aimd(AimdConfig),
    /// Paced by duplicate ACKs.
    Dack(DackConfig),
}

/// What is outstanding when a packet is to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Packets sent and not yet freed by an ACK, in [`crate::transport::Initiator`]'s sense.
    pub packets: u32,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Bytes of the packet in question, header included.
    pub size: u32,
    /// Whether it has been sent before (and is among those outstanding).
    pub again: bool,
}

/// An ACK that takes effect.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFacts {
    /// Packets that no earlier ACK covered.
    pub packets: u32,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Whether the target was congested.
    pub marked: bool,
    /// Whether an earlier ACK covered as much.
    pub repeat: bool,
    /// Whether it came on a data packet; else in a frame of its own.
    pub piggybacked: bool,
    /// Whether packets are being resent because of a NACK.
    pub replaying: bool,
    /// Whether nothing is outstanding after it.
    pub idle: bool,
}

/// For records: how free a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// −1, 0 or 1 for H(−1), H(0), H(1), or [`State::OPEN`].
    pub level: i8,
    /// DACK: packets that may be sent while halted; AIMD: the window in bytes; OPT: 0.
    pub allowance: u64,
}

impl State {
    /// The level of a stream that is not halted.
    pub const OPEN: i8 = 2;
}

impl PolicyConfig {
    /// Refuses parameters by which nothing could be sent; `largest` is the size of the largest packet, with its header.
    pub fn validate(&self, largest: u32) -> Result<(), ConfigError> {
        match self {
            Self::Opt(config) => config.validate(largest),
            Self::Aimd(config) => config.validate(),
            Self::Dack(config) => config.validate(largest),
        }
    }
}

/// The policy of one stream. It is only ever used with the kind of configuration it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// See [`OptConfig`].
    Opt,
    /// See [`Aimd`].
    Aimd(Aimd),
    /// See [`Dack`].
    Dack(Dack),
}

impl Policy {
    /// A new stream.
    pub const fn new(config: &PolicyConfig) -> Self {
        match config {
            PolicyConfig::Opt(_) => Self::Opt,
            PolicyConfig::Aimd(config) => Self::Aimd(Aimd::new(config)),
            PolicyConfig::Dack(_) => Self::Dack(Dack::new()),
        }
    }

    /// Whether the policy lets this packet go now.
    #[inline]
    pub const fn may_send(&self, config: &PolicyConfig, load: &Load) -> bool {
        match (self, config) {
            (Self::Opt, PolicyConfig::Opt(config)) => config.may_send(load),
            (Self::Aimd(aimd), PolicyConfig::Aimd(config)) => aimd.may_send(config, load),
            (Self::Dack(dack), PolicyConfig::Dack(config)) => dack.may_send(config, load),
            _ => false,
        }
    }

    /// That packet was sent.
    #[inline]
    pub const fn on_sent(&mut self, config: &PolicyConfig, load: &Load) {
        match (self, config) {
            (Self::Aimd(aimd), _) => aimd.on_sent(load),
            (Self::Dack(dack), PolicyConfig::Dack(config)) => dack.on_sent(config),
            _ => {}
        }
    }

    /// An ACK takes effect.
    #[inline]
    pub fn on_ack(&mut self, config: &PolicyConfig, facts: &AckFacts, now: Time) {
        match (self, config) {
            (Self::Aimd(aimd), PolicyConfig::Aimd(config)) => aimd.on_ack(config, facts),
            (Self::Dack(dack), PolicyConfig::Dack(config)) => dack.on_ack(config, facts, now),
            _ => {}
        }
    }

    /// A NACK takes effect, also one that starts no replay.
    pub fn on_nack(&mut self, config: &PolicyConfig, now: Time) {
        match (self, config) {
            (Self::Aimd(aimd), PolicyConfig::Aimd(config)) => aimd.on_nack(config),
            (Self::Dack(dack), _) => dack.on_nack(now),
            _ => {}
        }
    }

    /// The last packet of a replay after a NACK was resent.
    pub const fn on_replay_end(&mut self, config: &PolicyConfig) {
        if let (Self::Dack(dack), PolicyConfig::Dack(config)) = (self, config) {
            dack.on_replay_end(config);
        }
    }

    /// Packets have expired and will be resent.
    pub const fn on_timeout(&mut self, _: &PolicyConfig) {
        match self {
            Self::Opt => {}
            Self::Aimd(aimd) => aimd.on_timeout(),
            Self::Dack(dack) => dack.on_timeout(),
        }
    }

    /// When [`Self::on_deadline`] is to be called if no ACK comes before; it changes with ACKs, NACKs and packets sent.
    #[inline]
    pub const fn deadline(&self, config: &PolicyConfig) -> Option<Time> {
        match (self, config) {
            (Self::Dack(dack), PolicyConfig::Dack(config)) => dack.deadline(config),
            _ => None,
        }
    }

    /// Does what is due by `now`, if anything is. Whether it was: a packet may now be allowed.
    pub fn on_deadline(&mut self, config: &PolicyConfig, now: Time) -> bool {
        match (self, config) {
            (Self::Dack(dack), PolicyConfig::Dack(config)) => dack.on_deadline(config, now),
            _ => false,
        }
    }

    /// For records.
    pub const fn state(&self) -> State {
        match self {
            Self::Opt => State { level: State::OPEN, allowance: 0 },
            Self::Aimd(aimd) => State { level: State::OPEN, allowance: aimd.cwnd() },
            Self::Dack(dack) => dack.state(),
        }
    }
}
