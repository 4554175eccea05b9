//! The ground truth: what a PAUSE is for, who crowds a port, how long packets wait. Each record is what arithmetic says.
mod credits;
mod crowds;
mod drains;
mod holds;
mod spread;
mod waits;

use backwater_fabric::Spec;
use backwater_units::Bytes;

/// Records the ground truth with this threshold K at every port.
fn watched(mut spec: Spec, above: u64) -> Spec {
    spec.probe.blame = Some(scene::per_port(&spec.network, |_| Bytes::new(above)));
    spec
}
