//! BFC by hand: queues of flows, the limit, what holds a queue upstream.
use backwater_control::isolation::Upstream;
use backwater_control::isolation::bfc::{FlowEntry, limit};
use backwater_units::{Span, Time};

const STICKY: Span = Span::from_us(4);

#[test]
fn a_flow_keeps_its_queue_while_it_has_packets_and_for_two_round_trips_after_the_last() {
    let mut flow = FlowEntry::default();
    let at = |us: u64| Time::from_ps(us * 1_000_000);
    assert_eq!(flow.place(at(0), STICKY, || 3), 3, "it is new");
    assert!(flow.entered(at(0)));
    assert_eq!(flow.place(at(100), STICKY, || 5), 3, "it has a packet here");
    assert!(!flow.entered(at(100)));
    assert!(!flow.left(at(101)));
    assert!(flow.left(at(102)));
    assert_eq!(flow.place(at(106), STICKY, || 5), 3, "4 us later, and not longer");
    assert_eq!(flow.place(Time::from_ps(106_000_001), STICKY, || 5), 5);
}

#[test]
fn a_queue_may_have_its_share_of_a_round_trip() {
    // 100 Gbps and 1 us: 25,000 B in 2 us.
    let shares = [0, 1, 2, 3, 7].map(|active| limit(25_000, active));
    assert_eq!(shares, [25_000, 25_000, 12_500, 8_333, 3_571]);
    assert_eq!(limit(3, 7), 1);
}

#[test]
fn the_first_marked_packet_holds_the_queue_upstream_and_the_last_lets_it_go() {
    let mut upstream = Upstream::default();
    assert_eq!([upstream.mark(), upstream.mark(), upstream.mark()], [true, false, false]);
    assert_eq!([upstream.unmark(), upstream.unmark(), upstream.unmark()], [false, false, true]);
    assert!(upstream.mark());
    assert_eq!(upstream.marked(), 1);
}
