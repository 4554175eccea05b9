//! DCQCN with a byte counter, against numbers computed by hand from its equations.
use backwater_control::CodePoint::{self, Congestion as Ce, Undetermined as Ue};
use backwater_control::reaction::{Controller, Dcqcn, DcqcnConfig, Load, OnUe};
use backwater_units::{Bytes, Rate, Span, Time};

const LINE: Rate = Rate::from_gbps(40);

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn flow(config: &DcqcnConfig) -> Dcqcn {
    Dcqcn::new(config, LINE)
}

fn after(config: &DcqcnConfig, cnps: &[(u64, CodePoint)]) -> Dcqcn {
    let mut flow = flow(config);
    for &(at, code) in cnps {
        flow.on_cnp(config, us(at), code);
    }
    flow
}

#[test]
fn the_first_cut_is_to_three_quarters_in_the_authors_release() {
    // α = 0.5·255/256 + 1/256 = 0.501953125, then 1 − α/2 = 0.7490234375
    let cut = after(&DcqcnConfig::authors(), &[(0, Ce)]);
    assert_eq!(cut.rate(), Rate::from_bps(29_960_937_500));
}

#[test]
fn with_tcd_the_first_cut_is_to_two_fifths() {
    // α = 1.2·255/256 + 1/256 = 1.19921875, then 1 − α/2 = 0.400390625
    let cut = after(&DcqcnConfig { alpha_initial: 1.2, ..DcqcnConfig::authors() }, &[(0, Ce)]);
    assert_eq!(cut.rate(), Rate::from_bps(16_015_625_000));
}

#[test]
fn the_dcqcn_paper_halves_the_rate_at_the_first_cnp() {
    let config = DcqcnConfig::standard();
    let cut = after(&config, &[(0, Ce)]);
    assert_eq!(cut.rate(), Rate::from_gbps(20));
    assert!((cut.alpha(&config, us(0)) - 1.0).abs() < 1e-15);
    // One decay by 1/256 later the cut uses the α from before its CNP: 1 − (255/256)/2 = 0.501953125
    let second = after(&config, &[(0, Ce), (55, Ce)]);
    assert_eq!(second.target(), Rate::from_gbps(30), "the timer expired once: (20 + 40)/2");
    assert_eq!(second.rate(), Rate::from_bps(15_058_593_750));
}

#[test]
fn a_hundred_cnps_at_50_us_move_alpha_by_its_closed_form() {
    // Without decay α(n) = 1 + (α0 − 1)(255/256)^n: 1.2 becomes 1.185 after 20 and 1.135 after 100.
    let config = DcqcnConfig { alpha_initial: 1.2, ..DcqcnConfig::authors() };
    let mut flow = flow(&config);
    let mut distance = 0.2;
    for n in 1..=100 {
        flow.on_cnp(&config, us(50 * n), Ce);
        distance *= 255.0 / 256.0;
        assert!((flow.alpha(&config, us(50 * n)) - (1.0 + distance)).abs() < 1e-12);
    }
    assert_eq!(flow.rate(), config.min_rate);
}

/// The factors by which the 1st, 2nd, … of `count` CNPs at 50 µs cut the rate of a line fast enough that none meets Rmin.
fn factors(config: &DcqcnConfig, count: u64) -> Vec<f64> {
    let mut flow = Dcqcn::new(config, Rate::from_bps(1_000_000_000_000_000_000));
    let mut cut = |n| {
        let before = flow.rate().as_bps() as f64;
        flow.on_cnp(config, us(50 * n), Ce);
        flow.rate().as_bps() as f64 / before
    };
    (1..=count).map(&mut cut).collect()
}

#[test]
fn the_three_readings_of_alpha_1_2_cut_alike_at_first_and_stay_close_for_twenty_cnps() {
    let authors = DcqcnConfig::authors();
    // Initial α; coefficient of the cut; frozen α. α(n) = 1 + (α0 − 1)(255/256)^n: 1.18494 or 0.53765 after 20 CNPs.
    let readings = [
        (DcqcnConfig { alpha_initial: 1.2, ..authors }, 0.400_390_625, 0.407_529),
        (DcqcnConfig { cut: 1.2, ..authors }, 0.397_656_25, 0.354_824),
        (DcqcnConfig { alpha_initial: 1.2, g: 0.0, ..authors }, 0.4, 0.4),
    ];
    for (config, first, twentieth) in readings {
        assert_eq!(config.validate(), Ok(()));
        let factors = factors(&config, 20);
        assert!((factors[0] - first).abs() < 1e-12, "{}", factors[0]);
        assert!((factors[19] - twentieth).abs() < 1e-6, "{}", factors[19]);
    }
    // Without TCD: 0.749 at the first and, as α → 1, 0.731 at the 20th.
    let baseline = factors(&authors, 20);
    assert!((baseline[0] - 0.749_023_437_5).abs() < 1e-12 && (baseline[19] - 0.731_177).abs() < 1e-6);
}

#[test]
fn after_a_hundred_cnps_the_readings_of_alpha_1_2_have_parted() {
    // The distance from 1 shrinks to (255/256)^100 = 0.67611: cuts by 0.432, 0.206 and 0.400, without TCD by 0.669.
    let authors = DcqcnConfig::authors();
    for (config, factor) in [
        (DcqcnConfig { alpha_initial: 1.2, ..authors }, 0.432),
        (DcqcnConfig { cut: 1.2, ..authors }, 0.206),
        (DcqcnConfig { alpha_initial: 1.2, g: 0.0, ..authors }, 0.4),
        (authors, 0.669),
    ] {
        let mut flow = flow(&config);
        for n in 1..=100 {
            flow.on_cnp(&config, us(50 * n), Ce);
        }
        let cut = 1.0 - config.cut * flow.alpha(&config, us(5_000));
        assert!((cut - factor).abs() < 5e-4, "{cut}");
    }
}

#[test]
fn a_frozen_alpha_neither_rises_with_a_cnp_nor_decays_without() {
    let config = DcqcnConfig { alpha_initial: 1.2, g: 0.0, ..DcqcnConfig::authors() };
    let flow = after(&config, &[(0, Ce), (50, Ce)]);
    assert!((flow.alpha(&config, us(1_000_000)) - 1.2).abs() < f64::EPSILON);
    assert_eq!(flow.rate(), Rate::from_mbps(6_400));
}

#[test]
fn a_cut_by_more_than_everything_leaves_the_minimum() {
    let config = DcqcnConfig { alpha_initial: 2.0, cut: 2.0, ..DcqcnConfig::authors() };
    assert_eq!(config.validate(), Ok(()));
    assert_eq!(after(&config, &[(0, Ce)]).rate(), config.min_rate);
}

#[test]
fn alpha_decays_by_one_256th_in_every_55_us_without_a_cnp() {
    let config = DcqcnConfig::authors();
    let flow = after(&config, &[(0, Ce)]);
    let alpha = |at| flow.alpha(&config, at);
    let ratio = alpha(us(55)) / alpha(us(54));
    assert!((ratio - 255.0 / 256.0).abs() < 1e-15);
    // ln 2 / −ln(255/256) = 177.1 periods halve it
    assert!(alpha(us(55 * 177)) > 0.5 * alpha(us(0)) && alpha(us(55 * 178)) < 0.5 * alpha(us(0)));
}

#[test]
fn fast_recovery_halves_the_distance_to_the_target_four_times_then_the_target_rises() {
    let config = DcqcnConfig::authors();
    let mut flow = after(&config, &[(0, Ce)]);
    let mut rates = [0; 6];
    for (n, rate) in (1..).zip(&mut rates) {
        flow.advance(&config, us(55 * n - 1));
        flow.advance(&config, us(55 * n));
        *rate = flow.rate().as_bps();
    }
    // 40 G − 10 039 062 500/2^n for n = 1..4; then (previous + 40.04 G)/2, (previous + 40.08 G)/2, at most line.
    let expected =
        [34_980_468_750, 37_490_234_375, 38_745_117_187, 39_372_558_593, 39_706_279_296, 39_893_139_648];
    assert_eq!(rates, expected);
}

#[test]
fn a_flow_back_at_line_rate_has_no_timer_left() {
    let config = DcqcnConfig::authors();
    let mut flow = after(&config, &[(0, Ce)]);
    assert_eq!(flow.next_timer(&config), us(55));
    flow.advance(&config, us(1_000_000));
    assert_eq!((flow.rate(), flow.next_timer(&config)), (LINE, Time::MAX));
    assert!(!flow.advance(&config, Time::MAX));
}

#[test]
fn the_byte_counter_fires_when_more_than_10_mb_were_sent_since_the_cnp() {
    let config = DcqcnConfig::authors();
    let mut flow = after(&config, &[(0, Ce)]);
    for _ in 0..10_000 {
        assert!(!flow.on_sent(&config, us(1), &Load::of(1_000)));
    }
    assert!(flow.on_sent(&config, us(1), &Load::of(1_000)));
    assert_eq!(flow.rate(), Rate::from_bps(34_980_468_750));
}

#[test]
fn a_flow_without_cnp_counts_no_bytes() {
    let config = DcqcnConfig::authors();
    let mut flow = flow(&config);
    assert!((0..100).all(|_| !flow.on_sent(&config, us(1), &Load::of(u32::MAX))));
    assert_eq!(flow.next_timer(&config), Time::MAX);
}

/// A slow flow (200 Gbps line rate, cut to the minimum) whose byte counter fired five times within 55 µs.
fn hyper() -> (DcqcnConfig, Dcqcn) {
    let config = DcqcnConfig {
        alpha_initial: 2.0,
        byte_counter: Bytes::new(1_000),
        eighth_rule: false,
        ..DcqcnConfig::authors()
    };
    let mut flow = Dcqcn::new(&config, Rate::from_gbps(200));
    for _ in 0..2 {
        flow.on_cnp(&config, us(0), Ce);
    }
    for _ in 0..5 {
        flow.on_sent(&config, us(1), &Load::of(1_001));
    }
    (config, flow)
}

#[test]
fn only_the_timer_leads_to_hyper_increase_and_halves_itself_there() {
    let (config, mut flow) = hyper();
    let target = flow.target().as_bps();
    for n in 1..=4 {
        flow.advance(&config, us(55 * n));
    }
    // Bytes have brought the flow to the additive stage, where each timer expiry adds RAI = 40 Mbps.
    assert_eq!(flow.target().as_bps(), target + 4 * 40_000_000);
    assert_eq!(flow.next_timer(&config), us(275));
    flow.advance(&config, us(275));
    // Five of each: RHAI·(5 − 5 + 1) = 200 Mbps. The expiry itself was still set to a full period.
    assert_eq!(flow.target().as_bps(), target + 4 * 40_000_000 + 200_000_000);
    assert_eq!(flow.next_timer(&config), us(330));
    flow.advance(&config, us(330));
    assert_eq!(flow.next_timer(&config), us(330) + Span::from_ps(27_500_000));
}

#[test]
fn bytes_alone_do_not_lead_from_additive_to_hyper_increase() {
    let (config, _) = hyper();
    let mut flow = Dcqcn::new(&config, Rate::from_gbps(200));
    for _ in 0..2 {
        flow.on_cnp(&config, us(0), Ce);
    }
    // Five timer expiries lead to the additive stage; then the bytes catch up.
    flow.advance(&config, us(275));
    let target = flow.target().as_bps();
    for _ in 0..6 {
        flow.on_sent(&config, us(276), &Load::of(1_001));
    }
    assert_eq!(flow.target().as_bps(), target + 6 * 40_000_000);
    flow.advance(&config, us(330));
    // Six of each: 2·RHAI
    assert_eq!(flow.target().as_bps(), target + 6 * 40_000_000 + 400_000_000);
}

#[test]
fn hyper_increase_grows_with_the_lesser_of_the_two_counts() {
    let (config, mut flow) = hyper();
    flow.advance(&config, us(275));
    let before = flow.target().as_bps();
    // Sixth and seventh byte event (the seventh after half the bytes): min(5, 6) − 5 + 1 = 1 each time.
    flow.on_sent(&config, us(275), &Load::of(1_001));
    flow.on_sent(&config, us(275), &Load::of(501));
    assert_eq!(flow.target().as_bps(), before + 2 * 200_000_000);
    flow.advance(&config, us(330));
    // Six expiries, seven byte events: 2·RHAI
    assert_eq!(flow.target().as_bps(), before + 4 * 200_000_000);
}

#[test]
fn a_target_ten_times_the_rate_is_divided_by_eight_before_any_increase() {
    let config = DcqcnConfig { alpha_initial: 2.0, ..DcqcnConfig::authors() };
    let mut flow = after(&config, &[(0, Ce)]);
    assert_eq!((flow.rate(), flow.target()), (Rate::from_mbps(100), LINE));
    flow.advance(&config, us(55));
    assert_eq!((flow.rate(), flow.target()), (Rate::from_mbps(2_550), Rate::from_gbps(5)));
    flow.advance(&config, us(110));
    assert_eq!((flow.rate(), flow.target()), (Rate::from_mbps(3_775), Rate::from_gbps(5)));
}

#[test]
fn ue_under_reset_hold_keeps_the_rate_flat_for_275_us_after_the_last_one() {
    let config = DcqcnConfig::authors();
    let mut flow = after(&config, &[(0, Ce), (50, Ue), (100, Ue)]);
    let held = flow.rate();
    assert_eq!((held, flow.target()), (Rate::from_bps(29_960_937_500), held));
    flow.advance(&config, us(100 + 275) - Span::from_ps(1));
    assert_eq!(flow.rate(), held);
    flow.advance(&config, us(100 + 275));
    // Fifth expiry: the target rises by 40 Mbps, the rate by half of it.
    assert_eq!(flow.rate(), Rate::from_bps(29_980_937_500));
}

#[test]
fn ue_every_50_us_under_reset_hold_freezes_alpha() {
    let config = DcqcnConfig::authors();
    let mut flow = after(&config, &[(0, Ce)]);
    for n in 1..100 {
        flow.on_cnp(&config, us(50 * n), Ue);
    }
    assert!((flow.alpha(&config, us(50 * 99)) - 0.501_953_125).abs() < 1e-15);
}

#[test]
fn ue_under_timer_hold_postpones_the_increase_and_lets_alpha_decay() {
    let config = DcqcnConfig { on_ue: OnUe::TimerHold, ..DcqcnConfig::authors() };
    let mut flow = after(&config, &[(0, Ce), (50, Ue), (100, Ue)]);
    assert_eq!((flow.rate(), flow.target()), (Rate::from_bps(29_960_937_500), LINE));
    assert!((flow.alpha(&config, us(110)) - 0.501_953_125 * (255.0 / 256.0) * (255.0 / 256.0)).abs() < 1e-15);
    flow.advance(&config, us(155));
    assert_eq!(flow.rate(), Rate::from_bps(34_980_468_750));
}

#[test]
fn ue_that_is_ignored_changes_nothing() {
    let config = DcqcnConfig { on_ue: OnUe::Ignore, ..DcqcnConfig::authors() };
    assert_eq!(after(&config, &[(0, Ce), (50, Ue)]), after(&config, &[(0, Ce)]));
}

#[test]
fn no_reaction_to_ue_lowers_the_rate() {
    for on_ue in [OnUe::ResetHold, OnUe::TimerHold, OnUe::Ignore] {
        let config = DcqcnConfig { on_ue, ..DcqcnConfig::authors() };
        assert_eq!(after(&config, &[(0, Ue), (50, Ue)]).rate(), LINE);
    }
}

#[test]
fn without_the_clamp_the_target_survives_a_second_cnp_unless_a_byte_event_came_between() {
    let config = DcqcnConfig { clamp_target: false, ..DcqcnConfig::authors() };
    assert_eq!(after(&config, &[(0, Ce), (50, Ce)]).target(), LINE);
    let mut flow = after(&config, &[(0, Ce)]);
    flow.on_sent(&config, us(1), &Load::of(10_000_001));
    let rate = flow.rate();
    flow.on_cnp(&config, us(50), Ce);
    assert_eq!(flow.target(), rate);
}

#[test]
fn parameters_without_meaning_are_refused_by_name() {
    let authors = DcqcnConfig::authors();
    let refused = |config: DcqcnConfig| config.validate().unwrap_err().parameter;
    assert_eq!(refused(DcqcnConfig { alpha_initial: 2.1, ..authors }), "alpha-initial");
    assert_eq!(refused(DcqcnConfig { g: -0.1, ..authors }), "g");
    assert_eq!(refused(DcqcnConfig { cut: 0.0, ..authors }), "cut");
    assert_eq!(refused(DcqcnConfig { cut: 2.1, ..authors }), "cut");
    assert_eq!(refused(DcqcnConfig { rate_timer: Span::ZERO, ..authors }), "rate-timer");
    assert_eq!(refused(DcqcnConfig { alpha_timer: Span::ZERO, ..authors }), "alpha-timer");
    assert_eq!(refused(DcqcnConfig { byte_counter: Bytes::ZERO, ..authors }), "byte-counter");
    assert_eq!(refused(DcqcnConfig { fast_recovery: 0, ..authors }), "fast-recovery");
    assert_eq!(refused(DcqcnConfig { rate_ai: Rate::ZERO, ..authors }), "rate-ai");
    assert_eq!(refused(DcqcnConfig { min_rate: Rate::ZERO, ..authors }), "min-rate");
    assert_eq!(DcqcnConfig::standard().validate(), Ok(()));
}
