//! Functions of the user's own: the same course on any engine and any number of threads, and of several calls that fail the same
//! one is told.
use backwater_control::detector::custom::{self as detecting, Custom, CustomDetector, PortEvent, QueueState};
use backwater_control::detector::{Detector, Red};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::custom::{Controller, CustomConfig, Event, EventKind, FlowState, WORDS};
use backwater_fabric::{Kind, Spec, UserFault, UserSpec, Violation};
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{flow, ideal, per_port, try_run};

const KINDS: [Kind; 4] =
    [Kind::Windows { threads: 1 }, Kind::Windows { threads: 2 }, Kind::Windows { threads: 8 }, Kind::Heap];
/// Above this queue every packet is marked.
const STEP: u64 = 5_000;

/// Halves at a CNP and rises by 1 Gbps every 20 us.
extern "C" fn halve(flow: &mut FlowState, event: &Event) -> u32 {
    if event.kind == EventKind::Cnp as i64 {
        flow.rate_bps = (flow.rate_bps / 2.0).max(1e8);
    } else {
        flow.rate_bps += 1e9;
    }
    flow.words[0] += 1;
    flow.timer_ps = event.now_ps + 20_000_000;
    0
}

/// Fails at the tenth packet of each flow.
extern "C" fn give_up(flow: &mut FlowState, _: &Event) -> u32 {
    flow.words[0] += 1;
    u32::from(flow.words[0] == 10)
}

/// A step.
extern "C" fn step(queue: &mut QueueState, event: &PortEvent) -> u32 {
    queue.ce = f64::from(u8::from(event.queue_bytes > STEP.cast_signed()));
    queue.state = i64::from(event.queue_bytes > STEP.cast_signed());
    0
}

/// Eight hosts of a leaf-spine send 500 KB each to a ninth, with a function as their reaction point.
fn incast(function: Controller, events: EventKind) -> Spec {
    let network = generate::leaf_spine(3, 2, 3, Rate::from_gbps(40), None, Span::from_us(1));
    let network = network.expect("a leaf-spine");
    let flows = (1..9).map(|src| flow(src, 0, 500_000, Time::ZERO, Pacing::Controlled)).collect();
    let mut spec = ideal(network, flows);
    let red = Red::step(Bytes::new(STEP));
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(red));
    spec.pairs[0].notify = Some(NotifyConfig::standard());
    spec.pairs[0].custom = Some(0);
    let config = CustomConfig { function, events: events as i64, initial_rate_bps: 0.0, initial: [0; WORDS] };
    spec.user = UserSpec { controllers: vec![config], ..UserSpec::default() };
    spec
}

#[test]
fn a_function_gives_one_course_on_every_engine() {
    let digests = KINDS.map(|kind| {
        let outcome = try_run(incast(halve, EventKind::Cnp), kind, None).expect("a whole run");
        assert!(outcome.flows.iter().all(|flow| flow.finish < Time::MAX && flow.cnps_ce > 0));
        outcome.totals.digest
    });
    assert_eq!(digests, [digests[0]; 4]);
}

#[test]
fn a_detector_that_is_a_step_marks_what_the_built_in_step_marks() {
    let built_in = try_run(incast(halve, EventKind::Cnp), KINDS[0], None).expect("a whole run");
    for kind in KINDS {
        let mut spec = incast(halve, EventKind::Cnp);
        spec.switch.detectors = per_port(&spec.network, |_| Detector::Custom(Custom { calm: 0 }));
        spec.user.detector = Some(CustomDetector { function: step, initial: [0; detecting::WORDS] });
        let own = try_run(spec, kind, None).expect("a whole run");
        assert_eq!(own.totals.digest, built_in.totals.digest);
    }
}

#[test]
fn of_several_calls_that_fail_the_first_is_told_whoever_ran_it() {
    let faults = KINDS.map(|kind| match try_run(incast(give_up, EventKind::Send), kind, None) {
        Err(Violation::User(UserFault::Controller { flow, fault, .. })) => (flow, fault.event.now_ps),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it should have failed"),
    });
    assert_eq!(faults, [faults[0]; 4]);
}
