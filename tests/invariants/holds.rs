//! Frames that hold queues of flows: each one is followed by one that lets go, nothing is lost or overtaken meanwhile, and those that wait
//! for each other in a circle are found. The same of windows of destinations between switches.
use std::collections::BTreeMap;

use backwater_control::detector::{Detector, Red};
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_control::isolation::floodgate::FloodgateConfig;
use backwater_control::isolation::pyrrha::Rules;
use backwater_fabric::record::{FrameKind, FrameRecord};
use backwater_fabric::{
    Apart, BfcSpec, DstPfcSpec, End, FloodgateSpec, Pace, PoolOrder, PyrrhaSpec, Queueing, Spec, Violation,
};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, Outcome, bfc, flow, per_port, ring, try_run, us};

pub(crate) fn leaf_spine() -> Network {
    generate::leaf_spine(3, 2, 8, Rate::from_gbps(100), None, Span::from_us(1)).unwrap()
}

/// Two racks into one host, and every host of the third to two others.
pub(crate) fn incast_among_others() -> Vec<Flow> {
    let incast = (8..24).map(|src| flow(src, 0, 200_000, Time::ZERO, Pacing::LineRate));
    let others = (0..8).flat_map(|src| [(src, 8 + src), (src, 16 + src)]);
    let others = others.zip(0..).map(|((src, dst), i)| flow(src, dst, 50_000, us(2 * i), Pacing::LineRate));
    incast.chain(others).collect()
}

fn with(queueing: Queueing) -> Spec {
    let mut spec = bfc(leaf_spine(), incast_among_others());
    spec.switch.queueing = queueing;
    let network = &spec.network;
    let ports = |node: u32| (0..network.ports(node).len() as u16).map(move |port| (node, port));
    spec.probe.frames = (0..network.nodes().len() as u32).flat_map(ports).collect();
    spec
}

fn of_flows(queues: u16, order: PoolOrder) -> Queueing {
    Queueing::Bfc(BfcSpec { queues, order, sticky: 2, frame: Bytes::new(64) })
}

fn of_destinations(apart: Apart, first_packets: bool) -> Queueing {
    let thresholds = Thresholds { high: 2000, low: 1000 };
    Queueing::DstPfc(DstPfcSpec { apart, thresholds, first_packets, frame: Bytes::new(64) })
}

fn of_roots(queues: u16, nearest: bool, pace: Pace) -> PyrrhaSpec {
    let thresholds = Thresholds { high: 2000, low: 1000 };
    let rules = Rules { thresholds, hol: 0, only_down: false, merge: true, nearest };
    PyrrhaSpec { queues, rules, pace, frame: Bytes::new(64) }
}

/// Two queues that flows share, one for each flow, those of destinations, and those of roots.
fn queueings() -> Vec<Queueing> {
    let orders = [PoolOrder::RoundRobin, PoolOrder::LowestFirst];
    let flows = [2, 4, 32].into_iter().flat_map(|queues| orders.map(|order| of_flows(queues, order)));
    let aparts = [(Apart::Always, false), (Apart::Held, false), (Apart::Held, true)];
    let roots = [(1, true), (32, true), (32, false)].into_iter().flat_map(|(queues, nearest)| {
        [Pace::OwnPort, Pace::LastPort].map(|pace| Queueing::Pyrrha(of_roots(queues, nearest, pace)))
    });
    flows.chain(aparts.map(|(apart, first)| of_destinations(apart, first))).chain(roots).collect()
}

pub(crate) fn drained(spec: Spec) -> Outcome {
    let outcome = try_run(spec, FAST, Some(us(100_000))).unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(outcome.totals.end, End::Finished);
    outcome
}

/// Whether a Hold frame holds: its priority then stands in the low byte, else in the next one.
pub(crate) fn holds(frame: &FrameRecord) -> bool {
    frame.seq.trailing_zeros() < 8
}

/// What every run must keep to, also where flows share queues, which are drawn.
pub(crate) fn check(outcome: &Outcome) {
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size));
    let mut next: BTreeMap<(u32, u16, u32), u32> = BTreeMap::new();
    for frame in outcome.records.frames.iter().filter(|frame| frame.kind == FrameKind::Data) {
        let expected = next.entry((frame.node, frame.port, frame.flow)).or_default();
        assert_eq!(frame.seq, *expected, "flow {} at port {} of node {}", frame.flow, frame.port, frame.node);
        *expected += 1;
    }
}

fn windows_of(count: u64, voqs: u16) -> Queueing {
    let rules = FloodgateConfig { window: 1500, interval: Span::from_us(10), count, delay: 1500 };
    Queueing::Floodgate(FloodgateSpec { rules, voqs, frame: Bytes::new(38), entry: Bytes::new(8) })
}

#[test]
fn nothing_is_lost_or_overtaken() {
    let windows = [(1, 100), (10_240, 100), (10_240_000, 100), (10_240, 2), (10_240, 1)];
    for queueing in queueings().into_iter().chain(windows.map(|(count, voqs)| windows_of(count, voqs))) {
        check(&drained(with(queueing)));
    }
}

/// Which queue flows share where none is free is drawn, and marks are, each from a stream of its own.
#[test]
fn marks_that_nobody_heeds_change_no_queue() {
    let fcts = |detector: Option<Detector>| {
        let mut spec = with(of_flows(2, PoolOrder::RoundRobin));
        if let Some(detector) = detector {
            spec.switch.detectors = per_port(&spec.network, |_| detector);
        }
        let outcome = drained(spec);
        (
            outcome.flows.iter().map(|flow| flow.acked).collect::<Vec<_>>(),
            outcome.flows.iter().map(|flow| flow.ce_packets).sum::<u64>(),
        )
    };
    let (plain, none) = fcts(None);
    // Every packet that finds another one draws.
    let ramp = Red::new(Bytes::ZERO, Bytes::new(1_000_000), 0.5, Bytes::ZERO).unwrap();
    let (watched, some) = fcts(Some(Detector::Red(ramp)));
    assert!(none == 0 && some > 100, "{some} marks");
    assert_eq!(plain, watched);
}

/// At a NIC the flow is named, so that whoever holds it can be followed.
#[test]
fn a_flow_that_is_held_at_its_nic_is_let_go_once_for_each_time() {
    let outcome = drained(with(of_flows(32, PoolOrder::RoundRobin)));
    let network = outcome.simulation.network();
    let mut held: BTreeMap<(u32, u16, u32), Vec<bool>> = BTreeMap::new();
    for frame in outcome.records.frames.iter().filter(|frame| frame.kind == FrameKind::Hold) {
        if !network.is_switch(network.ports(frame.node)[usize::from(frame.port)].peer) {
            held.entry((frame.node, frame.port, frame.flow)).or_default().push(holds(frame));
        }
    }
    assert!(held.len() >= 16, "{} flows were held", held.len());
    for ((_, _, flow), frames) in held {
        assert!(frames.len() % 2 == 0, "flow {flow} is held for ever");
        assert!(frames.chunks(2).all(|pair| pair == [true, false]), "flow {flow}: {frames:?}");
    }
}

#[test]
fn switches_hold_as_often_as_they_let_go() {
    for queueing in queueings() {
        let outcome = drained(with(queueing));
        let mut balance: BTreeMap<(u32, u16), i32> = BTreeMap::new();
        // A root that has become a part of another one is held no more.
        let told = |frame: &&FrameRecord| matches!(frame.kind, FrameKind::Hold | FrameKind::Merge);
        for frame in outcome.records.frames.iter().filter(told) {
            *balance.entry((frame.node, frame.port)).or_default() += if holds(frame) { 1 } else { -1 };
        }
        assert!(balance.len() > 8, "{queueing:?}: {} ports held something", balance.len());
        assert!(balance.values().all(|sum| *sum == 0), "{queueing:?}: {balance:?}");
    }
}

/// Every host of a ring of five sends to the one two switches further on, at the same time: each flow finds the first queue empty and takes
/// it, so that what crosses a switch and what ends there share a queue.
#[test]
fn queues_that_hold_each_other_in_a_circle_are_found() {
    let flows = (0..5).map(|src| flow(src, (src + 2) % 5, 2_000_000, Time::ZERO, Pacing::LineRate)).collect();
    let spec = bfc(ring(5, Rate::from_gbps(40), Span::from_us(1)), flows);
    let Err(violation @ Violation::Deadlock { .. }) = try_run(spec, FAST, Some(us(100_000))) else {
        panic!("the ring did not lock up");
    };
    let text = violation.to_string();
    for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)] {
        assert!(text.contains(&format!("s{from}->s{to} (priority 3) waits for")), "{text}");
    }
}

/// 3.2 MB come at 200 Gbps by two spines for a host at 100 Gbps. Each spine may have 37,500 B and 125,000 B under way to it.
#[test]
fn what_waits_for_a_host_at_its_leaf_is_no_more_than_the_windows_of_the_switches_before_it() {
    let peak = |queueing: Queueing| {
        let outcome = drained(with(queueing));
        let host = outcome.simulation.network().hosts()[0];
        let queue = outcome.ports.iter().find(|port| port.peer == host && port.priority == 3);
        queue.expect("the port has data").peak_queue.get()
    };
    let window = 37_500 + 125_000;
    let found = peak(windows_of(10_240, 100));
    assert!((window..=2 * window).contains(&found), "{found} B");
    let without = peak(Queueing::Output);
    assert!(without > 1_000_000, "{without} B");
}

/// Two destinations behind the same link want a queue, and there is one.
#[test]
fn destinations_that_share_a_queue_are_counted() {
    let refusals = |voqs: u16| {
        let outcome = drained(with(windows_of(10_240, voqs)));
        assert!(outcome.switches.iter().any(|switch| switch.allocations > 0));
        assert!(outcome.switches.iter().all(|switch| switch.entries_left == 0));
        outcome.switches.iter().map(|switch| switch.refusals).sum::<u64>()
    };
    assert_eq!(refusals(100), 0);
    let mut spec = with(windows_of(10_240, 1));
    let second = (8..24).map(|src| flow(src, 1, 200_000, Time::ZERO, Pacing::LineRate));
    spec.flows.extend(second);
    let outcome = drained(spec);
    assert!(outcome.switches.iter().any(|switch| switch.refusals > 0));
}

/// As above with seven, three switches further on, and one queue in each switch for all destinations: what is at its head waits for a window that
/// is used up by what stands behind the head of the next one.
#[test]
fn destinations_that_share_a_queue_and_wait_for_each_other_in_a_circle_are_found() {
    let run = |voqs: u16| {
        let flows =
            (0..7).map(|src| flow(src, (src + 3) % 7, 2_000_000, Time::ZERO, Pacing::LineRate)).collect();
        let mut spec = bfc(ring(7, Rate::from_gbps(40), Span::from_us(1)), flows);
        spec.switch.queueing = windows_of(10_240, voqs);
        try_run(spec, FAST, Some(us(100_000)))
    };
    assert!(run(7).is_ok(), "each destination has a queue of its own");
    let Err(violation @ Violation::Deadlock { .. }) = run(1) else { panic!("the ring did not lock up") };
    assert!(violation.to_string().contains("s0->s1 (priority 3) waits for"), "{violation}");
}

/// Two racks into one host through one spine: its port to the host's leaf is congested first, as that of the leaf gets no more than it sends.
/// Then a host of that rack sends there, too, and the root lies one link further on.
fn one_spine(rules: impl Fn(&mut PyrrhaSpec)) -> Spec {
    let network = generate::leaf_spine(3, 1, 8, Rate::from_gbps(100), None, Span::from_us(1)).unwrap();
    let far = (8..24).map(|src| flow(src, 0, 200_000, Time::ZERO, Pacing::LineRate));
    let near = (1..4).map(|src| flow(src, 0, 200_000, us(40), Pacing::LineRate));
    let beside = (4..8).map(|dst| flow(dst + 4, dst, 100_000, us(20), Pacing::LineRate));
    let mut spec = bfc(network, far.chain(near).chain(beside).collect());
    let mut queueing = of_roots(32, true, Pace::OwnPort);
    rules(&mut queueing);
    spec.switch.queueing = Queueing::Pyrrha(queueing);
    let network = &spec.network;
    let ports = |node: u32| (0..network.ports(node).len() as u16).map(move |port| (node, port));
    spec.probe.frames = (0..network.nodes().len() as u32).flat_map(ports).collect();
    spec
}

fn frames_of(outcome: &Outcome, kind: FrameKind) -> usize {
    outcome.records.frames.iter().filter(|frame| frame.kind == kind).count()
}

#[test]
fn a_root_becomes_a_part_of_one_behind_it_where_roots_merge() {
    for nearest in [true, false] {
        let merging = drained(one_spine(|it| it.rules.nearest = nearest));
        check(&merging);
        assert!(frames_of(&merging, FrameKind::Merge) > 0);
        assert!(merging.switches.iter().all(|switch| switch.entries_left == 0));
        let apart = drained(one_spine(|it| {
            it.rules.merge = false;
            it.rules.nearest = nearest;
        }));
        check(&apart);
        assert_eq!(frames_of(&apart, FrameKind::Merge), 0);
        // Where nothing merges each queue that is freed says so.
        assert!(frames_of(&apart, FrameKind::Free) > 0);
    }
}

#[test]
fn a_root_for_which_no_queue_is_left_is_counted_and_nothing_is_lost() {
    let refusals = |queues: u16| {
        let outcome = drained(one_spine(|it| {
            it.queues = queues;
            it.rules.merge = false;
        }));
        check(&outcome);
        // Leaves without a queue tell so, too, or the spine would keep its own for ever.
        assert!(outcome.switches.iter().all(|switch| switch.entries_left == 0));
        outcome.simulation.switches().iter().map(|switch| switch.refusals).sum::<u64>()
    };
    assert_eq!(refusals(32), 0);
    assert!(refusals(1) > 0);
}

/// Ports of leaves to the spine are roots unless only those to lower tiers are.
#[test]
fn ports_to_higher_tiers_are_roots_only_where_they_may_be() {
    let at_leaves = |only_down: bool, hol: u32| {
        let outcome = drained(one_spine(|it| {
            it.rules.only_down = only_down;
            it.rules.hol = hol;
        }));
        let network = outcome.simulation.network();
        let up = |(node, port): (u32, u16)| network.is_switch(network.ports(node)[usize::from(port)].peer);
        let leaf = |node: u32| network.ports(node).iter().any(|port| !network.is_switch(port.peer));
        let roots = outcome.records.frames.iter().filter_map(|frame| frame.root);
        roots.filter(|root| up(*root) && leaf(root.0)).count()
    };
    assert!(at_leaves(false, 0) > 0);
    assert_eq!(at_leaves(true, 0), 0);
    // One uplink is never longer than its own mean.
    assert_eq!(at_leaves(false, 1000), 0);
}
