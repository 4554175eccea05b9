//! The arbiter of an egress port: strict order or turns, and control frames before all.
use backwater_control::detector::{Detector, Red};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{DcqcnConfig, ReactionConfig};
use backwater_fabric::{Arbiter, Spec};
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{flow_of_priority, ideal, per_port, run, us};

/// Two hosts send 1 MB each to a third, in priorities 2 and 5, at the same time.
fn two_priorities(arbiter: Arbiter) -> Spec {
    let net = generate::star(3, Rate::from_gbps(40), Span::from_us(1)).unwrap();
    let flows = vec![
        flow_of_priority(2, 1, 0, 1_000_000, Time::ZERO, Pacing::LineRate),
        flow_of_priority(5, 2, 0, 1_000_000, Time::ZERO, Pacing::LineRate),
    ];
    let mut spec = ideal(net, flows);
    spec.switch.arbiter = arbiter;
    spec
}

fn fct_us(spec: Spec) -> [f64; 2] {
    let flows = run(spec).flows;
    [0, 1].map(|i| flows[i].finish.since(flows[i].start).as_us_f64())
}

#[test]
fn in_turns_two_priorities_share_a_port_evenly() {
    // 2 MB at 40 Gbps, 2 us of cable, a packet on the first link; the one served last is one packet behind.
    let [low, high] = fct_us(two_priorities(Arbiter::RoundRobin));
    assert!((low - 402.2).abs() < 0.41 && (high - 402.2).abs() < 0.41, "{low} {high}");
}

#[test]
fn under_strict_order_the_higher_number_is_served_as_if_alone() {
    let [low, high] = fct_us(two_priorities(Arbiter::Strict));
    // 1001 packet times and 2 us of cable; at most one packet of the other is in the way.
    assert!((high - 202.2).abs() < 0.21, "{high}");
    assert!((low - 402.2).abs() < 0.21, "{low}");
}

#[test]
fn a_cnp_is_not_delayed_by_a_full_queue_of_data_on_its_way() {
    // h1 -> h0 is marked from the first queue on; h0's CNPs share the port s -> h1 with a flood from h2 to h1.
    let net = generate::star(4, Rate::from_gbps(40), Span::from_us(1)).unwrap();
    let flows = vec![
        flow_of_priority(3, 1, 0, 400_000, us(40), Pacing::Controlled),
        flow_of_priority(3, 3, 0, 400_000, us(40), Pacing::LineRate),
        flow_of_priority(3, 2, 1, 1_000_000, Time::ZERO, Pacing::LineRate),
        flow_of_priority(3, 0, 1, 1_000_000, Time::ZERO, Pacing::LineRate),
    ];
    let mut spec = ideal(net, flows);
    let step = Red::new(Bytes::new(1000), Bytes::new(1000), 1.0, Bytes::ZERO).unwrap();
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(step));
    spec.pairs[0].reaction = ReactionConfig::Dcqcn(DcqcnConfig::authors());
    spec.pairs[0].notify = Some(NotifyConfig::standard());
    spec.probe.sample = Some(Span::from_ns(50));
    spec.probe.rates = vec![true];
    let outcome = run(spec);
    let queue = outcome.port((4, 1), 3).peak_queue.get();
    assert!(queue > 100_000, "no queue to h1: {queue} B");
    let mark = outcome.records.marks.iter().find(|mark| mark.flow == 0).unwrap();
    let cut = outcome.records.rates.iter().find(|r| r.rate < Rate::from_gbps(40)).unwrap();
    // The marked packet and the CNP: 0.2 + 1 us, then 0.0128 + 1 us twice; a packet on the wire at h0 and at s, a sample.
    let delay = cut.time.since(mark.time).as_us_f64();
    assert!((3.2..3.2256 + 0.4 + 0.05).contains(&delay), "{delay} us");
}
