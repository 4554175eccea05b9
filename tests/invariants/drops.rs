//! A switch that drops: as many packets as there is no room for, each counted, whatever engine runs it.
use backwater_engine::{stream, uniform};
use backwater_fabric::{Kind, Overflow, Spec};
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
