//! What RECN and its heirs tell upstream, worked out by hand.
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_control::isolation::recn::{Aside, Child, Notice, RecnConfig};

const RULES: RecnConfig = RecnConfig {
    detect: 1000,
    notify: 500,
    thresholds: Thresholds { high: 2000, low: 1000 },
    aside: Aside::Root,
    marks_roots: false,
};

/// 100 Gbit/s and 1 µs: 25 000 B are under way in a round trip.
const HOP: u64 = 25_000;

#[test]
fn a_port_is_a_root_beyond_a_round_trip_until_half_of_one() {
    assert!(!RULES.is_root(HOP, HOP) && RULES.is_root(HOP + 1, HOP));
    assert!(!RULES.is_over(HOP / 2 + 1, HOP) && RULES.is_over(HOP / 2, HOP));
    // A link without delay: whatever waits makes a root, until nothing does.
    assert!(RULES.is_root(1, 0) && !RULES.is_over(1, 0) && RULES.is_over(0, 0));
}

#[test]
fn a_switch_sets_aside_then_holds_then_lets_go_and_frees() {
    let mut child = Child::Free;
    let grew = |child: &mut Child, bytes| child.grew(bytes, HOP, &RULES, false);
    assert_eq!(grew(&mut child, 12_500), None);
    assert_eq!(grew(&mut child, 12_501), Some(Notice::Aside));
    assert_eq!(grew(&mut child, 50_000), None);
    assert_eq!(grew(&mut child, 50_001), Some(Notice::Off));
    assert_eq!(grew(&mut child, 90_000), None);
    let shrank = |child: &mut Child, bytes| child.shrank(bytes, HOP, &RULES, false);
    assert_eq!(shrank(&mut child, 25_001), None);
    assert_eq!(shrank(&mut child, 25_000), Some(Notice::On));
    assert_eq!(shrank(&mut child, 1), None);
    assert_eq!(shrank(&mut child, 0), Some(Notice::On));
    // It was told once; what comes until the token is here asks for nothing.
    assert_eq!((grew(&mut child, 20_000), shrank(&mut child, 0)), (None, None));
    child.freed();
    assert_eq!((child, grew(&mut child, 20_000)), (Child::Free, Some(Notice::Aside)));
}

#[test]
fn a_token_that_meets_a_hold_on_its_way_does_not_undo_it() {
    let mut child = Child::Open;
    assert_eq!(child.grew(50_001, HOP, &RULES, false), Some(Notice::Off));
    child.freed();
    assert_eq!(child, Child::Held);
    assert_eq!(child.shrank(0, HOP, &RULES, false), Some(Notice::On));
    assert_eq!(child, Child::Over);
}

#[test]
fn a_host_sets_nothing_aside() {
    let mut child = Child::Free;
    assert_eq!(child.grew(50_000, HOP, &RULES, true), None);
    assert_eq!(child.grew(50_001, HOP, &RULES, true), Some(Notice::Off));
    assert_eq!(child.shrank(25_000, HOP, &RULES, true), Some(Notice::On));
    assert_eq!((child, child.shrank(0, HOP, &RULES, true)), (Child::Free, None));
}
