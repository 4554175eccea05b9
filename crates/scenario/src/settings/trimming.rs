//! `[switch.trimming]`
use backwater_control::flow_control::Victim;
use backwater_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AutoOr;
use crate::quantity::Quantity;

/// What becomes of packets of Ultra Ethernet for which an egress queue has no room: their headers go on, before all that waits (packet
/// trimming: Handley et al., NDP, SIGCOMM 2017). In effect with overflow = trim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TrimmingSettings {
    /// What is left of a packet. All profiles: 64 B (the Ultra Ethernet Consortium's simulator, commit 40ccb05).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub size: Quantity<Bytes>,
    /// Bytes that one priority may hold at an egress port, the packet in transmission included. auto: `bdps` times what is under way on the
    /// longest round trip at the rate of the fastest host, in whole packets (Ultra Ethernet 1.0: trim at 1 BDP).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub queue: AutoOr<Bytes>,
    /// queue = auto: how many such products of bandwidth and delay. All profiles: 1 (Ultra Ethernet 1.0; the Consortium's simulator).
    #[schemars(range(min = 0.01, max = 1000.0))]
    pub bdps: f64,
    /// Headers and ACKs, which have a queue of their own, may hold so many times that; what is beyond it is lost. All profiles: 2 (the
    /// Consortium's simulator).
    #[schemars(range(min = 0.01, max = 1000.0))]
    pub headers: f64,
    /// Which packet is trimmed. All profiles: coin (NDP paper, section 3.1; the Consortium's simulator).
    pub victim: Victim,
    /// Whether ports that are slower or faster than the fastest host have queues, and thresholds of switch.detector.kind = red, in
    /// proportion to their rate, also while a fault slows them down. All profiles: true (the Consortium's simulator).
    pub by_rate: bool,
}
