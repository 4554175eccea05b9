//! The same inputs, another simulator: the cases that the HPCC simulator (ns-3) was given, and its answers. What comes
//! out is kept in `docs/fidelity.md`.
mod fat_tree;
mod incast;
mod micro;
mod peer;
mod report;
mod scenario;
mod statistics;
mod ways;

use backwater_control::detector::{Detector, Red};
use backwater_fabric::Spec;
use backwater_units::Rate;
use scene::{hpcc_ns3, per_port, with_links};

/// What the links of a run do with times on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    /// 1048 B take 83.84 ns at 100 Gbps.
    Exact,
    /// The links are as fast as the peer's, where 1048 B take 83 ns: 101.012 Gbps.
    AsFast,
}

/// The scene of a case, with the peer's settings for 100 Gbps whatever the links do.
fn spec(case: &peer::Case, buffer: u64, seed: u64, wire: Wire) -> Spec {
    let mut spec = hpcc_ns3(case.network.clone(), case.flows.clone(), buffer);
    let red = Red::hpcc(Rate::from_gbps(100));
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(red));
    spec.seed = seed;
    if wire == Wire::AsFast {
        let rate = Rate::from_bps(1048 * 8 * 1_000_000_000 / 83);
        spec.network = with_links(&case.network, |_, link| link.rate = rate);
    }
    spec
}
