//! Whom ICI+ marks, and when.
use std::collections::BTreeMap;

use backwater_fabric::record::{IsolationEvent, MarkRecord};
use backwater_units::{Span, Time};
use scene::{CONGESTED, NORMAL, Outcome, Scheme, ici, isolating};

use crate::{FOUR, ONE, drained, workload};

fn marking(outcome: &Outcome) -> [u64; 2] {
    let sum = |of: fn(&backwater_fabric::record::SwitchRecord) -> u64| outcome.switches.iter().map(of).sum();
    [sum(|switch| switch.ce_isolated), sum(|switch| switch.ce_monitored)]
}

/// ICI+ with entries that count as old after `us` microseconds.
fn impatient(targets: &[u32], slots: Option<u32>, us: u64) -> Outcome {
    let mut spec = workload(Scheme::IciPlus, targets);
    isolating(&mut spec).slots = slots;
    ici(&mut spec).marking.as_mut().expect("ICI+").persist = Span::from_us(us);
    drained(spec)
}

/// No packet is marked at a port that is paused in its class.
fn at_open_gates(outcome: &Outcome) {
    let mut gates: BTreeMap<(u32, u16, u8), Vec<(Time, bool)>> = BTreeMap::new();
    for pause in &outcome.records.pauses {
        gates.entry((pause.node, pause.port, pause.priority)).or_default().push((pause.time, pause.paused));
    }
    for mark in &outcome.records.marks {
        let changes = gates.get(&(mark.node, mark.port, mark.priority));
        let last = changes.and_then(|changes| changes.iter().rfind(|(time, _)| *time < mark.time));
        assert!(last.is_none_or(|(_, paused)| !paused), "{mark:?} after {last:?}");
    }
}

fn of_host<'a>(outcome: &'a Outcome, mark: &MarkRecord) -> (&'a backwater_fabric::record::FlowRecord, u32) {
    let flow = &outcome.flows[mark.flow as usize];
    (flow, outcome.simulation.network().host_index(flow.dst).expect("a host"))
}

#[test]
fn a_tree_that_fits_the_table_and_does_not_last_is_never_marked() {
    let outcome = drained(workload(Scheme::IciPlus, ONE));
    assert_eq!(marking(&outcome), [0, 0]);
    assert!(outcome.records.marks.is_empty());
    assert!(outcome.flows.iter().all(|flow| flow.cnps_ce == 0));
}

#[test]
fn with_a_table_without_end_only_entries_that_last_are_marked() {
    let patient = impatient(FOUR, None, 2000);
    assert!(patient.records.marks.is_empty());
    let outcome = impatient(FOUR, None, 100);
    let [isolated, monitored] = marking(&outcome);
    assert!(isolated > 0 && monitored == 0, "{isolated}, {monitored}");
    let mut since = BTreeMap::new();
    let mut events = outcome.records.isolation.iter().peekable();
    for mark in &outcome.records.marks {
        while let Some(event) = events.next_if(|event| event.time <= mark.time) {
            let entry = (event.node, event.src, event.dst);
            match event.what {
                IsolationEvent::Allocated => _ = since.insert(entry, (event.time, event.origin)),
                IsolationEvent::Released => _ = since.remove(&entry),
                _ => {}
            }
        }
        let flow = &outcome.flows[mark.flow as usize];
        let (made, origin) = since[&(mark.node, Some(flow.src), Some(flow.dst))];
        assert_eq!((mark.priority, origin), (CONGESTED, 1), "{mark:?}: at the root, in its own queue");
        assert!(mark.time.since(made) > Span::from_us(100), "{mark:?}: an entry of {made}");
    }
    at_open_gates(&outcome);
}

#[test]
fn marks_of_an_entry_are_a_cnp_interval_apart() {
    let outcome = impatient(ONE, Some(32), 50);
    let mut last: BTreeMap<(u32, u32, u32), Time> = BTreeMap::new();
    assert!(outcome.records.marks.len() > 30);
    for mark in outcome.records.marks.iter().filter(|mark| mark.priority == CONGESTED) {
        let flow = &outcome.flows[mark.flow as usize];
        if let Some(before) = last.insert((mark.node, flow.src, flow.dst), mark.time) {
            assert!(mark.time.since(before) >= Span::from_us(50), "{mark:?} after {before}");
        }
    }
}

#[test]
fn without_a_table_only_packets_that_fill_the_queue_of_a_root_are_marked() {
    let mut spec = workload(Scheme::IciPlus, ONE);
    isolating(&mut spec).slots = Some(0);
    let outcome = drained(spec);
    let [isolated, monitored] = marking(&outcome);
    assert!(isolated == 0 && monitored > 100, "{isolated}, {monitored}");
    assert!(outcome.records.marks.iter().all(|mark| mark.priority == NORMAL));
    at_open_gates(&outcome);
    // DCQCN marks whoever waits in a long queue; most of those wait because of the tree, not for it.
    let to_root = |outcome: &Outcome| {
        let marks = &outcome.records.marks;
        let hot = marks.iter().filter(|mark| of_host(outcome, mark).1 == 0).count();
        hot as f64 / marks.len() as f64
    };
    let everybody = drained(workload(Scheme::Dcqcn, ONE));
    assert!(to_root(&everybody) < 0.7, "{}", to_root(&everybody));
    assert!(to_root(&outcome) > 0.9, "{}", to_root(&outcome));
}

#[test]
fn when_four_trees_do_not_fit_marks_begin_after_the_first_refusal_and_hit_few() {
    let outcome = drained(workload(Scheme::IciPlus, FOUR));
    let mut refused: Vec<(u32, Time)> = Vec::new();
    for event in outcome.records.isolation.iter().filter(|event| event.what == IsolationEvent::Refused) {
        refused.push((event.node, event.time));
    }
    assert!(!refused.is_empty());
    for mark in &outcome.records.marks {
        let lately = |(node, time): &(u32, Time)| {
            *node == mark.node && *time <= mark.time && mark.time.since(*time) < Span::from_us(20)
        };
        assert!(refused.iter().any(lately), "{mark:?}: its switch refused nobody within 20 us");
    }
    at_open_gates(&outcome);
    let dcqcn = drained(workload(Scheme::Dcqcn, FOUR));
    assert!(10 * outcome.records.marks.len() < dcqcn.records.marks.len());
}

#[test]
fn ci_and_ici_mark_nothing_and_ci_with_dcqcn_marks_as_dcqcn_does() {
    for scheme in [Scheme::Ci, Scheme::Ici] {
        let outcome = drained(workload(scheme, FOUR));
        assert!(outcome.records.marks.is_empty(), "{scheme:?}");
    }
    let outcome = drained(workload(Scheme::CiDcqcn, ONE));
    let victims = outcome.records.marks.iter().filter(|mark| of_host(&outcome, mark).0.group == 0);
    assert!(victims.count() > 0, "by the length of both queues the others are marked too");
}
