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

/// Credit-based flow control (InfiniBand), per link and virtual lane (VL); a priority is a VL. In effect with
/// flow-control = credits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Credits {
    /// Buffer of each ingress port, of switches and of hosts; the VLs that carry traffic have equal shares of it, in blocks of
    /// 64 B. All profiles: 280 KB (TCD paper §3.1).
    #[schemars(extend("x-minimum" = "64B", "x-maximum" = "100GB"))]
    pub buffer: Quantity<Bytes>,
    /// When credits go back. All profiles: periodic (InfiniBand specification; TCD paper §2.1).
    pub returned: Returned,
    /// periodic: Tc, the time between two updates of a link. All profiles: 50 µs; open in the TCD paper, which bounds it by
    /// 65 536 symbol times (65.5 µs at 40 Gbps of signalling).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub period: Quantity<Span>,
    /// Size of an update on the wire. All profiles: 8 B (flow-control packet of the TCD authors' flit-level model).
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
