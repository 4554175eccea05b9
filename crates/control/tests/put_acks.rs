//! The frames that a target owes a stream: IACKs, DACKs, NACKs, their triggers, and what suppression and coalescing make of them.
use backwater_control::notify::put::{
    Acks, AfterNack, Fairness, Frame, Sample, Signal, TargetConfig, Triggers,
};
use backwater_units::{Span, Time};

const CONFIG: TargetConfig = TargetConfig::standard();
const FRAMES: TargetConfig = TargetConfig { dack: Signal::Frame, ..CONFIG };
/// One verb for each packet that a stream is away from the mean.
const VERBS: TargetConfig = TargetConfig {
    fairness: Fairness::Verbs {
        period: Span::from_us(250),
        difference_ppm: 25_000,
        hold: Span::from_us(25),
        strength_ppm: 1_000_000,
    },
    ..CONFIG
};
const AT_ONCE: Triggers = Triggers::standard();
const LAZY: Triggers = Triggers { every: 4, nack_at_once: false, ..AT_ONCE };

fn ns(ns: u64) -> Time {
    Time::from_ps(ns * 1_000)
}

const fn iack(seq: u32, marked: bool) -> Frame {
    Frame { seq, marked, nack: false, repeat: false }
}

const fn dack(seq: u32) -> Frame {
    Frame { seq, marked: true, nack: false, repeat: true }
}

/// A stream of which packets up to `seq` were accepted and released, at 0 ns.
fn released(seq: u32) -> Acks {
    let mut acks = Acks::new();
    for seq in 1..=seq {
        acks.on_released(seq, 2_112, ns(0));
    }
    acks
}

#[test]
fn a_released_packet_is_acknowledged_at_once_and_then_nothing_is_owed() {
    let mut acks = released(1);
    assert_eq!(acks.due(&CONFIG, &AT_ONCE), Some(ns(0)));
    assert_eq!(acks.compose(&CONFIG, 1, false, ns(5)), iack(1, false));
    assert_eq!(acks.due(&CONFIG, &AT_ONCE), None);
}

#[test]
fn paced_packets_are_acknowledged_one_by_one_and_those_of_the_baselines_all_together() {
    let mut acks = released(3);
    for seq in 1..=3 {
        assert!(acks.due(&CONFIG, &AT_ONCE).is_some());
        assert_eq!(acks.compose(&CONFIG, 3, false, ns(1)), iack(seq, false));
    }
    assert_eq!(acks.due(&CONFIG, &AT_ONCE), None);
    let baseline = TargetConfig::baseline();
    let mut acks = released(3);
    assert_eq!(acks.compose(&baseline, 3, true, ns(1)), iack(3, false));
    assert_eq!(acks.due(&baseline, &AT_ONCE), None);
}

#[test]
fn with_a_count_of_four_an_ack_waits_for_three_more_or_780_ns() {
    let mut acks = released(3);
    assert_eq!(acks.due(&CONFIG, &LAZY), Some(ns(780)));
    acks.on_released(4, 2_112, ns(300));
    assert_eq!(acks.due(&CONFIG, &LAZY), Some(ns(0)));
    // Once it has come to that, all of them go.
    for seq in 1..=4 {
        assert_eq!(acks.compose(&CONFIG, 4, false, ns(310)).seq, seq);
        assert_eq!(acks.due(&CONFIG, &LAZY), (seq < 4).then_some(ns(310)));
    }
}

#[test]
fn a_packet_that_enters_a_congested_target_brings_a_dack_at_once() {
    let mut acks = released(1);
    acks.compose(&CONFIG, 1, false, ns(1));
    acks.on_accepted(&CONFIG, true, ns(10));
    assert_eq!(acks.due(&CONFIG, &LAZY), Some(ns(10)));
    assert_eq!(acks.compose(&CONFIG, 2, true, ns(10)), dack(1));
    assert_eq!(acks.due(&CONFIG, &LAZY), None);
    // Not so in the baselines, and not if the target has room.
    let mut acks = Acks::new();
    acks.on_accepted(&TargetConfig::baseline(), true, ns(10));
    acks.on_accepted(&CONFIG, false, ns(10));
    assert_eq!(acks.due(&CONFIG, &LAZY), None);
}

#[test]
fn a_congested_target_marks_an_iack_and_that_says_the_dack_too() {
    let mut acks = released(1);
    acks.on_accepted(&CONFIG, true, ns(10));
    assert_eq!(acks.compose(&CONFIG, 2, true, ns(10)), iack(1, true));
    assert_eq!(acks.due(&CONFIG, &AT_ONCE), None);
}

#[test]
fn or_it_sends_a_dack_in_a_frame_before_each_iack() {
    let mut acks = released(2);
    for seq in 1..=2 {
        assert_eq!(acks.compose(&FRAMES, 2, true, ns(1)), dack(seq - 1));
        assert!(acks.due(&FRAMES, &AT_ONCE).is_some());
        assert_eq!(acks.compose(&FRAMES, 2, true, ns(2)), iack(seq, false));
    }
    assert_eq!(acks.due(&FRAMES, &AT_ONCE), None);
    // Nothing of the kind without congestion.
    assert_eq!(released(1).compose(&FRAMES, 1, false, ns(1)), iack(1, false));
}

#[test]
fn every_data_packet_carries_the_latest_ack_and_takes_the_place_of_a_frame() {
    let mut acks = released(2);
    assert_eq!(acks.piggyback(&CONFIG, false, ns(1)), iack(1, false));
    assert_eq!(acks.piggyback(&CONFIG, true, ns(2)), iack(2, true));
    assert_eq!(acks.due(&CONFIG, &AT_ONCE), None);
    let again = Frame { repeat: true, ..iack(2, false) };
    assert_eq!(acks.piggyback(&CONFIG, false, ns(3)), again);
}

#[test]
fn an_ack_on_a_data_packet_does_not_hurry_those_that_still_wait_for_their_trigger() {
    let mut acks = released(3);
    acks.piggyback(&CONFIG, false, ns(100));
    assert_eq!(acks.due(&CONFIG, &LAZY), Some(ns(780)));
}

#[test]
fn an_old_packet_is_acknowledged_again() {
    let mut acks = released(1);
    acks.compose(&CONFIG, 1, false, ns(1));
    acks.on_duplicate(ns(50));
    assert_eq!(acks.due(&CONFIG, &AT_ONCE), Some(ns(50)));
    assert_eq!(acks.due(&CONFIG, &LAZY), Some(ns(830)));
    let again = Frame { repeat: true, ..iack(1, false) };
    assert_eq!(acks.compose(&CONFIG, 1, false, ns(50)), again);
    assert_eq!(acks.due(&CONFIG, &AT_ONCE), None);
}

#[test]
fn a_nack_goes_at_once_or_waits_as_an_ack_does() {
    let mut acks = Acks::new();
    acks.on_lost(ns(20));
    assert_eq!(acks.due(&CONFIG, &AT_ONCE), Some(ns(20)));
    assert_eq!(acks.due(&CONFIG, &LAZY), Some(ns(800)));
    let nack = Frame { seq: 7, marked: false, nack: true, repeat: false };
    assert_eq!(acks.compose(&CONFIG, 7, true, ns(20)), nack);
    assert_eq!(acks.due(&CONFIG, &AT_ONCE), None);
}

#[test]
fn the_next_packet_accepted_turns_a_nack_that_has_not_been_sent_into_an_ack() {
    let mut acks = released(1);
    acks.compose(&CONFIG, 1, false, ns(1));
    acks.on_lost(ns(20));
    acks.on_accepted(&CONFIG, false, ns(30));
    assert!(acks.due(&CONFIG, &LAZY).is_some());
    assert!(!acks.compose(&CONFIG, 2, false, ns(40)).nack);
}

#[test]
fn a_nack_goes_before_the_acks_of_its_stream_and_in_the_baselines_replaces_them() {
    let mut acks = released(2);
    acks.on_lost(ns(5));
    assert!(acks.compose(&CONFIG, 4, true, ns(5)).nack);
    assert_eq!(acks.compose(&CONFIG, 4, true, ns(6)), iack(1, true));
    let baseline = TargetConfig::baseline();
    let mut acks = released(2);
    acks.on_lost(ns(5));
    assert!(acks.compose(&baseline, 2, true, ns(5)).nack);
    assert_eq!(acks.due(&baseline, &AT_ONCE), None);
}

#[test]
fn after_a_nack_the_packets_it_has_named_bring_iacks_or_in_the_papers_words_dacks() {
    let paper = TargetConfig { after_nack: AfterNack::Dack, ..CONFIG };
    let mut acks = released(2);
    acks.compose(&paper, 2, false, ns(1));
    acks.on_lost(ns(5));
    // 4 were accepted; 2 is released and unsent, 3 and 4 come to the threshold later; 5 is resent.
    assert!(acks.compose(&paper, 4, true, ns(5)).nack);
    assert_eq!(acks.compose(&paper, 4, true, ns(6)), dack(1));
    assert_eq!(acks.due(&paper, &AT_ONCE), None);
    for seq in 3..=4 {
        acks.on_released(seq, 2_112, ns(10));
        assert_eq!(acks.compose(&paper, 4, true, ns(10)), dack(1));
        assert_eq!(acks.due(&paper, &AT_ONCE), None);
    }
    acks.on_released(5, 2_112, ns(20));
    assert_eq!(acks.compose(&paper, 5, true, ns(20)), iack(5, true));
}

#[test]
fn an_old_packet_after_a_nack_is_answered_with_all_that_was_accepted() {
    let paper = TargetConfig { after_nack: AfterNack::Dack, ..CONFIG };
    let mut acks = released(2);
    acks.compose(&paper, 2, false, ns(1));
    acks.on_lost(ns(5));
    acks.compose(&paper, 4, true, ns(5));
    // The NACK may have been lost: its number must not stay unknown.
    acks.compose(&paper, 4, true, ns(6));
    acks.on_duplicate(ns(9));
    assert_eq!(acks.compose(&paper, 4, false, ns(9)), iack(4, false));
}

/// A stream for which the verbs of the next period have been set: its count against another stream's.
fn judged(own: u32, other: u32) -> Acks {
    let mut acks = Acks::new();
    (0..own).for_each(|_| acks.on_accepted(&VERBS, false, ns(0)));
    let mut sample = Sample::default();
    sample.add(acks.packets());
    sample.add(other);
    acks.judge(&VERBS.fairness, &sample);
    assert_eq!((acks.packets(), acks.bytes()), (0, 0));
    acks
}

#[test]
fn the_slower_stream_gets_iacks_without_marks_until_it_has_caught_up() {
    // 8 and 12 packets: two below the mean.
    let mut acks = judged(8, 12);
    for seq in 1..=3 {
        acks.on_accepted(&VERBS, true, ns(1));
        assert_eq!(acks.due(&VERBS, &AT_ONCE).is_some(), seq == 3, "a DACK on entry is suppressed, too");
        acks.on_released(seq, 2_112, ns(2));
        assert_eq!(acks.compose(&VERBS, seq, true, ns(2)), iack(seq, seq == 3));
    }
}

#[test]
fn a_verb_is_done_for_every_twentieth_packet_that_a_stream_is_away_from_the_mean_and_at_least_one() {
    let standard = TargetConfig { fairness: Fairness::verbs(), ..CONFIG };
    // 60 and 140 packets are 40 away: two verbs. 99 and 107 are 4 away: one.
    for (own, other, verbs) in [(60, 140, 2), (99, 107, 1)] {
        let mut acks = Acks::new();
        (0..own).for_each(|_| acks.on_accepted(&standard, false, ns(0)));
        let mut sample = Sample::default();
        sample.add(acks.packets());
        sample.add(other);
        acks.judge(&standard.fairness, &sample);
        for seq in 1..=3 {
            acks.on_released(seq, 2_112, ns(2));
            assert_eq!(acks.compose(&standard, seq, true, ns(2)), iack(seq, seq > verbs));
        }
    }
}

#[test]
fn suppression_takes_the_dacks_before_iacks_where_they_are_frames() {
    let config = TargetConfig { dack: Signal::Frame, ..VERBS };
    let mut acks = judged(8, 12);
    for seq in 1..=2 {
        acks.on_released(seq, 2_112, ns(2));
        assert_eq!(acks.compose(&config, seq, true, ns(2)), iack(seq, false));
    }
    acks.on_released(3, 2_112, ns(3));
    assert_eq!(acks.compose(&config, 3, true, ns(3)), dack(2));
}

#[test]
fn the_faster_stream_gets_one_iack_for_two_packets() {
    // 12 and 8 packets: two above the mean.
    let mut acks = judged(12, 8);
    acks.on_released(1, 2_112, ns(0));
    assert_eq!(acks.due(&VERBS, &AT_ONCE), Some(ns(25_000)));
    acks.on_released(2, 2_112, ns(100));
    assert_eq!(acks.due(&VERBS, &AT_ONCE), Some(ns(0)));
    assert_eq!(acks.compose(&VERBS, 2, true, ns(100)), iack(2, true));
    // The second pair, and then one by one.
    acks.on_released(3, 2_112, ns(200));
    acks.on_released(4, 2_112, ns(200));
    acks.on_released(5, 2_112, ns(200));
    assert_eq!(acks.compose(&VERBS, 5, true, ns(200)), iack(4, true));
    assert_eq!(acks.compose(&VERBS, 5, true, ns(200)), iack(5, true));
}

#[test]
fn a_coalesced_iack_does_not_wait_for_ever() {
    let mut acks = judged(12, 8);
    acks.on_released(1, 2_112, ns(40));
    acks.on_accepted(&VERBS, true, ns(50));
    assert_eq!(acks.compose(&VERBS, 2, true, ns(50)), dack(0));
    assert_eq!(acks.due(&VERBS, &AT_ONCE), Some(ns(25_040)));
    assert_eq!(acks.compose(&VERBS, 2, true, ns(25_040)), iack(1, true));
}

#[test]
fn streams_whose_shares_differ_by_no_more_than_the_threshold_are_left_alone() {
    // 39 and 41 of 80 are 2.5 % apart, 38 and 42 five.
    for (own, other, suppressed) in [(39, 41, false), (38, 42, true)] {
        let mut acks = judged(own, other);
        acks.on_released(1, 2_112, ns(0));
        assert_eq!(acks.compose(&VERBS, 1, true, ns(0)), iack(1, !suppressed));
    }
}

#[test]
fn the_ordered_list_counts_the_bytes_of_a_period() {
    let fairness = Fairness::Ordered { period: Span::from_us(250) };
    let mut acks = released(3);
    assert_eq!(acks.bytes(), 6_336);
    acks.judge(&fairness, &Sample::default());
    assert_eq!(acks.bytes(), 0);
}

#[test]
fn parameters_that_would_never_or_always_act_are_refused() {
    let verbs = |period, difference_ppm| Fairness::Verbs {
        period,
        difference_ppm,
        hold: Span::from_us(25),
        strength_ppm: 50_000,
    };
    let period = Span::from_us(250);
    for (fairness, parameter) in [
        (Fairness::Ordered { period: Span::ZERO }, "period"),
        (verbs(Span::ZERO, 25_000), "period"),
        (verbs(period, 0), "difference"),
        (verbs(period, 1_000_000), "difference"),
    ] {
        assert_eq!(fairness.validate().unwrap_err().parameter, parameter);
    }
    assert_eq!(Fairness::verbs().validate(), Ok(()));
    assert_eq!(Triggers { every: 0, ..AT_ONCE }.validate().unwrap_err().parameter, "every");
    assert_eq!(AT_ONCE.validate(), Ok(()));
}
