//! Two hosts, one link of 40 Gbps and 1 us. A packet carries up to 950 B and 50 B of header: 1000 B take 200 ns.
use backwater_fabric::Spec;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Time};
use scene::{Outcome, chain, flow, ideal, ns, run, us};

use crate::link;

/// A message of 1000 B (two packets), and one of 1 B after it.
fn scene(padded: bool) -> Spec {
    let flows = vec![flow(0, 1, 1000, Time::ZERO, Pacing::LineRate), flow(0, 1, 1, us(5), Pacing::LineRate)];
    let mut spec = ideal(chain(&[link(40)]), flows);
    (spec.packet.payload, spec.packet.header, spec.packet.padded) = (Bytes::new(950), Bytes::new(50), padded);
    spec
}

fn finished(outcome: &Outcome) -> Vec<Time> {
    outcome.flows.iter().map(|flow| flow.finish).collect()
}

#[test]
fn a_padded_packet_takes_the_wire_as_long_as_a_full_one_whatever_it_carries() {
    // 1000 + 100 B take 220 ns, 51 B 10.2 ns; padded 2000 and 1000 B.
    assert_eq!(finished(&run(scene(false))), [ns(1220), Time::from_ps(6_010_200)]);
    assert_eq!(finished(&run(scene(true))), [ns(1400), ns(6200)]);
}

#[test]
fn padding_is_neither_sent_nor_received_data_and_a_flow_alone_has_its_ideal_fct() {
    let outcome = run(scene(true));
    for (flow, size) in outcome.flows.iter().zip([1000, 1]) {
        assert_eq!((flow.size, flow.received), (Bytes::new(size), Bytes::new(size)));
        assert_eq!(flow.finish.since(flow.start), flow.ideal_fct);
    }
    let host = outcome.ports.iter().find(|port| port.packets > 0).expect("the sending NIC");
    assert_eq!((host.packets, host.bytes), (3, Bytes::new(3000)));
}
