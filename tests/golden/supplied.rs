//! Two hosts, one link of 40 Gbps and 1 us: 1000 B take 200 ns. The application of host 0 makes packets of 1000 B.
use backwater_control::detector::{Detector, Red};
use backwater_control::flow_control::Threshold;
use backwater_control::notify::{Mode, NotifyConfig};
use backwater_control::reaction::{DcqcnConfig, ReactionConfig};
use backwater_fabric::record::FlowRecord;
use backwater_fabric::{AckSpec, Control, Simulation, Spec};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, chain, flow, ideal, ns, per_port, run, us};

use crate::{link, table};

/// A flow of packets made at 10 Gbps: one every 800 ns.
fn made(backlog: u32, until: Time) -> Flow {
    let pacing = Pacing::supplied(Rate::from_gbps(10), backlog, until, None);
    flow(0, 1, u64::MAX, Time::ZERO, pacing)
}

fn scene(flows: Vec<Flow>) -> Spec {
    ideal(chain(&[link(40)]), flows)
}

fn first(flows: &[FlowRecord]) -> (Time, u64, Bytes) {
    (flows[0].finish, flows[0].packets, flows[0].size)
}

#[test]
fn an_application_that_makes_packets_until_4_us_makes_five_and_the_flow_ends_with_the_fifth() {
    // made at 0, 0.8, 1.6, 2.4, 3.2; the next would be at 4.0. 3.2 + 0.2 + 1
    let outcome = run(scene(vec![made(8, us(4))]));
    assert_eq!(first(&outcome.flows), (ns(4400), 5, Bytes::new(5000)));
    let outcome = run(scene(vec![made(8, ns(4001))]));
    assert_eq!(first(&outcome.flows), (ns(5200), 6, Bytes::new(6000)));
}

#[test]
fn the_end_of_a_supplied_flow_is_acknowledged() {
    let mut spec = scene(vec![made(8, us(4))]);
    spec.pairs[0].ack = Some(AckSpec { every: 4, size: Bytes::new(64), priority: None });
    // 64 B take 12.8 ns; the fifth packet is no fourth one, but the last
    let expected = "
    4.4000 us  flow 0 complete
    5.4128 us  flow 0 acknowledged
";
    assert_eq!(table(spec, us(20)), expected);
}

#[test]
fn a_supply_without_end_does_not_hold_up_the_end_of_the_run() {
    let outcome = run(scene(vec![made(8, Time::MAX), flow(0, 1, 1000, us(8), Pacing::LineRate)]));
    // Packets are made at 0, 0.8 ... 8.0: the one of 8.0 and the message are due at the same time, the lower number goes first.
    assert_eq!(outcome.flows[1].finish, ns(9400));
    assert_eq!(first(&outcome.flows), (Time::MAX, 11, Bytes::MAX));
}

#[test]
fn what_a_busy_nic_cannot_take_waits_up_to_the_backlog_and_is_not_made_beyond_it() {
    // 30 packets of a message are due from 0 on, and keep the wire until 6.0 us but for the supplied packets between them:
    // those are due when they are made, the message's packet when the one before it has left.
    let message = flow(0, 1, 30_000, Time::ZERO, Pacing::LineRate);
    let outcome = run(scene(vec![made(8, us(4)), message]));
    // The five made at 0 to 3.2 us have waited for one packet at most: none is lost, and each delays the message by 0.2 us.
    assert_eq!((outcome.flows[0].packets, outcome.flows[1].finish), (5, ns(35 * 200 + 1000)));
}

#[test]
fn behind_a_closed_gate_only_the_backlog_is_made() {
    // a ──40G──▶ s ──1G──▶ b: packets are at s at 1.2, 2.0 ... and take 8 us each from 1.2 on. At 4.4 a fourth one waits: PAUSE,
    // which a has at 5.4128, when those of 0 to 4.8 us have left. After the dequeue at 33.2 two wait: RESUME, at a at 34.2128.
    // Of the packets of 5.6 to 33.6 us two have been made. They leave at 34.2128 and 34.4128, those of 34.4, 35.2 and 36.0 after
    // them; at 35.6128 a fourth waits at s again, and the gate closes at 36.6256. Of those of 36.8 to 39.2 us two are made.
    let spec = |backlog| {
        let mut spec = ideal(chain(&[link(40), link(1)]), vec![made(backlog, us(40))]);
        let tight = Threshold::Static {
            xoff: 3000,
            xon: 2000,
            port_xoff: u64::MAX,
            port_xon: u64::MAX,
            buffer: 18_000_000,
        };
        spec.switch.pfc.as_mut().expect("PFC").thresholds = per_port(&spec.network, |_| tight);
        spec
    };
    assert_eq!(run(spec(2)).flows[0].packets, 7 + 2 + 3 + 2);
    assert_eq!(run(spec(50)).flows[0].packets, 50);
}

#[test]
fn the_reaction_point_spaces_what_waits() {
    // As in the scenes of a CNP: it is at the source at 5.8384 us and cuts the rate to 29.9609375 Gbps. Until then a packet is
    // made and leaves every 0.2 us; the gap after the one of 5.8 us stands, the next one is as the new rate says.
    let pacing = Pacing::supplied(Rate::from_gbps(40), 4, ns(6400), None);
    let flows = vec![flow(0, 1, u64::MAX, Time::ZERO, pacing)];
    let mut spec = ideal(chain(&[link(40), link(20)]), flows);
    let step = Red::new(Bytes::new(1000), Bytes::new(1000), 1.0, Bytes::ZERO).expect("a step");
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(step));
    spec.pairs[0].reaction = ReactionConfig::Dcqcn(DcqcnConfig::authors());
    let (interval, mode) = (Span::from_us(50), Mode::FirstMark);
    spec.pairs[0].notify = Some(NotifyConfig { interval, mode, fraction: 0.0 });
    spec.probe.packets = vec![true];
    let injected = injected(spec);
    let gap = Rate::from_bps(29_960_937_500).serialize(Bytes::new(1000));
    let last = &injected[29..];
    assert_eq!(last.iter().map(|(made, _)| *made).collect::<Vec<_>>(), [ns(5800), ns(6000), ns(6200)]);
    assert_eq!(last.iter().map(|(_, left)| *left).collect::<Vec<_>>(), [ns(5800), ns(6000), ns(6000) + gap]);
}

/// When each packet was made and left.
fn injected(spec: Spec) -> Vec<(Time, Time)> {
    let mut all = Vec::new();
    let mut simulation = Simulation::new(spec, FAST);
    let run = simulation.run(&Control::default(), &mut |records| {
        all.extend(records.injected.iter().map(|packet| (packet.made, packet.time)));
        Ok(())
    });
    run.unwrap_or_else(|violation| panic!("{violation}"));
    all
}
