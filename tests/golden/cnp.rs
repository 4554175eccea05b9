//! The round trip of a congestion notification: a ──40G──▶ s ──20G──▶ b, 1 us each; 1000 B take 0.2 and 0.4 us, a CNP of
//! 64 B takes 25.6 ns from b and 12.8 ns to a.
//!
//! Six packets are at s at 1.2, 1.4 … 2.2 us. The first passes; the others leave at 1.6, 2.0, 2.4, 2.8, 3.2 us and leave
//! 0, 1, 2, 1, 0 packets behind. Above 1000 B everything is marked, so packet 3 is, at 2.4 us, and is at b at 3.8 us.
use backwater_control::detector::{Detector, Red};
use backwater_control::notify::{Mode, NotifyConfig};
use backwater_control::reaction::{DcqcnConfig, ReactionConfig};
use backwater_fabric::Spec;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{chain, flow, ideal, per_port, run_until, us};

use crate::{link, table};

fn scene(mode: Mode) -> Spec {
    let flows = vec![flow(0, 1, 6000, Time::ZERO, Pacing::Controlled)];
    let mut spec = ideal(chain(&[link(40), link(20)]), flows);
    let step = Red::new(Bytes::new(1000), Bytes::new(1000), 1.0, Bytes::ZERO).expect("a step");
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(step));
    spec.pairs[0].reaction = ReactionConfig::Dcqcn(DcqcnConfig::authors());
    let interval = Span::from_us(50);
    spec.pairs[0].notify = Some(NotifyConfig { interval, mode, fraction: 0.0 });
    spec
}

/// The sender's rate as it was at `at`, before anything of that instant.
fn rate_before(mode: Mode, at: u64) -> Rate {
    let mut spec = scene(mode);
    spec.probe.sample = Some(Span::from_ps(at));
    spec.probe.rates = vec![true];
    // A run ends when nothing is left to do: this keeps it going.
    spec.flows.push(flow(1, 0, 1000, us(99), Pacing::LineRate));
    let outcome = run_until(spec, us(100));
    let mut samples = outcome.records.rates.iter();
    let sample = samples.find(|sample| sample.time.as_ps() == at);
    sample.expect("a sample at this time").rate
}

#[test]
fn one_packet_of_six_leaves_more_than_1000_bytes_behind_and_is_marked() {
    let expected = "
    2.4000 us  s0->b marks packet 3 of flow 0 CE
    4.6000 us  flow 0 complete
";
    assert_eq!(table(scene(Mode::FirstMark), us(100)), expected);
    let outcome = run_until(scene(Mode::FirstMark), us(100));
    let flow = &outcome.flows[0];
    assert_eq!((flow.ce_packets, flow.cnps_ce, flow.cnps_ue), (1, 1, 0));
}

#[test]
fn a_cnp_sent_at_once_cuts_the_rate_one_way_and_two_serialisations_later() {
    // 3.8 + 0.0256 + 1 + 0.0128 + 1
    const AT: u64 = 5_838_400;
    assert_eq!(rate_before(Mode::FirstMark, AT), Rate::from_gbps(40));
    // alpha = 255/256 · 0.5 + 1/256 = 0.501953125; 40 Gbps · (1 - alpha/2) = 40 Gbps · 0.7490234375
    assert_eq!(rate_before(Mode::FirstMark, AT + 1), Rate::from_bps(29_960_937_500));
}

#[test]
fn on_the_grid_the_cnp_leaves_50_us_after_the_flows_first_packet_came() {
    // packet 0 is at b at 0.2 + 1 + 0.4 + 1 = 2.6 us; 52.6 + 2.0384
    const AT: u64 = 54_638_400;
    assert_eq!(rate_before(Mode::Grid, AT), Rate::from_gbps(40));
    assert_eq!(rate_before(Mode::Grid, AT + 1), Rate::from_bps(29_960_937_500));
}

#[test]
fn fast_recovery_halves_the_distance_to_the_old_rate_after_55_us() {
    // The cut at 5.8384 us starts the rate timer; the target is the old rate: (29.9609375 + 40) / 2 Gbps
    const AT: u64 = 5_838_400 + 55_000_000;
    assert_eq!(rate_before(Mode::FirstMark, AT + 1), Rate::from_bps(34_980_468_750));
}
