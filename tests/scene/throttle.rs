//! Hosts that throttle themselves: PFT on links of 100 Gbps with credits of 16 B that come back at once.
use backwater_control::flow_control::{CreditReturn, Unit};
use backwater_control::reaction::{PftConfig, RateLaw, StateRule};
use backwater_fabric::{Scope, Spec, ThrottleSpec};
use backwater_topology::Network;
use backwater_traffic::Flow;
use backwater_units::{Bytes, Span};

use crate::infiniband;

/// Packets of 64 flits, 4096 flits behind each link, and PFT with the setting that its paper found best.
///
/// # Panics
/// If two hosts cannot reach each other.
pub fn throttled(network: Network, flows: Vec<Flow>) -> Spec {
    let mut spec = infiniband(network, flows);
    spec.packet.payload = Bytes::new(1024);
    let credits = spec.switch.credits.as_mut().expect("InfiniBand has credits");
    (credits.unit, credits.buffer, credits.frame) = (Unit::FLIT, Bytes::new(65_536), Bytes::new(16));
    credits.returned = CreditReturn::AtOnce;
    spec.throttle = Some(ThrottleSpec { config: PftConfig::standard(), scope: Scope::Port });
    spec.probe.sample = Some(Span::from_us(10));
    (spec.probe.throttle, spec.probe.throttle_states) = (true, true);
    spec
}

/// The same with a rate law that does not depend on c: after any packet that left while others were in use, `idle` cycles for each
/// of its flits; a cycle is 1.28 ns, the time of a flit.
///
/// # Panics
/// If two hosts cannot reach each other.
pub fn spaced(network: Network, flows: Vec<Flow>, idle: i64) -> Spec {
    let mut spec = throttled(network, flows);
    let config = &mut spec.throttle.as_mut().expect("throttled").config;
    config.rule = StateRule::Fixed { enter: 0, escape: 0 };
    (config.law, config.m, config.n, config.k) = (RateLaw::FixedInterval, 0, 63, idle);
    config.clock = 781_250_000;
    spec
}
