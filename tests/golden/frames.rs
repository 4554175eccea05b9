//! Frames of chosen ports, by their first bits: a ──40G──▶ s ──10G──▶ b, 1 us each; 1000 B take 0.2 and 0.8 us, a PFC frame
//! 12.8 ns, an ACK of 64 B the same at 40G and 51.2 ns at 10G.
use backwater_control::flow_control::Threshold;
use backwater_fabric::record::{FrameKind, FrameRecord};
use backwater_fabric::{AckSpec, Spec};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Time};
use scene::{chain, flow, ideal, ns, per_port, run, us};

use crate::link;

/// The scene of `pause.rs` with Xoff 4000 and Xon 2000; taps on both directions of a's link.
fn scene(packets: u64) -> Spec {
    let flows = vec![flow(0, 1, packets * 1000, Time::ZERO, Pacing::LineRate)];
    let mut spec = ideal(chain(&[link(40), link(10)]), flows);
    let threshold = Threshold::Static {
        xoff: 4000,
        xon: 2000,
        port_xoff: u64::MAX,
        port_xon: u64::MAX,
        buffer: 18_000_000,
    };
    spec.switch.pfc.as_mut().expect("on").thresholds = per_port(&spec.network, |_| threshold);
    let (a, s) = (node(&spec, "a"), node(&spec, "s0"));
    let towards = |from: u32, to: u32| {
        let port = spec.network.ports(from).iter().position(|port| port.peer == to).expect("neighbours");
        (from, port as u16)
    };
    spec.probe.frames = vec![towards(a, s), towards(s, a)];
    spec
}

fn node(spec: &Spec, name: &str) -> u32 {
    spec.network.find(name).expect("a node of the chain")
}

fn of(records: &[FrameRecord], kind: FrameKind) -> Vec<&FrameRecord> {
    records.iter().filter(|record| record.kind == kind).collect()
}

#[test]
fn data_starts_back_to_back_and_pause_and_resume_at_the_instants_of_the_thresholds() {
    let records = run(scene(24)).records.frames;
    let data: Vec<_> = of(&records, FrameKind::Data).iter().map(|r| (r.seq, r.sent, r.size)).collect();
    // Packets 0 to 17 until the PAUSE acts at 3.4128 us; 18 on from the RESUME at 14.2128 us.
    let free = (0..18).map(|k| (k, ns(200 * u64::from(k)), 1000));
    let held = (18..24u32).map(|k| (k, Time::from_ps(14_212_800 + 200_000 * u64::from(k - 18)), 1000));
    assert_eq!(data, free.chain(held).collect::<Vec<_>>());
    let pfc: Vec<_> =
        of(&records, FrameKind::Pfc).iter().map(|r| (r.sent, r.seq, r.size, r.priority)).collect();
    let bit = 1 << of(&records, FrameKind::Data)[0].priority.expect("data has a priority");
    assert_eq!(pfc, [(ns(2400), bit, 64, None), (ns(13_200), bit << 8, 64, None)]);
}

#[test]
fn an_ack_is_seen_on_its_way_back_and_says_how_much_has_come() {
    let mut spec = scene(1);
    spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: None });
    let outcome = run(spec);
    let acks = of(&outcome.records.frames, FrameKind::Ack);
    // At b at 1.2 + 0.8 + 1 us; 51.2 ns and 1 us later at s, from where it goes on at once.
    assert_eq!(
        acks.iter().map(|r| (r.sent, r.seq, r.node)).collect::<Vec<_>>(),
        [(Time::from_ps(4_051_200), 1, node(&scene(1), "s0"))]
    );
}

#[test]
fn tapping_changes_nothing_and_other_wires_are_not_seen() {
    let (tapped, mut plain) = (run(scene(24)), scene(24));
    plain.probe.frames.clear();
    assert_eq!(run(plain).totals.digest, tapped.totals.digest);
    let b = node(&scene(1), "b");
    assert!(tapped.records.frames.iter().all(|record| record.node != b));
    assert!(tapped.records.frames.iter().all(|record| record.time < us(50)));
}
