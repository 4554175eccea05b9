//! A slow host holds its switch back: the drain of its receive queue is the port that it is for.
use backwater_control::flow_control::Threshold;
use backwater_fabric::record::{CrowdRecord, HoldRecord};
use backwater_fabric::{DrainSpec, EndpointSpec, Spec};
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, flow, ideal, infiniband, run, run_until, us};

use crate::watched;

/// A packet of 1000 B takes 200 ns on a link of 40 Gbps, and is drained in 800 ns.
const LINK: Rate = Rate::from_gbps(40);
const DRAIN: Rate = Rate::from_gbps(10);
const PACKET: u64 = 1000;
const DRAINED: u64 = 800_000;
/// The first packet is sent, crosses a link, is sent on and crosses another.
const FIRST: u64 = 2 * (200_000 + 1_000_000);
const XOFF: u64 = 20 * PACKET;
const XON: u64 = 18 * PACKET;

fn endpoint(drain: DrainSpec) -> EndpointSpec {
    let pfc =
        Threshold::Static { xoff: XOFF, xon: XON, port_xoff: u64::MAX, port_xon: u64::MAX, buffer: 100_000 };
    EndpointSpec { depth: Bytes::new(100_000), drain, cached: None, pfc: Some(vec![pfc]) }
}

/// Hosts at one switch; host 0 drains what comes at `drain`.
fn slow(hosts: u32, flows: Vec<Flow>, drain: DrainSpec) -> Spec {
    let mut spec = ideal(generate::star(hosts, LINK, Span::from_us(1)).unwrap(), flows);
    spec.endpoints = vec![Some(endpoint(drain))];
    watched(spec, 100_000)
}

/// One flow of so many packets to the slow host.
fn one_flow(packets: u64) -> Spec {
    let flows = vec![flow(1, 0, packets * PACKET, Time::ZERO, Pacing::LineRate)];
    slow(2, flows, DrainSpec::Constant(DRAIN))
}

/// The holds that host 0 decided.
fn by_host(outcome: &Outcome) -> Vec<HoldRecord> {
    outcome.records.holds.iter().filter(|hold| hold.node == 0).copied().collect()
}

fn drain_crowds(outcome: &Outcome) -> Vec<CrowdRecord> {
    outcome.records.crowds.iter().filter(|crowd| crowd.node == 0).copied().collect()
}

#[test]
fn the_first_hold_of_a_slow_host_is_for_its_drain_and_comes_when_twenty_one_packets_wait() {
    let outcome = run(one_flow(200));
    let switch = outcome.simulation.network().nodes().len() as u32 - 1;
    let first = by_host(&outcome)[0];
    // A packet comes every 200 ns and one is gone every 800 ns: when the 27th comes, 6 are gone.
    assert_eq!(first.time, Time::from_ps(FIRST + 26 * 200_000));
    assert_eq!((first.node, first.port, first.blocker, first.blocker_priority), (0, 0, 1, 3));
    assert_eq!((first.held_node, first.held_port, first.priority), (switch, 0, 3));
    assert_eq!((first.bytes.get(), first.queue.get()), (21 * PACKET, 21 * PACKET));
    assert!(!first.closed);
}

#[test]
fn each_closing_of_the_gate_to_a_slow_host_follows_a_hold_of_the_host_by_a_frame_and_a_delay() {
    let outcome = run(one_flow(200));
    let switch = outcome.simulation.network().nodes().len() as u32 - 1;
    let holds: Vec<Time> = by_host(&outcome).iter().map(|hold| hold.time).collect();
    let closings: Vec<Time> =
        outcome.pauses_at((switch, 0)).iter().filter(|pause| pause.paused).map(|pause| pause.time).collect();
    // 64 B of PAUSE at 40 Gbps; nothing else leaves the host.
    let expected: Vec<Time> = holds.iter().map(|time| *time + Span::from_ps(12_800 + 1_000_000)).collect();
    assert!(closings.len() > 5, "{} closings", closings.len());
    assert_eq!(closings, expected);
}

#[test]
fn the_last_packet_waits_from_its_arrival_until_the_drain_has_worked_off_all_before_it() {
    let outcome = run(one_flow(200));
    // The drain is never idle: 200 packets take 200 times 800 ns.
    let finish = Time::from_ps(FIRST + 200 * DRAINED);
    assert_eq!(outcome.flows[0].finish, finish);
    let wait = outcome.records.waits.iter().find(|wait| wait.node == 0 && wait.last).expect("it waits");
    assert_eq!((wait.port, wait.flow, wait.seq, wait.end), (1, 0, 199, finish));
    // Before it are at most 21 packets and what still comes after a PAUSE: a frame, two links and a packet, 11 packets of 200 ns.
    let waited = wait.end.since(wait.start).as_ps();
    assert!(waited > DRAINED && waited <= (21 + 11) * DRAINED, "{waited}");
    let followed: Vec<u32> =
        outcome.records.waits.iter().filter(|wait| wait.node == 0).map(|wait| wait.seq).collect();
    assert_eq!(followed, [0, 64, 128, 192, 199]);
}

#[test]
fn who_is_drained_while_more_than_xon_stays_crowds_the_host() {
    let outcome = run(one_flow(200));
    let crowds = drain_crowds(&outcome);
    assert!(crowds.len() > 3, "{} crowds", crowds.len());
    for crowd in &crowds {
        assert_eq!((crowd.port, crowd.priority, crowd.flow), (1, 3, 0));
        assert_eq!(crowd.threshold, Bytes::new(XON));
        // From the first packet that leaves more than Xon to the one that does not, one every 800 ns.
        assert_eq!(crowd.packets * DRAINED, crowd.end.since(crowd.start).as_ps(), "{crowd:?}");
        assert_eq!(crowd.bytes, Bytes::new(crowd.packets * PACKET));
    }
}

#[test]
fn flows_to_a_slow_host_crowd_it_in_the_shares_in_which_they_come_and_others_not_at_all() {
    let mut flows: Vec<Flow> =
        (1..4).map(|src| flow(src, 0, 100 * PACKET, Time::ZERO, Pacing::LineRate)).collect();
    flows.push(flow(1, 4, 100 * PACKET, Time::ZERO, Pacing::LineRate));
    let outcome = run(slow(5, flows, DrainSpec::Constant(DRAIN)));
    let sums: Vec<u64> = (0..4)
        .map(|flow| {
            drain_crowds(&outcome).iter().filter(|crowd| crowd.flow == flow).map(|crowd| crowd.packets).sum()
        })
        .collect();
    assert!(sums[..3].iter().all(|sum| *sum > 50), "{sums:?}");
    assert_eq!(sums[3], 0);
}

#[test]
fn a_hold_says_whether_the_drain_stands_still() {
    let drain = DrainSpec::OnOff {
        high: LINK,
        low: Rate::ZERO,
        high_for: Span::from_us(20),
        low_for: Span::from_us(20),
        sigma: None,
    };
    let flows = vec![flow(1, 0, 400 * PACKET, Time::ZERO, Pacing::LineRate)];
    let outcome = run(slow(2, flows, drain));
    let holds = by_host(&outcome);
    assert!(!holds.is_empty());
    for hold in &holds {
        let phase = hold.time.as_ps() / 20_000_000 % 2;
        assert_eq!(hold.closed, phase == 1, "{hold:?}");
    }
}

#[test]
fn under_credits_each_gate_to_a_slow_host_closes_after_an_update_that_is_a_hold_of_its_drain() {
    let flows = vec![flow(1, 0, 2_000_000, Time::ZERO, Pacing::LineRate)];
    let net = generate::star(2, Rate::from_gbps(32), Span::from_us(1)).unwrap();
    let mut spec = watched(infiniband(net, flows), 50_000);
    let drain = DrainSpec::Constant(Rate::from_gbps(8));
    spec.endpoints = vec![Some(EndpointSpec { depth: Bytes::new(280_000), drain, cached: None, pfc: None })];
    let outcome = run(spec);
    // The drain is never idle, and works at 8 Gbps.
    let after_first = outcome.flows[0].finish.as_ps() as f64 / 1e6;
    assert!((2000.0..2010.0).contains(&after_first), "{after_first} us");
    let holds = by_host(&outcome);
    assert!(holds.iter().all(|hold| (hold.blocker, hold.held_port) == (1, 0) && hold.bytes.get() > 0));
    let switch = outcome.simulation.network().nodes().len() as u32 - 1;
    let closings: Vec<Time> =
        outcome.pauses_at((switch, 0)).iter().filter(|pause| pause.paused).map(|pause| pause.time).collect();
    assert!(closings.len() > 10, "{} closings", closings.len());
    for closing in closings {
        // The update before it was sent at most a period and a link ago.
        let last = holds.iter().rfind(|hold| hold.time < closing).expect("a hold before it");
        assert!(closing.since(last.time) <= Span::from_us(52), "{closing}: {}", last.time);
    }
}

#[test]
fn recording_what_a_slow_host_holds_changes_nothing() {
    let with = run(one_flow(200));
    let mut spec = one_flow(200);
    spec.probe.blame = None;
    let without = run(spec);
    assert_eq!(with.totals.digest, without.totals.digest);
    assert_eq!(with.flows, without.flows);
    assert!(without.records.holds.is_empty() && without.records.crowds.is_empty());
}

#[test]
fn what_still_waits_at_the_end_of_a_run_has_been_recorded_as_far_as_it_has_come() {
    let outcome = run_until(one_flow(200), us(13));
    let crowds = drain_crowds(&outcome);
    let drained: u64 = crowds.iter().map(|crowd| crowd.packets).sum();
    // 21 packets wait at 7.6 us, when the host pauses, and all that comes has come 2.2 us later. By 13 us no more than 7 are gone.
    let from = crowds[0].start.as_ps();
    assert_eq!(drained, (13_000_000 - from) / DRAINED + 1);
}
