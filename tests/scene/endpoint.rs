//! The network of the EC paper: hosts on one switch, PUTs that may be lost, one host slower than its link.
use backwater_control::reaction::{AimdConfig, DackConfig, OptConfig, PolicyConfig};
use backwater_fabric::{DrainSpec, EndpointSpec, Overflow, PacketSpec, ProbeSpec, PutSpec, Spec, SwitchSpec};
use backwater_topology::{Builder, Network};
use backwater_traffic::Flow;
use backwater_units::{Bytes, Rate, Span};

use crate::{flow, ideal};
use backwater_traffic::Pacing;
use backwater_units::Time;

/// 32 B in 2.5 ns.
pub const LINE: Rate = Rate::from_mbps(102_400);

/// Link delay by which a PUT of one flit comes to its target, and its ACK back, in 8 us: four links and four times 2.5 ns on a wire,
/// 95 ns of staging and 430 ns of processing. A PUT of 2112 B takes 325 ns longer.
pub const DELAY: Span = Span::from_ps(1_866_250);

/// Hosts `h0`, `h1`, … on one switch.
///
/// # Panics
/// Never: this can be built.
pub fn star(hosts: u32, rate: Rate, delay: Span) -> Network {
    let mut builder = Builder::new();
    let hosts: Vec<u32> = (0..hosts).map(|i| builder.host(format!("h{i}"))).collect();
    let switch = builder.switch("s0");
    for host in hosts {
        builder.link(host, switch, rate, delay);
    }
    builder.build().expect("a star")
}

/// The three policies with their defaults.
pub const POLICIES: [PolicyConfig; 3] = [
    PolicyConfig::Opt(OptConfig::standard()),
    PolicyConfig::Aimd(AimdConfig::standard()),
    PolicyConfig::Dack(DackConfig::standard()),
];

/// A receive queue of 81 KB that is drained at `permille` thousandths of the link.
pub fn slow(permille: u64) -> EndpointSpec {
    EndpointSpec {
        depth: Bytes::new(80_992),
        drain: DrainSpec::Constant(Rate::from_bps(LINE.as_bps() / 1000 * permille)),
        cached: None,
        pfc: None,
    }
}

/// PUTs of 2 KB with headers of 64 B over switches that drop. Flows between two hosts are one stream.
///
/// # Panics
/// If two hosts cannot reach each other.
pub fn lossy(network: Network, mut flows: Vec<Flow>, policy: PolicyConfig) -> Spec {
    backwater_traffic::connect(&mut flows, 0);
    let spec = ideal(network, flows);
    Spec {
        packet: PacketSpec { payload: Bytes::new(2048), header: Bytes::new(64), padded: false },
        puts: vec![PutSpec::standard(policy)],
        put_of: vec![Some(0)],
        switch: SwitchSpec {
            pfc: None,
            overflow: Overflow::Drop { port: Bytes::new(1_048_576) },
            ..spec.switch
        },
        probe: ProbeSpec { puts: vec![true], ..ProbeSpec::default() },
        ..spec
    }
}

/// Host 1 sends to host 0 without an end, over one switch.
pub fn unicast(policy: PolicyConfig, permille: u64) -> Spec {
    let flows = vec![flow(1, 0, u64::MAX, Time::ZERO, Pacing::LineRate)];
    Spec { endpoints: vec![Some(slow(permille))], ..lossy(star(2, LINE, DELAY), flows, policy) }
}
