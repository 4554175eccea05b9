//! The first 40 events of each policy, small enough to be read: PUTs of 1000 B (200 ns on a wire of 40 Gbps) through one switch to a
//! host that drains one in 800 ns and has room for three. Links of 500 ns; 20 ns of staging, 130 ns of processing, 250 ns from one
//! new packet to the next; ACKs of 50 B (10 ns). So a packet that leaves at t is at the target at t + 1400, and what an ACK or
//! NACK that leaves at t says takes effect at t + 1170.
//!
//! A line: nanoseconds, what, number; at the target the bytes in its queue after it.
use backwater_control::reaction::PolicyConfig;
use backwater_fabric::record::PutEvent;
use backwater_fabric::{DrainSpec, EndpointSpec, PutSpec, Spec};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{POLICIES, flow, lossy, run_until, star, us};

use crate::name;

/// A window of 8 packets, T at one packet; AIMD with an MSS of one packet, and 4 for the end of slow start.
pub(crate) fn small(mut policy: PolicyConfig) -> Spec {
    match &mut policy {
        PolicyConfig::Opt(limits) => limits.packets = 8,
        PolicyConfig::Aimd(aimd) => (aimd.mss, aimd.initial, aimd.ssthresh) = (1000, 1000, 4000),
        PolicyConfig::Dack(dack) => dack.limits.packets = 8,
    }
    let network = star(2, Rate::from_gbps(40), Span::from_ns(500));
    let flows = vec![flow(1, 0, u64::MAX, Time::ZERO, Pacing::Controlled)];
    let mut spec = lossy(network, flows, policy);
    (spec.packet.payload, spec.packet.header) = (Bytes::new(936), Bytes::new(64));
    let mut kind = PutSpec::standard(policy);
    kind.target.threshold = 1000;
    kind.ack_size = Bytes::new(50);
    (kind.staging, kind.processing, kind.overhead) =
        (Span::from_ns(20), Span::from_ns(130), Span::from_ns(250));
    spec.puts = vec![kind];
    let drain = DrainSpec::Constant(Rate::from_gbps(10));
    spec.endpoints = vec![Some(EndpointSpec { depth: Bytes::new(3000), drain, cached: None, pfc: None })];
    spec
}

fn first_40(policy: PolicyConfig) -> String {
    let outcome = run_until(small(policy), us(10));
    let events = outcome.records.puts.iter().filter(|record| record.event != PutEvent::State);
    let mut lines: Vec<(u64, String)> = events
        .map(|record| {
            let (ns, what) = (record.time.as_ps() / 1000, name(record.event));
            let queue = if record.event.at_target() { format!(" {} B", record.value) } else { String::new() };
            (ns, format!("{ns:>4} {what} {}{queue}\n", record.seq))
        })
        .collect();
    // What happens at one time at both ends: by its name.
    lines.sort();
    lines.into_iter().take(40).fold("\n".to_owned(), |all, (_, line)| all + &line)
}

#[test]
fn opt_fills_its_window_loses_the_fourth_packet_and_sends_all_eight_again() {
    // 1 is in at 1420, drained from there to 2220, and so on every 800. Packets come every 250: 4 finds three. Its NACK takes effect
    // at 2170 + 1170 = 3340; till then 1 to 3 are acknowledged and 9 to 11 have left. The replay goes at line rate.
    let expected = "
  20 sent 1
 270 sent 2
 520 sent 3
 770 sent 4
1020 sent 5
1270 sent 6
1420 accepted 1 1000 B
1420 iack_sent 1 1000 B
1520 sent 7
1670 accepted 2 2000 B
1670 iack_sent 2 2000 B
1770 sent 8
1920 accepted 3 3000 B
1920 iack_sent 3 3000 B
2170 dropped 4 3000 B
2170 nack_sent 3 3000 B
2220 processed 1 2000 B
2420 out_of_order 5 2000 B
2590 iack 1
2590 sent 9
2670 out_of_order 6 2000 B
2840 iack 2
2840 sent 10
2920 out_of_order 7 2000 B
3020 processed 2 1000 B
3090 iack 3
3090 sent 11
3170 out_of_order 8 1000 B
3340 nack 3
3340 resent 4
3540 resent 5
3740 resent 6
3820 processed 3 0 B
3940 resent 7
3990 out_of_order 9 0 B
4140 resent 8
4240 out_of_order 10 0 B
4340 resent 9
4490 out_of_order 11 0 B
4540 resent 10
";
    assert_eq!(first_40(POLICIES[0]), expected);
}

#[test]
fn aimd_starts_with_one_packet_and_its_window_is_halved_by_the_first_nack() {
    // Slow start: 1, 2, 4 packets. 7 is the fourth of its window and finds three in the queue. Three more ACKs had widened the window
    // to 4707 B: 4000 + 250 + 235 + 222.
    let expected = "
  20 sent 1
1420 accepted 1 1000 B
1420 iack_sent 1 1000 B
2220 processed 1 0 B
2590 iack 1
2590 sent 2
2840 sent 3
3990 accepted 2 1000 B
3990 iack_sent 2 1000 B
4240 accepted 3 2000 B
4240 iack_sent 3 2000 B
4790 processed 2 1000 B
5160 iack 2
5160 sent 4
5410 iack 3
5410 sent 5
5590 processed 3 0 B
5660 sent 6
5910 sent 7
6560 accepted 4 1000 B
6560 iack_sent 4 1000 B
6810 accepted 5 2000 B
6810 iack_sent 5 2000 B
7060 accepted 6 3000 B
7060 iack_sent 6 3000 B
7310 dropped 7 3000 B
7310 nack_sent 6 3000 B
7360 processed 4 2000 B
7730 iack 4
7730 sent 8
7980 iack 5
7980 sent 9
8160 processed 5 1000 B
8230 iack 6
8230 sent 10
8480 nack 6
8480 resent 7
8680 resent 8
8880 resent 9
8960 processed 6 0 B
";
    assert_eq!(first_40(POLICIES[1]), expected);
}

#[test]
fn dack_is_told_of_a_queue_of_two_packets_and_paced_by_what_is_drained() {
    // 2 and 3 make the queue longer than T: DACKs. 4 is lost. With 1 drained 2 is where the threshold is: its IACK, marked, as two are
    // still there; with 2 drained the IACK of 3, without a mark. At 3340 the NACK allows one packet, at 3390 the marked IACK another one
    // (H(0)), at 4190 the plain one two (H(1)).
    let expected = "
  20 sent 1
 270 sent 2
 520 sent 3
 770 sent 4
1020 sent 5
1270 sent 6
1420 accepted 1 1000 B
1420 iack_sent 1 1000 B
1520 sent 7
1670 accepted 2 2000 B
1670 dack_sent 1 2000 B
1770 sent 8
1920 accepted 3 3000 B
1920 dack_sent 1 3000 B
2170 dropped 4 3000 B
2170 nack_sent 3 3000 B
2220 marked_sent 2 2000 B
2220 processed 1 2000 B
2420 out_of_order 5 2000 B
2590 iack 1
2590 sent 9
2670 out_of_order 6 2000 B
2840 dack 1
2920 out_of_order 7 2000 B
3020 iack_sent 3 1000 B
3020 processed 2 1000 B
3090 dack 1
3170 out_of_order 8 1000 B
3340 nack 3
3340 resent 4
3390 marked 2
3540 resent 5
3820 processed 3 0 B
3990 out_of_order 9 0 B
4190 iack 3
4190 resent 6
4390 resent 7
4740 accepted 4 1000 B
4740 iack_sent 4 1000 B
4940 accepted 5 2000 B
";
    assert_eq!(first_40(POLICIES[2]), expected);
}
