//! `GPCNeT` on a fat tree under credits: 16 hosts of 4 ranks, 12 of which congest.
use backwater_fabric::Spec;
use backwater_traffic::program::gpcnet::{RingTest, SumTest};
use backwater_traffic::program::{Costs, Gpcnet, Programs};
use backwater_traffic::{Group, Pacing};
use backwater_units::{Bytes, Span, Time};

const COSTS: Costs = Costs {
    send: Span::from_ns(300),
    receive: Span::from_ns(300),
    eager: Bytes::new(16 << 10),
    control: Bytes::new(16),
    local: Span::from_ns(500),
};

/// The same with ranks in place of its flows: member r of `GPCNeT` at host r / 4. Hosts have no CC and send no ACKs.
///
/// # Panics
/// If it has fewer hosts than `GPCNeT` needs.
pub fn with_ranks(mut spec: Spec, seed: u64) -> Spec {
    let hosts = spec.network.hosts().len() as u32;
    let gpcnet = Gpcnet {
        ranks_per_host: 4,
        rings: 2,
        latency: Some(RingTest { size: Bytes::new(8), messages: 1, warm_up: 1, timed: 2 }),
        bandwidth: Some(RingTest { size: Bytes::new(131_072), messages: 1, warm_up: 0, timed: 1 }),
        allreduce: Some(SumTest { size: Bytes::new(8), warm_up: 0, timed: 5 }),
        ..Gpcnet::default()
    };
    assert!(gpcnet.check(hosts).is_empty(), "{:?}", gpcnet.check(hosts));
    let group = Group { id: 0, priority: 3, pacing: Pacing::Messages, start: Time::ZERO };
    let places: Vec<u32> = (0..hosts * gpcnet.ranks_per_host).map(|r| r / gpcnet.ranks_per_host).collect();
    let mut programs = Programs::default();
    spec.flows = programs.add(gpcnet.application(hosts, 0, seed), &places, &group, COSTS, 0);
    spec.programs = programs;
    spec.pairs[0].ack = None;
    spec.pairs[0].reaction = backwater_control::reaction::ReactionConfig::LineRate(());
    spec
}
