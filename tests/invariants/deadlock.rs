//! A ring whose routes wait for each other in a circle locks up; that is reported, before the run and in it.
use backwater_control::flow_control::{Form, Threshold};
use backwater_fabric::{Spec, Violation};
use backwater_topology::deadlock;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, flow, ideal, per_port, ring, try_run, us};

/// Every host of a ring of five sends to the one two switches further on.
fn circle(form: Form) -> Spec {
    let flows = (0..5).map(|src| flow(src, (src + 2) % 5, 2_000_000, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = ideal(ring(5, Rate::from_gbps(40), Span::from_us(1)), flows);
    let threshold = Threshold::Static {
        xoff: 10_000,
        xon: 8_000,
        port_xoff: u64::MAX,
        port_xon: u64::MAX,
        buffer: 18_000_000,
    };
    let pfc = spec.switch.pfc.as_mut().unwrap();
    pfc.form = form;
    pfc.thresholds = per_port(&spec.network, |_| threshold);
    spec
}

#[test]
fn the_routes_of_a_ring_are_known_to_be_cyclic_before_the_run() {
    let spec = circle(Form::Ideal);
    let cycle = deadlock::check(&spec.network, &spec.routes).unwrap_err();
    assert_eq!(cycle.ports.len(), 5);
}

#[test]
fn pauses_in_a_circle_are_reported_as_deadlock_with_the_ports_that_are_held() {
    let Err(violation) = try_run(circle(Form::Ideal), FAST, None) else {
        panic!("the ring did not lock up");
    };
    let Violation::Deadlock { unfinished, paused, .. } = &violation else {
        panic!("{violation}");
    };
    assert_eq!(*unfinished, 5);
    for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)] {
        assert!(paused.contains(&format!("s{from}->s{to}")), "{paused}");
    }
}

#[test]
fn endless_flows_that_lock_up_are_a_deadlock_too() {
    let mut spec = circle(Form::Ideal);
    for flow in &mut spec.flows {
        flow.size = Bytes::MAX;
    }
    let outcome = try_run(spec, FAST, Some(us(10_000)));
    assert!(
        matches!(outcome, Err(Violation::Deadlock { .. })),
        "{:?}",
        outcome.map(|outcome| outcome.totals)
    );
}

#[test]
fn pauses_that_polls_renew_for_ever_are_a_deadlock_and_no_endless_run() {
    let Err(violation) = try_run(circle(Form::authors()), FAST, None) else {
        panic!("the ring did not lock up");
    };
    assert!(matches!(violation, Violation::Deadlock { unfinished: 5, .. }), "{violation}");
}

#[test]
fn a_long_silence_between_messages_is_no_deadlock() {
    let mut spec = circle(Form::authors());
    spec.flows.truncate(2);
    spec.flows[1].start = us(100_000);
    let outcome = try_run(spec, FAST, None).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size));
}

#[test]
fn a_ring_that_is_dead_when_the_run_ends_is_reported_however_short_the_run_was() {
    // Another pair of hosts goes on, so that the fabric never stands still.
    let mut spec = circle(Form::Ideal);
    let beside = flow(
        0,
        1,
        u64::MAX,
        Time::ZERO,
        Pacing::Constant { rate: Rate::from_mbps(10), jitter_ppm: 0, catch_up: false },
    );
    spec.flows.push(backwater_traffic::Flow { priority: 5, ..beside });
    let Err(violation) = try_run(spec, FAST, Some(us(2_000))) else {
        panic!("the ring did not lock up");
    };
    let Violation::Deadlock { circle, blocked, .. } = &violation else { panic!("{violation}") };
    assert_eq!((circle.len(), blocked.len()), (5, 5), "{violation}");
}
