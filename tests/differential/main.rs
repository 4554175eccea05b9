//! The same inputs, another simulator: the cases that the HPCC simulator (ns-3) was given, and its answers. What comes
//! out is kept in `docs/fidelity.md`.
mod fat_tree;
mod incast;
mod micro;
mod peer;
mod pyrrha;
mod report;
mod scenario;
mod statistics;
mod ways;

use backwater_control::detector::{Detector, Red};
use backwater_fabric::Spec;
use backwater_units::Rate;
use scene::{hpcc_ns3, per_port};

/// The scene of a case, with the peer's settings for 100 Gbps.
fn spec(case: &peer::Case, buffer: u64, seed: u64) -> Spec {
    let mut spec = hpcc_ns3(case.network.clone(), case.flows.clone(), buffer);
    // Also where a test gives the links another rate.
    let red = Red::hpcc(Rate::from_gbps(100));
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(red));
    spec.seed = seed;
    spec
}
