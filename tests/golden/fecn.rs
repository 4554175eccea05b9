//! FECN: who is marked, and what its mark does at the sender. Packets of 2048 B; 20 B of them must be in before a switch forwards
//! them, 5 ns at 32G.
use backwater_control::detector::{Detector, Fecn};
use backwater_control::flow_control::CreditReturn;
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{CctShape, IbCcConfig, ReactionConfig};
use backwater_fabric::{Queueing, Spec};
use backwater_topology::{Routes, Routing, generate};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{chain, flow, infiniband, ns, per_port, run_until, us};

use crate::{link, table, table_after_update};

/// Marks every candidate: who finds more than 3000 B, that is two packets, before it.
fn above_3000_bytes(spec: &mut Spec) {
    let fecn = Fecn { threshold: Bytes::new(3000), marking_rate: 0, packet_size: Bytes::ZERO };
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Fecn(fecn));
}

/// a ──32G──▶ s ──16G──▶ b, 1 us each: packets take 0.512 and 1.024 us.
///
/// Packet k may leave s at 1.005 + 0.512k and does so at 1.005 + 1.024k. Packets 1 and 2 find nothing that waits (the one before
/// leaves as 2 comes), 3 and 4 find one packet, 5 and 6 two, 7 three.
fn slow_link() -> Spec {
    let flows = vec![flow(0, 1, 8 * 2048, Time::ZERO, Pacing::Controlled)];
    let mut spec = infiniband(chain(&[link(32), link(16)]), flows);
    above_3000_bytes(&mut spec);
    spec.switch.credits.as_mut().expect("on").returned = CreditReturn::AtOnce;
    // IRD(i) = i: after the i-th CNP the flow has 1/(1 + i) of the line.
    let linear = IbCcConfig { shape: CctShape::Linear, top: 127.0, ..IbCcConfig::standard() };
    spec.pairs[0].reaction = ReactionConfig::IbCc(linear);
    spec.pairs[0].notify = Some(NotifyConfig::each_mark());
    spec
}

#[test]
fn a_packet_is_marked_for_what_it_finds_when_it_comes_in_the_moment_it_leaves() {
    let expected = "
    6.1250 us  s0->b marks packet 5 of flow 0 CE
    7.1490 us  s0->b marks packet 6 of flow 0 CE
    8.1730 us  s0->b marks packet 7 of flow 0 CE
   10.1970 us  flow 0 complete
";
    assert_eq!(table(slow_link(), us(50)), expected);
}

#[test]
fn between_two_marks_pass_as_many_as_the_rate_says_and_no_switch_behind_marks_them_instead() {
    // The same with a third link of 32G, and every second one marked: 5 and 7. 6 has waited here, not at the next switch, which
    // would mark all. Packet 7 is there at 8.173 + 2.024, and at b 1.512 later.
    let mut spec = slow_link();
    spec = Spec { network: chain(&[link(32), link(16), link(32)]), ..spec };
    spec.routes = Routes::new(&spec.network, Routing::Ecmp).expect("a way");
    above_3000_bytes(&mut spec);
    let half = Fecn { threshold: Bytes::new(3000), marking_rate: 1, packet_size: Bytes::ZERO };
    spec.switch.detectors[spec.network.find("s0").expect("a switch") as usize].fill(Detector::Fecn(half));
    let expected = "
    6.1250 us  s0->s1 marks packet 5 of flow 0 CE
    8.1730 us  s0->s1 marks packet 7 of flow 0 CE
   11.7090 us  flow 0 complete
";
    assert_eq!(table(spec, us(50)), expected);
}

/// The sender's rate as it was at `at` (ps), before anything of that instant.
fn rate_before(at: u64) -> Rate {
    let mut spec = slow_link();
    spec.probe.sample = Some(Span::from_ps(at));
    spec.probe.rates = vec![true];
    // A run ends when nothing is left to do: this keeps it going.
    spec.flows.push(flow(1, 0, 1000, us(99), Pacing::LineRate));
    let outcome = run_until(spec, us(100));
    let flow = &outcome.flows[0];
    assert_eq!((flow.ce_packets, flow.cnps_ce, flow.cnps_ue), (3, 3, 0));
    let mut samples = outcome.records.rates.iter();
    samples.find(|sample| sample.time.as_ps() == at).expect("a sample at this time").rate
}

#[test]
fn every_mark_is_answered_at_once_and_each_answer_is_one_step_down_the_table() {
    // Packet 5 is at b at 6.125 + 2.024 us. 64 B take 32 ns to s, which stores what comes from its slower link, and 16 ns to a.
    const FIRST: u64 = 8_149_000 + 1_032_000 + 1_016_000;
    for (cnp, before, after) in [(0, 32_000, 16_000), (1, 16_000, 10_666), (2, 10_666, 8_000)] {
        let at = FIRST + cnp * 1_024_000;
        assert_eq!(rate_before(at).as_bps() / 1_000_000, before);
        assert_eq!(rate_before(at + 1).as_bps() / 1_000_000, after);
    }
}

#[test]
fn the_timer_steps_back_up_153_6_us_after_the_first_answer() {
    const FIRST: u64 = 10_197_000 + 153_600_000;
    let mut spec = slow_link();
    spec.probe.sample = Some(Span::from_ps(FIRST + 1));
    spec.probe.rates = vec![true];
    spec.flows.push(flow(1, 0, 1000, us(199), Pacing::LineRate));
    let outcome = run_until(spec, us(200));
    let rates: Vec<u64> =
        outcome.records.rates.iter().map(|sample| sample.rate.as_bps() / 1_000_000).collect();
    assert_eq!(rates.last(), Some(&10_666));
}

/// Hosts h0 to h3 send four packets each to h4, one host after the other, over links of 32G and 1 us. h4 has room for four, and
/// tells every 50 us.
///
/// Packet k of host i is at the switch at 1.005 + 0.512 (4i + k). Those of h0 pass. The first of h1 finds no credits, and the gate
/// closes at 3.053 us. The second finds one packet waiting; all after it find two or more and are candidates. By the seed the
/// first update comes when all are there, after 9.2 us.
fn four_at_a_time(queueing: Queueing) -> Spec {
    let flows = (0..4).map(|src| flow(src, 4, 4 * 2048, ns(2048 * u64::from(src)), Pacing::LineRate));
    let mut spec = infiniband(
        generate::star(5, Rate::from_gbps(32), Span::from_us(1)).expect("a star"),
        flows.collect(),
    );
    above_3000_bytes(&mut spec);
    let credits = spec.switch.credits.as_mut().expect("on");
    (credits.buffer, credits.returned) = (Bytes::new(4 * 2048), CreditReturn::Periodic(Span::from_us(50)));
    spec.switch.queueing = queueing;
    spec
}

#[test]
fn in_one_queue_the_packet_found_first_without_credits_is_a_victim_and_those_behind_it_are_not() {
    // Each update lets four go, 0.512 us apart: from h1 the first (found at 3.053), the second (no candidate), the third and the
    // fourth. Then the first of h2 is found without credits at 2.048, and the first of h3 50 us later.
    let expected = "
    0.0000 us  s->h4 resumed
    1.0240 us  s->h4 marks packet 2 of flow 1 CE
    1.5360 us  s->h4 marks packet 3 of flow 1 CE
    2.0480 us  s->h4 paused
    3.0480 us  flow 1 complete
   50.0000 us  s->h4 resumed
   50.5120 us  s->h4 marks packet 1 of flow 2 CE
   51.0240 us  s->h4 marks packet 2 of flow 2 CE
   51.5360 us  s->h4 marks packet 3 of flow 2 CE
   52.0480 us  s->h4 paused
   53.0480 us  flow 2 complete
  100.0000 us  s->h4 resumed
  100.5120 us  s->h4 marks packet 1 of flow 3 CE
  101.0240 us  s->h4 marks packet 2 of flow 3 CE
  101.5360 us  s->h4 marks packet 3 of flow 3 CE
  103.0480 us  flow 3 complete
";
    assert_eq!(table_after_update(four_at_a_time(Queueing::Output), us(500)), expected);
}

#[test]
fn in_virtual_output_queues_the_first_packet_of_every_ingress_port_is_found_without_credits() {
    // Of h1, h2 and h3, in turns: 1.0 2.0 3.0 1.1. Three are victims, 1.1 is no candidate. The heads are now 1.2, 2.1 and 3.1: found
    // at 2.048, they are victims of the next four, 2.1 3.1 1.2 2.2; only 2.2 was not at the head. The heads are 3.2, 1.3 and
    // 2.3, and of the last four, 3.2 1.3 2.3 3.3, only 3.3 was not.
    let expected = "
    0.0000 us  s->h4 resumed
    2.0480 us  s->h4 paused
   50.0000 us  s->h4 resumed
   51.5360 us  s->h4 marks packet 2 of flow 2 CE
   52.0480 us  s->h4 paused
  100.0000 us  s->h4 resumed
  101.5360 us  s->h4 marks packet 3 of flow 3 CE
  102.0240 us  flow 1 complete
  102.5360 us  flow 2 complete
  103.0480 us  flow 3 complete
";
    assert_eq!(table_after_update(four_at_a_time(Queueing::VirtualOutput), us(500)), expected);
}
