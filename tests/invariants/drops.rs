//! A switch that drops: as many packets as there is no room for, each counted, whatever engine runs it.
use backwater_control::detector::Red;
use backwater_control::flow_control::{LossyPool, Threshold};
use backwater_engine::{stream, uniform};
use backwater_fabric::record::DropReason;
use backwater_fabric::{EarlyDrop, Kind, Overflow, Spec};
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, Outcome, flow, ideal, try_run, us};

/// On a wire of 40 Gbps a packet of 1000 B takes 200 ns.
const RATE: Rate = Rate::from_gbps(40);
const PACKET: u64 = 1000;
const PACKET_TIME: u64 = 200_000;

/// Hosts at one switch without flow control: `port` bytes at each egress port, `buffer` bytes in all. Each flow is one packet, so
/// that one that is lost breaks no order. Two more hosts keep the run going when nothing else moves any more.
fn lossy(hosts: u32, mut flows: Vec<Flow>, port: u64, buffer: u64) -> Spec {
    let slow = Pacing::Constant { rate: Rate::from_gbps(1), jitter_ppm: 0, catch_up: false };
    flows.push(flow(hosts, hosts + 1, u64::MAX, Time::ZERO, slow));
    flows.sort_by_key(|flow| flow.start);
    let mut spec = ideal(generate::star(hosts + 2, RATE, Span::from_us(1)).unwrap(), flows);
    spec.switch.pfc = None;
    spec.switch.buffer = Bytes::new(buffer);
    spec.switch.overflow = Overflow::Drop { port: Bytes::new(port) };
    spec.probe.drops = true;
    spec
}

/// Each of the sources sends ten packets back to back to its receiver.
fn bursts(pairs: &[(u32, u32)]) -> Vec<Flow> {
    let burst = |&(src, dst): &(u32, u32)| {
        (0..10).map(move |n| flow(src, dst, PACKET, Time::from_ps(n * PACKET_TIME), Pacing::LineRate))
    };
    pairs.iter().flat_map(burst).collect()
}

fn complete(spec: Spec, kind: Kind) -> Outcome {
    try_run(spec, kind, Some(us(100))).unwrap_or_else(|violation| panic!("{violation}"))
}

/// Of the flows that end.
fn arrived(outcome: &Outcome) -> u64 {
    outcome.flows.iter().filter(|flow| flow.size < Bytes::MAX).map(|flow| flow.packets).sum()
}

fn dropped(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|port| port.dropped_packets).sum()
}

#[test]
fn eight_bursts_into_a_port_of_twenty_packets_lose_what_does_not_fit_to_the_packet() {
    // 8 packets come every packet time and 1 leaves. The first 8: one leaves at once, 7 wait. Then 7 more every time, so that
    // after the third there are 20 and the 21st is lost; the seven rounds that follow lose 7 each.
    let pairs: Vec<(u32, u32)> = (1..9).map(|src| (src, 0)).collect();
    let outcome = complete(lossy(9, bursts(&pairs), 20 * PACKET, 1_000_000), FAST);
    assert_eq!(dropped(&outcome), 1 + 7 * 7);
    assert_eq!(arrived(&outcome), 80 - 50);
    let port = outcome.port((11, 0), 3);
    assert_eq!((port.dropped_packets, port.dropped_bytes), (50, Bytes::new(50 * PACKET)));
    assert_eq!(port.peak_queue, Bytes::new(20 * PACKET));
    // The third round is complete 3 packet times and a link after the start.
    let first = outcome.records.drops.iter().map(|drop| drop.time).min();
    assert_eq!(first, Some(Time::from_ps(3 * PACKET_TIME + 1_000_000)));
    assert_eq!(outcome.records.drops.len(), 50);
    assert!(outcome.records.drops.iter().all(|drop| (drop.node, drop.port, drop.priority) == (11, 0, 3)));
}

/// The same hosts under PFC, priority 3 lossless: it pauses above `xoff` bytes of an ingress port. Priority 2 shares a pool.
fn mixed(hosts: u32, flows: Vec<Flow>, pool: LossyPool, lossless: bool) -> Spec {
    let mut spec = lossy(hosts, flows, 0, 1_000_000);
    spec.switch.pfc =
        ideal(generate::star(hosts + 2, RATE, Span::from_us(1)).unwrap(), Vec::new()).switch.pfc;
    let pfc = spec.switch.pfc.as_mut().expect("ideal has PFC");
    pfc.priorities = 1 << 3;
    let buffer = 1_000_000 - pool.bytes;
    let of_switch = Threshold::Static {
        xoff: 5 * PACKET,
        xon: 3 * PACKET,
        port_xoff: u64::MAX,
        port_xon: u64::MAX,
        buffer,
    };
    for ports in &mut pfc.thresholds {
        for threshold in ports {
            *threshold = of_switch;
        }
    }
    spec.switch.overflow = Overflow::Share { pool, early: None, lossless };
    spec
}

#[test]
fn a_lossy_queue_takes_its_share_of_the_pool_and_a_lossless_one_beside_it_loses_nothing() {
    // With alpha = 1 a packet is taken while q + 1 ≤ 40 − q, counted in packets: up to 20 wait, of a pool of 40. As before, with
    // 8 bursts of priority 2 into one port: 50 of 80 are lost. The bursts of priority 3 go to a port of their own and are paused.
    let mut flows = bursts(&(1..9).map(|src| (src, 0)).collect::<Vec<_>>());
    for flow in &mut flows {
        flow.priority = 2;
    }
    let guarded = bursts(&(10..18).map(|src| (src, 9)).collect::<Vec<_>>());
    flows.extend(guarded);
    let pool = LossyPool { bytes: 40 * PACKET, log_alpha: 0 };
    let outcome = complete(mixed(18, flows, pool, false), FAST);
    let drops = &outcome.records.drops;
    assert_eq!(drops.len(), 50);
    assert!(drops.iter().all(|drop| (drop.port, drop.priority, drop.reason) == (0, 2, DropReason::Pool)));
    assert_eq!(arrived(&outcome), 80 - 50 + 80);
    assert_eq!(outcome.port((20, 0), 2).peak_queue, Bytes::new(20 * PACKET));
    assert!(outcome.ports.iter().map(|port| port.pauses).sum::<u64>() > 0);
}

/// Bursts of priority 2 into a pool that they do not fill, and RED at their queue.
fn early(sources: u32, flows: Vec<Flow>, ramp: Red, capable: bool) -> Spec {
    let flows = flows.into_iter().map(|flow| Flow { priority: 2, ..flow }).collect();
    let pool = LossyPool { bytes: 900 * PACKET, log_alpha: 3 };
    let mut spec = mixed(sources + 1, flows, pool, false);
    spec.switch.overflow =
        Overflow::Share { pool, early: Some(EarlyDrop { ramp, capable }), lossless: false };
    spec
}

#[test]
fn red_drops_what_comes_above_its_threshold_though_there_is_room() {
    // A step at 10 packets. 8 packets come every packet time and 1 leaves. After the first 8, 7 wait; the next find 6 to 10, of which
    // the last is not above the step, and 3 are lost; each of the eight rounds that follow finds 10, and loses 7.
    let flows = || bursts(&(1..9).map(|src| (src, 0)).collect::<Vec<_>>());
    let step = Red::step(Bytes::new(10 * PACKET));
    let outcome = complete(early(8, flows(), step, true), FAST);
    let drops = &outcome.records.drops;
    assert_eq!(drops.len(), 3 + 8 * 7);
    assert!(drops.iter().all(|drop| (drop.port, drop.priority, drop.reason) == (0, 2, DropReason::Red)));
    assert_eq!(outcome.port((11, 0), 2).peak_queue, Bytes::new(11 * PACKET));
    // What can be marked is for the detector; nothing else is above the step.
    let outcome = complete(early(8, flows(), step, false), FAST);
    assert_eq!((outcome.records.drops.len(), arrived(&outcome)), (0, 80));
}

#[test]
fn red_drops_the_share_that_its_ramp_says_and_the_same_packets_on_every_engine() {
    // 2 packets come every packet time and 1 leaves, so that half of them are lost once 100 wait, of 200 where all would be.
    let flows = || {
        let burst = |src| {
            (0..2000).map(move |n| flow(src, 0, PACKET, Time::from_ps(n * PACKET_TIME), Pacing::LineRate))
        };
        (1..3).flat_map(burst).collect::<Vec<_>>()
    };
    let most = 200;
    let ramp = Red::new(Bytes::ZERO, Bytes::new(most * PACKET), 1.0, Bytes::ZERO).expect("a ramp");
    let run =
        |kind| try_run(early(2, flows(), ramp, true), kind, Some(us(500))).expect("nothing else is lost");
    let outcome = run(FAST);
    let drops = &outcome.records.drops;
    assert!(drops.iter().all(|drop| drop.reason == DropReason::Red));
    // The queue before each round, from the drops: the first of its packets finds that, the second one more at most.
    let (mut queue, mut least, mut greatest, mut variance) = (0_u64, 0.0, 0.0, 0.0);
    for round in 0..2000 {
        let time = Time::from_ps((round + 1) * PACKET_TIME + 1_000_000);
        let lost = drops.iter().filter(|drop| drop.time == time).count() as u64;
        // Of the first two, one finds the port idle.
        queue = queue.saturating_sub(1);
        let share = |queue: u64| queue as f64 / most as f64;
        least += 2.0 * share(queue);
        greatest += 2.0 * share(queue + 1);
        variance += 2.0 * 0.25;
        queue += 2 - lost - u64::from(round == 0);
    }
    let (count, four_sigma) = (drops.len() as f64, 4.0 * f64::sqrt(variance));
    assert!(
        (least - four_sigma..=greatest + four_sigma).contains(&count),
        "{count} of {least} to {greatest}"
    );
    assert!(count > 1500.0, "{count}");
    for kind in [Kind::Windows { threads: 3 }, Kind::Heap] {
        assert_eq!(&run(kind).records.drops, drops);
    }
}

#[test]
fn a_pool_that_is_full_takes_nothing_though_each_queue_is_within_its_share() {
    // alpha = 8: q + 1 ≤ 8 (6 − q), so that one queue alone may hold 6 of 6. 4 sources for one port: 3 wait after the first round,
    // and 6 after the second. The third finds 5 and brings 4: 3 are lost; so do the seven that follow.
    let mut flows = bursts(&[(1, 0), (2, 0), (3, 0), (4, 0)]);
    for flow in &mut flows {
        flow.priority = 2;
    }
    let pool = LossyPool { bytes: 6 * PACKET, log_alpha: 3 };
    let outcome = complete(mixed(5, flows, pool, false), FAST);
    let drops = &outcome.records.drops;
    assert_eq!(drops.len(), 3 * 8);
    assert_eq!(arrived(&outcome), 40 - 24);
}

#[test]
fn lossy_and_lossless_classes_in_one_switch_are_the_same_on_both_engines() {
    let pool = LossyPool { bytes: 12 * PACKET, log_alpha: -1 };
    let spec = || {
        let mut flows = bursts(&[(1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0)]);
        flows.iter_mut().filter(|flow| flow.src % 2 == 0).for_each(|flow| flow.priority = 2);
        mixed(7, flows, pool, false)
    };
    let (fast, reference) = (complete(spec(), FAST), complete(spec(), Kind::Heap));
    assert_eq!(fast.records.drops, reference.records.drops);
    assert!(fast.records.drops.iter().all(|drop| drop.priority == 2));
    assert!(!fast.records.drops.is_empty());
}

#[test]
fn a_lossless_packet_without_headroom_stops_the_run_unless_it_may_be_dropped() {
    // Ten packets for one port from each of eight, and three places for all: PAUSE comes too late.
    let flows = bursts(&(1..9).map(|src| (src, 0)).collect::<Vec<_>>());
    let pool = LossyPool { bytes: 997 * PACKET, log_alpha: 0 };
    assert!(try_run(mixed(9, flows.clone(), pool, false), FAST, Some(us(100))).is_err());
    let outcome = complete(mixed(9, flows, pool, true), FAST);
    assert!(outcome.records.drops.iter().all(|drop| drop.reason == DropReason::Headroom));
    assert_eq!(arrived(&outcome) + outcome.records.drops.len() as u64, 80);
    // At ingress ports: none of them is that of the receiver.
    assert!(outcome.records.drops.iter().all(|drop| (1..9).contains(&drop.port)));
}

#[test]
fn two_ports_that_share_a_buffer_of_twenty_packets_lose_what_does_not_fit_into_it() {
    // 4 packets come for each of two ports every packet time and 1 leaves by each. 6, 12, 18 wait after three rounds; the fourth
    // finds 16 and brings 8, of which 4 are lost; each of the six rounds that follow finds 18 and loses 6.
    let pairs: Vec<(u32, u32)> = (2..10).map(|src| (src, src % 2)).collect();
    let outcome = complete(lossy(10, bursts(&pairs), 1_000_000, 20 * PACKET), FAST);
    assert_eq!(dropped(&outcome), 4 + 6 * 6);
    assert_eq!(arrived(&outcome), 80 - 40);
}

#[test]
fn what_is_dropped_is_a_flow_that_never_arrives_and_all_others_do() {
    let pairs: Vec<(u32, u32)> = (1..9).map(|src| (src, 0)).collect();
    let outcome = complete(lossy(9, bursts(&pairs), 20 * PACKET, 1_000_000), FAST);
    let mut lost: Vec<u32> = outcome.records.drops.iter().map(|drop| drop.flow).collect();
    lost.sort_unstable();
    let missing = outcome
        .flows
        .iter()
        .filter(|flow| flow.finish == Time::MAX && flow.size < Bytes::MAX)
        .map(|flow| flow.flow);
    assert_eq!(lost, missing.collect::<Vec<_>>());
}

#[test]
fn a_port_with_room_for_the_whole_burst_drops_nothing() {
    let pairs: Vec<(u32, u32)> = (1..9).map(|src| (src, 0)).collect();
    // 7 of 8 packets of each round wait: 70 at the end.
    let outcome = complete(lossy(9, bursts(&pairs), 70 * PACKET, 1_000_000), FAST);
    assert_eq!((dropped(&outcome), arrived(&outcome)), (0, 80));
    let outcome = complete(lossy(9, bursts(&pairs), 69 * PACKET, 1_000_000), FAST);
    assert_eq!((dropped(&outcome), arrived(&outcome)), (1, 79));
}

/// Packets of a few sizes at random times between the hosts of a rack: some ports overflow, now and then the buffer does.
fn crowd(seed: u64) -> Vec<Flow> {
    let mut random = stream(seed, 1, 0);
    let mut draw = |below: u32| (uniform(&mut random) * f64::from(below)) as u32;
    (0..6000)
        .map(|_| {
            let (src, dst) = (4 + draw(12), draw(4));
            let (start, bytes) = (u64::from(draw(20_000_000)), 64 + u64::from(draw(937)));
            flow(src, dst, bytes, Time::from_ps(start), Pacing::LineRate)
        })
        .collect()
}

#[test]
fn the_same_packets_are_dropped_whichever_engine_runs_and_port_by_port_or_in_order() {
    for (seed, port, buffer) in [(1, 12_000, 200_000), (2, 30_000, 80_000), (3, 9_000, 32_000)] {
        let spec = |batching, drops| {
            let mut spec = lossy(16, crowd(seed), port, buffer);
            spec.batching = batching;
            spec.probe.drops = drops;
            spec
        };
        let reference = complete(spec(false, true), Kind::Heap);
        assert!(dropped(&reference) > 100, "{} packets dropped", dropped(&reference));
        assert_eq!(arrived(&reference) + dropped(&reference), 6000);
        for (kind, batching) in
            [(Kind::Heap, true), (FAST, true), (FAST, false), (Kind::Windows { threads: 3 }, true)]
        {
            let outcome = complete(spec(batching, true), kind);
            assert_eq!(outcome.totals.digest, reference.totals.digest, "{kind:?}, batching {batching}");
            assert_eq!((&outcome.flows, &outcome.ports), (&reference.flows, &reference.ports));
            assert_eq!(outcome.records.drops, reference.records.drops, "{kind:?}, batching {batching}");
        }
        let silent = complete(spec(true, false), FAST);
        assert_eq!(silent.totals.digest, reference.totals.digest);
        assert!(silent.records.drops.is_empty());
    }
}
