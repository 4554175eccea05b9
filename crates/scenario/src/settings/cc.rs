//! `[cc]`
use backwater_units::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// The reaction point of flows under congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CcKind {
    /// Always line rate.
    None,
    /// DCQCN (SIGCOMM 2015).
    Dcqcn,
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
    /// Everything a CNP does except the update of alpha and the cut (authors' release).
    ResetHold,
    /// Restarts the rate timer and the byte counter: the rate holds (TCD paper, read literally).
    TimerHold,
    /// Nothing.
    Ignore,
}

/// When the receiver sends CNPs (byte-counter variant).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Np {
    /// At the ends of fixed slots of `cnp-interval` that start with the flow's first packet (authors' release).
    Grid,
    /// At the first mark, then at most one per `cnp-interval` (DCQCN paper).
    FirstMark,
}

/// DCQCN. Flows start at line rate; nothing changes before the first notification.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Cc {
    /// The reaction point. All profiles: dcqcn.
    pub kind: CcKind,
    /// Which implementation. authors, ideal: byte-counter; hpcc-ns3: decrease-check.
    pub variant: Variant,
    /// Initial alpha; the first cut is by alpha/2. authors, ideal: 0.5 (authors' release, ns3-rdma; the TCD paper raises
    /// it to 1.2 together with TCD, §5.2); hpcc-ns3: 1.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub alpha_initial: f64,
    /// Gain of alpha. All profiles: 1/256 (DCQCN paper).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub g: f64,
    /// Period in which alpha decays. authors, ideal: 55 µs (DCQCN paper); hpcc-ns3: 1 µs (`run.py`).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub alpha_timer: Quantity<Span>,
    /// Period of the rate increase. authors, ideal: 55 µs (DCQCN paper); hpcc-ns3: 300 µs (`run.py`).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub rate_timer: Quantity<Span>,
    /// byte-counter: bytes between rate increases. 10 MB (DCQCN paper; authors' release).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1000TB"))]
    pub byte_counter: Quantity<Bytes>,
    /// Increases of fast recovery. authors, ideal: 5 (DCQCN paper); hpcc-ns3: 1 (`run.py`).
    #[schemars(range(max = 1000))]
    pub fast_recovery: u32,
    /// Additive increase. authors, ideal: 40 Mbps (DCQCN paper); hpcc-ns3: 20 Mbps (`run.py` at 100 Gbps).
    #[schemars(extend("x-maximum" = "100Tbps"))]
    pub rate_ai: Quantity<Rate>,
    /// Hyper increase. All profiles: 200 Mbps (authors' release; `run.py` at 100 Gbps).
    #[schemars(extend("x-maximum" = "100Tbps"))]
    pub rate_hai: Quantity<Rate>,
    /// Least rate. authors, ideal: 100 Mbps (authors' release); hpcc-ns3: 1 Gbps (`run.py`).
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub min_rate: Quantity<Rate>,
    /// Whether every cut first sets the target to the current rate. authors, ideal: true; hpcc-ns3: false (`run.py`).
    pub clamp_target: bool,
    /// byte-counter: whether a cut uses alpha from before the CNP. All profiles: false (authors' release, ns3-rdma);
    /// the DCQCN paper: true.
    pub cut_first: bool,
    /// byte-counter: whether a target above ten times the rate is divided by 8 before the first increase. authors: true
    /// (authors' release, ns3-rdma); ideal: false (DCQCN paper).
    pub eighth_rule: bool,
    /// What a CNP that carries UE does. authors, hpcc-ns3: reset-hold (authors' release); ideal: timer-hold.
    pub on_ue: OnUe,
    /// Least time between CNPs of a flow. 50 µs (DCQCN paper; authors' release).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub cnp_interval: Quantity<Span>,
    /// byte-counter: when the receiver sends CNPs. authors: grid; ideal: first-mark.
    pub np: Np,
    /// decrease-check: period of the check. 4 µs (`RATE_DECREASE_INTERVAL` of the HPCC simulator's `run.py`).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub decrease_interval: Quantity<Span>,
    /// Size of a CNP on the wire. 64 B (least Ethernet frame).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "9000B"))]
    pub cnp_size: Quantity<Bytes>,
}
