//! `[put.dack]`
use std::borrow::Cow;

use backwater_units::{Bytes, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quantity::Quantity;
use crate::settings::word_or::{Never, WordOr};

/// How long a queue of exactly `threshold` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// Not too long: at or below the threshold PUTs are acknowledged.
    AtMost,
    /// Too long: only below it they are (the authors' public simulator, commit 6ef0eb3).
    Below,
}

/// When a target that is not congested acknowledges a PUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Iack {
    /// When it has joined the queue.
    Accepted,
    /// When it has been processed.
    Processed,
}

/// How a congested target says so beside an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// By a mark in it.
    Mark,
    /// By a frame of its own before it: a DACK.
    Frame,
}

/// What an ACK of several packets grants to a halted source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grants {
    /// As much as so many ACKs would.
    Packet,
    /// As much as an ACK of one packet (the authors' public simulator, commit 6ef0eb3).
    Ack,
}

/// What a halted source may send that has nothing on its way or got a NACK, and is allowed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FreeOne {
    /// One packet.
    One,
    /// Any number until its next ACK (the authors' public simulator, commit 6ef0eb3).
    UntilAck,
}

/// What a target does so that its streams are served alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// Nothing.
    None,
    /// It suppresses DACKs of a stream that got less, and skips IACKs of one that got more (EC paper, section II-H).
    Verbs,
    /// It releases IACKs first to the stream that got the fewest bytes (the authors' public simulator, commit 6ef0eb3).
    Ordered,
}

/// What becomes of the ACKs that a target owes for packets before the one that a NACK has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterNack {
    /// They are sent one by one, as ever.
    Iack,
    /// Each is a DACK, with the number of the NACK.
    Dack,
}

/// Room in the receive queue that is kept for a stream that was sent a NACK, until a packet of it is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// None.
    None,
    /// For the packet that did not fit.
    Packet,
    /// So many bytes.
    Bytes(Quantity<Bytes>),
}

impl Serialize for Reservation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Packet => serializer.serialize_str("packet"),
            Self::Bytes(bytes) => bytes.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Reservation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        match text.as_ref() {
            "none" => Ok(Self::None),
            "packet" => Ok(Self::Packet),
            size => size.parse().map(|size| Self::Bytes(Quantity(size))).map_err(serde::de::Error::custom),
        }
    }
}

impl JsonSchema for Reservation {
    fn schema_name() -> Cow<'static, str> {
        "Reservation".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Quantity<Bytes>>();
        json_schema!({
            "description": "\"none\", \"packet\", or a size with its unit.",
            "anyOf": [{ "type": "string", "enum": ["none", "packet"] }, size],
        })
    }
}

/// A target that acknowledges no more than it has room for, and a source that is halted when it says so (EC paper, section II). In
/// effect with policy = dack.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a reading of its own, read by name")]
pub struct Dack {
    /// A receive queue above this is congested. All profiles: 8992 B (EC paper, section III-A: "9KB"; 281 flits of 32 B).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub threshold: Quantity<Bytes>,
    /// How long a queue of exactly the threshold is. All profiles: at-most (EC paper, section II-D: congested means longer than the
    /// threshold).
    pub release: Release,
    /// When a target that is not congested acknowledges. All profiles: accepted (EC paper, section II-D: "as soon as they are
    /// accepted"; the same section also says "when a packet finishes processing").
    pub iack: Iack,
    /// How a congested target says so beside an ACK. All profiles: mark (the authors' public simulator, commit 6ef0eb3; EC paper,
    /// section II-D: "a DACK is immediately sent before an IACK").
    pub signal: Signal,
    /// Room for a stream that was sent a NACK. All profiles: packet (reconstructed: the EC paper does not say, and without it the packet
    /// that is sent again may be lost again; the authors' public simulator, commit 6ef0eb3, has 8992 B, which
    /// crowds out the others where packets are smaller).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub reservation: Reservation,
    /// Whether that room counts as used when the queue is compared with the threshold. All profiles: false (reconstructed: nothing waits
    /// in it; the authors' public simulator, commit 6ef0eb3, counts it).
    pub reserved_counts: bool,
    /// What becomes of the ACKs for packets that came before one that was lost. All profiles: iack (the authors' public simulator, commit
    /// 6ef0eb3; EC paper, section II-F: the target "continues to send DACKs" for them).
    pub after_nack: AfterNack,
    /// ACKs in a row without a DACK, after the first two, that end the halt. All profiles: 6 (EC paper, section II-E).
    #[schemars(range(min = 1, max = 65_535))]
    pub count: u32,
    /// A halted source that hears nothing for so long is no longer halted. All profiles: 40 µs (the authors' public simulator, commit
    /// 6ef0eb3).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub escape: WordOr<Never, Span>,
    /// Whether it also waits for that until it has sent all that it was allowed. All profiles: false (reconstructed: an allowance that
    /// the other limits hold back would keep it halted; the authors' public simulator, commit 6ef0eb3, waits).
    pub escape_needs_none: bool,
    /// What an ACK of several packets grants. All profiles: packet (reconstructed: the same as with an ACK for each, which the EC paper
    /// describes; lost ACKs cost nothing).
    pub grants: Grants,
    /// Whether what was granted and not used is gone when the halt ends. All profiles: true (reconstructed: else the next halt would
    /// begin with a burst; the authors' public simulator, commit 6ef0eb3, keeps it).
    pub clear: bool,
    /// Whether a source is halted after it has sent again what a NACK asked for. All profiles: false (the authors' public simulator,
    /// commit 6ef0eb3, whose NACK has halted it before; EC paper, section II-F: it "returns to the H(-1) state").
    pub halt_after_replay: bool,
    /// What a halted source may send that waits for nothing. All profiles: one (reconstructed: the least that cannot lock up).
    pub free: FreeOne,
    /// What a target does so that its streams are served alike. All profiles: ordered (the authors' public simulator, commit 6ef0eb3; EC
    /// paper, section II-H: verbs, without saying how often and how strongly).
    pub fairness: Fairness,
    /// How long packets of streams are counted for that, from zero. All profiles: 250 µs (the authors' public simulator, commit 6ef0eb3).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub period: Quantity<Span>,
    /// verbs: how long a skipped IACK waits at most for the next one. All profiles: 25 µs (the authors' public simulator, commit 6ef0eb3,
    /// which reads it and does not use it).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub hold: Quantity<Span>,
    /// verbs: the difference of two streams, as a share of what all got, that counts as significant. All profiles: 0.025 (the authors' public
    /// simulator, commit 6ef0eb3, which reads it and does not use it).
    #[schemars(range(min = 0.000_001, max = 0.999_999))]
    pub difference: f64,
    /// verbs: DACKs suppressed, or IACKs skipped, in a period for each packet that a stream was away from the mean in the one before. All
    /// profiles: 0.05 (reconstructed: each is worth a packet per round trip, of which a period has about twenty).
    #[schemars(range(min = 0.000_001, max = 1000.0))]
    pub strength: f64,
}
