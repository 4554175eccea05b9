//! Deficit round robin at the egress ports of switches with output queues: who gets how much, by arithmetic.
use backwater_control::flow_control::LossyPool;
use backwater_fabric::{Arbiter, Overflow, Spec};
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{flow_of_priority, ideal, run_until, us};

const PACKET: u64 = 1000;
/// What 40 Gbps carry in a millisecond, in packets of 1000 B.
const LINK: u64 = 5000;

/// Hosts 1 and 2 send so many packets each to host 0, as fast as they can: priorities 3 and 2.
fn two(packets: [u64; 2], weights: [u16; 8]) -> Spec {
    let send = |(src, packets): (u32, u64)| {
        let size = packets.saturating_mul(PACKET);
        let flow = flow_of_priority(4 - src as u8, src, 0, size, Time::ZERO, Pacing::LineRate);
        Flow { group: src as u16 - 1, ..flow }
    };
    let network = generate::star(3, Rate::from_gbps(40), Span::from_us(1)).expect("a star");
    let mut spec = ideal(network, [(1, packets[0]), (2, packets[1])].map(send).to_vec());
    spec.switch.arbiter = Arbiter::Deficit { weights };
    spec
}

/// Bytes of each flow in a millisecond that begins when both queues are full.
fn shares(mut spec: Spec) -> [u64; 2] {
    spec.probe.packets = vec![true; 2];
    let outcome = run_until(spec, us(1100));
    let mut bytes = [0; 2];
    let counted = outcome.records.arrived.iter().filter(|it| it.time >= us(100) && it.time < us(1100));
    counted.for_each(|packet| bytes[usize::from(outcome.flows[packet.flow as usize].group)] += PACKET);
    bytes
}

#[test]
fn two_backlogged_classes_have_the_shares_of_their_weights_to_a_quantum() {
    for (weights, parts) in
        [([1, 1, 40, 60, 1, 1, 1, 1], [60, 40]), ([1, 1, 90, 10, 1, 1, 1, 1], [10, 90]), ([7; 8], [50, 50])]
    {
        let bytes = shares(two([u64::MAX; 2], weights));
        let total = bytes[0] + bytes[1];
        assert!(total.abs_diff(LINK * PACKET) <= PACKET, "{total}");
        for (bytes, part) in bytes.iter().zip(parts) {
            // The heaviest class has a quantum of 4096 B or little more; a round may be cut at both ends.
            let quantum = 4096 + 100 + PACKET;
            assert!(bytes.abs_diff(total * part / 100) <= quantum, "{bytes} of {total} for {part}");
        }
    }
}

#[test]
fn a_lossy_class_beside_a_lossless_one_has_its_share_and_no_more() {
    let mut spec = two([u64::MAX; 2], [1, 1, 20, 80, 1, 1, 1, 1]);
    let pfc = spec.switch.pfc.as_mut().expect("ideal has PFC");
    pfc.priorities = 1 << 3;
    spec.switch.overflow = Overflow::Share {
        pool: LossyPool { bytes: 100 * PACKET, log_alpha: 0 },
        early: None,
        lossless: false,
    };
    // What is lost breaks the order of a flow that sends nothing twice: packets of flows of their own.
    let mut flows = vec![spec.flows[0]];
    flows.extend((0..5600).map(|n| Flow {
        group: 1,
        ..flow_of_priority(2, 2, 0, PACKET, Time::from_ps(n * 200_000), Pacing::LineRate)
    }));
    flows.sort_by_key(|flow| flow.start);
    spec.flows = flows;
    let [lossless, lossy] = shares(spec);
    assert!((lossless + lossy).abs_diff(LINK * PACKET) <= PACKET);
    assert!(lossless.abs_diff(LINK * PACKET * 80 / 100) <= 4096 + 100 + PACKET, "{lossless}");
}

#[test]
fn what_a_class_does_not_use_the_other_gets() {
    // The first has 300 packets, a tenth of which it may send each 2 us: it is done before the link is, and nothing is idle.
    let mut spec = two([300, u64::MAX], [1, 1, 10, 90, 1, 1, 1, 1]);
    spec.probe.packets = vec![true; 2];
    let outcome = run_until(spec, us(1000));
    assert_eq!(
        outcome.flows.iter().find(|flow| flow.group == 0).map(|flow| flow.received),
        Some(Bytes::new(300 * PACKET))
    );
    // The first packet needs 2 us and two packet times to be there.
    let arrived = outcome.records.arrived.len() as u64;
    assert!((LINK - 13..=LINK - 10).contains(&arrived), "{arrived}");
}

#[test]
fn a_strict_class_waits_for_one_packet_of_the_others_at_most() {
    // Of 300 packets each 200 ns; the first one needs 2 us and two packet times, and may meet one that is leaving.
    let spec = two([300, u64::MAX], [1, 1, 1, 0, 1, 1, 1, 1]);
    let outcome = run_until(spec, us(1000));
    let finish = outcome.flows.iter().find(|flow| flow.group == 0).expect("the strict flow").finish;
    let alone = us(2) + Span::from_ns(200) * 301;
    assert!((alone..=alone + Span::from_ns(200)).contains(&finish), "{finish}");
}

#[test]
fn what_a_strict_class_leaves_the_others_share_by_their_weights() {
    let send = |src: u32| Flow {
        group: 0,
        ..flow_of_priority(4 - src as u8, src, 0, u64::MAX, Time::ZERO, Pacing::LineRate)
    };
    let mut flows = vec![send(1), Flow { group: 1, ..send(2) }];
    // A packet of priority 4 each 800 ns: a quarter of the link.
    flows.extend((0..1500).map(|n| Flow {
        group: 2,
        ..flow_of_priority(4, 3, 0, PACKET, Time::from_ps(n * 800_000), Pacing::LineRate)
    }));
    flows.sort_by_key(|flow| flow.start);
    let network = generate::star(4, Rate::from_gbps(40), Span::from_us(1)).expect("a star");
    let mut spec = ideal(network, flows);
    spec.switch.arbiter = Arbiter::Deficit { weights: [1, 1, 40, 60, 0, 1, 1, 1] };
    spec.probe.packets = vec![true; 3];
    let outcome = run_until(spec, us(1100));
    let mut bytes = [0_u64; 3];
    let counted = outcome.records.arrived.iter().filter(|it| it.time >= us(100) && it.time < us(1100));
    counted.for_each(|packet| bytes[usize::from(outcome.flows[packet.flow as usize].group)] += PACKET);
    assert!(bytes[2].abs_diff(LINK * PACKET / 4) <= PACKET, "{}", bytes[2]);
    let left = LINK * PACKET * 3 / 4;
    for (bytes, part) in bytes.iter().zip([60, 40]) {
        assert!(bytes.abs_diff(left * part / 100) <= 4096 + 100 + 2 * PACKET, "{bytes} of {left} for {part}");
    }
}
