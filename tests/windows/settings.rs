//! Flows with windows through one bottleneck.
use backwater_control::detector::{Detector, Red};
use backwater_control::reaction::{DctcpConfig, HpccConfig, ReactionConfig, SwiftConfig};
use backwater_fabric::{AckSpec, Spec};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{flow, ideal, per_port};

pub(crate) const LINE: Rate = Rate::from_gbps(40);

/// `n` hosts on the left, one on the right, 40 Gbps and 2 us per link: three links and two switches between the ends.
pub(crate) fn dumbbell(n: u32) -> Network {
    generate::dumbbell(n, 1, LINE, Span::from_us(2), None).expect("a dumbbell")
}

/// A packet's 1000 B take 200 ns on each of three wires, its ACK's 64 B 12.8 ns; six times 2 us under way.
pub(crate) const ROUND_TRIP: Span = Span::from_ps(12_000_000 + 3 * 200_000 + 3 * 12_800);

/// Bandwidth-delay product: 12.6384 us at 5 B/ns.
pub(crate) const BDP: u64 = 63_192;

pub(crate) fn dctcp() -> ReactionConfig {
    ReactionConfig::Dctcp(DctcpConfig::paper(1000, BDP))
}

pub(crate) fn swift() -> ReactionConfig {
    ReactionConfig::Swift(SwiftConfig::standard(1000, BDP, Span::from_ps(ROUND_TRIP.as_ps() / 3)))
}

pub(crate) fn hpcc() -> ReactionConfig {
    ReactionConfig::Hpcc(HpccConfig::paper(1000, LINE, ROUND_TRIP))
}

/// `flows` under `reaction`, one ACK per packet; ports mark from 30 KB on.
pub(crate) fn windowed(network: Network, flows: Vec<Flow>, reaction: ReactionConfig) -> Spec {
    let mut spec = ideal(network, flows);
    spec.pairs[0].reaction = reaction;
    spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: Some(7) });
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(Red::step(Bytes::new(30_000))));
    spec
}

/// `n` endless flows through the dumbbell, started 20 us apart; the queue of its bottleneck is sampled every 2 us.
pub(crate) fn long(n: u32, reaction: ReactionConfig) -> Spec {
    let start = |i: u32| Time::from_ps(u64::from(i) * 20_000_000);
    let flows = (0..n).map(|i| flow(i, n, u64::MAX, start(i), Pacing::Controlled)).collect();
    let mut spec = windowed(dumbbell(n), flows, reaction);
    spec.probe.sample = Some(Span::from_us(2));
    spec.probe.ports = vec![bottleneck(&spec.network)];
    spec
}

/// The egress port of the left switch to the right one.
pub(crate) fn bottleneck(network: &Network) -> (u32, u16) {
    let switches: Vec<u32> =
        (0..network.nodes().len() as u32).filter(|&node| network.is_switch(node)).collect();
    let between = |&(_, port): &(u16, &backwater_topology::Port)| port.peer == switches[1];
    let (port, _) = (0..).zip(network.ports(switches[0])).find(between).expect("a link between them");
    (switches[0], port)
}
