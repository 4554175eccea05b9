//! Source flow control: a source pauses as long as the signal says that it was sent, and for as long as the queue was too long by.
use std::collections::BTreeMap;

use backwater_control::isolation::sfc::SfcConfig;
use backwater_fabric::record::{FaultKind, FrameKind, FrameRecord};
use backwater_fabric::{End, LossShare, LossSpec, Pauses, Queueing, SfcSpec, Spec};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, Outcome, bfc, flow, try_run, us};

/// Of a packet at 100 Gbps: 1000 B, and headers of 76 B.
const PACKET: u64 = 1_076;
const THRESHOLD: u64 = 20_000;
const TARGET: u64 = 10_000;
const FRAME: u64 = 64;

fn with(network: Network, flows: Vec<Flow>, pauses: Pauses, cache: bool) -> Spec {
    let mut spec = bfc(network, flows);
    let rules = SfcConfig { threshold: Bytes::new(THRESHOLD), target: Bytes::new(TARGET) };
    spec.switch.queueing = Queueing::Sfc(SfcSpec { rules, pauses, cache, frame: Bytes::new(FRAME) });
    let network = &spec.network;
    let ports = |node: u32| (0..network.ports(node).len() as u16).map(move |port| (node, port));
    spec.probe.frames = (0..network.nodes().len() as u32).flat_map(ports).collect();
    spec
}

fn run(spec: Spec) -> Outcome {
    let outcome = try_run(spec, FAST, Some(us(100_000))).unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(outcome.totals.end, End::Finished);
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size));
    outcome
}

fn star(senders: u32, pauses: Pauses) -> Outcome {
    let network = generate::star(senders + 1, Rate::from_gbps(100), Span::from_us(1)).unwrap();
    let flows = (1..=senders).map(|src| flow(src, 0, 300_000, Time::ZERO, Pacing::LineRate)).collect();
    run(with(network, flows, pauses, false))
}

fn ps(bytes: u64) -> u64 {
    Rate::from_gbps(100).serialize(Bytes::new(bytes)).as_ps()
}

/// Frames of a kind on the links of hosts: to them, or from them.
fn at_hosts(outcome: &Outcome, kind: FrameKind, to: bool) -> BTreeMap<u32, Vec<FrameRecord>> {
    let network = outcome.simulation.network();
    let mut found: BTreeMap<u32, Vec<FrameRecord>> = BTreeMap::new();
    for frame in outcome.records.frames.iter().filter(|frame| frame.kind == kind) {
        let peer = network.ports(frame.node)[usize::from(frame.port)].peer;
        let host = if to { peer } else { frame.node };
        if !network.is_switch(host) {
            found.entry(host).or_default().push(*frame);
        }
    }
    found
}

/// When what comes after signals may not leave: from their arrival for as long as they say.
fn pauses<'a>(halts: impl IntoIterator<Item = &'a FrameRecord>) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for halt in halts {
        let (from, until) = (halt.time.as_ps(), halt.time.as_ps() + u64::from(halt.seq) * 1000);
        match all.last_mut() {
            Some(last) if last.1 >= from => last.1 = last.1.max(until),
            _ => all.push((from, until)),
        }
    }
    all
}

/// Of two hosts that send at once to a third each packet time one packet stays. The first packets that find more than the threshold before
/// them are the second one of one packet time, and the first one of the next.
#[test]
fn the_first_signals_say_how_long_what_is_beyond_the_target_takes() {
    let outcome = star(2, Pauses::Flow);
    let mut halts: Vec<FrameRecord> =
        at_hosts(&outcome, FrameKind::Halt, true).into_values().map(|halts| halts[0]).collect();
    halts.sort_by_key(|halt| halt.sent);
    let before = THRESHOLD / PACKET + 1;
    let link = Span::from_us(1).as_ps();
    let pause = ps(before * PACKET - TARGET).div_ceil(1000) as u32;
    for (halt, more) in halts.iter().zip([1, 2]) {
        let comes = link + (before + more) * ps(PACKET);
        assert_eq!((halt.sent.as_ps(), halt.seq, halt.size), (comes, pause, FRAME as u16));
        assert_eq!(halt.time.as_ps(), comes + ps(FRAME) + link);
    }
}

#[test]
fn a_source_sends_nothing_while_it_pauses_and_goes_on_at_once() {
    for (senders, what) in
        [(2, Pauses::Flow), (2, Pauses::Priority), (5, Pauses::Flow), (5, Pauses::Priority)]
    {
        let outcome = star(senders, what);
        let halts = at_hosts(&outcome, FrameKind::Halt, true);
        assert_eq!(halts.len(), senders as usize);
        for (host, data) in at_hosts(&outcome, FrameKind::Data, false) {
            let sent: Vec<u64> = data.iter().map(|frame| frame.sent.as_ps()).collect();
            let last = *sent.last().unwrap();
            for (from, until) in pauses(&halts[&host]) {
                let meanwhile = sent.iter().find(|sent| (from + 1..until).contains(sent));
                assert_eq!(meanwhile, None, "host {host} pauses from {from} to {until}");
                assert!(until > last || sent.binary_search(&until).is_ok(), "host {host} goes on at {until}");
            }
        }
    }
}

/// A signal leaves when it is made, or after an ACK.
#[test]
fn a_source_is_told_once_for_each_pause() {
    let outcome = star(5, Pauses::Flow);
    for (host, halts) in at_hosts(&outcome, FrameKind::Halt, true) {
        assert!(halts.len() > 1);
        for (one, next) in halts.iter().zip(&halts[1..]) {
            let over = one.sent.as_ps() + u64::from(one.seq) * 1000;
            assert!(next.sent.as_ps() + ps(84) >= over, "host {host}: {one:?}, {next:?}");
        }
    }
}

/// One host of each of four racks to one, and each of them to another one beside it.
fn racks(more: Vec<Flow>, pauses: Pauses, cache: bool) -> Outcome {
    let network = generate::leaf_spine(5, 1, 8, Rate::from_gbps(100), None, Span::from_us(1)).unwrap();
    let incast = (1..5).map(|rack| flow(rack * 8, 0, 300_000, Time::ZERO, Pacing::LineRate));
    run(with(network, incast.chain(more).collect(), pauses, cache))
}

#[test]
fn what_else_a_source_sends_waits_where_priorities_pause_and_goes_on_where_flows_do() {
    for what in [Pauses::Priority, Pauses::Flow] {
        let beside = vec![flow(8, 9, 300_000, Time::ZERO, Pacing::LineRate)];
        let outcome = racks(beside, what, false);
        let host = outcome.simulation.network().hosts()[8];
        let (halts, data) =
            (at_hosts(&outcome, FrameKind::Halt, true), at_hosts(&outcome, FrameKind::Data, false));
        let others: Vec<u64> =
            data[&host].iter().filter(|frame| frame.flow == 4).map(|frame| frame.sent.as_ps()).collect();
        let pausing = pauses(&halts[&host]);
        assert!(!pausing.is_empty());
        let within = |(from, until): &(u64, u64)| others.iter().any(|sent| (from + 1..*until).contains(sent));
        match what {
            Pauses::Priority => assert!(!pausing.iter().any(within)),
            Pauses::Flow => assert!(pausing.iter().any(within)),
        }
    }
}

/// A host that begins to send there while another one of its rack pauses for it.
#[test]
fn a_switch_with_a_cache_tells_its_other_hosts_by_itself() {
    let alone = racks(Vec::new(), Pauses::Flow, false);
    let first_of_rack = alone.simulation.network().hosts()[8];
    let longest = pauses(&at_hosts(&alone, FrameKind::Halt, true)[&first_of_rack]);
    let (from, until) = longest.into_iter().max_by_key(|(from, until)| until - from).unwrap();
    assert!(until - from > 4 * Span::from_us(1).as_ps(), "{from} to {until}");
    let start = Time::from_ps(u64::midpoint(from, until));
    let first = |cache: bool| {
        let outcome = racks(vec![flow(9, 0, 50_000, start, Pacing::LineRate)], Pauses::Flow, cache);
        let hosts = outcome.simulation.network().hosts();
        let halts = at_hosts(&outcome, FrameKind::Halt, true);
        // At its leaf the pause of the other one has begun before the packet comes, and is not over.
        let link = Span::from_us(1).as_ps();
        let comes = start.as_ps() + ps(PACKET) + link;
        let left = pauses(&halts[&hosts[8]]).into_iter().find_map(|(from, until)| {
            (from < comes + link && until > comes + link).then(|| (until - link - comes).div_ceil(1000))
        });
        let left = left.expect("the other one pauses then");
        (halts.get(&hosts[9]).map(|halts| (halts[0].sent.as_ps(), u64::from(halts[0].seq))), comes, left)
    };
    let (told, comes, left) = first(true);
    let (sent, pause) = told.expect("it is told");
    assert_eq!(sent, comes);
    // What the leaf knows of the other one's pause began when the signal came to it, a frame time before it was at the host.
    // An ACK may go first.
    assert!(left - 14 <= pause && pause <= left, "{pause} ns of {left}");
    let (told, comes, _) = first(false);
    assert!(told.is_none_or(|(sent, _)| sent > comes));
}

/// Half of the frames that come to one of the sources are lost: no others come than signals.
#[test]
fn a_signal_that_is_lost_is_followed_by_another_one() {
    let network = generate::star(3, Rate::from_gbps(100), Span::from_us(1)).unwrap();
    let flows = (1..3).map(|src| flow(src, 0, 300_000, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = with(network, flows, Pauses::Flow, false);
    spec.pairs[0].ack = None;
    let (node, share) = (spec.network.hosts()[1], LossShare::Frames(0.5));
    let (from, until) = (Time::ZERO, Time::MAX);
    let loss = LossSpec { fault: 0, node, port: None, from, until, share, source: None, destination: None };
    spec.faults.losses = vec![loss];
    spec.faults.kinds = vec![FaultKind::Loss];
    let outcome = run(spec);
    let (halts, data) =
        (at_hosts(&outcome, FrameKind::Halt, true), at_hosts(&outcome, FrameKind::Data, false));
    let sends = |halt: &FrameRecord| {
        let (from, until) = pauses([halt])[0];
        data[&node].iter().any(|frame| (from + 1..until).contains(&frame.sent.as_ps()))
    };
    let lost = halts[&node].iter().filter(|halt| sends(halt)).count();
    assert!(0 < lost && lost < halts[&node].len(), "{lost} of {} lost", halts[&node].len());
}
