//! The receive queue as ACKs see it: T of 9 KB (281 flits of 32 B) of a queue of 81 KB, and packets of 2 KB with a header of 64 B.
use backwater_control::notify::put::{IackOn, Release, ReleaseRule, Reservation, TargetConfig};
use backwater_units::Bytes;

const T: u64 = 8_992;
const DEPTH: u64 = 80_992;
const SIZE: u64 = 2_112;
const CONFIG: TargetConfig = TargetConfig::standard();

/// Accepts packets until so many are unacknowledged; how many were acknowledged on the way.
fn fill(release: &mut Release, config: &TargetConfig, packets: u64) -> u64 {
    (1..=packets).take_while(|packet| release.releases(config, packet * SIZE, SIZE)).count() as u64
}

#[test]
fn a_target_is_congested_above_the_threshold_and_not_at_it() {
    let release = Release::default();
    assert!(!release.congested(&CONFIG, T));
    assert!(release.congested(&CONFIG, T + 1));
}

#[test]
fn acknowledged_data_fill_the_queue_up_to_the_threshold_position() {
    let mut release = Release::default();
    // 4 · 2112 = 8448 are below 8992; the fifth packet stands across the threshold, the sixth above it.
    assert_eq!(fill(&mut release, &CONFIG, 30), 5);
    assert_eq!(release.ahead(), 5 * 2_112);
}

#[test]
fn each_packet_that_is_processed_lets_the_one_that_crosses_the_threshold_be_acknowledged() {
    let mut release = Release::default();
    fill(&mut release, &CONFIG, 30);
    let mut occupancy = 30 * SIZE;
    for _ in 0..20 {
        assert!(!release.releases(&CONFIG, occupancy, SIZE));
        occupancy -= SIZE;
        release.processed(SIZE);
        assert!(release.releases(&CONFIG, occupancy, SIZE));
    }
}

#[test]
fn a_target_that_is_not_congested_acknowledges_what_it_accepts() {
    let mut release = Release::default();
    for _ in 0..100 {
        assert!(release.releases(&CONFIG, SIZE, SIZE));
        release.processed(SIZE);
    }
    assert_eq!(release.ahead(), 0);
}

#[test]
fn or_by_the_papers_other_sentence_what_it_has_processed() {
    let config = TargetConfig { iack: IackOn::Processed, ..CONFIG };
    let mut release = Release::default();
    assert!(!release.releases(&config, SIZE, SIZE));
    release.processed(SIZE);
    assert!(release.releases(&config, 0, SIZE));
    // Congested, the threshold position counts as ever.
    assert!(release.releases(&config, T + 1, SIZE));
}

#[test]
fn a_queue_of_exactly_the_threshold_holds_acks_back_only_in_the_authors_rule() {
    for (rule, released) in [(ReleaseRule::AtMost, true), (ReleaseRule::Below, false)] {
        let config = TargetConfig { rule, ..CONFIG };
        assert_eq!(Release::default().releases(&config, T, SIZE), released);
        assert!(Release::default().releases(&config, T - 1, SIZE));
        assert!(Release::default().releases(&config, T + 1, SIZE));
    }
}

#[test]
fn the_baselines_acknowledge_everything_at_once() {
    let mut release = Release::default();
    assert_eq!(fill(&mut release, &TargetConfig::baseline(), 38), 38);
}

#[test]
fn a_packet_is_admitted_if_it_fits_behind_those_that_are_there() {
    let release = Release::default();
    assert!(release.admits(SIZE, DEPTH - SIZE, DEPTH, 0));
    assert!(!release.admits(SIZE, DEPTH - SIZE + 1, DEPTH, 0));
}

#[test]
fn a_nack_keeps_a_place_for_its_stream_until_that_has_come_back() {
    let mut release = Release::default();
    let own = release.reserve(&CONFIG, SIZE, DEPTH, 0);
    assert_eq!((own, release.reserved()), (SIZE, SIZE));
    // A second NACK reserves nothing more.
    assert_eq!(release.reserve(&CONFIG, SIZE, DEPTH, own), SIZE);
    assert_eq!(release.reserved(), SIZE);
    let occupancy = DEPTH - SIZE;
    assert!(!release.admits(SIZE, occupancy, DEPTH, 0));
    assert!(!release.admits(SIZE, occupancy - SIZE + 1, DEPTH, 0));
    assert!(release.admits(SIZE, occupancy, DEPTH, own));
    release.give_back(own);
    assert!(release.admits(SIZE, occupancy, DEPTH, 0));
}

#[test]
fn reservations_of_packets_leave_the_threshold_free_and_those_of_the_authors_do_not() {
    let mut release = Release::default();
    // 80,992 − 8,992 = 72,000 bytes are 34 packets of 2112 B.
    let granted = (0..40).filter(|_| release.reserve(&CONFIG, SIZE, DEPTH, 0) > 0).count();
    assert_eq!(granted, 34);
    let mut release = Release::default();
    let authors = TargetConfig::authors();
    (0..10).for_each(|_| assert_eq!(release.reserve(&authors, SIZE, DEPTH, 0), 8_992));
    assert_eq!(release.reserved(), 89_920);
    assert!(!release.admits(64, 0, DEPTH, 0));
    let none = TargetConfig { reservation: Reservation::None, ..CONFIG };
    assert_eq!(Release::default().reserve(&none, SIZE, DEPTH, 0), 0);
}

#[test]
fn a_reservation_makes_a_target_congested_only_in_the_authors_count() {
    for (reserved_counts, congested) in [(false, false), (true, true)] {
        let config = TargetConfig { reserved_counts, ..CONFIG };
        let mut release = Release::default();
        release.reserve(&config, SIZE, DEPTH, 0);
        assert_eq!(release.congested(&config, T - SIZE + 1), congested);
    }
}

#[test]
fn a_threshold_that_is_none_or_beyond_the_queue_is_refused_where_it_is_used() {
    let depth = Bytes::new(DEPTH);
    for threshold in [0, DEPTH] {
        let config = TargetConfig { threshold, ..CONFIG };
        assert_eq!(config.validate(depth).unwrap_err().parameter, "threshold");
        assert_eq!(TargetConfig { threshold, ..TargetConfig::baseline() }.validate(depth), Ok(()));
    }
    for config in [CONFIG, TargetConfig::authors(), TargetConfig::paper()] {
        assert_eq!(config.validate(depth), Ok(()));
    }
}
