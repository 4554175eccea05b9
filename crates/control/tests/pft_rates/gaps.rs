//! The gap after a packet, while c and the state change.
use backwater_control::reaction::{Gate, Pft, PftConfig, RateLaw, StateRule};
use backwater_units::{Span, Time};

use super::{FLIT, config, congested, flits, no_chance};

/// f(c) = c.
fn plain() -> PftConfig {
    config(RateLaw::FixedInterval, 0, 0, 0)
}

fn at(count: u64) -> Time {
    Time::ZERO + flits(count)
}

/// Sends 10 flits at time 0 with 100 in use; their gap of 1000 flit times ends at 1010.
fn sent() -> Pft {
    let config = plain();
    let mut pft = congested(&config, 100);
    pft.on_sent(&config, at(0), at(10), 10, &mut no_chance);
    assert_eq!(pft.used(), 110);
    pft
}

#[test]
fn a_gap_is_judged_by_what_was_in_use_before_the_packets_own_flits() {
    assert_eq!(sent().gate(&plain(), at(10)), Gate::At(at(1_010)));
    assert_eq!(sent().gate(&plain(), at(1_010)), Gate::Open);
    assert_eq!(sent().gate(&plain(), at(2_000)), Gate::Open);
    let mut pft = sent();
    pft.on_credits(&plain(), at(0), 110);
    assert_eq!(pft.gate(&plain(), at(10)), Gate::At(at(1_010)), "what is no change does not judge");
}

#[test]
fn what_remains_of_a_gap_shrinks_and_grows_with_f() {
    let (config, mut pft) = (plain(), sent());
    pft.on_credits(&config, at(210), 50);
    assert_eq!(pft.gate(&config, at(210)), Gate::At(at(210 + 400)), "800 left at 100 are 400 at 50");
    pft.on_credits(&config, at(310), 150);
    assert_eq!(pft.gate(&config, at(310)), Gate::At(at(310 + 900)), "300 left at 50 are 900 at 150");
    pft.on_credits(&config, at(1_209), 1_500);
    assert_eq!(pft.gate(&config, at(1_209)), Gate::At(at(1_219)), "1 left at 150 is 10 at 1500");
    pft.on_credits(&config, at(1_219), 3_000);
    assert_eq!(pft.gate(&config, at(1_219)), Gate::Open, "nothing left stays nothing");
}

#[test]
fn a_gap_begins_to_pass_when_the_packet_has_left() {
    let (config, mut pft) = (plain(), sent());
    pft.on_credits(&config, at(4), 50);
    assert_eq!(pft.gate(&config, at(10)), Gate::At(at(510)), "all 1000 are judged again");
    pft.on_credits(&config, at(10), 100);
    pft.on_credits(&config, at(10), 50);
    assert_eq!(pft.gate(&config, at(10)), Gate::At(at(510)));
}

#[test]
fn a_gap_of_which_f_becomes_0_is_over() {
    let config = PftConfig { k: -50, ..plain() };
    let mut pft = congested(&config, 100);
    pft.on_sent(&config, at(0), at(10), 10, &mut no_chance);
    pft.on_credits(&config, at(20), 50);
    assert_eq!(pft.gate(&config, at(20)), Gate::Open);
    pft.on_credits(&config, at(21), 1_000);
    assert_eq!(pft.gate(&config, at(21)), Gate::Open);
}

#[test]
fn what_remains_is_rounded_up_to_the_picosecond() {
    let config = plain();
    let mut pft = congested(&config, 3);
    pft.on_sent(&config, at(0), at(1), 1, &mut no_chance);
    pft.on_credits(&config, at(2), 2);
    // 2000 ps left at 3: 1333.3 ps at 2.
    assert_eq!(pft.gate(&config, at(2)), Gate::At(at(2) + Span::from_ps(1_334)));
}

#[test]
fn in_normal_there_is_no_gap_even_if_the_packet_itself_leads_to_congested() {
    let config = PftConfig { rule: StateRule::Fixed { enter: 100, escape: 50 }, ..plain() };
    let mut pft = Pft::new();
    pft.on_credits(&config, at(0), 95);
    pft.on_sent(&config, at(0), at(10), 10, &mut no_chance);
    assert!(pft.congested());
    assert_eq!(pft.gate(&config, at(10)), Gate::Open);
    pft.on_sent(&config, at(10), at(20), 10, &mut no_chance);
    assert_eq!(pft.gate(&config, at(20)), Gate::At(at(20 + 1_050)));
}

#[test]
fn whoever_leaves_congested_may_send_at_once_and_owes_nothing_later() {
    let config = PftConfig { rule: StateRule::Fixed { enter: 100, escape: 50 }, ..plain() };
    let mut pft = congested(&config, 100);
    pft.on_sent(&config, at(0), at(10), 10, &mut no_chance);
    assert_eq!(pft.gate(&config, at(100)), Gate::At(at(1_010)));
    pft.on_credits(&config, at(100), 49);
    assert_eq!(pft.gate(&config, at(100)), Gate::Open);
    pft.on_credits(&config, at(101), 4_000);
    assert!(pft.congested());
    assert_eq!(pft.gate(&config, at(101)), Gate::Open);
}

/// AT with a clock of one sample per flit time: Congested after 4 samples above 10, Normal after 3 below 200.
fn average() -> PftConfig {
    let rule = StateRule::Average {
        enter: 10,
        escape: 200,
        enter_window: 10,
        enter_hits: 4,
        escape_window: 10,
        escape_hits: 3,
    };
    PftConfig { rule, clock: 1_000_000_000, ..plain() }
}

#[test]
fn under_at_the_gate_opens_when_the_last_hit_ends_congested() {
    let config = average();
    let mut pft = Pft::new();
    pft.on_credits(&config, at(0), 300);
    pft.on_sent(&config, at(5), at(6), 1, &mut no_chance);
    assert_eq!(pft.gate(&config, at(6)), Gate::At(at(306)), "above both thresholds it stays Congested");
    pft.on_credits(&config, at(7), 100);
    // Hits at 7, 8 and 9; without them the gap would end at 7 + 99.67.
    let open = at(9) + Span::from_ps(1);
    assert_eq!(pft.gate(&config, at(7)), Gate::At(open));
    assert_eq!(pft.gate(&config, open), Gate::Open);
    assert!(!pft.congested());
    // Four samples later it is Congested again, and the gap is gone.
    pft.advance(&config, at(14));
    assert!(pft.congested());
    assert_eq!(pft.gate(&config, at(14)), Gate::Open);
}

#[test]
fn a_gap_that_ends_before_the_state_is_told_by_its_own_end() {
    let config = PftConfig { n: 6, ..average() };
    let mut pft = Pft::new();
    pft.on_credits(&config, at(0), 100);
    // Congested at 3; 1 flit at 4 with f = 1: free from 6 on, and Normal only after the sample at 6.
    pft.on_sent(&config, at(4), at(5), 1, &mut no_chance);
    assert_eq!(pft.gate(&config, at(5)), Gate::At(at(6)));
}

#[test]
fn samples_that_lead_to_normal_end_the_gap_however_they_are_taken() {
    let config = average();
    let (mut leaps, mut steps) = (Pft::new(), Pft::new());
    for pft in [&mut leaps, &mut steps] {
        pft.on_credits(&config, at(0), 300);
        pft.on_sent(&config, at(5), at(6), 100, &mut no_chance);
        pft.on_credits(&config, at(6), 9);
    }
    leaps.advance(&config, at(20));
    while steps.step(&config, at(20)).is_some() {}
    assert!(!leaps.congested());
    assert_eq!(leaps, steps);
}

#[test]
fn a_leap_over_normal_and_back_ends_the_gap_too() {
    let (config, far) = (average(), at(5) + flits(7 * 10));
    for steps in [false, true] {
        let mut pft = Pft::new();
        pft.on_credits(&config, at(0), 100);
        pft.on_sent(&config, at(5), at(6), 100, &mut no_chance);
        // c = 100 once more: between the thresholds, Congested again, seven samples a round.
        pft.on_credits(&config, at(6), 100);
        if steps {
            while pft.step(&config, far).is_some() {}
        }
        pft.advance(&config, far);
        assert!(pft.congested() && pft.entered() > 5);
        assert_eq!(pft.gate(&config, far), Gate::Open, "steps: {steps}");
    }
}

#[test]
fn a_packets_own_flits_can_close_the_gate_although_they_do_not_judge_its_gap() {
    // f = c − 97 of R = 4: at 99 one idle flit time for a flit, from 101 on for ever.
    let config = PftConfig { k: -97, ..config(RateLaw::MeanInterval { bits: 2 }, 0, 0, 0) };
    let mut pft = congested(&config, 99);
    pft.on_sent(&config, at(0), at(10), 10, &mut no_chance);
    assert_eq!(pft.gate(&config, at(10)), Gate::Change, "c is 109 now");
    pft.on_credits(&config, at(15), 99);
    assert_eq!(pft.gate(&config, at(15)), Gate::At(at(20)), "nobody had judged the gap by 109");
}

#[test]
fn with_p_0_a_nic_waits_for_a_change_of_c_and_then_for_what_remained() {
    // f = c − 96 of R = 4: at 98 one idle flit time for a flit, at 99 three, from 100 on for ever.
    let config = PftConfig { k: -96, ..config(RateLaw::MeanInterval { bits: 2 }, 0, 0, 0) };
    let mut pft = congested(&config, 88);
    pft.on_credits(&config, at(0), 98);
    pft.on_sent(&config, at(0), at(10), 10, &mut no_chance);
    pft.on_credits(&config, at(12), 100);
    assert_eq!(pft.gate(&config, at(12)), Gate::Change);
    pft.on_credits(&config, at(1_000), 101);
    assert_eq!(pft.gate(&config, at(1_000)), Gate::Change);
    pft.on_credits(&config, at(2_000), 98);
    assert_eq!(pft.gate(&config, at(2_000)), Gate::At(at(2_008)), "8 of 10 remained");
    pft.on_credits(&config, at(2_004), 99);
    assert_eq!(pft.gate(&config, at(2_004)), Gate::At(at(2_016)), "4 at one each are 12 at three each");
    pft.on_credits(&config, at(2_010), 96);
    assert_eq!(pft.gate(&config, at(2_010)), Gate::Open, "f = 0");
}

#[test]
fn a_random_number_of_62_bits_scales_gaps_like_one_of_few() {
    // f/R = c/16.
    let config = config(RateLaw::MeanInterval { bits: 62 }, 58, 0, 0);
    let mut pft = congested(&config, 8);
    pft.on_sent(&config, at(0), at(10), 10, &mut no_chance);
    pft.on_credits(&config, at(10), 8);
    assert_eq!(pft.gate(&config, at(10)), Gate::At(at(20)), "p = 1/2");
    pft.on_credits(&config, at(10), 12);
    assert_eq!(pft.gate(&config, at(10)), Gate::At(at(40)), "p = 1/4: three idle flit times for a flit");
    pft.on_credits(&config, at(10), 15);
    assert_eq!(pft.gate(&config, at(10)), Gate::At(at(160)), "p = 1/16: 15 of them");
    pft.on_credits(&config, at(10), 4);
    assert_eq!(
        pft.gate(&config, at(10)),
        Gate::At(at(10) + Span::from_ps(10_000 / 3 + 1)),
        "p = 3/4: a third"
    );
}

#[test]
fn a_gap_that_grows_beyond_all_time_lasts_until_c_changes() {
    let (config, huge) = (config(RateLaw::FixedInterval, 63, 62, 0), u32::MAX);
    let mut pft = congested(&config, 1);
    // f = 2: 2 · 2^32 flit times of 1000 ps, then 2^32 times as many.
    pft.on_sent(&config, at(0), at(10), huge - 2, &mut no_chance);
    pft.on_credits(&config, at(10), huge);
    assert_eq!(pft.gate(&config, at(10)), Gate::Change);
}

#[test]
fn gaps_at_the_least_chances_that_62_bits_can_tell_are_judged_again_in_proportion() {
    // p = 3 / 2^62 at 4, some 2^-33 more for each flit less.
    let config = config(RateLaw::MeanInterval { bits: 62 }, 29, 0, (1 << 62) - (4 << 29) - 3);
    let mut pft = congested(&config, 3);
    pft.on_sent(&config, at(0), at(0), 1, &mut no_chance);
    pft.on_credits(&config, at(0), 3);
    let seconds = |pft: &mut Pft| match pft.gate(&config, at(0)) {
        Gate::At(time) => time.as_secs_f64(),
        Gate::Open => 0.0,
        Gate::Change => f64::INFINITY,
    };
    // 2^33 flit times of 1 ns.
    assert!((seconds(&mut pft) / 8.59 - 1.0).abs() < 0.001);
    pft.on_credits(&config, at(0), 1);
    assert!((seconds(&mut pft) / 8.59 - 1.0 / 3.0).abs() < 0.001);
    pft.on_credits(&config, at(0), 4);
    assert!(seconds(&mut pft).is_infinite());
    pft.on_credits(&config, at(0), 5);
    assert_eq!(pft.gate(&config, at(0)), Gate::Change);
}

#[test]
fn gaps_of_all_lengths_are_judged_again_between_the_ends_of_a_random_number_of_62_bits() {
    // A gap that is as long as can be told, by a p that is smaller still.
    let law = RateLaw::MeanInterval { bits: 62 };
    let long = config(law, 29, 0, (1 << 62) - (4 << 29) - 3);
    let mut pft = congested(&long, 1);
    pft.on_sent(&long, at(0), at(0), u32::MAX - 8, &mut no_chance);
    pft.on_credits(&long, at(0), 2);
    pft.on_credits(&long, at(0), 4);
    assert_eq!(pft.gate(&long, at(0)), Gate::Change);
    // From f = 2^31, of which 2^31 flits wait for one flit time, to p = 2^-62.
    let short = config(law, 30, 0, (1 << 30) - 1);
    let mut pft = congested(&short, 1);
    pft.on_sent(&short, at(0), at(0), 1 << 31, &mut no_chance);
    pft.on_credits(&short, at(0), 1);
    assert!(matches!(pft.gate(&short, at(0)), Gate::At(time) if time <= at(1)));
    pft.on_credits(&short, at(0), u32::MAX);
    assert_eq!(pft.gate(&short, at(0)), Gate::Change);
}

#[test]
fn a_gap_at_a_chance_of_almost_1_is_short_at_any_number_of_bits() {
    // f = 2^29 c of 2^62: what is less than a picosecond is rounded down when it is drawn, and up when it is judged again.
    let config = config(RateLaw::MeanInterval { bits: 62 }, 29, 0, 0);
    let mut pft = congested(&config, 1);
    pft.on_sent(&config, at(0), at(0), u32::MAX - 8, &mut no_chance);
    pft.on_credits(&config, at(0), 1);
    assert_eq!(pft.gate(&config, at(0)), Gate::At(Time::from_ps(499)));
    pft.on_credits(&config, at(0), 4);
    assert_eq!(pft.gate(&config, at(0)), Gate::At(Time::from_ps(1_997)));
}

#[test]
fn a_throttle_is_a_small_value() {
    assert!(size_of::<Pft>() <= 80, "{}", size_of::<Pft>());
    assert_eq!(Pft::default(), Pft::new());
    assert!(FLIT > Span::ZERO);
}
