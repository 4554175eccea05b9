//! When a throttled NIC is in Congested: credit traces written by hand, transitions counted by hand from the PFT paper's Algorithms 1 and 2.
//! A core clock of 1 GHz makes a cycle 1 ns, so that sample k is taken at k ns.
use backwater_control::reaction::{Gate, Pft, PftConfig, Polarity, StateRule};
use backwater_units::{Span, Time};

const GHZ: u64 = 1_000_000_000;

fn fixed(enter: u32, escape: u32) -> PftConfig {
    PftConfig { rule: StateRule::Fixed { enter, escape }, clock: GHZ, ..PftConfig::standard() }
}

fn average(thresholds: (u32, u32), enter: (u32, u32), escape: (u32, u32)) -> PftConfig {
    let rule = StateRule::Average {
        enter: thresholds.0,
        escape: thresholds.1,
        enter_window: enter.0,
        enter_hits: enter.1,
        escape_window: escape.0,
        escape_hits: escape.1,
    };
    PftConfig { rule, clock: GHZ, ..PftConfig::standard() }
}

/// Thresholds of 10, windows of 10 samples, 4 hits in Normal and 3 in Congested.
fn short() -> PftConfig {
    average((10, 10), (10, 4), (10, 3))
}

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// Gives c from each of `changes` on, in ns; returns the changes of state before `end` in ns, those to Congested as positive numbers.
fn transitions(config: &PftConfig, changes: &[(u64, u32)], end: u64) -> Vec<i64> {
    assert_eq!(config.validate(), Ok(()));
    let mut pft = Pft::new();
    let mut seen = Vec::new();
    for &(at, used) in changes.iter().chain(&[(end, 0)]) {
        while let Some(transition) = pft.step(config, ns(at)) {
            let time = transition.time.as_ps().cast_signed() / 1_000;
            seen.push(if transition.congested { time } else { -time });
            assert_eq!(transition.congested, pft.congested());
        }
        if at < end {
            let before = pft.congested();
            pft.on_credits(config, ns(at), used);
            if pft.congested() != before {
                let time = at.cast_signed();
                seen.push(if before { -time } else { time });
            }
        }
    }
    seen
}

#[test]
fn under_ft_c_enters_above_t_e_and_leaves_below_t_s_at_once() {
    let trace = [(5, 100), (6, 101), (7, 50), (8, 49), (9, 100), (10, 4000), (11, 51), (12, 0)];
    assert_eq!(transitions(&fixed(100, 50), &trace, 20), [6, -8, 10, -12]);
}

#[test]
fn under_ft_equal_thresholds_leave_one_c_that_keeps_the_state() {
    let trace = [(1, 100), (2, 101), (3, 100), (4, 99), (5, 100), (6, 101)];
    assert_eq!(transitions(&fixed(100, 100), &trace, 20), [2, -4, 6]);
}

#[test]
fn under_ft_a_packets_own_flits_can_lead_to_congested_when_it_starts() {
    let config = fixed(100, 50);
    let mut pft = Pft::new();
    pft.on_credits(&config, ns(1), 90);
    pft.on_sent(&config, ns(2), ns(10), 10, &mut || unreachable!("no draw in Normal"));
    assert_eq!((pft.used(), pft.congested(), pft.entered()), (100, false, 0));
    pft.on_sent(&config, ns(10), ns(11), 1, &mut || unreachable!("no draw in Normal"));
    assert_eq!((pft.used(), pft.congested(), pft.entered()), (101, true, 1));
    assert_eq!(pft.congested_for(&config, ns(15)), Span::from_ns(5));
    assert_eq!(pft.next_transition(&config), Time::MAX);
}

#[test]
fn time_in_congested_under_ft_adds_up_over_its_spells() {
    let config = fixed(100, 50);
    let mut pft = Pft::new();
    for (at, used) in [(3, 200), (7, 0), (11, 200), (12, 150), (20, 10)] {
        pft.on_credits(&config, ns(at), used);
    }
    assert_eq!(pft.congested_for(&config, ns(30)), Span::from_ns(4 + 9));
    assert_eq!(pft.entered(), 2);
}

#[test]
fn under_at_the_state_changes_with_the_sample_that_makes_the_hits_full_not_at_the_windows_end() {
    // Hits at 2, 3, 4, 5: Congested at 5. Then c = 0: hits at 6, 7, 8.
    assert_eq!(transitions(&short(), &[(2, 11), (6, 0)], 100), [5, -8]);
}

#[test]
fn under_at_a_change_in_the_picosecond_of_a_sample_is_seen_by_it() {
    let config = short();
    let mut pft = Pft::new();
    pft.on_credits(&config, ns(2), 11);
    pft.on_credits(&config, ns(5), 10);
    // 2, 3 and 4 were hits, 5 is none, 6 is.
    assert_eq!(pft.step(&config, ns(6)), None);
    pft.on_credits(&config, ns(6), 11);
    assert_eq!(pft.next_transition(&config), Time::from_ps(6_001));
    // It is in force from the next picosecond on.
    pft.advance(&config, ns(6));
    assert!(!pft.congested());
    pft.advance(&config, Time::from_ps(6_001));
    assert!(pft.congested());
}

#[test]
fn under_at_a_window_counts_all_its_hits_not_only_those_in_a_row() {
    assert_eq!(transitions(&short(), &[(1, 11), (2, 0), (3, 11), (4, 0), (5, 11), (6, 0), (7, 11)], 8), [7]);
}

#[test]
fn hits_do_not_outlive_a_window() {
    // Samples 7, 8 and 9 are hits of the first window, 10 and 11 of the second one.
    assert!(transitions(&short(), &[(7, 11), (12, 0)], 100).is_empty());
    // With a fourth hit of its own the second window would do: 10 to 13.
    assert_eq!(transitions(&short(), &[(7, 11), (14, 0)], 100), [13, -16]);
}

#[test]
fn the_last_sample_of_a_window_counts() {
    // 6, 7, 8 and 9: the fourth hit is the tenth sample.
    assert_eq!(transitions(&short(), &[(6, 11), (10, 0)], 100), [9, -12]);
}

#[test]
fn a_window_begins_anew_with_the_state() {
    // Congested at 8; its window is 9 to 18. Below the threshold at 17, 18 and 19: two hits of that window, one of the next.
    assert_eq!(transitions(&short(), &[(5, 11), (17, 0), (20, 11)], 100), [8]);
    // 16, 17 and 18 are three.
    assert_eq!(transitions(&short(), &[(5, 11), (16, 0), (19, 11)], 23), [8, -18, 22]);
}

#[test]
fn hits_of_normal_are_not_taken_along_to_congested() {
    // Both need 4 hits. With the hits of Normal the machine would leave in the sample in which it enters.
    let config = average((10, 20), (10, 4), (10, 4));
    assert_eq!(transitions(&config, &[(0, 15)], 13), [3, -7, 11]);
}

#[test]
fn c_at_a_threshold_is_a_hit_of_neither_state() {
    assert!(transitions(&short(), &[(1, 10)], 1_000).is_empty());
    assert_eq!(transitions(&short(), &[(1, 11), (5, 10)], 1_000), [4]);
}

#[test]
fn in_the_papers_best_setting_a_c_between_the_thresholds_throttles_for_n_s_of_n_s_plus_n_e_cycles_for_ever() {
    let config = PftConfig { clock: GHZ, ..PftConfig::standard() };
    for used in [593, 632, 671] {
        // Samples 0 to 767 are in Normal, 768 to 1535 in Congested, and so on.
        let mut turns = 768i64 - 1;
        for seen in transitions(&config, &[(0, used)], 100_000) {
            assert_eq!(seen.abs(), turns);
            assert_eq!(seen > 0, (turns + 1) / 768 % 2 == 1);
            turns += 768;
        }
        assert!(turns > 99_000);
    }
    // Full throttle from 672 on, none up to 592.
    assert_eq!(transitions(&config, &[(0, 672)], 100_000), [767]);
    assert!(transitions(&config, &[(0, 592)], 100_000).is_empty());
}

#[test]
fn between_the_papers_thresholds_the_share_of_time_in_congested_is_n_s_over_n_s_plus_n_e() {
    let config = average((592, 672), (1024, 300), (1024, 700));
    let mut pft = Pft::new();
    pft.on_credits(&config, Time::ZERO, 600);
    // 1 ms is 1000 rounds of 1000 samples; a second is a million of them, at no cost.
    pft.advance(&config, ns(1_000_000));
    assert_eq!(pft.congested_for(&config, ns(1_000_000)), Span::from_us(700));
    assert_eq!(pft.entered(), 1_000);
    pft.advance(&config, ns(1_000_000_000));
    assert_eq!(pft.congested_for(&config, ns(1_000_000_000)), Span::from_ms(700));
    assert_eq!(pft.entered(), 1_000_000);
    // 213 days are 2^64 ps: 18,446,744,073,709,552 samples.
    pft.advance(&config, Time::MAX);
    assert_eq!(pft.entered(), 18_446_744_073_710);
}

#[test]
fn a_leap_over_many_rounds_ends_in_the_same_state_as_every_step_on_the_way() {
    let config = average((592, 672), (50, 7), (60, 11));
    let (mut leaps, mut steps) = (Pft::new(), Pft::new());
    for (at, used) in [(0, 600), (1_234, 500), (1_300, 650), (1_305, 700), (9_999, 671), (100_001, 593)] {
        while steps.step(&config, ns(at)).is_some() {}
        leaps.on_credits(&config, ns(at), used);
        steps.on_credits(&config, ns(at), used);
        assert_eq!(leaps, steps, "at {at}");
    }
}

#[test]
fn with_credits_that_are_left_the_papers_best_setting_is_plain_hysteresis() {
    let config = PftConfig { polarity: Polarity::Available, clock: GHZ, ..PftConfig::standard() };
    // 4096 − c < 592 is c > 3504; 4096 − c > 672 is c < 3424.
    assert!(transitions(&config, &[(0, 3_504)], 100_000).is_empty());
    assert_eq!(transitions(&config, &[(0, 3_505)], 100_000), [767]);
    assert_eq!(transitions(&config, &[(0, 3_505), (1_000, 3_424)], 100_000), [767]);
    // Samples 1000 to 1767 of the window that began at 768.
    assert_eq!(transitions(&config, &[(0, 3_505), (1_000, 3_423)], 100_000), [767, -1_767]);
}

#[test]
fn with_credits_that_are_left_ft_enters_when_they_are_few() {
    let rule = StateRule::Fixed { enter: 96, escape: 1_096 };
    let config = PftConfig { rule, polarity: Polarity::Available, ..fixed(0, 1) };
    let trace = [(1, 4_000), (2, 4_001), (3, 3_000), (4, 2_999), (5, 5_000), (6, 0)];
    assert_eq!(transitions(&config, &trace, 10), [2, -4, 5, -6]);
}

#[test]
fn samples_at_700_mhz_are_taken_in_the_first_picosecond_after_each_cycle() {
    // Four hits: sample 3 is taken at 3 · 10^12 / 700 · 10^6 = 4285.7 ps.
    let config = PftConfig { clock: 700_000_000, ..short() };
    let mut pft = Pft::new();
    pft.on_credits(&config, Time::ZERO, 11);
    assert_eq!(pft.next_transition(&config), Time::from_ps(4_287));
    assert_eq!(pft.step(&config, Time::from_ps(4_286)), None);
    let seen = pft.step(&config, Time::from_ps(4_287)).expect("a transition");
    assert_eq!((seen.time, seen.congested), (Time::from_ps(4_286), true));
    // Three samples in Congested, 4, 5 and 6, of 10/7 ns.
    pft.on_credits(&config, Time::from_ps(4_287), 0);
    pft.advance(&config, ns(100));
    assert_eq!(pft.congested_for(&config, ns(100)), Span::from_ps(4_285));
}

#[test]
fn samples_are_as_exact_after_seconds_as_at_the_start() {
    // Sample 1.4 · 10^9, the first of a window, is taken at 2 s; times 10^12 it does not fit into 64 bits.
    let config = PftConfig { clock: 700_000_000, ..short() };
    let mut pft = Pft::new();
    pft.on_credits(&config, ns(2_000_000_000), 11);
    assert_eq!(pft.next_transition(&config), ns(2_000_000_000) + Span::from_ps(4_287));
    let seen = pft.step(&config, ns(2_000_000_005)).expect("a transition");
    assert_eq!(seen.time, ns(2_000_000_000) + Span::from_ps(4_286));
    // A sample after the end of time is never taken.
    let config = PftConfig { clock: 1, ..short() };
    pft = Pft::new();
    pft.on_credits(&config, Time::from_ps(u64::MAX - 1), 11);
    assert_eq!(pft.next_transition(&config), Time::MAX);
}

#[test]
fn a_waiting_nic_is_told_when_its_state_will_change() {
    let config = PftConfig { k: i64::MAX, ..short() };
    let mut pft = Pft::new();
    pft.on_credits(&config, Time::ZERO, 11);
    assert_eq!(pft.gate(&config, ns(3)), Gate::Open);
    // Congested from 3.001 ns on; f is beyond R: nothing goes, and c is too high to leave.
    assert_eq!(pft.gate(&config, Time::from_ps(3_001)), Gate::Change);
    pft.on_credits(&config, ns(5), 9);
    assert_eq!(pft.gate(&config, ns(5)), Gate::At(Time::from_ps(7_001)));
    assert_eq!(pft.gate(&config, ns(7)), Gate::At(Time::from_ps(7_001)));
    assert_eq!(pft.gate(&config, Time::from_ps(7_001)), Gate::Open);
}

#[test]
fn after_years_of_silence_the_registers_are_still_right() {
    let config = PftConfig { clock: 1_000_000_000_000, ..short() };
    let mut pft = Pft::new();
    pft.on_credits(&config, Time::ZERO, 11);
    pft.advance(&config, Time::MAX);
    assert!(pft.congested());
    assert_eq!(pft.entered(), 1);
    // Samples 0 to 3 in Normal, the others up to 2^64 − 2 in Congested.
    assert_eq!(pft.congested_for(&config, Time::MAX), Span::from_ps(u64::MAX - 4));
    pft.on_credits(&config, Time::MAX, 0);
    assert_eq!(pft.next_transition(&config), Time::MAX);
    assert_eq!(pft.step(&config, Time::MAX), None);
}
