//! Modes of delivery: what one lost packet costs by arithmetic, and that all of them get everything through.
use backwater_control::uec::Delivery;
use backwater_fabric::record::FaultKind;
use backwater_fabric::{LossShare, LossSpec, Overflow, Spec};
use backwater_units::{Bytes, Time};
use scene::{Rules, run};

use crate::{far, from_zero, near};

const MODES: [Delivery; 3] = [Delivery::Rud, Delivery::Rod, Delivery::Rudi];
const FULL: u64 = 332_000;

fn mode(mut spec: Spec, delivery: Delivery) -> Spec {
    for uec in &mut spec.uecs {
        uec.delivery = delivery;
    }
    spec
}

/// A node loses what comes by a port at these instants.
fn lose(mut spec: Spec, (node, port): (u32, u16), (from, until): (u64, u64), share: f64) -> Spec {
    let [from, until] = [from, until].map(Time::from_ps);
    let share = LossShare::Frames(share);
    let loss =
        LossSpec { fault: 0, node, port: Some(port), from, until, share, source: None, destination: None };
    spec.faults.losses.push(loss);
    spec.faults.kinds = vec![FaultKind::Loss];
    spec
}

/// Nineteen packets over six links, so that the last one has an ACK of its own after packets 14 to 17. Packet 5 is lost at the first switch,
/// where it is after 6 · 332 ns and 1 µs.
fn one_lost(delivery: Delivery) -> (backwater_fabric::record::FlowRecord, u64) {
    let spec = mode(far(vec![from_zero(0, 1, 19 * 4086)], Rules::Window), delivery);
    let switch = spec.network.ports(0)[0].peer;
    let port = spec.network.ports(0)[0].peer_port;
    let here = 6 * FULL + 1_000_000;
    let alone = run(spec.clone()).flows[0].acked.as_ps();
    (run(lose(spec, (switch, port), (here, here), 1.0)).flows[0], alone)
}

/// ROD: packets 6 to 18 are discarded, and 14 are sent again. The NACK leaves when packet 6 has come, after 7 + 5 frames and 6 µs, and is there
/// six ACKs' time and 6 µs later; the last of the 19 left long before. 14 frames and the way there and back follow.
#[test]
fn in_order_one_lost_packet_is_sent_again_with_all_behind_it() {
    let (flow, _) = one_lost(Delivery::Rod);
    let nack = (7 + 5) * FULL + 6_000_000 + 6 * 5_120 + 6_000_000;
    let done = nack + (14 + 5) * FULL + 6_000_000 + 6 * 5_120 + 6_000_000;
    assert_eq!((flow.acked.as_ps(), flow.resent_packets, flow.nacks, flow.timeouts), (done, 14, 1, 0));
    assert_eq!((flow.received.get(), flow.packets), (19 * 4086, 19));
}

/// RUD and RUDI: nothing tells of the loss but the timer, which was set with the packet; one packet is sent again.
#[test]
fn in_no_order_one_lost_packet_is_sent_again_alone() {
    for delivery in [Delivery::Rud, Delivery::Rudi] {
        let (flow, _) = one_lost(delivery);
        let timer = 5 * FULL + 100_656_000;
        let done = timer + 6 * FULL + 6_000_000 + 6 * 5_120 + 6_000_000;
        assert_eq!((flow.resent_packets, flow.nacks, flow.timeouts), (1, 0, 1), "{delivery:?}");
        assert_eq!(flow.received.get(), 19 * 4086);
        assert_eq!(flow.acked.as_ps(), done, "{delivery:?}");
    }
}

/// A lost ACK: a cumulative one makes up for it, one for a packet alone does not. The receiver that knows nothing takes the copy again.
#[test]
fn a_lost_ack_costs_a_copy_where_the_receiver_keeps_nothing() {
    for (delivery, copies) in [(Delivery::Rud, 0), (Delivery::Rod, 0), (Delivery::Rudi, 1)] {
        let spec = mode(far(vec![from_zero(0, 1, 20 * 4086)], Rules::Window), delivery);
        // The ACK of the first packet comes to host 0 after 6 frames, six ACKs and 12 µs.
        let here = 6 * FULL + 6 * 5_120 + 12_000_000;
        let flow = run(lose(spec, (0, 0), (here, here), 1.0)).flows[0];
        let what = (flow.resent_packets, flow.timeouts, flow.received.get());
        assert_eq!(what, (copies, u64::from(copies > 0), 20 * 4086), "{delivery:?}");
    }
}

/// Each packet has an ACK of its own under RUDI; under RUD and ROD each fourth after the first, and the last.
#[test]
fn acks_are_for_packets_or_for_bytes() {
    for (delivery, acks) in [(Delivery::Rud, 26), (Delivery::Rod, 26), (Delivery::Rudi, 100)] {
        let flow = run(mode(far(vec![from_zero(0, 1, 100 * 4086)], Rules::Window), delivery)).flows[0];
        assert_eq!(
            (flow.acks, flow.resent_packets, flow.acked.as_ps()),
            (acks, 0, 46_890_720),
            "{delivery:?}"
        );
    }
}

/// All that is sent comes once, whatever is lost, dropped or trimmed.
#[test]
fn all_modes_get_everything_through() {
    for delivery in MODES {
        for rules in [Rules::Window, Rules::Nscc] {
            let flows = (1..6).map(|source| from_zero(source, 0, 1_000_000)).collect();
            let mut spec = mode(near(6, flows, rules), delivery);
            spec.switch.overflow = Overflow::Drop { port: Bytes::new(200_000) };
            for host in 0..6 {
                spec = lose(spec, (host, 0), (0, u64::MAX), 0.01);
            }
            let outcome = run(spec);
            let mut resent = 0;
            for flow in &outcome.flows {
                assert_eq!((flow.received.get(), flow.packets), (1_000_000, 245), "{delivery:?} {rules:?}");
                assert!(flow.acked < Time::MAX);
                resent += flow.resent_packets;
            }
            assert!(resent > 0, "{delivery:?} {rules:?}");
        }
    }
}
