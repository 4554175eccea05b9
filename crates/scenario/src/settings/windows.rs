//! `[cc.dctcp]`, `[cc.swift]`, `[cc.hpcc]`: reaction points that limit what is under way.
use backwater_units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AutoOr;
use crate::quantity::Quantity;

/// DCTCP for `RoCE` (SIGCOMM 2010). Its threshold K is the switches': `switch.detector` = red with kmin = kmax. Every packet is
/// acknowledged; without slow start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Dctcp {
    /// Gain of alpha. All profiles: 1/16 (DCTCP paper §4; RFC 8257 §4.2).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub g: f64,
    /// Alpha of a new flow; a cut is by alpha/2. All profiles: 1 (RFC 8257 §3.3; the paper does not say).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub alpha_initial: f64,
    /// What a round trip without marks adds to the window. auto: one packet on the wire, as in TCP.
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub add: AutoOr<Bytes>,
    /// The least window; one packet is under way even if that is more. auto: one packet on the wire (ours: the paper does not say).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub min_window: AutoOr<Bytes>,
    /// The window of a new flow, on the wire. auto: the bandwidth-delay product of the fastest host link and the longest unloaded round trip, as
    /// `RoCE` starts at line rate (the HPCC simulator's DCTCP does).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub window: AutoOr<Bytes>,
    /// The largest window. auto: 4 bandwidth-delay products (ours: what a receive window would be).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub max_window: AutoOr<Bytes>,
}

/// Swift (SIGCOMM 2020). Every packet is acknowledged; the delay is that of the packet and its ACK.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Swift {
    /// ai: packets that a round trip adds. All profiles: 1 (not published; csg-htsim's Swift, which calls it a guess).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub add: f64,
    /// Multiplicative decrease. All profiles: 0.8 (not published; csg-htsim's Swift, which calls it a guess).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beta: f64,
    /// The most that one decrease takes of the window. All profiles: 0.5 (not published; csg-htsim's Swift, which calls it a guess).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_mdf: f64,
    /// Target delay without hops and small windows. auto: 2 `hop` (ours: one hop has two links; Swift paper §5.1 tunes it to its hosts, 15 to 70 us).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub base_target: AutoOr<Span>,
    /// Target delay per switch on the path. auto: the longest unloaded round trip divided by the links of its path, so that the target is one such share
    /// above it (ours; the paper gives no number).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub hop: AutoOr<Span>,
    /// `fs_range`: most that a small window adds to the target. auto: 5 `base-target` (not published; csg-htsim's Swift).
    #[schemars(extend("x-minimum" = "0ns", "x-maximum" = "1s"))]
    pub fs_range: AutoOr<Span>,
    /// Window in packets below which the target does not grow further. All profiles: 0.1 (not published; csg-htsim's Swift).
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub fs_min_window: f64,
    /// Window in packets above which flow scaling adds nothing. All profiles: 100 (not published; csg-htsim's Swift).
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub fs_max_window: f64,
    /// Least window in packets; below 1 packets are spaced. All profiles: 0.001 (Swift paper §3.4).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_window: f64,
    /// The window of a new flow, on the wire. auto: the bandwidth-delay product of the fastest host link and the longest unloaded round trip
    /// (ours: `RoCE` starts at line rate).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub window: AutoOr<Bytes>,
    /// The largest window. auto: 4 bandwidth-delay products (ours).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "4GB"))]
    pub max_window: AutoOr<Bytes>,
}

/// HPCC (SIGCOMM 2019), per ACK and per round trip as in its Algorithm 1. Every packet is acknowledged. Switches write telemetry into data packets;
/// the bytes that this takes on the wire (42 B for 5 hops in the paper) belong to `packet.header` and `ack.size`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Hpcc {
    /// Utilisation to keep. All profiles: 0.95 (HPCC paper §3.3).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub eta: f64,
    /// maxStage: round trips of additive increase before a multiplicative one. All profiles: 5 (HPCC paper §3.3).
    #[schemars(range(max = 1_000_000))]
    pub max_stage: u32,
    /// `W_AI`: what an update adds to the window. All profiles: 80 B (HPCC paper §5.1).
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1GB"))]
    pub wai: Quantity<Bytes>,
    /// The least window, and with `base-rtt` the least rate. All profiles: 0 B (the paper has none; its simulator has `MIN_RATE`).
    #[schemars(extend("x-minimum" = "0B", "x-maximum" = "1GB"))]
    pub min_window: Quantity<Bytes>,
    /// T. auto: the longest unloaded round trip of any flow, with the time on the wire of packet and ACK at each link (HPCC paper §3.2).
    #[schemars(extend("x-minimum" = "1ns", "x-maximum" = "1s"))]
    pub base_rtt: AutoOr<Span>,
}
