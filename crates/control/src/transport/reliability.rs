//! The table in which people choose how queue pairs send again what is lost.
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::selective::Lost;
use crate::config::{AutoOr, Never, Quantity, Reads, WordOr, kinds};

kinds! {
    /// What a queue pair does about packets that are lost.
    ReliabilityKind;
    /// Nothing: the fabric must be lossless.
    None = "none" reads Reads::Only(&[]);
    /// It sends again all from the first lost packet on; its receiver discards what comes out of order (InfiniBand specification, volume 1, §9.7.5).
    GoBackN = "go-back-n" reads Reads::Only(&["nack-notifies"]);
    /// It sends again what is lost; its receiver keeps what comes out of order (IRN, SIGCOMM 2018).
    SelectiveRepeat = "selective-repeat" reads Reads::Only(&["nack-notifies"]);
}

/// What starts the timer of a queue pair anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RetryTimer {
    /// An ACK that says something new, and what recovers from a loss: it is that of the oldest packet under way.
    Oldest,
    /// Each packet sent and each reply (conweave-ns3).
    EveryPacket,
}

/// How selective repeat keeps its books.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scoreboard {
    /// A bitmap: what is sent again is known packet by packet (IRN §3.1).
    Bitmap,
    /// A list of blocks, of which only the first one is skipped, so that what is in flight is sent again; any reply while something is
    /// missing is a NACK. `after-nack` and `after-timeout` are not read. It is the `ConWeave` simulator's.
    BlockList,
}

/// Go-back-N.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GoBackNParams {
    /// How long a queue pair waits for an ACK. conweave-ns3, pyrrha-ns3: 4 ms (that simulator); the other profiles: 67.108864 ms (4.096 us times 2 to
    /// the power of 14: the local ACK timeout of the InfiniBand
    /// specification, volume 1, §9.7.6.1.3; 14 is the default of perftest).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub timeout: Quantity<Span>,
    /// Timeouts in a row without anything new; one more puts the queue pair in error. conweave-ns3, pyrrha-ns3: 1000 (that simulator has no limit); the
    /// other profiles: 7 (the largest retry count of
    /// the InfiniBand specification, volume 1, §9.9.2, and the default of perftest).
    #[schemars(range(max = 1000))]
    pub retries: u32,
    /// Whether each of them doubles the time, up to 1024 times as long. All profiles: false (InfiniBand specification, volume 1,
    /// §9.7.6.1.3: one time).
    pub backoff: bool,
    /// Another NACK for the same gap after so long. conweave-ns3, pyrrha-ns3: 4 µs (that simulator); the other profiles: never (InfiniBand
    /// specification, volume 1, §9.7.5: one until the
    /// expected packet comes).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub nack_interval: WordOr<Never, Span>,
    /// What starts the timer anew. conweave-ns3, pyrrha-ns3: every-packet (that simulator); the other profiles: oldest (InfiniBand specification,
    /// volume 1, §9.7.6.1.3).
    pub timer: RetryTimer,
}

/// Selective repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SelectiveRepeatParams {
    /// Payload beyond the last cumulative ACK at which no new packet is sent (BDP-FC), at most 4095 packets. conweave-ns3, pyrrha-ns3: 104 000 B (that
    /// simulator, for four links of 1 µs and 100 Gbps); the other profiles: auto, the
    /// bandwidth-delay product of the fastest sender and the longest unloaded round trip (IRN §3.2).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub bdp: AutoOr<Bytes>,
    /// How long a queue pair waits for an ACK while few packets are under way. All profiles: 100 us (IRN §4.1).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub rto_low: Quantity<Span>,
    /// What is few: at most so many. All profiles: 3 (IRN §4.1).
    #[schemars(range(max = 4095))]
    pub rto_low_packets: u32,
    /// How long it waits while more are. All profiles: 320 us (IRN §4.1).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub rto_high: Quantity<Span>,
    /// Timeouts in a row without anything new; one more puts the queue pair in error. conweave-ns3, pyrrha-ns3: 1000 (as there); the other profiles: 7
    /// (as go-back-n: IRN does not
    /// say).
    #[schemars(range(max = 1000))]
    pub retries: u32,
    /// Whether each of them doubles the time, up to 1024 times as long. All profiles: false (IRN §3.1 has two fixed times).
    pub backoff: bool,
    /// How the two ends keep their books. conweave-ns3, pyrrha-ns3: block-list (that simulator); the other profiles: bitmap (IRN §3.1).
    pub scoreboard: Scoreboard,
    /// What a NACK brings again. All profiles: lost (IRN §3.1).
    pub after_nack: Lost,
    /// What a timeout brings again. All profiles: lost (IRN §3.1).
    pub after_timeout: Lost,
    /// A packet that comes once more while it is kept is answered after so long only. conweave-ns3, pyrrha-ns3: 4 µs (that simulator); the other
    /// profiles: never, which answers each (IRN
    /// §3.1: a NACK upon every packet out of order).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub nack_interval: WordOr<Never, Span>,
    /// What starts the timer anew. conweave-ns3, pyrrha-ns3: every-packet (that simulator); the other profiles: oldest (ours: IRN does not say).
    pub timer: RetryTimer,
}

/// What queue pairs (transport = roce) do about packets that are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Reliability")]
pub struct ReliabilitySettings {
    /// The kind. A traffic entry may have another one. conweave-ns3, pyrrha-ns3: go-back-n; the other profiles: none.
    pub reliability: ReliabilityKind,
    /// Whether the reaction point takes a NACK as a CNP with CE. conweave-ns3, pyrrha-ns3: true (its NACKs carry the CNP bit); the other profiles:
    /// false (the DCQCN paper has no losses).
    pub nack_notifies: bool,
    /// reliability = go-back-n.
    pub go_back_n: GoBackNParams,
    /// reliability = selective-repeat.
    pub selective_repeat: SelectiveRepeatParams,
}
