//! Flows under different congestion controls share a fabric, each under its own rules.
use std::collections::BTreeSet;

use backwater_control::detector::{Detector, Red};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{DcqcnConfig, ReactionConfig, TimelyConfig};
use backwater_fabric::{AckSpec, PairSpec, SegmentSpec, Spec};
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, flow, ideal, per_port, run};

const DCQCN: usize = 0;
const TIMELY: usize = 1;
const NONE: usize = 2;

/// Three flows of 1 MB to one host, all of it marked above 1000 B: one under DCQCN, one under TIMELY, one under nothing.
fn three() -> Spec {
    let network = generate::star(4, Rate::from_gbps(40), Span::from_us(1)).expect("a star");
    let of_entry =
        |group| Flow { group, ..flow(u32::from(group) + 1, 0, 1_000_000, Time::ZERO, Pacing::Controlled) };
    let mut spec = ideal(network, (0..3).map(of_entry).collect());
    let step = Red::new(Bytes::new(1000), Bytes::new(1000), 1.0, Bytes::ZERO).expect("a step");
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(step));
    let plain = spec.pairs[0].clone();
    let dcqcn = PairSpec {
        reaction: ReactionConfig::Dcqcn(DcqcnConfig::authors()),
        notify: Some(NotifyConfig::standard()),
        ..plain.clone()
    };
    let timely = PairSpec {
        reaction: ReactionConfig::Timely(TimelyConfig::authors(Rate::from_gbps(40), Span::from_us(4))),
        ack: Some(AckSpec { every: 16, size: Bytes::new(64), priority: Some(7) }),
        segment: Some(SegmentSpec { packets: 16, burst: true, once_per_round_trip: false }),
        ..plain.clone()
    };
    spec.pairs = vec![dcqcn, timely, plain];
    spec.pair_of = vec![0, 1, 2];
    spec
}

fn outcome() -> Outcome {
    run(three())
}

#[test]
fn only_the_dcqcn_flow_gets_cnps_and_only_the_timely_flow_gets_acks() {
    let flows = outcome().flows;
    assert!(flows.iter().all(|flow| flow.finish < Time::MAX && flow.ce_packets > 0));
    assert!(flows[DCQCN].cnps_ce > 0 && flows[DCQCN].acked == Time::MAX);
    assert!(flows[TIMELY].acked < Time::MAX);
    assert_eq!((flows[NONE].cnps_ce, flows[NONE].acked), (0, Time::MAX));
}

#[test]
fn the_flow_without_control_is_never_paced_and_the_others_are() {
    let flows = outcome().flows;
    assert_eq!(flows[NONE].paced, Span::ZERO);
    assert!(flows[DCQCN].paced > Span::ZERO && flows[TIMELY].paced > Span::ZERO);
    assert!(flows[NONE].finish < flows[DCQCN].finish.min(flows[TIMELY].finish));
}

#[test]
fn a_timely_segment_with_a_marked_packet_has_an_ack_that_says_so() {
    let outcome = outcome();
    let marks = outcome.records.marks.iter().filter(|mark| mark.flow as usize == TIMELY);
    let segments: BTreeSet<u32> = marks.map(|mark| mark.seq / 16).collect();
    assert!(segments.len() > 10);
    assert_eq!(outcome.flows[TIMELY].cnps_ce, segments.len() as u64);
}

#[test]
fn an_entry_that_is_not_listed_has_the_first_kind_of_queue_pair() {
    let mut spec = three();
    spec.pair_of.clear();
    let flows = run(spec).flows;
    assert!(flows.iter().all(|flow| flow.cnps_ce > 0 && flow.acked == Time::MAX));
}
