//! Tori and dragonflies under load with buffers that fill: packets that change their lane arrive, all of them, on every engine; on
//! one lane the same traffic locks up.
use backwater_control::flow_control::CreditReturn;
use backwater_fabric::{Around, Balancing, Control, Kind, QueueOf, Queueing, Spec, Switching, Violation};
use backwater_topology::generate::{self, Dragonfly};
use backwater_topology::{Network, Routes, Routing};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, flow, infiniband, run, try_run};

use crate::fingerprint::{difference, fingerprint, of_saved, taken, watch_all, watch_nothing};

const RATE: Rate = Rate::from_gbps(32);
const DELAY: Span = Span::from_us(1);

fn torus(sizes: &[u32]) -> Network {
    generate::grid(sizes, true, 1, [RATE; 2], DELAY).unwrap()
}

fn dragonfly() -> Network {
    generate::dragonfly(&Dragonfly { a: 3, p: 2, h: 1, g: 4, rates: [RATE; 3], delays: [DELAY; 2] }).unwrap()
}

/// Every host to the one `ahead` of it, at once and as fast as the links are.
fn around(hosts: u32, ahead: u32, bytes: u64) -> Vec<Flow> {
    (0..hosts).map(|src| flow(src, (src + ahead) % hosts, bytes, Time::ZERO, Pacing::LineRate)).collect()
}

/// Buffers of a few packets, so that gates close.
fn spec(net: Network, routing: Routing, flows: Vec<Flow>, returned: CreditReturn) -> Spec {
    let routes = Routes::new(&net, routing).unwrap();
    let mut spec = infiniband(net, flows);
    spec.routes = routes;
    let credits = spec.switch.credits.as_mut().unwrap();
    (credits.buffer, credits.returned) = (Bytes::new(2 * 2112), returned);
    spec
}

fn ring(ahead: u32) -> Spec {
    spec(torus(&[7]), Routing::DimensionOrder, around(7, ahead, 1_000_000), CreditReturn::AtOnce)
}

#[test]
fn on_one_lane_a_ring_locks_up_and_its_ports_are_named() {
    let mut spec = ring(3);
    spec.routes = spec.routes.on_one_lane();
    match try_run(spec, FAST, None) {
        Err(violation @ Violation::Deadlock { .. }) => {
            assert!(violation.to_string().contains("sw0->sw1"), "{violation}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the same traffic without lanes should lock up"),
    }
}

#[test]
fn with_lanes_the_same_ring_delivers_everything() {
    let outcome = run(ring(3));
    assert!(outcome.flows.iter().all(|flow| flow.finish < Time::MAX));
    assert!(outcome.ports.iter().any(|port| port.pauses > 0), "its gates have been closed");
    // Priority 3 and the lane above it.
    let used: Vec<u8> =
        outcome.ports.iter().filter(|port| port.packets > 0).map(|port| port.priority).collect();
    assert!(used.contains(&3) && used.contains(&4) && used.iter().all(|priority| [3, 4].contains(priority)));
}

#[test]
fn a_run_that_ends_amid_packets_that_change_their_lane_finds_each_where_it_came_in() {
    // The accounts are held against the packets at the end of every run.
    for us in [5, 17, 42, 90] {
        let ended = try_run(ring(3), FAST, Some(Time::from_ps(us * 1_000_000)));
        assert!(ended.is_ok(), "{us} us: {:?}", ended.err());
    }
}

fn check(spec: impl Fn() -> Spec) {
    let outcome = |kind, seen: bool| {
        let mut spec = spec();
        if seen {
            watch_all(&mut spec);
        } else {
            watch_nothing(&mut spec);
        }
        fingerprint(spec, kind, None)
    };
    let reference = outcome(Kind::Heap, false);
    assert!(reference.is_ok(), "{:?}", reference.as_ref().err());
    for (threads, seen) in [(1, false), (1, true), (2, false), (8, true)] {
        let found = difference(&reference, &outcome(Kind::Windows { threads }, seen), false);
        assert!(found.is_none(), "{threads} threads, seen {seen}: {}", found.unwrap_or_default());
    }
}

#[test]
fn lanes_in_a_torus_of_two_dimensions_tell_the_same_story_on_every_engine() {
    let tc = CreditReturn::Periodic(Span::from_us(5));
    let flows = || [around(20, 11, 150_000), around(20, 7, 90_000)].concat();
    check(|| spec(torus(&[5, 4]), Routing::DimensionOrder, flows(), tc));
    let outcome = run(spec(torus(&[5, 4]), Routing::DimensionOrder, flows(), tc));
    assert!(outcome.ports.iter().any(|port| port.pauses > 0));
}

#[test]
fn lanes_in_a_dragonfly_tell_the_same_story_on_every_engine_with_output_queues_too() {
    let flows = || [around(24, 6, 150_000), around(24, 13, 90_000)].concat();
    for queueing in [Queueing::VirtualOutput, Queueing::Output] {
        check(|| {
            let mut spec = spec(dragonfly(), Routing::Minimal, flows(), CreditReturn::AtOnce);
            spec.switch.queueing = queueing;
            spec
        });
    }
}

const RULES: [Around; 4] = [
    Around::Valiant,
    Around::Ugal { bias: Bytes::ZERO, queue: QueueOf::Waiting, every: None },
    Around::Ugal { bias: Bytes::new(5_000), queue: QueueOf::Credits, every: None },
    Around::Ugal { bias: Bytes::ZERO, queue: QueueOf::Waiting, every: Some(Span::from_us(2)) },
];

/// Each group to the next, whose one link cannot take it all.
fn around_groups(rule: Around, queueing: Queueing) -> Spec {
    let flows = [around(24, 6, 150_000), around(24, 13, 90_000)].concat();
    let mut spec = spec(dragonfly(), Routing::NonMinimal, flows, CreditReturn::AtOnce);
    (spec.switch.balancing, spec.switch.queueing) = (Balancing::Around(rule), queueing);
    spec
}

#[test]
fn ways_through_third_groups_tell_the_same_story_on_every_engine() {
    for rule in RULES {
        for queueing in [Queueing::VirtualOutput, Queueing::Output, Queueing::Input] {
            check(|| around_groups(rule, queueing));
        }
        check(|| {
            let mut spec = around_groups(rule, Queueing::Output);
            (spec.switch.credits, spec.switch.switching) = (None, Switching::StoreAndForward);
            spec
        });
    }
}

#[test]
fn ways_through_third_groups_use_three_lanes_and_every_packet_arrives() {
    for rule in RULES {
        let outcome = run(around_groups(rule, Queueing::VirtualOutput));
        assert!(outcome.flows.iter().all(|flow| flow.finish < Time::MAX), "{rule:?}");
        assert!(outcome.ports.iter().any(|port| port.pauses > 0), "gates have been closed");
        let sent = |lane: u8| {
            let on = outcome.ports.iter().filter(|port| port.priority == 3 + lane);
            on.map(|port| port.packets).sum::<u64>()
        };
        assert!([0, 1, 2].iter().all(|lane| sent(*lane) > 0), "{rule:?}");
        assert_eq!(
            outcome.ports.iter().filter(|port| port.priority > 5).map(|port| port.packets).sum::<u64>(),
            0
        );
    }
}

#[test]
fn packets_on_their_way_through_third_groups_are_found_where_they_came_in() {
    for (rule, us) in RULES.into_iter().flat_map(|rule| [5, 17, 42, 90].map(|us| (rule, us))) {
        let spec = around_groups(rule, Queueing::VirtualOutput);
        let ended = try_run(spec, FAST, Some(Time::from_ps(us * 1_000_000)));
        assert!(ended.is_ok(), "{rule:?}, {us} us: {:?}", ended.err());
    }
}

/// What a switch has heard of the global ports of its group, and what it has told, goes on from a file too.
#[test]
fn runs_that_are_saved_amid_ways_through_third_groups_go_on_alike_on_other_threads() {
    let control = Control::default();
    let ends = [5, 17, 42, 43, 90].map(|us| (Time::from_ps(us * 1_000_000 + 1), Vec::new()));
    for (rule, seed) in RULES.into_iter().zip([0, 3, 6, 9]) {
        let mut spec = around_groups(rule, Queueing::VirtualOutput);
        watch_all(&mut spec);
        let reference = fingerprint(spec.clone(), Kind::Heap, None);
        assert!(reference.is_ok(), "{rule:?}: {:?}", reference.as_ref().err());
        let saved = taken(of_saved(&spec, seed, 1, &control, &ends));
        let found = difference(&reference, &saved, true);
        assert!(found.is_none(), "{rule:?}: {}", found.unwrap_or_default());
    }
}
