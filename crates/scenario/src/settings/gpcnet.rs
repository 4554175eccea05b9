//! `kind = "gpcnet"`
use backwater_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Names;
use super::defaults::{congestors, everybody, four_fifths, four_kib, sixteen, ten, tests, two, yes};
use super::program::{AllreduceTest, BandwidthTest, Congestor, LatencyTest, Mpi, NetworkTest};
use crate::quantity::Quantity;

/// The keys of such an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub struct Gpcnet {
    /// The hosts that have ranks, at least 10. Default all hosts.
    #[serde(default = "everybody")]
    pub hosts: Names,
    /// Ranks at each host: its n-th rank is in the n-th group (slice) of tests or congestors. Default 16 (PFT paper, section IV-C:
    /// PPort).
    #[serde(default = "sixteen")]
    #[schemars(range(min = 1, max = 1024))]
    pub ranks_per_host: u32,
    /// Share of the hosts that have congestors, rounded down to whole hosts. Default 0.8 (GPCNeT 1.3).
    #[serde(default = "four_fifths")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub congestor_share: f64,
    /// What congestors do: those of a slice are dealt out to these in turn. Default all four (GPCNeT 1.3).
    #[serde(default = "congestors")]
    pub congestors: Vec<Congestor>,
    /// Payload of a congestor's message. Default 4 KiB (GPCNeT 1.3: 512 doubles).
    #[serde(default = "four_kib")]
    #[schemars(extend("x-minimum" = "1B", "x-maximum" = "1TB"))]
    pub congestor_size: Quantity<Bytes>,
    /// Rounds of every congestor before the congested tests begin. Default 2 (GPCNeT 1.3: a whole pass, of up to 10 s; scaled down).
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub warm_up_passes: u32,
    /// Random rings of latency and of bandwidth, others in every slice. Default 10 (GPCNeT 1.3 has 30; scaled down).
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 100_000))]
    pub rings: u32,
    /// The test latency.
    #[serde(default)]
    pub latency: LatencyTest,
    /// The test bandwidth.
    #[serde(default)]
    pub bandwidth: BandwidthTest,
    /// The test allreduce.
    #[serde(default)]
    pub allreduce: AllreduceTest,
    /// Which tests there are; their order is always that of GPCNeT. Default all three (GPCNeT 1.3). None, with isolated = false: the
    /// congestors run alone, to the end of the run (`run.until`).
    #[serde(default = "tests")]
    pub tests: Vec<NetworkTest>,
    /// Whether the tests run alone, before there are congestors. Default true (GPCNeT 1.3).
    #[serde(default = "yes")]
    pub isolated: bool,
    /// Whether the tests run beside the congestors. Default true (GPCNeT 1.3).
    #[serde(default = "yes")]
    pub congested: bool,
    /// What message passing costs.
    #[serde(default)]
    pub mpi: Mpi,
}
