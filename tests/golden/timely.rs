//! The round trip of a TIMELY segment: a ──40G──▶ s ──40G──▶ b, 1 us each; 1000 B take 0.2 us, an ACK of 64 B 12.8 ns.
//!
//! A flow of two packets is one segment. They start at 0 and 0.2 us; the second is at s at 1.4 and at b at 2.6 us. The ACK is
//! at s at 3.6128 and at a at 4.6256 us. Without the 0.4 us that the segment takes on the wire of the NIC the round trip
//! is 4.2256 us.
use backwater_control::reaction::{ReactionConfig, TimelyConfig};
use backwater_fabric::{AckSpec, SegmentSpec, Spec};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{chain, flow, ideal, run, run_until, us};

use crate::link;

const ACK_AT: u64 = 4_625_600;

fn scene(packets: u32, segment: SegmentSpec, t_high: Span) -> Spec {
    let flows = vec![flow(0, 1, u64::from(packets) * 1000, Time::ZERO, Pacing::Controlled)];
    let mut spec = ideal(chain(&[link(40), link(40)]), flows);
    let mut timely = TimelyConfig::authors(Rate::from_gbps(40), Span::from_us(4));
    (timely.t_low, timely.t_high) = (Span::from_us(1), t_high);
    spec.pairs[0].reaction = ReactionConfig::Timely(timely);
    spec.pairs[0].segment = Some(segment);
    spec.pairs[0].ack = Some(AckSpec { every: segment.packets, size: Bytes::new(64), priority: Some(7) });
    spec
}

const TWO: SegmentSpec = SegmentSpec { packets: 2, burst: true, once_per_round_trip: false };

/// The sender's rate as it was at `at`, before anything of that instant.
fn rate_before(mut spec: Spec, at: u64) -> Rate {
    spec.probe.sample = Some(Span::from_ps(at));
    spec.probe.rates = vec![true];
    // A run ends when nothing is left to do: this keeps it going.
    spec.flows.push(flow(1, 0, 1000, us(99), Pacing::LineRate));
    let outcome = run_until(spec, us(100));
    let mut samples = outcome.records.rates.iter();
    samples.find(|sample| sample.time.as_ps() == at).expect("a sample at this time").rate
}

#[test]
fn the_ack_of_a_segment_comes_back_after_its_last_packet() {
    let outcome = run(scene(2, TWO, Span::from_us(500)));
    assert_eq!(outcome.flows[0].finish.as_ps(), 2_600_000);
    assert_eq!(outcome.flows[0].acked.as_ps(), ACK_AT);
}

#[test]
fn a_round_trip_of_4_2256_us_above_thigh_of_4_us_cuts_the_rate_by_0_8_of_the_excess() {
    let spec = || scene(2, TWO, Span::from_us(4));
    assert_eq!(rate_before(spec(), ACK_AT), Rate::from_gbps(40));
    // 40 Gbps · (1 - 0.8 · (1 - 4/4.2256)) = 40 Gbps · 0.957288905717…
    let cut = rate_before(spec(), ACK_AT + 1).as_bps();
    assert!(cut.abs_diff(38_291_556_228) <= 1, "{cut} bit/s");
}

#[test]
fn a_segment_of_two_packets_at_half_rate_is_sent_back_to_back_and_followed_by_a_gap_of_its_own_length() {
    // Thigh of 2 ns and the floor of 1/2: the first ACK halves the rate. By then 4.6256 us / 0.2 us = 23 packets have
    // started; segment 12 (packets 23 and 24 of 26) started at 4.4 us. The gap behind it was set when its second packet
    // left at 4.6 us, before the ACK: segment 13 starts at 4.8 us, and the one after it, paced at 20 Gbps, at 5.6 us.
    let mut spec = scene(28, TWO, Span::from_ns(2));
    let ReactionConfig::Timely(timely) = &mut spec.pairs[0].reaction else { unreachable!() };
    timely.t_low = Span::from_ns(1);
    let outcome = run(spec);
    // The last packet starts at 5.6 + 0.2 us and needs two packet times and 2 us.
    assert_eq!(outcome.flows[0].finish.as_ps(), 5_800_000 + 400_000 + 2_000_000);
    assert_eq!(outcome.flows[0].paced.as_ps(), 400_000);
}

#[test]
fn paced_packet_by_packet_the_same_rate_leaves_a_gap_behind_each() {
    let segment = SegmentSpec { packets: 2, burst: false, once_per_round_trip: false };
    let mut spec = scene(28, segment, Span::from_ns(2));
    let ReactionConfig::Timely(timely) = &mut spec.pairs[0].reaction else { unreachable!() };
    timely.t_low = Span::from_ns(1);
    let outcome = run(spec);
    // Packet 24 (of 28, from 1) starts at 4.6 us, before the ACK; packet 25 at 4.8 us, when the rate is 20 Gbps, and
    // packet 26 at 5.2 us. ACKs come each 0.4 us, a tenth of the minimum round trip of 4 us, so that each cuts by a tenth of
    // 0.8 · (1 - 2 ns / 4225.6 ns): at 5.0256 us, before packet 26, and at 5.4256 us, before packet 27.
    let cut = 1.0 - 0.08 * (1.0 - 2.0 / 4225.6);
    let (gap_26, gap_27) = (8000.0 / (20.0 * cut), 8000.0 / (20.0 * cut * cut));
    let last_start = 5_200_000.0 + 1000.0 * (gap_26 + gap_27);
    let finish = outcome.flows[0].finish.as_ps() as f64;
    assert!((finish - (last_start + 400_000.0 + 2_000_000.0)).abs() < 10.0, "{finish}");
}
