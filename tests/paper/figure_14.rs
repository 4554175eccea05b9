//! Figure 14: a max(Ton) for a larger epsilon, hence shorter, takes ON-OFF for release: victims get CE.
use backwater_control::detector::{Detector, Tcd};
use backwater_units::Span;

use crate::figure_2::{F0, F2, LONG, SINGLE, START, scene, seen};

/// CE packets of both victims.
fn wrong_marks(max_ton_us: u64) -> u64 {
    let span = Span::from_us(max_ton_us);
    let mut tcd = Tcd::authors();
    (tcd.max_ton, tcd.period) = (span, span);
    let run = seen(scene(SINGLE, START, LONG, Detector::Tcd(tcd)), Span::from_ms(4));
    run.marked(F0).0 + run.marked(F2).0
}

#[test]
fn up_to_epsilon_0_05_and_a_bit_beyond_no_victim_packet_gets_ce() {
    for max_ton in [449, 229, 97, 66] {
        assert_eq!(wrong_marks(max_ton), 0, "max(Ton) {max_ton} us");
    }
}

#[test]
fn at_epsilon_0_2_and_above_more_than_500_victim_packets_get_ce() {
    for max_ton in [31, 23, 17] {
        let marks = wrong_marks(max_ton);
        assert!((500..1_300).contains(&marks), "max(Ton) {max_ton} us: {marks}");
    }
}
