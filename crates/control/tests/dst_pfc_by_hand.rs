//! PFC by destination by hand: thresholds in hops.
use backwater_control::isolation::dst_pfc::Thresholds;

#[test]
fn a_queue_holds_above_two_hops_and_lets_go_at_one() {
    // 100 Gbps and 1 us: 25,000 B in 2 us.
    let thresholds = Thresholds { high: 2000, low: 1000 };
    let of = |queue| (thresholds.holds(queue, 25_000), thresholds.lets_go(queue, 25_000));
    assert_eq!(of(50_001), (true, false));
    assert_eq!(of(50_000), (false, false));
    assert_eq!(of(25_001), (false, false));
    assert_eq!(of(25_000), (false, true));
}
