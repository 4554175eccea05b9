//! The table in which people choose how PUTs are sent.
use alloc::borrow::Cow;

use backwater_units::{Bytes, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ReplayMoves;
use crate::config::{Kinds, Never, Quantity, Reads, WordOr, kinds};
use crate::notify::put::{
    AfterNack, Fairness, IackOn, ReleaseRule, Reservation, Signal, TargetConfig, Triggers,
};
use crate::reaction::{AimdConfig, DackConfig, FreeOne, Grants, OptConfig, PolicyConfig};

kinds! {
    /// What limits the PUTs of a stream that are on their way.
    PolicyKind;
    /// A fixed number of packets and bytes (EC paper, section III-A: outstanding packet threshold).
    Opt = "opt" reads Reads::All(&[]);
    /// A window that grows with ACKs and is halved by NACKs (EC paper, section III-A: TCP-like).
    Aimd = "aimd" reads Reads::All(&[]);
    /// The limits of opt, and what the target says of its queue by duplicate ACKs (DACKs; EC paper, section II).
    Dack = "dack" reads Reads::All(&["opt"]);
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

/// What a target does so that its streams are served alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FairnessKind {
    /// Nothing.
    None,
    /// It suppresses DACKs of a stream that got less, and skips IACKs of one that got more (EC paper, section II-H).
    Verbs,
    /// It releases IACKs first to the stream that got the fewest bytes (the authors' public simulator, commit 6ef0eb3).
    Ordered,
}

impl Serialize for Reservation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Packet => serializer.serialize_str("packet"),
            Self::Bytes(bytes) => Quantity(Bytes::new(*bytes)).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Reservation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        match text.as_ref() {
            "none" => Ok(Self::None),
            "packet" => Ok(Self::Packet),
            size => {
                size.parse::<Bytes>().map(|size| Self::Bytes(size.get())).map_err(serde::de::Error::custom)
            }
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

/// The limits of policy = opt, which dack has, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OptParams {
    /// Most packets of a stream that are sent and not acknowledged. All profiles: 256 (the EC paper, section II-E, says
    /// there is a limit; its authors' public simulator, commit 6ef0eb3, has 50, which keeps streams of 1 KiB at half the
    /// link, and room for 256 of each destination).
    #[schemars(range(min = 1, max = 8192))]
    pub packets: u32,
    /// Most bytes of them, headers included. All profiles: 128,000 B (the authors' public simulator, commit 6ef0eb3: 4000
    /// flits).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub bytes: Quantity<Bytes>,
}

/// The window of policy = aimd, in bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AimdParams {
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

/// A target that acknowledges no more than it has room for, and a source that is halted when it says so (EC paper, section II).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DackParams {
    /// A receive queue above this is congested. All profiles: 8992 B (EC paper, section III-A: "9KB"; 281 flits of 32 B).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub threshold: Quantity<Bytes>,
    /// ACKs in a row without a DACK, after the first two, that end the halt. All profiles: 6 (EC paper, section II-E).
    #[schemars(range(min = 1, max = 65_535))]
    pub count: u32,
    /// A halted source that hears nothing for so long is no longer halted. All profiles: 40 µs (the authors' public simulator, commit
    /// 6ef0eb3).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub escape: WordOr<Never, Span>,
    /// Readings of what the EC paper leaves open, for the study of that paper: they may change from version to version.
    pub experimental: DackReadings,
}

/// Readings of what the EC paper leaves open about DACKs: for the study of that paper, whose verdicts `backwater sensitivity ec` computes
/// under each. They may change from version to version.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "DackExperimental")]
#[allow(clippy::struct_excessive_bools, reason = "each is a reading of its own, read by name")]
pub struct DackReadings {
    /// How long a queue of exactly the threshold is. All profiles: at-most (EC paper, section II-D: congested means longer than the
    /// threshold).
    pub release: ReleaseRule,
    /// When a target that is not congested acknowledges. All profiles: accepted (EC paper, section II-D: "as soon as they are
    /// accepted"; the same section also says "when a packet finishes processing").
    pub iack: IackOn,
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
    /// Whether `escape` also waits until it has sent all that it was allowed. All profiles: false (reconstructed: an allowance that
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
    pub fairness: FairnessKind,
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

/// Readings of what the EC paper leaves open about NACKs, as those of `put.dack.experimental`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "PutExperimental")]
pub struct PutReadings {
    /// When a NACK is sent. All profiles: at-once (reconstructed: the EC paper does not say).
    pub nack: NackWhen,
    /// What a NACK does that comes while its stream is sending again. Default: dack at-once, opt and aimd at-end (the authors' public
    /// simulator, commit 6ef0eb3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_moves: Option<ReplayMoves>,
}

/// PUTs: packets that hosts write into each other's memory. A stream has all PUTs of a source, destination and priority; its
/// target takes them in order, and what is lost is sent again from there on (go-back-N). In effect for entries with transport = put.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Put")]
pub struct PutSettings {
    /// What limits the PUTs on their way; the table of that name has what it alone reads. All profiles: dack, the scheme that the EC paper
    /// proposes.
    pub policy: PolicyKind,
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
    /// Acknowledgements.
    pub ack: PutAck,
    /// policy = opt and dack: how much is on its way.
    pub opt: OptParams,
    /// policy = aimd: the window.
    pub aimd: AimdParams,
    /// policy = dack: the target and the halt states.
    pub dack: DackParams,
    /// Readings of what the EC paper leaves open, for the study of that paper: they may change from version to version.
    pub experimental: PutReadings,
}

impl PutSettings {
    /// What a NACK does that comes while its stream is sending again: what was written, or what belongs to the policy.
    pub fn moves(&self) -> ReplayMoves {
        let own = if self.policy == PolicyKind::Dack { ReplayMoves::AtOnce } else { ReplayMoves::AtEnd };
        self.experimental.replay_moves.unwrap_or(own)
    }

    /// When a source may send.
    pub fn controller(&self) -> PolicyConfig {
        let limits = OptConfig { packets: self.opt.packets, bytes: self.opt.bytes.0.get() };
        let (aimd, dack) = (&self.aimd, &self.dack);
        let readings = &dack.experimental;
        match self.policy {
            PolicyKind::Opt => PolicyConfig::Opt(limits),
            PolicyKind::Aimd => PolicyConfig::Aimd(AimdConfig {
                mss: aimd.mss.0.get(),
                initial: aimd.initial.0.get(),
                ssthresh: aimd.ssthresh.0.get(),
                floor: aimd.floor.0.get(),
                gates_replay: aimd.gates_replay,
            }),
            PolicyKind::Dack => PolicyConfig::Dack(DackConfig {
                limits,
                count: dack.count,
                escape: dack.escape.given().map_or(Span::MAX, |escape| escape.0),
                escape_needs_none: readings.escape_needs_none,
                grants: readings.grants,
                clear_on_open: readings.clear,
                free_one: readings.free,
                halt_after_replay: readings.halt_after_replay,
            }),
        }
    }

    /// The table of a parameter that the controller refuses.
    pub fn table_of(&self, parameter: &str) -> &'static str {
        if matches!(parameter, "packets" | "bytes") { PolicyKind::Opt.word() } else { self.policy.word() }
    }

    /// When ACKs and NACKs go out.
    pub fn triggers(&self) -> Triggers {
        Triggers {
            every: self.ack.every,
            after: self.ack.after.0,
            nack_at_once: self.experimental.nack == NackWhen::AtOnce,
        }
    }

    /// What a target acknowledges when.
    pub fn target(&self) -> TargetConfig {
        if self.policy != PolicyKind::Dack {
            return TargetConfig::baseline();
        }
        let readings = &self.dack.experimental;
        TargetConfig {
            threshold: self.dack.threshold.0.get(),
            rule: readings.release,
            iack: readings.iack,
            pacing: true,
            dack: readings.signal,
            reservation: readings.reservation,
            reserved_counts: readings.reserved_counts,
            after_nack: readings.after_nack,
            fairness: readings.balance(),
        }
    }
}

impl DackReadings {
    /// How streams are balanced.
    fn balance(&self) -> Fairness {
        let period = self.period.0;
        match self.fairness {
            FairnessKind::None => Fairness::None,
            FairnessKind::Verbs => Fairness::Verbs {
                period,
                difference_ppm: libm::round(self.difference * 1e6) as u32,
                hold: self.hold.0,
                strength_ppm: libm::round(self.strength * 1e6) as u32,
            },
            FairnessKind::Ordered => Fairness::Ordered { period },
        }
    }
}
