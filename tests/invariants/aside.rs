//! RECN and its heirs: who is set aside where and when, by hand; nothing is lost or overtaken, each hold ends, and all queues are freed.
use std::collections::{BTreeMap, BTreeSet};

use backwater_control::detector::{Detector, Red};
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_control::isolation::recn::{Aside, RecnConfig};
use backwater_fabric::record::{FrameKind, FrameRecord, IsolationEvent, IsolationRecord};
use backwater_fabric::{PoolOrder, Queueing, RecnSpec, Spec};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, Outcome, bfc, flow, per_port, ring, try_run, us};

use crate::holds::{check, drained, holds, incast_among_others, leaf_spine};

const GBPS: u64 = 100;

fn aside(aside: Aside, queues: u16) -> RecnSpec {
    let thresholds = Thresholds { high: 2000, low: 1000 };
    let rules = RecnConfig { detect: 1000, notify: 500, thresholds, aside, marks_roots: false };
    RecnSpec { queues, rules, order: PoolOrder::RoundRobin, frame: Bytes::new(64) }
}

/// By root, by destination, and by ranges of them; with a queue for each and with one.
pub(crate) fn all() -> Vec<Queueing> {
    let asides = [Aside::Root, Aside::Destinations(1), Aside::Destinations(8)];
    let all = asides.into_iter().flat_map(|it| [(it, 32), (it, 1)]);
    let both = all.flat_map(|(it, queues)| {
        [PoolOrder::RoundRobin, PoolOrder::LowestFirst].map(|order| RecnSpec { order, ..aside(it, queues) })
    });
    both.map(Queueing::Recn).collect()
}

fn with(network: Network, flows: Vec<Flow>, spec: RecnSpec) -> Spec {
    let mut run = bfc(network, flows);
    run.switch.queueing = Queueing::Recn(spec);
    let network = &run.network;
    let ports = |node: u32| (0..network.ports(node).len() as u16).map(move |port| (node, port));
    run.probe.frames = (0..network.nodes().len() as u32).flat_map(ports).collect();
    run
}

/// Two racks into one host beside others, and a late packet, by which what is told after the last of them has come.
fn late() -> Vec<Flow> {
    let mut flows = incast_among_others();
    flows.push(flow(1, 2, 1000, us(2000), Pacing::LineRate));
    flows
}

fn frames(outcome: &Outcome, kind: FrameKind) -> Vec<&FrameRecord> {
    outcome.records.frames.iter().filter(|frame| frame.kind == kind).collect()
}

/// What a frame is about: a root, or the host to which the flow goes that made it.
fn about(outcome: &Outcome, frame: &FrameRecord) -> (u32, u16) {
    frame.root.unwrap_or_else(|| (outcome.flows[frame.flow as usize].dst, u16::MAX))
}

#[test]
fn each_hold_ends_and_each_queue_is_freed() {
    for queueing in all() {
        let Queueing::Recn(spec) = queueing else { unreachable!() };
        let outcome = drained(with(leaf_spine(), late(), spec));
        check(&outcome);
        let mut last: BTreeMap<_, bool> = BTreeMap::new();
        for frame in frames(&outcome, FrameKind::Hold) {
            let about = match spec.rules.aside {
                Aside::Destinations(range) => (about(&outcome, frame).0 / range, 0),
                Aside::Root => about(&outcome, frame),
            };
            let held = last.insert((frame.node, frame.port, about), holds(frame));
            assert!(!(holds(frame) && held == Some(true)), "{spec:?}: held twice: {frame:?}");
        }
        assert!(last.len() > 16, "{spec:?}: {} holds", last.len());
        assert!(last.values().all(|held| !held), "{spec:?}: {last:?}");
        let switches = outcome.simulation.switches();
        assert!(switches.iter().any(|switch| switch.allocations > 0), "{spec:?}");
        assert!(switches.iter().all(|switch| switch.entries_left == 0), "{spec:?}: {switches:?}");
    }
}

/// Two hosts of 100 Gbit/s into a third over links of 1 µs: 25 000 B in a round trip. Each has half of the port, and half of what comes stays.
#[test]
fn hosts_are_held_when_each_has_two_round_trips_at_the_root() {
    let network = generate::star(3, Rate::from_gbps(GBPS), Span::from_us(1)).unwrap();
    let flows = [0, 1].map(|src| flow(src, 2, 400_000, Time::ZERO, Pacing::LineRate));
    for it in [Aside::Root, Aside::Destinations(1)] {
        let spec = with(network.clone(), flows.to_vec(), aside(it, 8));
        let packet = (spec.packet.payload + spec.packet.header).get();
        let outcome = drained(spec);
        check(&outcome);
        // 2 round trips, in packets: each packet that stays takes the time of two to come.
        let packets = 50_000 / packet + 1;
        let slot = Rate::from_gbps(GBPS).serialize(Bytes::new(packet));
        let due = us(1) + slot * (2 * packets);
        let off: Vec<_> = frames(&outcome, FrameKind::Hold).into_iter().filter(|it| holds(it)).collect();
        let first = off.iter().map(|frame| frame.sent).min().unwrap();
        let apart = first.as_ps().abs_diff(due.as_ps());
        assert!(apart <= (slot * 2).as_ps(), "{first} is not {due}");
        // Nobody else is told anything, and no queue is made: a host sets nothing aside.
        assert!(
            frames(&outcome, FrameKind::Aside).is_empty() && frames(&outcome, FrameKind::Free).is_empty()
        );
        assert_eq!(outcome.simulation.switches()[0].allocations, 0);
        // A round trip, in which a link's worth more comes than leaves, and the packet that each is at.
        let peak = outcome.ports.iter().find(|port| port.peer == 2 && port.priority == 3).unwrap().peak_queue;
        let most = 2 * packets * packet + 25_000;
        assert!((most - 2 * packet..=most + 6 * packet).contains(&peak.get()), "{peak} is not {most}");
    }
}

/// Flows 0 and 1 into `r0`, of which one comes through both switches, and flow 2 beside it by the same wire of 400 Gbit/s to `r2`.
fn two_switches(spec: RecnSpec) -> Spec {
    let bottleneck = Some(Rate::from_gbps(400));
    let network = generate::dumbbell(2, 3, Rate::from_gbps(GBPS), Span::from_us(1), bottleneck).unwrap();
    let flows = [(0, 2), (3, 2), (1, 4)];
    let mut flows = flows.map(|(src, dst)| flow(src, dst, 1_000_000, Time::ZERO, Pacing::LineRate)).to_vec();
    // When this one comes all tokens have.
    flows.push(flow(1, 4, 1000, us(2000), Pacing::LineRate));
    with(network, flows, spec)
}

fn took(outcome: &Outcome, index: usize) -> Span {
    outcome.flows[index].finish - outcome.flows[index].start
}

#[test]
fn what_goes_to_a_root_is_set_aside_at_the_switch_before_it_and_nothing_else_waits() {
    for it in [Aside::Root, Aside::Destinations(1)] {
        let outcome = drained(two_switches(aside(it, 8)));
        check(&outcome);
        let network = outcome.simulation.network();
        let (left, right) = (5, 6);
        let to = |node: u32, peer: u32| {
            network.ports(node).iter().position(|port| port.peer == peer).unwrap() as u16
        };
        let asides = frames(&outcome, FrameKind::Aside);
        // The queue grows by 100 Gbit/s from 2 µs on, when the first packet through two switches is there, beside one that came for 1 µs: it is a root
        // at 25 000 B, and half of it is the link's.
        let first = asides.iter().map(|frame| frame.sent).min().unwrap();
        assert!((us(4)..us(5)).contains(&first), "{first}");
        for frame in &asides {
            assert_eq!((frame.node, frame.port), (right, to(right, left)), "{frame:?}");
            assert!(it != Aside::Root || frame.root == Some((right, to(right, 2))), "{frame:?}");
        }
        // Tokens come back for all of them.
        let tokens = frames(&outcome, FrameKind::Free);
        assert!(tokens.iter().all(|frame| (frame.node, frame.port) == (left, to(left, right))));
        let made = outcome.simulation.switches().iter().map(|switch| switch.allocations).sum::<u64>();
        assert!(made > 0 && made == tokens.len() as u64, "{made} queues, {} tokens", tokens.len());
        // Two flows have one link, 1.076 of what they carry; the third has its own: 86 µs.
        let alone = Rate::from_gbps(GBPS).serialize(Bytes::new(1_076_000));
        assert!(took(&outcome, 2) < alone + Span::from_us(5), "{}", took(&outcome, 2));
        assert!(took(&outcome, 0).max(took(&outcome, 1)) > alone * 2 - Span::from_us(5));
    }
}

#[test]
fn who_shares_a_range_with_a_hot_destination_waits_with_it() {
    let victim = |range: u32| took(&drained(two_switches(aside(Aside::Destinations(range), 8))), 2);
    // Hosts 0 to 7 are one range: r2 is in that of r0.
    assert!(victim(8) > victim(1) + Span::from_us(5), "{} {}", victim(8), victim(1));
    // Hosts 3 and 4 are not in that of host 2.
    assert_eq!(victim(3), victim(1));
}

/// Every packet that leaves one behind it is marked, but under CCFIT only at a root of what it goes to.
#[test]
fn only_roots_mark_under_ccfit() {
    let marks = |marks_roots: bool| {
        let mut spec = aside(Aside::Destinations(1), 8);
        spec.rules.marks_roots = marks_roots;
        let mut spec = two_switches(spec);
        let always = Red::new(Bytes::ZERO, Bytes::new(1), 1.0, Bytes::ZERO).unwrap();
        spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(always));
        let outcome = drained(spec);
        [0, 2].map(|flow| outcome.flows[flow].ce_packets)
    };
    let (all, of_roots) = (marks(false), marks(true));
    assert!(all[1] > 0 && of_roots[1] == 0, "{all:?} {of_roots:?}");
    assert!(of_roots[0] > 100 && of_roots[0] < all[0], "{all:?} {of_roots:?}");
}

/// Two destinations behind one link, and one queue for both.
#[test]
fn what_finds_no_queue_left_is_counted_and_nothing_is_lost() {
    let second = (8..24).map(|src| flow(src, 1, 200_000, Time::ZERO, Pacing::LineRate));
    let flows: Vec<_> = late().into_iter().chain(second).collect();
    for it in [Aside::Root, Aside::Destinations(1)] {
        let refusals = |queues: u16| {
            let outcome = drained(with(leaf_spine(), flows.clone(), aside(it, queues)));
            check(&outcome);
            let switches = outcome.simulation.switches();
            assert!(switches.iter().all(|switch| switch.entries_left == 0), "{switches:?}");
            switches.iter().map(|switch| switch.refusals).sum::<u64>()
        };
        assert_eq!(refusals(32), 0);
        assert!(refusals(1) > 0);
    }
}

/// Each host of a ring sends to the one three switches further on: with queues for all nothing waits in a circle.
#[test]
fn a_ring_with_a_queue_for_each_does_not_lock_up() {
    for it in [Aside::Root, Aside::Destinations(1)] {
        let flows =
            (0..7).map(|src| flow(src, (src + 3) % 7, 2_000_000, Time::ZERO, Pacing::LineRate)).collect();
        let spec = with(ring(7, Rate::from_gbps(40), Span::from_us(1)), flows, aside(it, 8));
        let run = try_run(spec, FAST, Some(us(100_000)));
        check(&run.unwrap_or_else(|violation| panic!("{it:?}: {violation}")));
    }
}

/// Uplinks are slower than hosts, and every second flow has another priority.
#[test]
fn each_priority_has_queues_of_its_own_and_frees_them() {
    let flows: Vec<_> = late().into_iter().chain([flow(2, 1, 1000, us(2000), Pacing::LineRate)]).collect();
    let flows = (0..).zip(flows).map(|(i, flow)| Flow { priority: if i % 2 == 0 { 3 } else { 5 }, ..flow });
    for it in [Aside::Root, Aside::Destinations(1), Aside::Destinations(8)] {
        let uplinks = Some(Rate::from_gbps(40));
        let network =
            generate::leaf_spine(3, 2, 8, Rate::from_gbps(GBPS), uplinks, Span::from_us(1)).unwrap();
        let outcome = drained(with(network, flows.clone().collect(), aside(it, 8)));
        check(&outcome);
        let priorities: BTreeSet<_> =
            frames(&outcome, FrameKind::Aside).iter().map(|frame| frame.seq >> 8 & 0xff).collect();
        assert_eq!(priorities.len(), 2, "{it:?}");
        let switches = outcome.simulation.switches();
        assert!(switches.iter().all(|switch| switch.entries_left == 0), "{it:?}: {switches:?}");
    }
}

/// Hops of 625 B between racks of two hosts, and packets of 4 172 B: a SAQ is held, let go and held again while its token is on its way.
fn short_hops(thresholds: Thresholds, size: u64, it: Aside) -> Spec {
    let network = generate::leaf_spine(2, 1, 2, Rate::from_gbps(GBPS), None, Span::from_ns(25)).unwrap();
    // The last one comes when all is over, and clears what is told late.
    let flows = [(0, 2, size, 0), (1, 0, 4096, 100), (3, 2, size, 100)];
    let flows = flows.map(|(src, dst, size, at)| flow(src, dst, size, us(at), Pacing::LineRate));
    let mut spec = aside(it, 8);
    spec.rules.thresholds = thresholds;
    let mut spec = with(network, flows.to_vec(), spec);
    spec.packet.payload = Bytes::new(4096);
    spec
}

#[test]
fn a_token_that_crosses_a_newer_call_for_a_queue_frees_nothing() {
    for it in [Aside::Root, Aside::Destinations(1)] {
        for thresholds in [(2000, 1000), (2000, 2000), (500, 0)].map(|(high, low)| Thresholds { high, low }) {
            for size in [4096, 8192, 8792, 12_288, 50_000] {
                let outcome = drained(short_hops(thresholds, size, it));
                check(&outcome);
                let left: Vec<_> =
                    outcome.simulation.switches().iter().map(|switch| switch.entries_left).collect();
                assert!(left.iter().all(|left| *left == 0), "{it:?} {thresholds:?} {size} B: {left:?}");
            }
        }
    }
}

/// Two hosts at the left send to `r0` and to `r1`, each with four at the right, so that its share is a fifth. One SAQ is there for both.
fn two_roots_and_one_queue(it: Aside, sizes: [u64; 2]) -> Spec {
    let network =
        generate::dumbbell(2, 10, Rate::from_gbps(GBPS), Span::from_us(1), Some(Rate::from_gbps(400)))
            .unwrap();
    let flows = [([0, 4, 5, 6, 7], 2, sizes[0]), ([1, 8, 9, 10, 11], 3, sizes[1])];
    let flows = flows.into_iter().flat_map(|(sources, dst, size)| {
        sources.map(|src| flow(src, dst, size, Time::ZERO, Pacing::LineRate))
    });
    with(network, flows.collect(), aside(it, 1))
}

/// A port that is held whole holds who sends to it, too: each of the two hosts has at most `high` = 2 hops there, of 400 Gbit/s · 2 µs = 100 000 B,
/// and what is under way until it hears of that, 25 000 B at its 100 Gbit/s.
#[test]
fn a_port_that_is_held_whole_holds_on() {
    for it in [Aside::Root, Aside::Destinations(1)] {
        let outcome = drained(two_roots_and_one_queue(it, [2_000_000; 2]));
        check(&outcome);
        let switches = outcome.simulation.switches();
        assert!(switches.iter().any(|switch| switch.refusals > 0), "{it:?}: {switches:?}");
        let uplink =
            outcome.ports.iter().find(|port| (port.node, port.peer) == (12, 13) && port.priority == 3);
        let peak = uplink.unwrap().peak_queue.get();
        assert!(peak <= 2 * (200_000 + 25_000 + 2 * 1076), "{it:?}: {peak} B");
    }
}

/// The tree of `r0` ends after a tenth of the time: its SAQ is the other's in the same instant, which else would hold the whole port until On.
#[test]
fn a_queue_that_is_freed_goes_to_what_holds_the_whole_port() {
    for it in [Aside::Root, Aside::Destinations(1)] {
        let mut spec = two_roots_and_one_queue(it, [200_000, 2_000_000]);
        spec.probe.isolation = true;
        let outcome = drained(spec);
        check(&outcome);
        let events: Vec<_> = outcome.records.isolation.iter().filter(|event| event.node == 12).collect();
        let handed_on = events.windows(2).any(|pair| {
            let whats = (pair[0].what, pair[1].what);
            let about = |event: &IsolationRecord| (event.root, event.dst);
            whats == (IsolationEvent::Released, IsolationEvent::Allocated)
                && pair[0].time == pair[1].time
                && about(pair[0]) != about(pair[1])
        });
        assert!(handed_on, "{it:?}: {events:?}");
    }
}
