//! `[put]`
mod dack;

use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::dack::{AfterNack, Dack, Fairness, FreeOne, Grants, Iack, Release, Reservation, Signal};
use crate::quantity::Quantity;

/// What limits the PUTs of a stream that are on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PutPolicy {
    /// A fixed number of packets and bytes (EC paper, section III-A: outstanding packet threshold).
    Opt,
    /// A window that grows with ACKs and is halved by NACKs (EC paper, section III-A: TCP-like).
    Aimd,
    /// The limits of opt, and what the target says of its queue by duplicate ACKs (DACKs; EC paper, section II).
    Dack,
}

/// When a target that has lost a packet says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NackWhen {
    /// As soon as the wire has no data to carry.
    AtOnce,
    /// When an ACK would be due (the authors' public simulator, commit 6ef0eb3).
    WithAcks,
}

/// What a NACK does that comes while its stream is sending again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayMoves {
    /// The next packet is the one after that of the NACK.
    AtOnce,
    /// What was to be sent again is sent to its end, then from that of the NACK on.
    AtEnd,
}

/// The acknowledgements of PUTs. Each is cumulative: all PUTs of a stream up to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PutAck {
    /// An ACK is due when this many PUTs of a stream want one. All profiles: 1 (reconstructed: the EC paper sends DACKs
    /// "instantly", section II-D; its authors' public simulator, commit 6ef0eb3, has 4).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub every: u32,
    /// … or when the first of them has waited so long; from then on it goes before data. All profiles: 780 ns (the authors' public
    /// simulator, commit 6ef0eb3).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub after: Quantity<Span>,
    /// Size of an ACK or NACK on the wire. All profiles: 32 B (one flit of the authors' public simulator, commit 6ef0eb3).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub size: Quantity<Bytes>,
}

/// The window of policy = aimd, in bytes on the wire. In effect with policy = aimd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Aimd {
    /// What the window grows by at most: per ACK before the first loss, per window afterwards. All profiles: 8992 B (EC paper,
    /// section III-A: "9KB"; 281 flits of 32 B).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub mss: Quantity<Bytes>,
    /// The window at the beginning. All profiles: 8992 B (the authors' public simulator, commit 6ef0eb3: one `mss`).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub initial: Quantity<Bytes>,
    /// From this window on it grows by one `mss` per window. All profiles: 128,000 B (the authors' public simulator, commit 6ef0eb3).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub ssthresh: Quantity<Bytes>,
    /// No NACK makes the window smaller than this. All profiles: 0 B (the authors' public simulator, commit 6ef0eb3; RFC 5681, which the
    /// EC paper cites: two segments).
    #[schemars(extend("x-maximum" = "1GB"))]
    pub floor: Quantity<Bytes>,
    /// Whether packets that are sent again must fit the window, too. All profiles: false (the authors' public simulator, commit
    /// 6ef0eb3; the EC paper, section III-A: the window governs "the amount of outstanding data allowed").
    pub gates_replay: bool,
}

/// PUTs: packets that hosts write into each other's memory. A stream has all PUTs of a source, destination and priority; its
/// target takes them in order, and what is lost is sent again from there on (go-back-N). In effect for entries with transport = put.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Put {
    /// What limits the PUTs on their way. All profiles: dack, the scheme that the EC paper proposes.
    pub policy: PutPolicy,
    /// opt, dack: most packets of a stream that are sent and not acknowledged. All profiles: 256 (the EC paper, section II-E, says
    /// there is a limit; its authors' public simulator, commit 6ef0eb3, has 50, which keeps streams of 1 KiB at half the
    /// link, and room for 256 of each destination).
    #[schemars(range(min = 1, max = 8192))]
    pub packets: u32,
    /// opt, dack: most bytes of them, headers included. All profiles: 128,000 B (the authors' public simulator, commit 6ef0eb3: 4000
    /// flits).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub bytes: Quantity<Bytes>,
    /// Packets of a stream that its source can keep until they are acknowledged: no window is larger. All profiles: 256 (the
    /// authors' public simulator, commit 6ef0eb3: 2048 in all, at most 256 of them for one destination).
    #[schemars(range(min = 1, max = 8192))]
    pub buffer: u32,
    /// Least time from the start of one new packet of a source to that of the next one, whatever their streams. All profiles: 95 ns
    /// (the authors' public simulator, commit 6ef0eb3: 38 cycles, "97 ns measured on hardware").
    #[schemars(extend("x-maximum" = "1s"))]
    pub overhead: Quantity<Span>,
    /// How long a packet stands in the source before it goes out. All profiles: 95 ns (the authors' public simulator, commit 6ef0eb3).
    #[schemars(extend("x-maximum" = "1s"))]
    pub staging: Quantity<Span>,
    /// How long a source takes to process an ACK. All profiles: 430 ns (the authors' public simulator, commit 6ef0eb3).
    #[schemars(extend("x-maximum" = "1s"))]
    pub processing: Quantity<Span>,
    /// A packet is sent again when it has not been acknowledged for so long. All profiles: 1 ms (the authors' public simulator, commit
    /// 6ef0eb3).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub retry: Quantity<Span>,
    /// How often a packet is sent again, for that reason or after a NACK, while no ACK says anything new; then the run stops. All
    /// profiles: 50 (the authors' public simulator, commit 6ef0eb3).
    #[schemars(range(min = 1, max = 65_535))]
    pub retries: u32,
    /// When a NACK is sent. All profiles: at-once (reconstructed: the EC paper does not say).
    pub nack: NackWhen,
    /// What a NACK does that comes while its stream is sending again. Default: dack at-once, opt and aimd at-end (the authors' public
    /// simulator, commit 6ef0eb3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_moves: Option<ReplayMoves>,
    /// Acknowledgements.
    pub ack: PutAck,
    /// The window of policy = aimd.
    pub aimd: Aimd,
    /// The target and the halt states of policy = dack.
    pub dack: Dack,
}
