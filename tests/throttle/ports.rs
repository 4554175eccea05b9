//! Hosts with several ports: each throttles itself by the credits of its own link. Packets of 1024 B: 64 flits of 1.28 ns.
use backwater_fabric::{PortRule, Spec};
use backwater_topology::{Builder, Network};
use backwater_traffic::Pacing;
use backwater_units::{Rate, Span, Time};
use scene::{Outcome, flow, run, spaced};

const LINE: Rate = Rate::from_gbps(100);
const PACKET: u64 = 81_920;

/// Host a with a port in each of two planes by cables of 200 us: no credit comes back for long. b is in the first one, c in the second,
/// d in both.
fn far() -> Network {
    let mut net = Builder::new();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| net.host(name));
    let planes = ["s", "t"].map(|name| net.switch(name));
    for (host, plane, delay) in
        [(a, 0, 200_000), (a, 1, 200_000), (b, 0, 500), (c, 1, 500), (d, 0, 500), (d, 1, 500)]
    {
        net.link(host, planes[plane], LINE, Span::from_ns(delay));
    }
    // No shortest way of what leaves a.
    net.link(planes[0], planes[1], LINE, Span::from_ns(500));
    net.build().unwrap()
}

/// When each packet of a flow left, in ps.
fn starts(outcome: &Outcome, flow: u32) -> Vec<u64> {
    let all = outcome.records.injected.iter().filter(|packet| packet.flow == flow);
    all.map(|packet| packet.time.as_ps()).collect()
}

fn noted(spec: Spec) -> Outcome {
    run(Spec { probe: backwater_fabric::ProbeSpec { packets: vec![true], ..spec.probe.clone() }, ..spec })
}

#[test]
fn each_port_leaves_gaps_as_if_it_were_alone() {
    let flows = [1, 2].map(|dst| flow(0, dst, 20 * 1024, Time::ZERO, Pacing::LineRate));
    let outcome = noted(spaced(far(), flows.to_vec(), 3));
    // As in `gaps.rs`: the first packet finds nothing in use, and every other one leaves a gap of 64 * 3 flit times.
    let expected: Vec<u64> = (0..20).map(|i| PACKET * if i == 0 { 0 } else { 1 + 4 * (i - 1) }).collect();
    for (number, record) in (0..).zip(&outcome.flows) {
        assert_eq!(starts(&outcome, number), expected);
        assert_eq!(record.nic_held.as_ps(), 18 * 3 * PACKET);
    }
    let flits = |port: u16| {
        let of = outcome.records.throttle.iter().filter(|record| record.port == port);
        of.map(|record| record.sent_flits).sum::<u64>()
    };
    assert_eq!([0, 1].map(flits), [20 * 64; 2]);
}

#[test]
fn a_sprayed_flow_has_the_gaps_of_all_ports() {
    let mut spec = spaced(far(), vec![flow(0, 3, 40 * 1024, Time::ZERO, Pacing::LineRate)], 3);
    spec.nic.port = PortRule::Spray;
    let outcome = noted(spec);
    // Two ports, and each leaves its gaps: of 40 packets each sends 20. The queue pair makes one every half a packet time.
    let of_port = |port: u64| {
        (0..20).map(move |i| PACKET * if i == 0 { 0 } else { 1 + 4 * (i - 1) } + port * PACKET / 2)
    };
    let mut expected: Vec<u64> = (0..2).flat_map(of_port).collect();
    expected.sort_unstable();
    assert_eq!(starts(&outcome, 0), expected);
}
