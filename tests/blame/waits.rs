//! Followed packets: every 64th and the last of each flow.
use backwater_fabric::record::WaitRecord;
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Rate, Span, Time};
use scene::{flow, ideal, run, us};

use crate::watched;

/// Two hosts send `packets` packets each to a third at the same instants.
fn two_to_one(packets: u64) -> Vec<WaitRecord> {
    let net = generate::star(3, Rate::from_gbps(40), Span::from_us(1)).unwrap();
    let flows = (1..3).map(|src| flow(src, 0, packets * 1_000, Time::ZERO, Pacing::LineRate)).collect();
    run(watched(ideal(net, flows), 1_000_000)).records.waits
}

#[test]
fn of_two_equal_flows_packet_n_waits_n_or_n_plus_1_packet_times() {
    // Packets come two by two, 200 ns apart, and leave one by one, 200 ns each: when the pair n comes 2n came before it,
    // and n have left or are leaving.
    let mut waits: Vec<(u32, u64)> =
        two_to_one(130).iter().map(|wait| (wait.seq, wait.end.since(wait.start).as_ps() / 200_000)).collect();
    waits.sort_unstable();
    // The first of the pair 0 does not wait, and so has no record.
    assert_eq!(waits, [(0, 1), (64, 64), (64, 65), (128, 128), (128, 129), (129, 129), (129, 130)]);
}

#[test]
fn the_last_packet_of_a_flow_is_followed_whatever_its_number_and_marked_as_such() {
    let waits = two_to_one(100);
    let last: Vec<u32> = waits.iter().filter(|wait| wait.last).map(|wait| wait.seq).collect();
    assert_eq!(last, [99, 99]);
    assert!(waits.iter().all(|wait| wait.last == (wait.seq == 99)));
}

#[test]
fn a_packet_waits_from_its_complete_arrival() {
    let waits = two_to_one(1);
    // 200 ns on the host's link and 1 us of delay, then behind the other flow's packet.
    assert_eq!(
        (waits[0].start, waits[0].end),
        (Time::ZERO + Span::from_ns(1_200), Time::ZERO + Span::from_ns(1_400))
    );
    assert_eq!(waits.len(), 1);
    assert!(waits[0].end < us(2));
}
