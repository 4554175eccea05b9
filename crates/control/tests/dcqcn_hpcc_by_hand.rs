//! The HPCC simulator's DCQCN, against numbers computed by hand from its rules.
use backwater_control::CodePoint::{Capable, Congestion as Ce, Undetermined as Ue};
use backwater_control::reaction::{Controller, DcqcnHpcc, DcqcnHpccConfig, OnUe, Reaction, ReactionConfig};
use backwater_units::{Rate, Span, Time};

const LINE: Rate = Rate::from_gbps(100);

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

fn notified(config: &DcqcnHpccConfig, at_ns: impl IntoIterator<Item = u64>) -> DcqcnHpcc {
    let mut flow = DcqcnHpcc::new(config, LINE);
    for at in at_ns {
        flow.on_notification(config, ns(at), Ce);
    }
    flow
}

fn close(rate: Rate, bps: f64) -> bool {
    (rate.as_bps() as f64 - bps).abs() < 10.0
}

#[test]
fn the_first_cnp_cuts_nothing_and_the_check_4_us_later_does() {
    let config = DcqcnHpccConfig::hpcc(LINE);
    let mut flow = notified(&config, [0]);
    assert_eq!((flow.rate(), flow.next_timer(&config)), (LINE, ns(4_001)));
    flow.advance(&config, ns(4_001));
    // Four slots without a further CNP: α = (255/256)^4 = 0.984466...; the cut is to 1 − α/2.
    let alpha = (255.0_f64 / 256.0).powi(4);
    assert!(close(flow.rate(), 1e11 * (1.0 - alpha / 2.0)), "{}", flow.rate());
    assert_eq!(flow.target(), LINE);
    assert_eq!(flow.next_timer(&config), ns(304_001));
}

#[test]
fn an_echo_in_every_ack_keeps_alpha_at_one_and_halves_the_rate_every_4_us() {
    let config = DcqcnHpccConfig::hpcc(LINE);
    let flow = notified(&config, (0..=16_000).step_by(80));
    // Checks at 4.001, 8.001 and 12.001 µs; that of 16.001 is still to come.
    assert!((flow.alpha(&config, ns(16_000)) - 1.0).abs() < 1e-12);
    assert!(close(flow.rate(), 12.5e9), "{}", flow.rate());
    assert_eq!(flow.next_timer(&config), ns(16_001));
}

#[test]
fn a_late_cnp_waits_for_the_next_check_of_the_grid_that_the_first_one_began() {
    let config = DcqcnHpccConfig::hpcc(LINE);
    let mut flow = notified(&config, [0]);
    flow.advance(&config, ns(4_001));
    flow.on_notification(&config, ns(101_500), Ce);
    assert_eq!(flow.next_timer(&config), ns(104_001));
}

#[test]
fn recovery_goes_half_way_once_then_the_target_rises_by_20_and_200_mbps() {
    let config =
        DcqcnHpccConfig { clamp_target: true, alpha_initial: 1.0, g: 1e-12, ..DcqcnHpccConfig::hpcc(LINE) };
    // With a vanishing gain α stays 1: two cuts to 25 Gbps, the target clamped to 50 Gbps.
    let mut flow = notified(&config, [0, 5_000]);
    let mut seen = [(0, 0); 3];
    for (n, seen) in (1..).zip(&mut seen) {
        flow.advance(&config, ns(8_001 + 300_000 * n));
        *seen = (flow.rate().as_bps() / 100_000, flow.target().as_bps() / 100_000);
    }
    // In units of 100 kbps: 37.5 of 50; (37.5 + 50.02)/2 = 43.76; (43.76 + 50.22)/2 = 46.99
    assert_eq!(seen, [(375_000, 500_000), (437_600, 500_200), (469_900, 502_200)]);
}

#[test]
fn without_the_clamp_the_target_falls_only_if_an_increase_came_since_the_last_cut() {
    let config = DcqcnHpccConfig::hpcc(LINE);
    let twice = {
        let mut flow = notified(&config, [0, 5_000]);
        flow.advance(&config, ns(8_001));
        flow
    };
    assert_eq!(twice.target(), LINE);
    let mut raised = notified(&config, [0]);
    raised.advance(&config, ns(304_001));
    let rate = raised.rate();
    raised.on_notification(&config, ns(305_000), Ce);
    raised.advance(&config, ns(308_001));
    assert_eq!(raised.target(), rate);
    raised.on_notification(&config, ns(309_000), Ce);
    raised.advance(&config, ns(312_001));
    assert_eq!(raised.target(), rate);
}

#[test]
fn an_increase_and_a_check_at_one_instant_come_in_this_order() {
    // Cut at 4.001 µs, so the increase is due at 304.001; a CNP at 302 µs has that check find it.
    let config = DcqcnHpccConfig::hpcc(LINE);
    let mut flow = notified(&config, [0]);
    flow.advance(&config, ns(4_001));
    let halfway = u64::midpoint(flow.rate().as_bps(), LINE.as_bps());
    flow.on_notification(&config, ns(302_000), Ce);
    flow.advance(&config, ns(304_001));
    assert!(close(flow.target(), halfway as f64), "raised, then cut from there");
    assert!(flow.rate() < flow.target());
}

#[test]
fn alpha_forgets_a_lonely_cnp_slot_by_slot() {
    let config = DcqcnHpccConfig::hpcc(LINE);
    let mut flow = notified(&config, [0, 10_500]);
    // Ten slots decay, the eleventh holds the CNP, nine more decay.
    let keep = 255.0_f64 / 256.0;
    let expected = (keep.powi(11) + 1.0 / 256.0) * keep.powi(9);
    assert!((flow.alpha(&config, ns(20_000)) - expected).abs() < 1e-12);
    flow.advance(&config, ns(12_001));
    assert!((flow.alpha(&config, ns(20_000)) - expected).abs() < 1e-12);
}

#[test]
fn an_idle_second_costs_no_loop_and_ends_at_line_rate() {
    let config = DcqcnHpccConfig::hpcc(LINE);
    let mut flow = notified(&config, (0..400_000).step_by(80));
    assert_eq!(flow.rate(), config.min_rate);
    assert!(flow.advance(&config, Time::from_ps(1_000_000_000_000)));
    assert_eq!((flow.rate(), flow.next_timer(&config)), (LINE, Time::MAX));
    assert!(flow.alpha(&config, Time::from_ps(1_000_000_000_000)) < 1e-300);
}

#[test]
fn ue_holds_the_rate_as_in_the_other_variant() {
    let config = DcqcnHpccConfig { on_ue: OnUe::ResetHold, ..DcqcnHpccConfig::hpcc(LINE) };
    let mut flow = notified(&config, [0]);
    flow.advance(&config, ns(4_001));
    let (rate, alpha) = (flow.rate(), flow.alpha(&config, ns(4_001)));
    for n in 1..10_000 {
        flow.on_notification(&config, ns(4_001 + 80 * n), Ue);
    }
    assert_eq!((flow.rate(), flow.target()), (rate, rate));
    assert!(
        (flow.alpha(&config, ns(804_000)) - alpha).abs() < 1e-15,
        "ACKs come within each slot: no slot ends"
    );

    let ignoring = DcqcnHpccConfig { on_ue: OnUe::Ignore, ..config };
    let mut flow = notified(&ignoring, [0]);
    flow.on_notification(&ignoring, ns(300_000), Ue);
    flow.advance(&ignoring, ns(304_001));
    assert!(flow.rate() > rate);
}

#[test]
fn its_cnp_is_a_bit_in_the_ack_and_an_unmarked_ack_is_nothing() {
    let config = ReactionConfig::DcqcnHpcc(DcqcnHpccConfig::hpcc(LINE));
    let mut flow = Reaction::new(&config, LINE);
    flow.on_echo(&config, ns(0), Capable);
    assert_eq!(flow.next_timer(&config), Time::MAX);
    flow.on_echo(&config, ns(100), Ce);
    assert_eq!(flow.next_timer(&config), ns(4_101));
}

#[test]
fn defaults_scale_with_the_line_as_in_run_py() {
    let at = |gbps| DcqcnHpccConfig::hpcc(Rate::from_gbps(gbps));
    assert_eq!((at(25).rate_ai, at(25).rate_hai), (Rate::from_mbps(5), Rate::from_mbps(50)));
    assert_eq!((at(100).rate_ai, at(100).rate_hai), (Rate::from_mbps(20), Rate::from_mbps(200)));
    assert_eq!(DcqcnHpccConfig::hpcc_paper(LINE).rate_timer, Span::from_us(55));
    assert_eq!(at(100).validate(), Ok(()));
    let refused = DcqcnHpccConfig { decrease_interval: Span::ZERO, ..at(100) }.validate();
    assert_eq!(refused.unwrap_err().parameter, "decrease-interval");
}
