//! `[cc]`
use std::collections::BTreeMap;

use backwater_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AutoOr, Dctcp, Hpcc, Ib, Parameter, Swift};
use crate::quantity::Quantity;

/// The reaction point of flows under congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CcKind {
    /// Always line rate.
    None,
    /// DCQCN (SIGCOMM 2015).
    Dcqcn,
    /// TIMELY (SIGCOMM 2015).
    Timely,
    /// InfiniBand congestion control (InfiniBand specification, Annex A10).
    IbCc,
    /// A window by the share of ECN marks: DCTCP (SIGCOMM 2010) for `RoCE`.
    Dctcp,
    /// A window by delay: Swift (SIGCOMM 2020).
    Swift,
    /// A window by in-band telemetry: HPCC (SIGCOMM 2019).
    Hpcc,
    /// A function of the user's: `function`.
    Custom,
}

/// What a function of the user's is told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Feedback {
    /// CNPs, as of `np`, and the marks that ACKs echo.
    #[default]
    Cnp,
    /// The round-trip time of every segment (`timely.segment`, `timely.pacing`), each with an ACK of its own.
    Rtt,
}

/// Which implementation of DCQCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Cut at each CNP; increase by a timer and a byte counter (DCQCN paper, ns3-rdma, the TCD authors' release).
    ByteCounter,
    /// Marks echoed in ACKs; cut at a periodic check; increase by a timer only (the HPCC simulator).
    DecreaseCheck,
}

/// What a CNP that carries UE does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnUe {
    /// Everything a CNP does except the update of alpha and the cut (authors' release): the target falls to the present rate, so that
    /// only additive and hyper increase lead back from a cut.
    ResetHold,
    /// Restarts the rate timer and the byte counter: the rate holds, and the target stays (TCD paper, §5.2: "keeping the flow rate until it
    /// becomes uncongested or congested").
    TimerHold,
    /// Nothing.
    Ignore,
}

/// When the receiver sends CNPs (byte-counter variant of DCQCN; IB CC has always each-mark).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Np {
    /// At the ends of fixed slots of `cnp-interval` that start with the flow's first packet (authors' release).
    Grid,
    /// At the first mark, then at most one per `cnp-interval` (DCQCN paper).
    FirstMark,
    /// At every marked packet, with its own mark (BECN of the InfiniBand specification).
    EachMark,
}

/// What TIMELY makes of an ACK that carries UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimelyOnUe {
    /// Between `t-low` and `t-high` a rising delay does not lower the rate (TCD paper §5.2.3).
    Hold,
    /// Nothing.
    Ignore,
}

/// What of a TIMELY flow is spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Segments; the packets of one leave back to back (TIMELY paper §3, ns3-rdma).
    Burst,
    /// Every packet.
    Packet,
}

/// Which TIMELY it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimelyVariant {
    /// An update for each segment (the snippet of TIMELY's authors).
    Completion,
    /// An update for each round trip (HPCC simulator): every packet is a segment of its own and is spaced, and one of those of a
    /// round trip is measured. No `floor`; `hai-after` counts increases.
    RoundTrip,
}

/// TIMELY in the form of its authors' published snippet, or in that of the HPCC simulator. Flows start at line rate; every segment is
/// acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Timely {
    /// Which implementation. All profiles: completion (snippet); hpcc-ns3: round-trip.
    pub variant: TimelyVariant,
    /// Weight of a new difference of two round-trip times in their average. 0.02 (snippet); hpcc-ns3: 0.875 (`TimelyAlpha`).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ewma: f64,
    /// Multiplicative decrease. 0.8 (TIMELY paper, snippet); with TCD 1.6 (TCD paper §5.2.3).
    #[schemars(range(min = 0.0, max = 16.0))]
    pub beta: f64,
    /// Below this round-trip time the rate always rises. 50 µs (TIMELY paper).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub t_low: Quantity<Span>,
    /// Above this round-trip time the rate always falls. 500 µs (TIMELY paper; snippet: 1 ms).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub t_high: Quantity<Span>,
    /// Additive increase per minimum round-trip time. 40 Mbps: the snippet's 10 Mbps at 10 Gbps, scaled to 40 Gbps; hpcc-ns3: 100 Mbps
    /// (`run.py` at 100 Gbps).
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub add: Quantity<Rate>,
    /// Falling round-trip times in a row before the increase is hyperactive. 5 (TIMELY paper).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hai_after: u32,
    /// Factor of the hyperactive increase. 5 (TIMELY paper).
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hai_factor: u32,
    /// Round-trip time of an empty network, by which the gradient is normalised. auto: twice the longest propagation between
    /// the ends of any of the flows, 32 µs in Figure 2 of the TCD paper and 48 µs in its fat tree; hpcc-ns3: 20 µs (`TimelyMinRtt`, TIMELY paper).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub min_rtt: AutoOr<Span>,
    /// completion: no update lowers the rate below this share of it. 0.5 (snippet).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub floor: f64,
    /// completion: payload of a segment, in whole packets; one round-trip time is measured for each. 16 KB (TIMELY paper: 16 to 64 KB;
    /// ns3-rdma: 16 KB).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub segment: Quantity<Bytes>,
    /// completion: what is spaced. burst (TIMELY paper, ns3-rdma).
    pub pacing: Pacing,
    /// What an ACK that carries UE does. hold (TCD paper §5.2.3); no ACK carries UE unless the detector is tcd.
    pub on_ue: TimelyOnUe,
}

/// What windows count of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowCounts {
    /// All of it.
    Wire,
    /// Its payload.
    Payload,
}

/// The reaction point: DCQCN, TIMELY, IB CC, DCTCP, Swift, HPCC, a function of the user's, or none. Flows start at line rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cc {
    /// The reaction point. authors, ideal, hpcc-ns3, isolation: dcqcn; infiniband: ib-cc; endpoint: none (the rest as in ideal);
    /// hpc: none (the PFT paper has no other control; the rest as in isolation).
    pub kind: CcKind,
    /// custom: the function, as `file.py:name`, `library.so:symbol` or `module:name`. Paths count from the scenario's folder
    /// (docs/extend.md).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub function: Option<String>,
    /// custom: values for words of the function's state, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Parameter>,
    /// custom: what the function is told of. Default cnp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// Which implementation. authors, ideal, infiniband, isolation: byte-counter; hpcc-ns3: decrease-check.
    pub variant: Variant,
    /// Initial alpha; the first cut is by alpha/2. authors, ideal, infiniband: 0.5 (authors' release, ns3-rdma; the TCD paper raises
    /// it to 1.2 together with TCD, §5.2); hpcc-ns3: 1; isolation: 1 (DCQCN paper; the ICI paper does not say, here and below).
    #[schemars(range(min = 0.0, max = 2.0))]
    pub alpha_initial: f64,
    /// byte-counter: a cut is to 1 − cut·alpha of the rate. All profiles: 0.5 (DCQCN paper). "α from 0.5 to 1.2" of the TCD
    /// paper (§5.2.1) can be read as this one, too.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub cut: f64,
    /// Gain of alpha; with 0 alpha stays what it is at first. All profiles: 1/256 (DCQCN paper).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub g: f64,
    /// Period in which alpha decays. authors, ideal, infiniband, isolation: 55 µs (DCQCN paper); hpcc-ns3: 1 µs (`run.py`).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub alpha_timer: Quantity<Span>,
    /// Period of the rate increase. authors, ideal, infiniband, isolation: 55 µs (DCQCN paper); hpcc-ns3: 300 µs (`run.py`).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub rate_timer: Quantity<Span>,
    /// byte-counter: bytes between rate increases. 10 MB (DCQCN paper; authors' release).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
    pub byte_counter: Quantity<Bytes>,
    /// Increases of fast recovery. authors, ideal, infiniband, isolation: 5 (DCQCN paper); hpcc-ns3: 1 (`run.py`).
    #[schemars(range(max = 1000))]
    pub fast_recovery: u32,
    /// Additive increase. authors, ideal, infiniband, isolation: 40 Mbps (DCQCN paper); hpcc-ns3: 20 Mbps (`run.py` at 100 Gbps).
    #[schemars(extend("x-maximum" = "100Tbps"))]
    pub rate_ai: Quantity<Rate>,
    /// Hyper increase. All profiles: 200 Mbps (authors' release; `run.py` at 100 Gbps).
    #[schemars(extend("x-maximum" = "100Tbps"))]
    pub rate_hai: Quantity<Rate>,
    /// Least rate. authors, ideal, infiniband, isolation: 100 Mbps (authors' release); hpcc-ns3: 1 Gbps (`run.py`).
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub min_rate: Quantity<Rate>,
    /// Whether every cut first sets the target to the current rate. authors, ideal, infiniband, isolation: true; hpcc-ns3: false (`run.py`).
    pub clamp_target: bool,
    /// byte-counter: whether a cut uses alpha from before the CNP. isolation: true (DCQCN paper); the other profiles: false
    /// (authors' release, ns3-rdma).
    pub cut_first: bool,
    /// byte-counter: whether a target above ten times the rate is divided by 8 before the first increase. authors: true
    /// (authors' release, ns3-rdma); ideal, infiniband, isolation: false (DCQCN paper).
    pub eighth_rule: bool,
    /// What a CNP, or an ACK of decrease-check, that carries UE does. authors: reset-hold (authors' release); the other profiles: timer-hold (TCD
    /// paper, §5.2: the sender keeps its rate and does not update it).
    pub on_ue: OnUe,
    /// Least time between CNPs of a flow. 50 µs (DCQCN paper; authors' release).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub cnp_interval: Quantity<Span>,
    /// byte-counter: when the receiver sends CNPs. authors: grid; ideal, hpcc-ns3, infiniband, isolation: first-mark. ib-cc has one for
    /// every marked packet.
    pub np: Np,
    /// A slot is reported as congested only if at least this share of its packets carried CE; 0: one is enough. Default 0
    /// (DCQCN paper), and 0.95 if the detector is np-ecn (NP-ECN, as the TCD paper describes it in §7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub np_fraction: Option<f64>,
    /// decrease-check: period of the check. 4 µs (`RATE_DECREASE_INTERVAL` of the HPCC simulator's `run.py`).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub decrease_interval: Quantity<Span>,
    /// Size of a CNP on the wire. 64 B (least Ethernet frame).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub cnp_size: Quantity<Bytes>,
    /// dctcp, swift, hpcc: what windows count of a packet. hpcc-ns3: payload (that simulator, as TCP); the other profiles: wire (ours: the
    /// papers do not say).
    pub window_counts: WindowCounts,
    /// TIMELY's parameters.
    pub timely: Timely,
    /// IB CC's parameters.
    pub ib: Ib,
    /// DCTCP's parameters.
    pub dctcp: Dctcp,
    /// Swift's parameters.
    pub swift: Swift,
    /// HPCC's parameters.
    pub hpcc: Hpcc,
}
