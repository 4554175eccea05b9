//! `[switch.credits]`
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// When the downstream side of a link tells what has become free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Returned {
    /// Every `period`, each link at a random phase of its own (InfiniBand specification).
    Periodic,
    /// With every packet that has left the buffer.
    AtOnce,
}

/// What must be free before a packet starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CreditStart {
    /// What the packet takes. A short one passes where longer ones wait.
    Packet,
    /// What a packet of full size takes, as if the buffer were made of slots.
    Full,
}

/// Credit-based flow control (InfiniBand), per link and virtual lane (VL); a priority is a VL. In effect with
/// flow-control = credits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Credits {
    /// What one credit stands for; a packet takes whole ones. hpc: 16 B, a flit (reconstructed: the PFT paper does not say; its 100 Gbps at
    /// 700 MHz are 142.9 bit in a cycle, 16 B and 2 B of link overhead); ndr: 128 B, xdr: 256 B (reconstructed: links negotiate the size of a credit, says the release note of
    /// Quantum's firmware 27.2007.0300); the other profiles: 64 B (InfiniBand specification).
    /// A power of two.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4096B"))]
    pub unit: Quantity<Bytes>,
    /// Buffer of each ingress port, of switches and of hosts; the VLs that carry traffic have equal shares of it, in whole credits.
    /// hpc: 64 KiB, 4096 flits (reconstructed: the PFT paper does not say; the curves of its Fig. 1(a) for n = 10 to 12 are the same on
    /// fewer); edr, hdr: 128 KiB, ndr: 256 KiB, xdr: 512 KiB (2048 credits, the most that the counters of the InfiniBand specification tell
    /// apart; what switches have is not published); slingshot-like: 128 KiB (as hdr); the other profiles: 280 KB (TCD paper §3.1).
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "100GB"))]
    pub buffer: Quantity<Bytes>,
    /// What must be free before a packet starts. hpc: full (reconstructed: the PFT paper does not say; it takes a credit for a
    /// packet, section III-A. Chosen after a look at runs without PFT: what a long packet leaves free of a full buffer let
    /// every packet of 8 B pass there. So congestion hardly delayed them, unlike the paper's "heavy network congestion"); the
    /// other profiles: packet (InfiniBand specification).
    pub start: CreditStart,
    /// When credits go back. hpc: at-once (PFT paper, section III-A: for each slot that is freed); edr, hdr, ndr, xdr, slingshot-like: at-once (reconstructed: how
    /// often switches send updates is not published); the other profiles: periodic
    /// (InfiniBand specification; TCD paper §2.1).
    pub returned: Returned,
    /// periodic: Tc, the time between two updates of a link. All profiles: 50 µs; open in the TCD paper, which bounds it by
    /// 65 536 symbol times (65.5 µs at 40 Gbps of signalling).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub period: Quantity<Span>,
    /// Size of an update on the wire. hpc: 16 B, a flit (reconstructed: the PFT paper does not say); the other profiles: 8 B
    /// (flow-control packet of the TCD authors' flit-level model).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub frame: Quantity<Bytes>,
    /// periodic: whether an update is sent even if nothing has changed since the last one. All profiles: false (TCD
    /// authors' flit-level model).
    pub unchanged: bool,
    /// Share of the updates that are lost on the wire, to see how a link recovers; needs `unchanged`. At most 0.99: of a link that
    /// waits still longer for an update nobody could say that it is not locked up. All profiles: 0.
    #[schemars(range(min = 0.0, max = 0.99))]
    pub loss: f64,
    /// The VLs under flow control. All but the control priority.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
}
