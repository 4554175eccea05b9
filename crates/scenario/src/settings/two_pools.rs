//! `[switch.two-pools]`
use backwater_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AutoOr;
use crate::quantity::Quantity;

/// A packet memory that is divided twice: among egress queues, and among ingress ports and priorities. In effect with queueing =
/// two-pools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TwoPools {
    /// What the egress queues share. auto: `switch.buffer` less `reserve` for each port and each of eight priorities (conweave-ns3).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub egress_pool: AutoOr<Bytes>,
    /// What the ingress ports share. auto: the same, less `headroom` for each port. The `ConWeave` simulator takes 14 596 B off in place of
    /// the last port's headroom; whoever wants that writes the number.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub ingress_pool: AutoOr<Bytes>,
    /// An egress queue may take this share of what is left of its pool, beside its reserve; a power of two. All profiles: 1
    /// (conweave-ns3).
    #[schemars(range(min = 0.000_030_517_578_125, max = 32_768.0))]
    pub egress_alpha: f64,
    /// PAUSE where an ingress port and priority holds more than this share of what is left of its pool, and two reserves; a power of
    /// two. All profiles: 0.0625 (conweave-ns3).
    #[schemars(range(min = 0.000_030_517_578_125, max = 32_768.0))]
    pub ingress_alpha: f64,
    /// What each queue, and each ingress port and priority, has beside the pools; an egress queue has a byte more. All profiles: 1048 B
    /// (conweave-ns3: its MTU, whatever its packets are).
    #[schemars(extend("x-maximum" = "1GB"))]
    pub reserve: Quantity<Bytes>,
    /// What each ingress port and priority may hold while the ingress pool is used up. All profiles: 27 096 B (conweave-ns3 with 100 Gbps
    /// and 1 µs: 2 · rate · delay and two packets of 1048 B).
    #[schemars(extend("x-maximum" = "1GB"))]
    pub headroom: Quantity<Bytes>,
    /// RESUME where the share holds with so much less of the pool. All profiles: 16 B (conweave-ns3).
    #[schemars(extend("x-maximum" = "1GB"))]
    pub hysteresis: Quantity<Bytes>,
}
