//! `[switch.pfc]`
//!
//! It has no `kind` with a table for each, as other families have: `form`, `threshold` and `switch.queueing` choose independently of each
//! other which of its keys count (`valid/idle/switch.rs`).
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PfcWatchdog;
use crate::quantity::Quantity;

/// How a pause lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// A PAUSE holds for `pause` and is repeated at arrivals and by a poll (authors' release).
    Timed,
    /// Until RESUME (TCD paper; the HPCC simulator).
    Ideal,
}

/// How the length of an ingress queue is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdKind {
    /// Against `xoff` and `xon`.
    Static,
    /// Against a share `alpha` of the memory that is still free (the shared buffer of the RoCE simulators).
    Dynamic,
}

/// By which rule memory is set apart for what arrives after a PAUSE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeadroomRule {
    /// 3 · rate · one-way delay (`third.cc` of the HPCC simulator), which counts no packets: on slow or short links it is too
    /// little.
    Auto,
    /// What IEEE 802.1Qbb, Annex O, counts for each lossless priority in use: 2 · rate · one-way delay, two largest packets, a
    /// PFC frame and 2.017 µs of response. To that the packet that crosses the threshold is added. The response is the longest
    /// that IEEE 802.3 allows at 100 Gbps (31B.3.7: 394 pause quanta); senders of this model respond at the next packet.
    #[serde(rename = "802.1qbb")]
    Standard,
}

/// A rule, or a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Headroom {
    /// By a rule.
    Rule(HeadroomRule),
    /// So many bytes.
    Given(Quantity<Bytes>),
}

/// Priority flow control (IEEE 802.1Qbb), accounted per ingress port and priority. In effect with flow-control = pfc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pfc {
    /// How a pause lasts. authors, conweave-ns3: timed; the other profiles: ideal.
    pub form: Form,
    /// Length of a pause with form = timed. 5 µs (authors' release and ns3-rdma).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub pause: Quantity<Span>,
    /// Period of the poll that repeats a PAUSE with form = timed. 2 µs (half of `pause` in whole microseconds, authors'
    /// release).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub poll: Quantity<Span>,
    /// Size of a PFC frame on the wire. authors: 31 B; ideal, infiniband, roce: 64 B (least Ethernet frame); hpcc-ns3, conweave-ns3: 43 B.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub frame: Quantity<Bytes>,
    /// How the length of an ingress queue is judged. authors, ideal, infiniband: static (TCD paper §5.1); hpcc-ns3, roce:
    /// dynamic.
    pub threshold: ThresholdKind,
    /// Static: PAUSE above this many bytes of one ingress port and priority. ideal, infiniband: 320 KB (TCD paper §5.1); authors:
    /// 329.6 KB (320 units of 1030 B in the authors' release).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub xoff: Quantity<Bytes>,
    /// Static: RESUME at or below this. ideal, infiniband: 318 KB (TCD paper §5.1); authors: 327.54 KB (318 units of 1030 B).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub xon: Quantity<Bytes>,
    /// Static: PAUSE of all priorities above this many bytes of a whole ingress port; none without it. authors:
    /// 9.888 MB (authors' release).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1TB"))]
    pub port_xoff: Option<Quantity<Bytes>>,
    /// Static: RESUME needs the whole port at or below this; `port-xoff` if not given. authors: 9.682 MB (authors'
    /// release).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1TB"))]
    pub port_xon: Option<Quantity<Bytes>>,
    /// Dynamic: the threshold is this share of the free shared memory; a power of two, at most 1. Ports that are faster than the
    /// slowest host link have twice the share for each doubling of the rate, up to 1. roce: 1 (`dynamic_th` 0 of `SONiC`'s lossless
    /// profiles); the other profiles: 0.125 (`third.cc` of the HPCC simulator).
    #[schemars(range(min = 0.000_030_517_578_125, max = 1.0))]
    pub alpha: f64,
    /// Dynamic: memory set apart for each ingress port and priority. 4 KiB (`switch-mmu.cc` of the HPCC simulator).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub reserve: Quantity<Bytes>,
    /// Dynamic: memory of each ingress port for the packet that crosses the threshold and for what arrives after its PAUSE. roce:
    /// 802.1qbb; the other profiles: auto.
    pub headroom: Headroom,
    /// Dynamic: RESUME when the shared use plus this is at or below the threshold. 3 KiB (`switch-mmu.cc` of the HPCC
    /// simulator).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub hysteresis: Quantity<Bytes>,
    /// The lossless priorities. All but the control priority.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
    /// What switches do about a PAUSE that does not end.
    pub watchdog: PfcWatchdog,
}
