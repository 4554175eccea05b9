//! PAUSE: each one ends, and it holds back what it names and nothing else.
use std::collections::BTreeMap;

use backwater_control::flow_control::{Form, Threshold};
use backwater_fabric::{End, Spec};
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, Outcome, dynamic_thresholds, flow, flow_of_priority, ideal, per_port, try_run, us};

/// Eight to one, Xoff 20 KB.
fn incast(form: Form) -> Spec {
    let net = generate::leaf_spine(3, 1, 4, Rate::from_gbps(40), None, Span::from_us(1)).unwrap();
    let flows = (4..12).map(|src| flow(src, 0, 200_000, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = ideal(net, flows);
    let threshold = Threshold::Static {
        xoff: 20_000,
        xon: 18_000,
        port_xoff: u64::MAX,
        port_xon: u64::MAX,
        buffer: 18_000_000,
    };
    let pfc = spec.switch.pfc.as_mut().unwrap();
    pfc.form = form;
    pfc.thresholds = per_port(&spec.network, |_| threshold);
    spec
}

/// Runs until nothing is under way any more.
fn drained(spec: Spec) -> Outcome {
    let outcome = try_run(spec, FAST, Some(us(100_000))).unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(outcome.totals.end, End::Finished);
    outcome
}

/// Gate changes of each (node, port, priority), in order of time.
fn by_gate(outcome: &Outcome) -> BTreeMap<(u32, u16, u8), Vec<(Time, bool)>> {
    let mut gates: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for r in &outcome.records.pauses {
        let changes = gates.entry((r.node, r.port, r.priority)).or_default();
        changes.push((r.time, r.paused));
    }
    gates
}

fn check_that_every_pause_ends(outcome: &Outcome) {
    let gates = by_gate(outcome);
    assert!(gates.len() > 4, "{} gates were ever closed", gates.len());
    for (gate, changes) in gates {
        assert!(changes[0].1, "{gate:?} opens before it closes");
        assert!(!changes.last().unwrap().1, "{gate:?} stays closed");
        assert!(changes.windows(2).all(|pair| pair[0].1 != pair[1].1 && pair[0].0 <= pair[1].0));
    }
}

#[test]
fn every_ideal_pause_is_followed_by_a_resume_before_the_fabric_is_empty() {
    let outcome = drained(incast(Form::Ideal));
    check_that_every_pause_ends(&outcome);
    assert!(outcome.records.pauses.iter().all(|record| !record.expired));
}

#[test]
fn every_timed_pause_is_resumed_or_runs_out() {
    let outcome = drained(incast(Form::authors()));
    check_that_every_pause_ends(&outcome);
}

#[test]
fn every_pause_of_dynamic_thresholds_ends() {
    let mut spec = incast(Form::Ideal);
    spec.switch.buffer = Bytes::new(400_000);
    spec.switch.pfc.as_mut().unwrap().thresholds = dynamic_thresholds(&spec.network, 400_000);
    check_that_every_pause_ends(&drained(spec));
}

#[test]
fn the_closed_time_of_a_port_is_the_sum_of_its_pauses() {
    let outcome = drained(incast(Form::Ideal));
    for ((node, port, priority), changes) in by_gate(&outcome) {
        let closed: u64 = changes.chunks(2).map(|c| c[1].0.since(c[0].0).as_ps()).sum();
        let record = outcome.port((node, port), priority);
        assert_eq!(record.paused.as_ps(), closed);
        assert_eq!(record.pauses, changes.len() as u64 / 2);
    }
}

#[test]
fn nothing_of_a_paused_priority_leaves_and_the_other_priorities_do_not_notice() {
    // a sends priority 3 to a slow host and priority 4 to a fast one.
    let rates = [40, 1, 40].map(Rate::from_gbps);
    let mut builder = backwater_topology::Builder::new();
    let hosts = ["a", "slow", "fast"].map(|name| builder.host(name));
    let s = builder.switch("s");
    for (host, rate) in hosts.into_iter().zip(rates) {
        builder.link(host, s, rate, Span::from_us(1));
    }
    let flows = vec![
        flow_of_priority(3, 0, 1, 1_000_000, Time::ZERO, Pacing::LineRate),
        flow_of_priority(4, 0, 2, 1_000_000, us(200), Pacing::LineRate),
    ];
    let outcome = drained(ideal(builder.build().unwrap(), flows));
    assert!(outcome.port((0, 0), 3).pauses > 10);
    assert_eq!(outcome.port((0, 0), 4).pauses, 0);
    // While priority 3 is held back, priority 4 has the wire to itself but for a few packets.
    let flow = &outcome.flows[1];
    let fct = flow.finish.since(flow.start).as_us_f64();
    assert!(fct < 1.05 * flow.ideal_fct.as_us_f64(), "{fct} us");
}

#[test]
fn a_priority_that_the_whole_ports_threshold_paused_is_resumed_when_the_port_has_drained() {
    // a sends priorities 3 and 4 to two slow hosts. Together they cross the threshold of the port; 4 is the first to be
    // gone from the switch, while 3 still holds the port above it.
    let mut builder = backwater_topology::Builder::new();
    let hosts = ["a", "b", "c"].map(|name| builder.host(name));
    let s = builder.switch("s");
    for (host, mbps) in hosts.into_iter().zip([40_000, 100, 1_000]) {
        builder.link(host, s, Rate::from_mbps(mbps), Span::from_us(1));
    }
    let flows = vec![
        flow_of_priority(3, 0, 1, 100_000, Time::ZERO, Pacing::LineRate),
        flow_of_priority(4, 0, 2, 12_000, Time::ZERO, Pacing::LineRate),
        flow_of_priority(4, 0, 2, 12_000, us(12_000), Pacing::LineRate),
    ];
    let mut spec = ideal(builder.build().unwrap(), flows);
    let threshold = Threshold::Static {
        xoff: 1_000_000,
        xon: 998_000,
        port_xoff: 20_000,
        port_xon: 18_000,
        buffer: 18_000_000,
    };
    spec.switch.pfc.as_mut().unwrap().thresholds = per_port(&spec.network, |_| threshold);
    let outcome = drained(spec);
    assert!(outcome.port((0, 0), 4).pauses > 0);
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size));
}
