//! Hosts slower than their links: a ──40G──▶ s0 ──40G──▶ b, 1 us each; 1000 B take 0.2 us, a PFC frame 12.8 ns. b drains
//! 10 Gbps, 0.8 us for a packet.
//!
//! Packet k has come in at b at 2.4 + 0.2k us while nobody is paused, and stands in the receive queue until it is drained:
//! at 3.2 + 0.8k us. A packet that comes in at the instant at which another one is drained does not find it any more.
use backwater_control::flow_control::{CreditReturn, Form};
use backwater_fabric::{AckSpec, DrainSpec, Spec};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, chain, fixed, flow, ideal, infiniband, mbps, ns, run, run_until, slow_host, us};

use crate::{link, table};

/// `packets` packets; b has room for 100 of them and drains them as `drain` says.
fn scene(packets: u64, drain: DrainSpec) -> Spec {
    let flows = vec![flow(0, 1, packets * 1000, Time::ZERO, Pacing::LineRate)];
    let mut spec = ideal(chain(&[link(40), link(40)]), flows);
    slow_host(&mut spec, 1, drain, 100_000).pfc = Some(vec![fixed(100_000, 100_000, 100_000)]);
    spec
}

/// b pauses s0 above 4000 B and lets it go at 2000 B.
fn pausing(form: Form) -> Spec {
    let mut spec = scene(24, mbps(10_000));
    spec.switch.pfc.as_mut().expect("on").form = form;
    spec.endpoints[1].as_mut().expect("b is slow").pfc = Some(vec![fixed(4_000, 2_000, 100_000)]);
    spec
}

#[test]
fn packets_are_done_when_they_have_been_drained_one_after_the_other() {
    let mut spec = scene(24, mbps(10_000));
    spec.probe.packets = vec![true];
    let outcome = run(spec);
    let got: Vec<Time> = outcome.records.arrived.iter().map(|r| r.time).collect();
    let expected: Vec<Time> = (0..24).map(|k| ns(3_200 + 800 * k)).collect();
    assert_eq!(got, expected);
    assert_eq!(outcome.flows[0].finish, ns(3_200 + 800 * 23));
    // When the last one comes in at 7.0 us, those of 3.2, 4.0, … 6.4 us are gone.
    assert_eq!(outcome.port((1, 0), 3).peak_ingress, Bytes::new(19_000));
    // Alone in the network is alone at a host that takes everything at once.
    assert_eq!(outcome.flows[0].ideal_fct, Span::from_ns(7_000));
}

#[test]
fn a_host_that_is_faster_than_its_link_never_has_more_than_a_packet() {
    let outcome = run(scene(24, mbps(50_000)));
    assert_eq!(outcome.flows[0].finish, ns(7_000 + 160));
    assert_eq!(outcome.port((1, 0), 3).peak_ingress, Bytes::new(1_000));
}

#[test]
fn fractions_of_a_picosecond_are_not_lost_between_packets() {
    // 1000 B at 7 Gbps take 1 142 857.14 ps; 24 of them 27 428 571.4 ps from 2.4 us on.
    let outcome = run(scene(24, mbps(7_000)));
    assert_eq!(outcome.flows[0].finish.as_ps(), 2_400_000 + 27_428_572);
}

#[test]
fn what_two_hosts_send_is_drained_in_the_order_in_which_it_comes_in() {
    // a's packets pass s0 at 1.2 us and 1.4 us; c's, from behind 2 us, comes in at b 1 us after a's first.
    let mut builder = backwater_topology::Builder::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| builder.host(name));
    let s = builder.switch("s");
    for (host, delay) in [(a, 1), (b, 1), (c, 2)] {
        builder.link(host, s, Rate::from_gbps(40), Span::from_us(delay));
    }
    let flows =
        vec![flow(0, 1, 2000, Time::ZERO, Pacing::LineRate), flow(2, 1, 500, Time::ZERO, Pacing::LineRate)];
    let mut spec = ideal(builder.build().expect("a star"), flows);
    slow_host(&mut spec, 1, mbps(10_000), 100_000);
    let outcome = run(spec);
    // a's: 2.4 + 0.8, + 0.8. c's: in at 3.2 us, drained behind a's second from 4.0 us on, in 0.4 us.
    assert_eq!([0, 1].map(|i| outcome.flows[i].finish), [ns(4_000), ns(4_400)]);
}

#[test]
fn an_acknowledgement_leaves_when_its_packet_has_been_drained_and_passes_the_queue_at_the_source() {
    // Each host sends the other a packet per ACK; both are slow. An ACK of 64 B takes 12.8 ns on each link.
    let flows =
        [(0, 1, 3000), (1, 0, 20_000)].map(|(src, dst, n)| flow(src, dst, n, Time::ZERO, Pacing::LineRate));
    let mut spec = ideal(chain(&[link(40), link(40)]), flows.to_vec());
    spec.pairs[0].ack = Some(AckSpec { every: 3, size: Bytes::new(64), priority: Some(7) });
    for host in [0, 1] {
        slow_host(&mut spec, host, mbps(10_000), 100_000);
    }
    let outcome = run(spec);
    // Drained at 4.8 us; a packet of 20 that left b at 4.0 us is the last, so that the wire is free.
    assert_eq!(outcome.flows[0].finish, ns(4_800));
    assert_eq!(outcome.flows[0].acked.as_ps(), 4_800_000 + 2 * (12_800 + 1_000_000));
}

#[test]
fn a_drain_in_pulses_works_while_it_is_on() {
    // On for 2 us, off for 3: from 2.4 us it is off until 5.0. Two packets and a half until 7.0; from 10.0 on the rest.
    let drain = DrainSpec::OnOff {
        high: Rate::from_gbps(10),
        low: Rate::ZERO,
        high_for: Span::from_us(2),
        low_for: Span::from_us(3),
        sigma: None,
    };
    let mut spec = scene(5, drain);
    spec.probe.packets = vec![true];
    let got: Vec<Time> = run(spec).records.arrived.iter().map(|r| r.time).collect();
    assert_eq!(got, [5_800, 6_600, 10_400, 11_200, 12_000].map(ns));
}

#[test]
fn a_drain_follows_its_trace() {
    // 10 Gbps, from 4 us on 5 Gbps, from 6 us on 40: the second packet has 800 ns at 10, the third 1.6 us at 5.
    let at = |us_, gbps| (us(us_), Rate::from_gbps(gbps));
    let mut spec = scene(6, DrainSpec::Trace(vec![at(0, 10), at(4, 5), at(6, 40)]));
    spec.probe.packets = vec![true];
    let got: Vec<Time> = run(spec).records.arrived.iter().map(|r| r.time).collect();
    // Until 6 us 250 B of the fourth are drained at 5 Gbps, the other 750 take 150 ns at 40.
    assert_eq!(got, [3_200, 4_000, 5_600, 6_150, 6_350, 6_550].map(ns));
}

#[test]
fn a_slow_host_pauses_its_switch_and_lets_it_go() {
    // Packet 4 comes in at 3.2 us, when packet 0 is gone; packet 5 at 3.4: 5000 B, PAUSE, at s0 at 3.4 + 0.0128 + 1. Packets 0 to
    // 16 have left s0. Packet 15 comes in at 5.4 us, when three are gone, and 16 at 5.6, when four are: 13 are held.
    // 15 are gone at 3.2 + 14 · 0.8 = 14.4 us: RESUME, at s0 1.0128 later. Packet 17 comes in at 16.6128, when all is gone, and
    // 22, at 17.6128, is one too many again. 22 packets are gone at 17.4128 + 4 · 0.8, all at 17.4128 + 6 · 0.8.
    let expected = "
    4.4128 us  s0->b paused
   15.4128 us  s0->b resumed
   18.6256 us  s0->b paused
   21.6256 us  s0->b resumed
   22.2128 us  flow 0 complete
ingress s0->b held up to 13KB and sent 2 PAUSEs
";
    assert_eq!(table(pausing(Form::Ideal), us(50)), expected);
}

#[test]
fn a_slow_host_renews_the_pauses_of_its_switch_until_enough_has_been_drained() {
    // As above, but each of the 12 packets from 3.4 to 5.6 us sends a PAUSE. Polls: 7.6 us (11 held), 9.6 (8 or 9), 11.6 (6): a
    // PAUSE each; 13.6 (3 or 4): nothing. It runs out at 11.6 + 1.0128 + 5. Packets 17 to 23 come in from 18.8128 us on; 22 and
    // 23, above 4000 B, send a PAUSE each, at 19.8128 and 20.0128. The poll at 22.0128 finds 3 or 4. The last pause runs out at
    // 20.0128 + 1.0128 + 5; the last packet is gone at 19.6128 + 6 · 0.8.
    let form = Form::Timed { pause: Span::from_us(5), poll: Span::from_us(2) };
    let expected = "
    4.4128 us  s0->b paused
   17.6128 us  s0->b pause ran out
   20.8256 us  s0->b paused
   24.4128 us  flow 0 complete
   26.0256 us  s0->b pause ran out
ingress s0->b held up to 13KB and sent 17 PAUSEs
";
    assert_eq!(table(pausing(form), us(50)), expected);
}

#[test]
fn a_slow_host_gives_credits_back_when_a_packet_has_been_drained() {
    // 32 Gbps: 2048 B take 512 ns, 20 B 5 ns, an update of 8 B 2 ns. b drains a packet in 2048 ns and has room for one. It leaves
    // s0 at 1005 ns, is at b 1512 later and drained at 4565; its credit is at s0 1002 later, where the next one waits.
    let fast = (Rate::from_gbps(32), Span::from_us(1));
    let flows: Vec<Flow> = vec![flow(0, 1, 5 * 2048, Time::ZERO, Pacing::LineRate)];
    let mut spec = infiniband(chain(&[fast, fast]), flows);
    let credits = spec.switch.credits.as_mut().expect("on");
    (credits.returned, credits.buffer) = (CreditReturn::AtOnce, Bytes::new(2048));
    slow_host(&mut spec, 1, mbps(8_000), 2048);
    let outcome = run(spec);
    assert_eq!(outcome.flows[0].finish, ns(4_565 + 4 * (1512 + 2048 + 1002)));
    assert_eq!(outcome.port((1, 0), 3).peak_ingress, Bytes::new(2048));
}

#[test]
fn a_pause_that_runs_on_when_the_queue_is_empty_counts_in_the_periods_in_which_it_does() {
    // Held back from 3.4 us to 5 us after the last PAUSE of 11.6, and from 19.8128 to 5 us after that of 20.0128.
    let mut spec = pausing(Form::Timed { pause: Span::from_us(5), poll: Span::from_us(2) });
    (spec.probe.sample, spec.probe.endpoints) = (Some(Span::from_us(1)), true);
    let outcome = run_until(spec, us(30));
    let spans: Vec<_> =
        outcome.records.endpoints.iter().map(|r| (r.start, r.end, r.paused_upstream)).collect();
    assert!(spans.iter().all(|(start, end, paused)| *paused <= end.since(*start)), "{spans:?}");
    let total: u64 = spans.iter().map(|(_, _, paused)| paused.as_ps()).sum();
    assert_eq!(total, 13_200_000 + 5_200_000);
}

/// Start and end in nanoseconds, drained, held at the end and at most, nanoseconds held back.
fn told(outcome: &Outcome) -> Vec<[u64; 6]> {
    let ns = |ps: u64| ps / 1_000;
    let row = |r: &backwater_fabric::record::EndpointRecord| {
        let (queue, peak) = (r.queue.get(), r.peak.get());
        assert_eq!((r.node, r.dropped_packets, r.dropped_bytes), (1, 0, Bytes::ZERO));
        [
            ns(r.start.as_ps()),
            ns(r.end.as_ps()),
            r.drained_bytes.get(),
            queue,
            peak,
            ns(r.paused_upstream.as_ps()),
        ]
    };
    outcome.records.endpoints.iter().map(row).collect()
}

#[test]
fn a_receive_queue_tells_what_it_did_in_each_period_and_nothing_of_empty_ones() {
    // Above: paused from 3.4 to 14.4 us, and from 17.6128 to 20.6128. Nothing is there before 2.4 us and from 16.0 to 16.6128.
    let mut spec = pausing(Form::Ideal);
    (spec.probe.sample, spec.probe.endpoints) = (Some(Span::from_us(2)), true);
    let outcome = run(spec);
    let expected = [
        // In come packets 0 to 7, the last at 3.8 us; 0 goes.
        [2_000, 4_000, 1_000, 7_000, 7_000, 600],
        [4_000, 6_000, 3_000, 13_000, 13_000, 2_000],
        [6_000, 8_000, 2_000, 11_000, 13_000, 2_000],
        [8_000, 10_000, 3_000, 8_000, 11_000, 2_000],
        [10_000, 12_000, 2_000, 6_000, 8_000, 2_000],
        [12_000, 14_000, 3_000, 3_000, 6_000, 2_000],
        [14_000, 16_000, 2_000, 1_000, 3_000, 400],
        // The last of the first 17; the other seven come in.
        [16_000, 18_000, 2_000, 6_000, 6_000, 387],
        [18_000, 20_000, 3_000, 3_000, 6_000, 2_000],
        [20_000, 22_000, 2_000, 1_000, 3_000, 612],
        [22_000, 23_000, 1_000, 0, 1_000, 0],
    ];
    let mut got = told(&outcome);
    // The run ends with the window in which its last flow does.
    got.last_mut().expect("periods")[1] = 23_000;
    assert_eq!(got, expected);
}
