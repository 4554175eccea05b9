//! `[uec]`
use backwater_control::uec::{Delivery, SpreadKind};
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AutoOr;
use crate::quantity::Quantity;

/// Of which path a sender knows the round trip before it has heard anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BaseRtt {
    /// Of the longest one of the network.
    Network,
    /// Of its own.
    Pair,
}

/// Flows of Ultra Ethernet (transport = uec): how they are delivered, acknowledged and spread. How fast they send is said by `[cc]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Uec {
    /// How packets are delivered: in no order (rud), in order by one way (rod), or in no order to receivers without state, which take copies
    /// again (rudi). All profiles: rud (UE 1.0, §3.5; the only one of the Consortium's simulator).
    pub delivery: Delivery,
    /// Bytes on the wire after which a receiver acknowledges what has come; the first packet, marked ones and those that ask for it are
    /// acknowledged at once. All profiles: 16384 B (UE §3.5, `ACK_Gen_Trigger`).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "8MB"))]
    pub ack_bytes: Quantity<Bytes>,
    /// Size on the wire of ACK, NACK, RTS and pull. All profiles: 64 B (the Consortium's simulator, commit 40ccb05; the least Ethernet frame).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub ack_size: Quantity<Bytes>,
    /// The window of a new flow, and with cc.kind = none of any, headers included. All profiles: auto, one and a half times the bandwidth-delay product of the
    /// longest unloaded round trip (UE §3.6.13).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "64MB"))]
    pub window: AutoOr<Bytes>,
    /// Of which path a sender knows the round trip at first; what it measures shortens it. All profiles: network (the same simulator).
    pub base_rtt: BaseRtt,
    /// How long a packet may be under way. All profiles: auto, 15 us and what it takes to send six queues of one bandwidth-delay product (the
    /// same simulator; UE leaves the first one open).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "10s"))]
    pub rto: AutoOr<Span>,
    /// Whether that doubles each time that a packet times out, up to 32 times as long. All profiles: true (UE §3.5; that simulator: false). A
    /// flow never gives up (UE: after 5 times).
    pub backoff: bool,
    /// Among how many entropies a sender chooses: a power of two. All profiles: 64 (the same simulator; UE: 64 to 256).
    #[schemars(range(min = 1, max = 1024))]
    pub entropies: u32,
    /// How it chooses. All profiles: mixed (the same simulator; UE leaves it open).
    pub spread: SpreadKind,
    /// Most packets of a flow from the oldest that is not acknowledged to the newest: a power of two. All profiles: 16384 (the same simulator's
    /// bitmap; UE has MPR).
    #[schemars(range(min = 64, max = 16_384))]
    pub range: u32,
}
