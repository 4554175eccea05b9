//! The rules of Pyrrha, worked out by hand.
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_control::isolation::pyrrha::{Candidate, Child, Rules, Uplinks, choose};

const RULES: Rules = Rules {
    thresholds: Thresholds { high: 2000, low: 1000 },
    hol: 2000,
    only_down: false,
    merge: true,
    nearest: true,
};

/// 100 Gbit/s and 1 µs: 25 000 B are under way in a round trip.
const HOP: u64 = 25_000;

#[test]
fn a_root_is_held_beyond_two_round_trips_and_let_go_below_one() {
    assert!(!RULES.holds(2 * HOP, HOP));
    assert!(RULES.holds(2 * HOP + 1, HOP));
    assert!(!RULES.lets_go(HOP, HOP));
    assert!(RULES.lets_go(HOP - 1, HOP));
    // A link without delay: whatever waits is held, and let go when nothing does.
    assert!(RULES.holds(1, 0) && !RULES.lets_go(1, 0) && RULES.lets_go(0, 0));
}

#[test]
fn of_ports_to_higher_tiers_one_is_a_root_that_stands_out() {
    let up = |count, bytes| Some(Uplinks { count, bytes });
    assert!(RULES.is_root(1, None));
    // Four ports with 40 kB in all: the mean is 10 kB.
    assert!(!RULES.is_root(20_000, up(4, 40_000)));
    assert!(RULES.is_root(20_001, up(4, 40_000)));
    // One alone is never twice its own mean.
    assert!(!RULES.is_root(1_000_000, up(1, 1_000_000)));
    let any = Rules { hol: 0, ..RULES };
    assert!(any.is_root(1, up(4, 1_000_000)));
    let down = Rules { only_down: true, hol: 0, ..RULES };
    assert!(!down.is_root(1_000_000, up(4, 1_000_000)) && down.is_root(1, None));
}

#[test]
fn a_node_upstream_is_held_once_and_forgotten_when_it_has_freed_its_queue() {
    let mut child = Child::default();
    assert!(child.is_done(false));
    assert!(child.hold() && !child.hold() && !child.is_done(true));
    // It freed its queue before the frame came that holds it.
    child.free();
    assert_eq!(child, Child::Held);
    assert!(child.let_go() && !child.let_go());
    assert!(child.is_done(true) && !child.is_done(false));
    child.free();
    assert_eq!(child, Child::Free);
}

#[test]
fn a_packet_waits_for_the_nearest_root_unless_others_wait_for_a_farther_one() {
    let queue = |queue, empty| Candidate { queue, empty, merged: false };
    let merged = |queue| Candidate { queue, empty: false, merged: true };
    let nearest = |found: &[Candidate]| choose(true, found.iter().copied());
    assert_eq!(nearest(&[]), None);
    assert_eq!(nearest(&[queue(1, true), queue(2, true)]), Some(1));
    assert_eq!(nearest(&[queue(1, false), queue(2, true)]), Some(1));
    assert_eq!(nearest(&[queue(1, true), queue(2, false), queue(3, true)]), Some(2));
    // A queue that was merged away takes what has no other.
    assert_eq!(nearest(&[merged(1), queue(2, true)]), Some(2));
    assert_eq!(nearest(&[merged(1)]), Some(1));
    assert_eq!(choose(false, [queue(1, false), queue(2, true)].into_iter()), Some(2));
}
