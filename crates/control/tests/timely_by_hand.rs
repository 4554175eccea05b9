//! TIMELY in its author's form, against numbers computed by hand. At 40 Gbps with a minRTT of 32 µs δ is 40 Mbps.
use backwater_control::CodePoint::{self, Capable, Congestion, NotCapable, Undetermined};
use backwater_control::reaction::{Controller, Timely, TimelyConfig, TimelyForm, TimelyOnUe};
use backwater_units::{Rate, Span, Time};

const LINE: Rate = Rate::from_gbps(40);

fn config() -> TimelyConfig {
    TimelyConfig::authors(LINE, Span::from_us(32))
}

/// Feeds a completion at `at` µs with an RTT of `rtt` µs.
fn complete(flow: &mut Timely, config: &TimelyConfig, at: u64, rtt: u64, echo: CodePoint) -> bool {
    flow.on_completion(config, Time::ZERO + Span::from_us(at), Span::from_us(rtt), echo)
}

/// A new flow after completions given as (instant, RTT) in µs.
fn after(config: &TimelyConfig, completions: &[(u64, u64)]) -> Timely {
    let mut flow = Timely::new(LINE);
    for &(at, rtt) in completions {
        complete(&mut flow, config, at, rtt, Capable);
    }
    flow
}

/// Whether the rate is this many bit/s; floating point may lose the last of them.
#[track_caller]
fn assert_rate(flow: &Timely, bps: u64) {
    assert!(flow.rate().as_bps().abs_diff(bps) <= 1, "{} instead of {}", flow.rate(), Rate::from_bps(bps));
}

#[test]
fn the_first_completion_has_no_gradient() {
    let flow = after(&config(), &[(100, 300)]);
    assert_eq!(flow.rate(), LINE);
    assert!(flow.gradient(&config()).abs() < f64::EPSILON);
}

#[test]
fn above_thigh_the_rate_falls_in_proportion_to_the_excess() {
    // 1 − 0.8·(1 − 500/1000) = 0.6
    assert_rate(&after(&config(), &[(0, 1_000)]), 24_000_000_000);
    // With TCD's β: 1 − 1.6·(1 − 500/625) = 0.68
    assert_rate(&after(&TimelyConfig { beta: 1.6, ..config() }, &[(0, 625)]), 27_200_000_000);
}

#[test]
fn a_decrease_above_thigh_is_weaker_the_sooner_it_follows_the_last_completion() {
    // 8 of 32 µs: f = 0.25 and 1 − 0.25·0.8·0.5 = 0.9; after 32 µs and after 64 µs 0.6.
    assert_rate(&after(&config(), &[(0, 1_000), (8, 1_000)]), 21_600_000_000);
    assert_rate(&after(&config(), &[(0, 1_000), (32, 1_000)]), 14_400_000_000);
    assert_rate(&after(&config(), &[(0, 1_000), (64, 1_000)]), 14_400_000_000);
}

#[test]
fn below_tlow_the_rate_rises_by_delta_per_min_rtt_whatever_the_gradient() {
    assert_rate(&after(&config(), &[(0, 1_000), (32, 49)]), 24_040_000_000);
    // 4 µs later f = 1/8, and a growing RTT changes nothing: +5 Mbps.
    let steep = TimelyConfig { ewma: 1.0, ..config() };
    let flow = after(&steep, &[(0, 1_000), (32, 20), (36, 49)]);
    assert!(flow.gradient(&steep) > 0.9);
    assert_rate(&flow, 24_045_000_000);
}

#[test]
fn two_completions_of_one_instant_raise_the_rate_once() {
    assert_rate(&after(&config(), &[(0, 1_000), (32, 40), (32, 40)]), 24_040_000_000);
}

#[test]
fn between_the_thresholds_a_growing_rtt_lowers_the_rate_by_the_averaged_gradient() {
    // 100 → 132 µs: avgDiff 0.02·32 = 0.64 µs, gradient 0.02, 1 − 0.8·0.02 = 0.984
    let mut flow = after(&config(), &[(0, 100), (32, 132)]);
    assert!((flow.gradient(&config()) - 0.02).abs() < 1e-12);
    assert_rate(&flow, 39_360_000_000);
    // 132 → 132 µs: the average fades to 0.98·0.02 = 0.0196, 1 − 0.8·0.0196 = 0.98432. No f here: 1 µs is enough.
    complete(&mut flow, &config(), 33, 132, Capable);
    assert_rate(&flow, 38_742_835_200);
    // 132 → 100 µs: 0.98·0.0196 − 0.02 = −0.000792, so +δ
    complete(&mut flow, &config(), 65, 100, Capable);
    assert!((flow.gradient(&config()) + 0.000_792).abs() < 1e-12);
    assert_rate(&flow, 38_782_835_200);
}

#[test]
fn a_gradient_of_exactly_zero_raises_the_rate_with_ue_or_without() {
    let steep = TimelyConfig { ewma: 1.0, ..config() };
    for echo in [Capable, Undetermined] {
        let mut flow = after(&steep, &[(0, 1_000), (32, 400)]);
        complete(&mut flow, &steep, 64, 400, echo);
        assert!(flow.gradient(&steep).abs() < f64::EPSILON);
        assert_rate(&flow, 24_080_000_000);
    }
}

#[test]
fn both_thresholds_belong_to_the_middle_band() {
    // Falling to Tlow and rising to it: +δ, then 1 − 0.8·0.5 with a weight of 1 (34 → 50 µs is half a minRTT).
    let steep = TimelyConfig { ewma: 1.0, ..config() };
    assert_rate(&after(&steep, &[(0, 1_000), (32, 50)]), 24_040_000_000);
    assert_rate(&after(&steep, &[(0, 1_000), (32, 34), (64, 50)]), 14_424_000_000);
    // At Thigh a falling RTT raises the rate; 1 µs more lowers it by 0.8/501.
    assert_rate(&after(&config(), &[(0, 1_000), (32, 500)]), 24_040_000_000);
    assert_rate(&after(&config(), &[(0, 1_000), (32, 501)]), 23_961_676_646);
}

#[test]
fn after_five_falling_rtts_in_a_row_the_increase_is_five_times_as_large() {
    let mut flow = after(&config(), &[(0, 1_000)]);
    let mut expected = 24_000_000_000;
    for (at, rtt, step) in [
        (32, 400, 40),
        (64, 390, 40),
        (96, 380, 40),
        (128, 370, 40),
        (160, 360, 200),
        (192, 350, 200),
        // The average still falls, but the count begins anew: with a rise as well as with an equal RTT.
        (224, 351, 40),
        (256, 350, 40),
        (288, 350, 40),
        (320, 349, 40),
    ] {
        complete(&mut flow, &config(), at, rtt, Capable);
        expected += step * 1_000_000;
        assert_rate(&flow, expected);
    }
}

#[test]
fn a_hyperactive_increase_too_is_shared_out_over_a_min_rtt_and_does_not_exist_below_tlow() {
    let falling = [(0, 1_000), (32, 400), (64, 390), (96, 380), (128, 370)];
    let mut flow = after(&config(), &falling);
    complete(&mut flow, &config(), 136, 360, Capable);
    assert_rate(&flow, 24_160_000_000 + 50_000_000);
    complete(&mut flow, &config(), 168, 40, Capable);
    assert_rate(&flow, 24_160_000_000 + 50_000_000 + 40_000_000);
}

#[test]
fn one_completion_never_takes_more_than_half_of_the_rate() {
    let tcd = TimelyConfig { beta: 1.6, ..config() };
    // 1 − 1.6·(1 − 500/5000) < 0
    assert_rate(&after(&tcd, &[(0, 5_000)]), 20_000_000_000);
    // The floor binds from 1.4545·Thigh on: 1 − 1.6·(1 − 500/727) = 0.50041, at 728 µs 0.49890.
    assert_rate(&after(&tcd, &[(0, 727)]), 20_016_506_189);
    assert_rate(&after(&tcd, &[(0, 728)]), 20_000_000_000);
    // Likewise from a gradient of 0.3125 on: 9 µs are 0.28125, 11 µs 0.34375.
    let steep = TimelyConfig { ewma: 1.0, ..tcd };
    assert_rate(&after(&steep, &[(0, 100), (32, 109)]), 22_000_000_000);
    assert_rate(&after(&steep, &[(0, 100), (32, 111)]), 20_000_000_000);
    // Without a floor the rate falls to the minimum at once.
    assert_eq!(after(&TimelyConfig { floor: 0.0, ..tcd }, &[(0, 5_000)]).rate(), tcd.min_rate);
}

#[test]
fn the_rate_stays_between_the_minimum_and_the_line() {
    let config = config();
    let mut flow = Timely::new(LINE);
    for n in 1..=20 {
        complete(&mut flow, &config, 32 * n, 5_000, Capable);
    }
    assert_eq!(flow.rate(), config.min_rate);
    for n in 21..=3_000 {
        complete(&mut flow, &config, 32 * n, 20, Capable);
    }
    assert_eq!(flow.rate(), LINE);
    // A host link slower than Rmin sets the rate.
    let mut slow = Timely::new(Rate::from_mbps(10));
    complete(&mut slow, &config, 0, 5_000, Capable);
    assert_eq!(slow.rate(), Rate::from_mbps(10));
}

#[test]
fn a_segment_that_met_only_undetermined_ports_holds_the_rate_and_is_remembered_all_the_same() {
    let (hold, ignore) = (config(), TimelyConfig { on_ue: TimelyOnUe::Ignore, ..config() });
    let (mut held, mut cut) = (after(&hold, &[(0, 100)]), after(&ignore, &[(0, 100)]));
    assert!(!complete(&mut held, &hold, 32, 132, Undetermined));
    assert!(complete(&mut cut, &ignore, 32, 132, Undetermined));
    assert_eq!(held.rate(), LINE);
    assert_rate(&cut, 39_360_000_000);
    assert!((held.gradient(&hold) - cut.gradient(&ignore)).abs() < f64::EPSILON);
    // The next one without UE lowers both by the same factor, 0.98432.
    complete(&mut held, &hold, 64, 132, Capable);
    complete(&mut cut, &ignore, 64, 132, Capable);
    assert_rate(&held, 39_372_800_000);
    assert_rate(&cut, 38_742_835_200);
}

#[test]
fn only_ue_holds_and_only_where_a_gradient_would_lower_the_rate() {
    let hold = config();
    for echo in [NotCapable, Capable, Congestion] {
        let mut flow = after(&hold, &[(0, 100)]);
        complete(&mut flow, &hold, 32, 132, echo);
        assert_rate(&flow, 39_360_000_000);
    }
    // Above Thigh, below Tlow and with a falling RTT: as without UE, and with the increase counted on.
    let ue = |at, rtt| {
        let mut flow = after(&hold, &[(0, 1_000)]);
        complete(&mut flow, &hold, at, rtt, Undetermined);
        flow
    };
    assert_rate(&ue(32, 1_000), 14_400_000_000);
    assert_rate(&ue(32, 40), 24_040_000_000);
    assert_rate(&ue(32, 400), 24_040_000_000);
    let mut flow = after(&hold, &[(0, 1_000)]);
    for n in 1..=5 {
        complete(&mut flow, &hold, 32 * n, 400 - n, Undetermined);
    }
    assert_rate(&flow, 24_000_000_000 + (4 + 5) * 40_000_000);
}

#[test]
fn hold_keeps_the_count_of_falling_rtts_true() {
    // Four falls, a held rise, then a fall: the rise has ended the row though it moved no rate.
    let hold = TimelyConfig { ewma: 1.0, ..config() };
    let mut flow = after(&hold, &[(0, 1_000), (32, 400), (64, 390), (96, 380), (128, 370)]);
    assert!(!complete(&mut flow, &hold, 160, 371, Undetermined));
    complete(&mut flow, &hold, 192, 360, Capable);
    assert_rate(&flow, 24_000_000_000 + 5 * 40_000_000);
}

#[test]
fn delta_grows_with_the_line_as_ten_mbps_at_ten_gbps() {
    let add = |gbps| TimelyConfig::authors(Rate::from_gbps(gbps), Span::from_us(20)).add;
    assert_eq!([10, 40, 100].map(add), [10, 40, 100].map(Rate::from_mbps));
}

#[test]
fn parameters_without_meaning_are_refused_by_name() {
    let good = config();
    assert_eq!(good.validate(), Ok(()));
    let refused = |config: TimelyConfig| config.validate().unwrap_err().parameter;
    for ewma in [0.0, 1.1, f64::NAN] {
        assert_eq!(refused(TimelyConfig { ewma, ..good }), "ewma");
    }
    for beta in [0.0, -0.8, f64::INFINITY, f64::NAN] {
        assert_eq!(refused(TimelyConfig { beta, ..good }), "beta");
    }
    for floor in [-0.1, 1.0, f64::NAN] {
        assert_eq!(refused(TimelyConfig { floor, ..good }), "floor");
    }
    let zero = Span::ZERO;
    assert_eq!(refused(TimelyConfig { t_low: Span::from_us(501), ..good }), "t-low");
    assert_eq!(refused(TimelyConfig { t_low: zero, t_high: zero, ..good }), "t-high");
    assert_eq!(refused(TimelyConfig { add: Rate::ZERO, ..good }), "add");
    assert_eq!(refused(TimelyConfig { hai_after: 0, ..good }), "hai-after");
    assert_eq!(refused(TimelyConfig { hai_factor: 0, ..good }), "hai-factor");
    assert_eq!(refused(TimelyConfig { min_rtt: zero, ..good }), "min-rtt");
    assert_eq!(refused(TimelyConfig { min_rate: Rate::ZERO, ..good }), "min-rate");
}

#[test]
fn once_per_round_trip_it_is_the_hpcc_simulators() {
    // Weight 7/8, β 0.8, minRTT 20 µs, δ 40 Mbps.
    let config = TimelyConfig {
        form: TimelyForm::RoundTrip,
        ewma: 0.875,
        min_rtt: Span::from_us(20),
        floor: 0.0,
        ..config()
    };
    // The first round trip only leaves its time. Then 20 µs more: 1 − 0.8 · 17.5/20 = 0.3. Then none: the average is an eighth, and the
    // factor 1 − 0.8 · 2.1875/20 = 0.9125.
    let mut steps = vec![(0, 60)];
    assert_rate(&after(&config, &steps), 40_000_000_000);
    steps.push((1, 80));
    assert_rate(&after(&config, &steps), 12_000_000_000);
    steps.push((2, 80));
    assert_rate(&after(&config, &steps), 10_950_000_000);
    // Five increases of δ, then 5 δ, however short the time between them.
    steps.push((3, 60));
    steps.extend([(4, 40), (5, 40), (6, 40), (7, 40)]);
    assert_rate(&after(&config, &steps), 11_150_000_000);
    steps.push((8, 40));
    assert_rate(&after(&config, &steps), 11_350_000_000);
    // Beyond Thigh: 1 − 0.8 · (1 − 500/1000) = 0.6.
    steps.push((9, 1_000));
    assert_rate(&after(&config, &steps), 6_810_000_000);
}
