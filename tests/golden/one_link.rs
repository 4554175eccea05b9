//! Two hosts, one link of 40 Gbps and 1 us: 1000 B take 200 ns.
use backwater_fabric::{AckSpec, Spec};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Time};
use scene::{chain, flow, ideal, ns, us};

use crate::{link, table};

fn scene(flows: Vec<Flow>) -> Spec {
    ideal(chain(&[link(40)]), flows)
}

#[test]
fn a_message_of_three_packets_is_there_after_three_packet_times_and_one_delay() {
    let spec = scene(vec![flow(0, 1, 3000, Time::ZERO, Pacing::LineRate)]);
    // 3 · 0.2 + 1
    let expected = "
    1.6000 us  flow 0 complete
";
    assert_eq!(table(spec, us(10)), expected);
}

#[test]
fn two_queue_pairs_of_a_nic_take_turns_packet_by_packet() {
    let spec = scene(vec![
        flow(0, 1, 2000, Time::ZERO, Pacing::LineRate),
        flow(0, 1, 3000, Time::ZERO, Pacing::LineRate),
    ]);
    // on the wire: 0 1 0 1 1, from 0, 0.2, 0.4, 0.6, 0.8 us
    let expected = "
    1.6000 us  flow 0 complete
    2.0000 us  flow 1 complete
";
    assert_eq!(table(spec, us(10)), expected);
}

#[test]
fn both_directions_of_a_link_are_free_of_each_other() {
    let spec = scene(vec![
        flow(0, 1, 1000, Time::ZERO, Pacing::LineRate),
        flow(1, 0, 1000, ns(100), Pacing::LineRate),
    ]);
    let expected = "
    1.2000 us  flow 0 complete
    1.3000 us  flow 1 complete
";
    assert_eq!(table(spec, us(10)), expected);
}

#[test]
fn the_acknowledgement_goes_back_over_the_wire_like_any_frame() {
    let mut spec = scene(vec![flow(0, 1, 1000, Time::ZERO, Pacing::LineRate)]);
    spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: None });
    // 64 B take 12.8 ns: 1.2 + 0.0128 + 1
    let expected = "
    1.2000 us  flow 0 complete
    2.2128 us  flow 0 acknowledged
";
    assert_eq!(table(spec, us(10)), expected);
}

#[test]
fn an_application_at_10_gbps_sends_a_1000_byte_packet_every_800_ns() {
    let pacing = Pacing::Constant { rate: Rate::from_gbps(10), jitter_ppm: 0, catch_up: true };
    let spec = scene(vec![flow(0, 1, 3000, Time::ZERO, pacing)]);
    // 2 · 0.8 + 0.2 + 1
    let expected = "
    2.8000 us  flow 0 complete
";
    assert_eq!(table(spec, us(10)), expected);
}
