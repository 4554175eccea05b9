//! `[switch.combined]`
use backwater_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// From how many ingress ports an egress port takes packets at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Crossbar {
    /// From one: a crossbar in the strict sense.
    Single,
    /// From any number at once: a memory that all ports share.
    Multiple,
}

/// Combined input and output queueing: every port has an ingress region, from which packets move to the egress region of
/// another port faster than the links bring them. In effect with queueing = combined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Combined {
    /// How much faster a packet crosses than it takes on the wire of its ingress or egress port, whichever is faster, in steps
    /// of 0.01. All profiles: 2 (ICI paper, section 4.1, which also says 1.5 in another paragraph).
    #[schemars(range(min = 1.0, max = 10.0))]
    pub speedup: f64,
    /// Memory of each port for packets that came in there. All profiles: 256 KiB (ICI paper, section 4.1: 512 KB per port, half
    /// of it for the egress).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub ingress: Quantity<Bytes>,
    /// Memory of each port for packets that leave there. All profiles: 256 KiB (ICI paper, section 4.1: 64 packets of 4 KB).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub egress: Quantity<Bytes>,
    /// From how many ingress ports an egress port takes packets at a time. All profiles: single (reconstructed: the ICI paper
    /// does not say; an egress memory with one write port is the common case).
    pub crossbar: Crossbar,
    /// PAUSE of all classes of a port from this many bytes in its ingress region on. Without isolation the priorities that carry
    /// traffic have equal shares of it, too. Default 50/64 of `ingress` (ICI paper, section 4.1: 50 of 64 packets).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub stop: Option<Quantity<Bytes>>,
    /// RESUME at or below this. Default 0.9 of `stop` (ICI paper, section 4.1: 45 and 50 packets).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1GB"))]
    pub go: Option<Quantity<Bytes>>,
}
