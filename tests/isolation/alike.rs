//! ICI+ is ICI until it has a reason to mark.
use backwater_fabric::record::{ArrivedRecord, IsolationEvent, IsolationRecord};
use backwater_units::Time;
use scene::{FAST, Outcome, Scheme, try_run};

use crate::{END, FOUR, ONE, workload};

fn course(scheme: Scheme, targets: &[u32]) -> Outcome {
    let mut spec = workload(scheme, targets);
    spec.probe.packets = vec![true; 2];
    try_run(spec, FAST, Some(END)).unwrap_or_else(|violation| panic!("{violation}"))
}

#[test]
fn one_tree_takes_the_same_course_under_ici_and_ici_plus_digest_for_digest() {
    // Under ICI nobody is controlled, under ICI+ all are by DCQCN, which does nothing without a mark.
    let [ici, plus] = [Scheme::Ici, Scheme::IciPlus].map(|scheme| course(scheme, ONE));
    assert_eq!((ici.totals.digest, ici.totals.events), (plus.totals.digest, plus.totals.events));
    assert_eq!(ici.switches, plus.switches);
}

#[test]
fn four_trees_take_the_same_course_packet_for_packet_until_the_first_refusal() {
    let [ici, plus] = [Scheme::Ici, Scheme::IciPlus].map(|scheme| course(scheme, FOUR));
    let mut events = plus.records.isolation.iter();
    let refusal = events.find(|event| event.what == IsolationEvent::Refused).expect("a refusal").time;
    assert!(plus.records.marks.iter().all(|mark| mark.time >= refusal));
    let arrived = |outcome: &Outcome| -> Vec<ArrivedRecord> {
        outcome.records.arrived.iter().filter(|packet| packet.time <= refusal).copied().collect()
    };
    let told = |outcome: &Outcome| -> Vec<IsolationRecord> {
        outcome.records.isolation.iter().filter(|event| event.time <= refusal).copied().collect()
    };
    assert!(refusal > Time::ZERO && arrived(&ici).len() > 10_000);
    assert_eq!(arrived(&ici), arrived(&plus));
    assert_eq!(told(&ici), told(&plus));
}
