//! Messages of one connection share a queue pair: a ──40G──▶ b, 1 us; 1000 B take 200 ns.
use backwater_control::detector::{Detector, Red};
use backwater_control::notify::{Mode, NotifyConfig};
use backwater_control::reaction::{DcqcnConfig, ReactionConfig, TimelyConfig};
use backwater_fabric::record::FlowRecord;
use backwater_fabric::{AckSpec, SegmentSpec, Spec};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{chain, flow, ideal, per_port, run, run_until, us};

use crate::{link, table};

fn scene(flows: Vec<Flow>) -> Spec {
    ideal(chain(&[link(40)]), flows)
}

/// A message of connection 5.
fn message(bytes: u64, start: Time, pacing: Pacing) -> Flow {
    flow(0, 1, bytes, start, pacing).on(5)
}

/// Time at the source in nanoseconds: behind earlier messages, paced, behind the gate, behind other flows.
fn parts(flow: &FlowRecord) -> [u64; 4] {
    [flow.behind, flow.paced, flow.nic_held, flow.nic_queue].map(|part| part.as_ps() / 1000)
}

#[test]
fn a_message_waits_until_the_one_before_it_on_the_connection_has_been_sent() {
    let messages = [3000, 1000, 2000].map(|bytes| message(bytes, Time::ZERO, Pacing::LineRate));
    // on the wire: 0 0 0 1 2 2; where queue pairs of their own would take turns
    let expected = "
    1.6000 us  flow 0 complete
    1.8000 us  flow 1 complete
    2.2000 us  flow 2 complete
";
    assert_eq!(table(scene(messages.to_vec()), us(10)), expected);
    let outcome = run(scene(messages.to_vec()));
    // FCT = 0.6 us behind message 0 + 0.2 us on the wire + 1 us; 0.8 us behind 0 and 1 + 0.4 + 1
    assert_eq!(outcome.flows.iter().map(|f| f.behind.as_ps()).collect::<Vec<_>>(), [0, 600_000, 800_000]);
    assert!(outcome.flows.iter().all(|f| f.connection == Some(5)));
}

#[test]
fn a_connection_takes_turns_with_other_queue_pairs_as_one_of_them() {
    let spec = scene(vec![
        message(2000, Time::ZERO, Pacing::LineRate),
        message(1000, Time::ZERO, Pacing::LineRate),
        flow(0, 1, 3000, Time::ZERO, Pacing::LineRate),
    ]);
    // on the wire: 0 2 0 2 1 2
    let expected = "
    1.6000 us  flow 0 complete
    2.0000 us  flow 1 complete
    2.2000 us  flow 2 complete
";
    assert_eq!(table(spec, us(10)), expected);
}

#[test]
fn a_message_that_finds_its_connection_idle_is_sent_at_once() {
    let spec =
        scene(vec![message(1000, Time::ZERO, Pacing::LineRate), message(1000, us(5), Pacing::LineRate)]);
    let expected = "
    1.2000 us  flow 0 complete
    6.2000 us  flow 1 complete
";
    assert_eq!(table(spec, us(10)), expected);
}

#[test]
fn an_application_s_pace_goes_on_from_message_to_message() {
    let pacing = Pacing::Constant { rate: Rate::from_gbps(10), jitter_ppm: 0, catch_up: true };
    let outcome = run(scene(vec![message(1000, Time::ZERO, pacing), message(1000, Time::ZERO, pacing)]));
    // the second packet of the connection is due at 0.8 us: 0.2 behind the first, 0.6 until then
    assert_eq!(outcome.flows[1].finish.as_ps(), 2_000_000);
    assert_eq!(parts(&outcome.flows[1]), [200, 600, 0, 0]);
}

/// a ──40G──▶ s ──20G──▶ b with DCQCN: of six packets from 0 on the fourth is marked, and its CNP is back at 5.8384 us, as
/// in the scene of a flow alone.
fn cut(mode: Mode, flows: Vec<Flow>) -> Spec {
    let mut spec = ideal(chain(&[link(40), link(20)]), flows);
    let step = Red::new(Bytes::new(1000), Bytes::new(1000), 1.0, Bytes::ZERO).expect("a step");
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(step));
    spec.pairs[0].reaction = ReactionConfig::Dcqcn(DcqcnConfig::authors());
    spec.pairs[0].notify = Some(NotifyConfig { interval: Span::from_us(50), mode, fraction: 0.0 });
    spec
}

#[test]
fn what_cut_one_message_paces_the_next() {
    let first = message(6000, Time::ZERO, Pacing::Controlled);
    let next = flow(0, 1, 2000, us(10), Pacing::Controlled);
    let paced = |next| run(cut(Mode::FirstMark, vec![first, next])).flows[1].paced.as_ps();
    // 1000 B at 40 Gbps · 0.7490234375 take 267 014.3 ps, 200 000 of which on the wire
    assert!((67_014..=67_015).contains(&paced(next.on(5))), "{}", paced(next.on(5)));
    assert_eq!(paced(next), 0, "a queue pair of its own starts at line rate");
}

#[test]
fn a_cnp_for_one_message_slows_down_the_one_that_is_being_sent() {
    const AT: u64 = 5_838_400;
    let rate_before = |at| {
        let flows = [6000, 100_000].map(|bytes| message(bytes, Time::ZERO, Pacing::Controlled));
        let mut spec = cut(Mode::FirstMark, flows.to_vec());
        spec.probe.sample = Some(Span::from_ps(at));
        spec.probe.rates = vec![true];
        let outcome = run_until(spec, us(10));
        outcome.records.rates.iter().find(|it| (it.time.as_ps(), it.flow) == (at, 1)).expect("a sample").rate
    };
    assert_eq!(rate_before(AT), Rate::from_gbps(40));
    assert_eq!(rate_before(AT + 1), Rate::from_bps(29_960_937_500));
}

#[test]
fn the_interval_between_two_cnps_is_that_of_the_connection() {
    let flows = [6000, 100_000].map(|bytes| flow(0, 1, bytes, Time::ZERO, Pacing::Controlled));
    let cnps = |flows: Vec<Flow>, until| {
        let outcome = run_until(cut(Mode::FirstMark, flows), us(until));
        outcome.flows.iter().map(|f| f.cnps_ce).sum::<u64>()
    };
    assert_eq!(cnps(flows.to_vec(), 40), 2, "two queue pairs");
    assert_eq!(cnps(flows.map(|f| f.on(5)).to_vec(), 40), 1);
    // The next leaves b 50 us after the first.
    assert_eq!(cnps(flows.map(|f| f.on(5)).to_vec(), 60), 2);
}

#[test]
fn the_round_trip_of_a_message_s_segment_sets_the_rate_of_the_next_message() {
    // The scene of a lone TIMELY segment: 4.2256 us above Thigh of 4 us, known at 4.6256 us.
    let flows = vec![
        message(2000, Time::ZERO, Pacing::Controlled),
        message(1000, us(5), Pacing::Controlled),
        message(1000, us(5), Pacing::Controlled),
    ];
    let mut spec = ideal(chain(&[link(40), link(40)]), flows);
    let mut timely = TimelyConfig::authors(Rate::from_gbps(40), Span::from_us(4));
    (timely.t_low, timely.t_high) = (Span::from_us(1), Span::from_us(4));
    spec.pairs[0].reaction = ReactionConfig::Timely(timely);
    spec.pairs[0].segment = Some(SegmentSpec { packets: 2, burst: true, once_per_round_trip: false });
    spec.pairs[0].ack = Some(AckSpec { every: 2, size: Bytes::new(64), priority: Some(7) });
    spec.probe.sample = Some(Span::from_us(6));
    spec.probe.rates = vec![true];
    let outcome = run(spec);
    let rate = outcome.records.rates.iter().find(|sample| sample.flow == 1).expect("a sample").rate.as_bps();
    assert!(rate.abs_diff(38_291_556_228) <= 1, "{rate} bit/s");
    // Two messages of one packet are two segments: the second is paced, 1000 B at that rate after the first.
    assert_eq!(parts(&outcome.flows[2]), [200, 8, 0, 0]);
    assert!(outcome.flows.iter().all(|f| f.acked < Time::MAX));
}
