//! `kind = "ai-pod"`
use backwater_units::{Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::defaults::{eight, one};
use crate::quantity::Quantity;

/// The keys of such a topology.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub struct AiPod {
    /// Pods: sets of units whose leaves share spines. Several are joined by cores. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024))]
    pub pods: u32,
    /// Units of a pod: servers that share a set of leaves. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024))]
    pub units: u32,
    /// Servers in a unit.
    #[schemars(range(min = 1, max = 1024))]
    pub servers: u32,
    /// GPUs of a server. Default 8 (NVIDIA DGX).
    #[serde(default = "eight")]
    #[schemars(range(min = 1, max = 1024))]
    pub gpus: u32,
    /// NICs of a GPU. Default 1 (NVIDIA DGX H100: eight of 400 Gbps for eight GPUs).
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 15))]
    pub nics: u32,
    /// At which leaves of their unit NICs are. Default rails.
    #[serde(default)]
    pub wiring: Wiring,
    /// Planes: networks that nothing joins but the NICs, which have ports in each. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 2))]
    pub planes: u32,
    /// Leaves at which a NIC has a port in each plane; with 2 it is dual-homed. Default 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 2))]
    pub homes: u32,
    /// Capacity down over capacity up: of a leaf, which says how many spines a pod has in a plane; of several pods also of a spine, which says
    /// how many cores. Default 1 for each.
    #[serde(default = "balanced_leaves")]
    #[schemars(length(min = 1, max = 2), inner(range(min = 0.001, max = 1000.0)))]
    pub oversubscription: Vec<f64>,
    /// Rate of each port of a NIC.
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub rate: Quantity<Rate>,
    /// Rate of the links between leaves and spines. Default `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub spine_rate: Option<Quantity<Rate>>,
    /// Rate of the links between spines and cores. Default `spine-rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub core_rate: Option<Quantity<Rate>>,
    /// Rate of a GPU's link to its scale-up switch. Default 3600 Gbps (NVIDIA, "Upgrading Multi-GPU Interconnectivity with the
    /// Third-Generation NVIDIA `NVSwitch`", 2022: 900 GB/s for both directions of an H100).
    #[serde(default = "nvlink")]
    #[schemars(extend("x-minimum" = "1Kbps", "x-maximum" = "100Tbps"))]
    pub scale_up_rate: Quantity<Rate>,
    /// Delay of that link, half of the switch's time included: `switch.latency` does not count there. Default 200 ns (Broadcom, Tomahawk Ultra, 2025: at
    /// most 400 ns between accelerators, switch included; NVIDIA publishes none).
    #[serde(default = "half_of_400_ns")]
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
    pub scale_up_delay: Quantity<Span>,
    /// Delay of all other links.
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
    pub delay: Quantity<Span>,
}

/// At which leaves of their unit the NICs of GPUs are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wiring {
    /// NIC n of GPU j of every server at leaves of their own.
    #[default]
    Rails,
    /// All at the same ones, which have a port for each.
    Shared,
}

fn balanced_leaves() -> Vec<f64> {
    vec![1.0]
}

const fn nvlink() -> Quantity<Rate> {
    Quantity(Rate::from_gbps(3600))
}

const fn half_of_400_ns() -> Quantity<Span> {
    Quantity(Span::from_ns(200))
}
