//! `[switch.detector]`
use std::collections::BTreeMap;

use backwater_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Parameter;
use crate::quantity::Quantity;

/// Which detector the egress ports of the switches run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DetectorKind {
    /// No marks.
    None,
    /// ECN: random early detection on the present queue, as DCQCN uses it.
    Red,
    /// Ternary congestion detection (TCD paper §4).
    Tcd,
    /// Non-PAUSE ECN of PCN (NSDI 2020; TCD paper §7): red, but never for a packet that was queued when a pause ended.
    NpEcn,
    /// FECN of InfiniBand (InfiniBand specification, Annex A10): a packet that finds a long queue for its port, and never
    /// lacks credit at the head of its own, is marked.
    Fecn,
    /// A function of the user's: `function`.
    Custom,
}

/// How TCD judges a port that was undetermined: does its queue rise?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Trend {
    /// First verdict: not below the queue at the last RESUME; later ones: risen by `delta` (authors' release).
    Authors,
    /// Risen by more than `delta` (the paper's flowchart, Fig. 9).
    Rise,
    /// Not fallen (the paper's prose, §4.3).
    #[serde(rename = "nofall")]
    NoFall,
    /// Risen, or level while the switch held back an upstream port.
    RiseBp,
}

/// When a packet is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkAt {
    /// When it leaves: the bytes behind it count.
    Dequeue,
    /// When it comes to the egress queue: the bytes before it and its own count. Only with queueing = combined.
    Enqueue,
}

/// Which bytes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkBasis {
    /// Those of its own priority.
    Queue,
    /// All of the egress port. Only with queueing = combined.
    Port,
}

/// RED parameters for egress ports of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ByRate {
    /// The rate of the egress ports.
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub rate: Quantity<Rate>,
    /// No mark up to this queue.
    #[schemars(extend("x-maximum" = "1TB"))]
    pub kmin: Quantity<Bytes>,
    /// Always a mark above this queue.
    #[schemars(extend("x-maximum" = "1TB"))]
    pub kmax: Quantity<Bytes>,
    /// Probability of a mark just below `kmax`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
}

/// Congestion detection, one instance per egress port and priority. Keys of another `kind` have no effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Detector {
    /// Which detector. authors, ideal, infiniband: tcd (the TCD paper's system); hpcc-ns3, isolation: red; endpoint: none (PUTs cannot be
    /// marked); hpc: none (the PFT paper has none; `kmin`, `kmax` and `pmax` as in isolation, `at` and `basis` as in the other profiles).
    pub kind: DetectorKind,
    /// red: when a packet is judged. isolation: enqueue (reconstructed: the ICI paper does not say; its signal is the occupancy of the
    /// egress); the other profiles: dequeue (DCQCN paper; both ns-3 simulators).
    pub at: MarkAt,
    /// red: which bytes count. isolation: port (reconstructed: DCQCN beside isolation, uncoordinated, does not know its queues); the
    /// other profiles: queue (both ns-3 simulators).
    pub basis: MarkBasis,
    /// red, tcd, np-ecn: no mark up to this queue. authors: 5.15 KB (5 units of 1030 B, authors' release); ideal: 5 KB (DCQCN
    /// paper); hpcc-ns3: 400 KB (`run.py` at 100 Gbps); infiniband: 50 KB, a step (TCD paper §3.1);
    /// isolation: 40 KiB, 10 packets (reconstructed: the ICI paper does not say).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub kmin: Quantity<Bytes>,
    /// red, tcd, np-ecn: always a mark above this queue. authors: 206 KB (200 units of 1030 B); ideal: 200 KB (TCD paper §5.1);
    /// hpcc-ns3: 1600 KB (`run.py` at 100 Gbps); infiniband: 50 KB (TCD paper §3.1); isolation: 160 KiB, 40 packets of
    /// the 64 of the egress (reconstructed: the ICI paper does not say).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub kmax: Quantity<Bytes>,
    /// red, tcd, np-ecn: probability of a mark just below `kmax`. authors, ideal: 0.01 (DCQCN paper); hpcc-ns3: 0.2 (`run.py`);
    /// infiniband: 1, without effect on a step; isolation: 0.2 (`run.py` of the HPCC simulator; the ICI paper does not say).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pmax: f64,
    /// red, tcd, np-ecn: other `kmin`, `kmax` and `pmax` for egress ports of exactly these rates (`KMIN_MAP`, `KMAX_MAP`,
    /// `PMAX_MAP` of the HPCC simulator; its `run.py` scales them with the rate).
    #[serde(default)]
    pub by_rate: Vec<ByRate>,
    /// Bytes of a queue that detectors do not see. authors: 1030 B (the guaranteed part of a queue in the authors'
    /// release); else 0.
    #[schemars(extend("x-maximum" = "1TB"))]
    pub guaranteed: Quantity<Bytes>,
    /// fecn: Threshold. A packet that finds more than this many bytes waiting for its egress port and virtual lane may be
    /// marked. All profiles: 50 KB (TCD paper §3.1).
    #[schemars(extend("x-maximum" = "1TB"))]
    pub threshold: Quantity<Bytes>,
    /// fecn: `Marking_Rate`, how many packets that could be marked pass without between two that are. All profiles: 0, each is
    /// marked (Gran et al., IPDPS 2010).
    pub marking_rate: u16,
    /// fecn: `Packet_Size`, smaller packets are never marked. All profiles: 0 B (Gran et al., IPDPS 2010).
    #[schemars(extend("x-maximum" = "65500B"))]
    pub packet_size: Quantity<Bytes>,
    /// custom: the function, as `file.py:name`, `library.so:symbol` or `module:name`. Paths count from the scenario's folder
    /// (docs/extend.md).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub function: Option<String>,
    /// custom: values for words of the function's state, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Parameter>,
    /// custom: the function is not asked about a packet that leaves at most this much in its queue, unless its verdict on the port
    /// is another than non-congestion or it watches the port. Default 0 B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1TB"))]
    pub calm: Option<Quantity<Bytes>>,
    /// tcd: how a rising queue is recognised. authors: authors; ideal, hpcc-ns3, infiniband, hpc: rise-bp.
    pub trend: Trend,
    /// tcd: max(Ton), how long after the end of an OFF period a port counts as undetermined. authors: 97 µs (authors'
    /// release). Give it or `epsilon`; under periodic credits neither: it is then the credits' period Tc (Eqn 4 of the TCD
    /// paper), whatever the profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
    pub max_ton: Option<Quantity<Span>>,
    /// tcd: max(Ton) computed for each port from this congestion degree: Eqn 3 of the TCD paper, or, with trend =
    /// authors, the same with τ = 2 · delay, rounded up to microseconds. ideal, infiniband, hpc: 0.05 (TCD paper §4.2). Not for
    /// periodic credits. With credits returned at once, of which the paper does not speak, the port resumes when one packet
    /// fits: the simulator takes that for the gap of Eqn 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub epsilon: Option<f64>,
    /// tcd: period T between verdicts; default max(Ton) (TCD paper §5.1); under periodic credits the least number
    /// of whole Tc's that is at least 4 Tc and 200 µs (T = Tc would take the swing of the queue within a period for its trend).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
    pub period: Option<Quantity<Span>>,
    /// tcd: a queue at or below this has drained. Default with trend = authors 2060 B (authors' release), else one
    /// packet on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1TB"))]
    pub low: Option<Quantity<Bytes>>,
    /// tcd: dead band of the trend. Default with trend = authors 900 B (authors' release), else two packets on the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1TB"))]
    pub delta: Option<Quantity<Bytes>>,
    /// tcd: resolution of the detector's clock. authors: 1 µs (authors' release); else 1 ps, that of the simulation.
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1ms"))]
    pub truncate: Quantity<Span>,
}

impl Detector {
    /// The ramp of egress ports of `rate`: kmin, kmax, pmax.
    pub fn ramp(&self, rate: Rate) -> (Bytes, Bytes, f64) {
        let own = self.by_rate.iter().find(|ramp| ramp.rate.0 == rate);
        let (kmin, kmax, pmax) =
            own.map_or((self.kmin, self.kmax, self.pmax), |ramp| (ramp.kmin, ramp.kmax, ramp.pmax));
        (kmin.0, kmax.0, pmax)
    }
}
