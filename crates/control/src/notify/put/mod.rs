//! Target of PUTs: what goes back to their initiators, and when?
//!
//! [`Release`] belongs to a host: whether its receive queue is congested, who is let in, which accepted PUT may be acknowledged.
//! [`Acks`] belongs to a stream: the frames that it owes. [`Sample`] compares the streams of a host.
//!
//! | what happens | ask |
//! |---|---|
//! | a PUT has come in | [`Release::admits`], then [`crate::transport::Target::on_packet`] |
//! | it was accepted | [`Release::give_back`]; [`Acks::on_accepted`]; put it at the end of the host's list of unacknowledged PUTs |
//! | it is an old one | [`Acks::on_duplicate`] |
//! | it was dropped, and a NACK is due | [`Acks::on_lost`] |
//! | one was accepted or has been processed ([`Release::processed`]) | while [`Release::releases`] the next of the list: [`Acks::on_released`] |
//! | the link to the initiator is free | [`Acks::due`], [`Acks::compose`]; if it was a NACK, [`Release::reserve`] |
//! | a data packet leaves for the initiator | [`Acks::piggyback`] |
//! | a period is over | [`Sample::add`] for every stream, then [`Acks::judge`] |
use backwater_units::{Bytes, Span};

use crate::ConfigError;
use crate::error::require;

mod acks;
mod fairness;
mod release;

pub use acks::{Acks, Frame};
pub use fairness::{Fairness, Sample};
pub use release::Release;

/// How long a queue of exactly `threshold` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum ReleaseRule {
    /// Not too long: at or below the threshold PUTs are acknowledged.
    AtMost,
    /// Too long: only below it they are (the authors' public simulator, commit 6ef0eb3).
    Below,
}

/// When a target that is not congested acknowledges a PUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum IackOn {
    /// When it has joined the queue.
    Accepted,
    /// When it has been processed.
    Processed,
}

/// How a congested target says so beside an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum Signal {
    /// By a mark in it.
    Mark,
    /// By a frame of its own before it: a DACK.
    Frame,
}

/// What the target keeps free for a stream that got a NACK, until its next packet is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// Nothing.
    None,
    /// The packet that it expects. All streams together get no more than the queue has above the threshold.
    Packet,
    /// So many bytes, for any number of streams.
    Bytes(u64),
}

/// What becomes of the ACKs that a target owes for packets before the one that a NACK has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum AfterNack {
    /// They are sent one by one, as ever.
    Iack,
    /// Each is a DACK, with the number of the NACK.
    Dack,
}

/// When a frame of its own is sent for ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triggers {
    /// When so many are owed.
    pub every: u32,
    /// When the first has been owed for so long.
    pub after: Span,
    /// Whether a NACK goes at once, else as an ACK does.
    pub nack_at_once: bool,
}

/// Parameters of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetConfig {
    /// T: congested above so many bytes in the receive queue.
    pub threshold: u64,
    /// Whether T itself holds ACKs back.
    pub rule: ReleaseRule,
    /// When an uncongested target acknowledges.
    pub iack: IackOn,
    /// Whether ACKs pace the initiator; else each is owed as soon as its PUT is accepted.
    pub pacing: bool,
    /// How the target notifies of congestion.
    pub dack: Signal,
    /// What a NACK reserves.
    pub reservation: Reservation,
    /// Whether that counts as occupied when congestion is judged.
    pub reserved_counts: bool,
    /// What ACKs a NACK leaves behind.
    pub after_nack: AfterNack,
    /// How streams are balanced.
    pub fairness: Fairness,
}

impl Triggers {
    /// Every PUT, at the latest after 780 ns; NACKs at once.
    pub const fn standard() -> Self {
        Self { every: 1, after: Span::from_ns(780), nack_at_once: true }
    }

    /// Refuses triggers that never fire.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let every = f64::from(self.every);
        require(self.every >= 1, "every", every, "at least 1", "1 acknowledges each PUT")
    }
}

impl TargetConfig {
    /// The target of the paper's baselines: every PUT is acknowledged as it is accepted.
    pub const fn baseline() -> Self {
        Self { pacing: false, reservation: Reservation::None, fairness: Fairness::None, ..Self::standard() }
    }

    /// The defaults of the proposed policy.
    pub const fn standard() -> Self {
        Self {
            threshold: 8_992,
            rule: ReleaseRule::AtMost,
            iack: IackOn::Accepted,
            pacing: true,
            dack: Signal::Mark,
            reservation: Reservation::Packet,
            reserved_counts: false,
            after_nack: AfterNack::Iack,
            fairness: Fairness::Ordered { period: Span::from_us(250) },
        }
    }

    /// As in the authors' public simulator (commit 6ef0eb3), with the paper's threshold.
    pub const fn authors() -> Self {
        Self {
            rule: ReleaseRule::Below,
            reservation: Reservation::Bytes(8_992),
            reserved_counts: true,
            ..Self::standard()
        }
    }

    /// By the paper's words: DACKs are frames, nothing is reserved, fairness by suppression and coalescing.
    pub const fn paper() -> Self {
        Self {
            dack: Signal::Frame,
            reservation: Reservation::None,
            after_nack: AfterNack::Dack,
            fairness: Fairness::verbs(),
            ..Self::standard()
        }
    }

    /// Refuses parameters that could stop a stream; `depth` is the size of the receive queue.
    pub fn validate(&self, depth: Bytes) -> Result<(), ConfigError> {
        let threshold = Bytes::new(self.threshold);
        let fix = "the EC paper has 9 KB of 81 KB";
        require(!self.pacing || self.threshold > 0, "threshold", threshold, "above 0B", fix)?;
        require(!self.pacing || threshold < depth, "threshold", threshold, "below the queue's depth", fix)?;
        self.fairness.validate()
    }
}
