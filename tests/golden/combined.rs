//! Switches with queues at both sides of a crossbar that is twice as fast as the links; 100 Gbps and 25 ns, packets of 4 KiB:
//! 327.68 ns on a wire, 163.84 ns across the crossbar. A packet k sent at line rate is at the first switch at
//! 352.68 + 327.68 k ns.
use backwater_control::flow_control::{Band, Bands};
use backwater_fabric::record::{ArrivedRecord, IsolationEvent};
use backwater_fabric::{Crossings, Spec};
use backwater_topology::{Builder, Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{
    CONGESTED, NORMAL, PACKET, Scheme, cable, chain, crossbar, flow, host, ici, isolating, isolation, run, us,
};

/// On the wire.
const WIRE: u64 = 327_680;
/// A link's way.
const WAY: u64 = 25_000;
/// Across the crossbar.
const CROSS: u64 = WIRE / 2;
/// A frame of 64 B on the wire.
const FRAME: u64 = 5_120;

/// So many packets at line rate from 0 on.
fn packets(src: u32, dst: u32, count: u64) -> Flow {
    flow(src, dst, count * PACKET, Time::ZERO, Pacing::LineRate)
}

fn arrivals(mut spec: Spec) -> Vec<ArrivedRecord> {
    spec.probe.packets = vec![true];
    run(spec).records.arrived
}

fn times(arrived: &[ArrivedRecord]) -> Vec<u64> {
    arrived.iter().map(|packet| packet.time.as_ps()).collect()
}

#[test]
fn a_packet_alone_takes_its_time_on_each_wire_and_half_of_it_across_each_crossbar() {
    for switches in 1..4 {
        let network = chain(&vec![cable(); switches as usize + 1]);
        let mut spec = isolation(network, vec![packets(0, 1, 3)], Scheme::None);
        spec.probe.packets = vec![true];
        let outcome = run(spec);
        let first = (switches + 1) * (WIRE + WAY) + switches * CROSS;
        assert_eq!(times(&outcome.records.arrived), [first, first + WIRE, first + 2 * WIRE]);
        assert_eq!(outcome.flows[0].ideal_fct.as_ps(), first + 2 * WIRE);
    }
}

#[test]
fn a_crossbar_as_fast_as_the_links_takes_as_long_as_a_wire() {
    let mut spec = isolation(chain(&[cable(); 2]), vec![packets(0, 1, 3)], Scheme::None);
    crossbar(&mut spec).speedup_percent = 100;
    let first = 3 * WIRE + 2 * WAY;
    assert_eq!(times(&arrivals(spec)), [first, first + WIRE, first + 2 * WIRE]);
}

#[test]
fn two_hosts_that_send_to_a_third_take_turns_and_fill_its_link() {
    // The first packets of both are in at 352.68 ns. One crosses, then the other, and so on; the link is busy from 516.52 on.
    for kind in [Crossings::Single, Crossings::Multiple] {
        let (rate, delay) = cable();
        let network = generate::star(3, rate, delay).expect("a star");
        let mut spec = isolation(network, vec![packets(1, 0, 8), packets(2, 0, 8)], Scheme::None);
        crossbar(&mut spec).crossbar = kind;
        let arrived = arrivals(spec);
        let first = 2 * (WIRE + WAY) + CROSS;
        assert_eq!(times(&arrived), (0..16).map(|k| first + k * WIRE).collect::<Vec<_>>());
        for pair in arrived.windows(3) {
            assert!(pair[0].flow != pair[1].flow && pair[0].flow == pair[2].flow, "{kind:?} {pair:?}");
        }
    }
}

#[test]
fn pause_at_the_stop_of_the_ingress_port_resume_at_its_go_when_a_packet_has_crossed() {
    // a ──100G──▶ s ──40G──▶ b, crossbar 1.5 times as fast as the faster link: 218.454 ns across, 819.2 ns on the wire to b.
    // Room for two packets at the egress port, PAUSE at four in the ingress region, RESUME at two. 0 leaves at 571.134, the others
    // one every 819.2 after it.
    // In at       0: 352.68   1: 680.36   2: 1008.04   3: 1335.72   4: 1663.40   5: 1991.08   6: 2318.76   7: 2646.44   8: 2974.12
    // crosses at  0 to 2: as they come in; from 3 on when the packet two before starts to leave: 3: 1390.334   4: 2209.534   ...
    // 5 to 8 are held: PAUSE at 2974.12, at a at 3004.24. It has started 9 at 2949.12, which is in at 3301.80.
    // 7 crosses from 4667.134 to 4885.588, 8 and 9 are held: RESUME, at a at 4915.708. 10 and 11 are in at 5268.388 and 5596.068.
    // 8 to 11 are held: PAUSE. 9 crosses from 6305.534 to 6523.988: RESUME.
    let (rate, delay) = cable();
    let network = chain(&[(rate, delay), (Rate::from_gbps(40), delay)]);
    let mut spec = isolation(network, vec![packets(0, 1, 12)], Scheme::None);
    let region = Bytes::new(2 * PACKET);
    let band = Band { stop: 4 * PACKET, go: 2 * PACKET };
    let combined = crossbar(&mut spec);
    combined.speedup_percent = 150;
    (combined.egress, combined.caps) = (region, [region; 8]);
    combined.bands = Bands { own: [band; 8], port: band };
    let outcome = run(spec);
    let gate: Vec<(u64, bool)> =
        outcome.records.pauses.iter().map(|pause| (pause.time.as_ps(), pause.paused)).collect();
    let at_a = |decided: u64| decided + FRAME + WAY;
    assert_eq!(
        gate,
        [
            (at_a(2_974_120), true),
            (at_a(4_885_588), false),
            (at_a(5_596_068), true),
            (at_a(6_523_988), false)
        ]
    );
    assert_eq!(outcome.flows[0].finish.as_ps(), 571_134 + 12 * 819_200 + WAY);
    // The link to b was never idle: without any PAUSE it would have taken as long.
    assert_eq!(outcome.flows[0].ideal_fct.as_ps(), 571_134 + 12 * 819_200 + WAY);
    let switch = outcome.switches[0];
    assert_eq!((switch.peak_ingress.get(), switch.peak_egress.get()), (4 * PACKET, 2 * PACKET));
}

#[test]
fn ingress_ports_of_a_class_that_waits_for_room_keep_their_turns_while_another_class_moves() {
    // Four hosts with 200 packets each for one host, and a fifth that fills 40 % of its link in another class. Each class may have
    // half of the egress region, which the four fill: between any two of their packets one of the fifth crosses.
    for kind in [Crossings::Single, Crossings::Multiple] {
        let (rate, delay) = cable();
        let other = Pacing::Constant { rate: Rate::from_gbps(40), jitter_ppm: 0, catch_up: true };
        let mut flows: Vec<Flow> = (1..5).map(|host| packets(host, 0, 200)).collect();
        flows.push(Flow { priority: 5, ..flow(5, 0, 300 * PACKET, Time::ZERO, other) });
        let network = generate::star(6, rate, delay).expect("a star");
        let mut spec = isolation(network, flows, Scheme::None);
        let combined = crossbar(&mut spec);
        combined.crossbar = kind;
        combined.caps = [Bytes::new(32 * PACKET); 8];
        combined.bands.own[5] = Band::port();
        let outcome = run(spec);
        let four = outcome.flows.iter().filter(|flow| flow.priority == NORMAL);
        let ends: Vec<u64> = four.map(|flow| flow.finish.as_ps()).collect();
        let (first, last) = (ends.iter().min().expect("four"), ends.iter().max().expect("four"));
        // The last round of the four, with at most as many of the fifth.
        assert!(last - first <= 2 * 4 * WIRE, "{kind:?} {ends:?}");
    }
}

#[test]
fn ten_slow_links_fill_a_fast_one() {
    // Ten hosts of 10 Gbps, a link of 100 Gbps, ten hosts of 10 Gbps. A packet waits for at most nine others at each switch, of
    // which each crosses and is sent in the time of the fast link.
    let (fast, delay) = cable();
    let slow = Rate::from_gbps(10);
    let mut builder = Builder::new();
    let hosts: Vec<u32> = (0..20).map(|i| builder.host(format!("h{i}"))).collect();
    let (left, right) = (builder.switch("left"), builder.switch("right"));
    builder.link(left, right, fast, delay);
    for (i, host) in hosts.into_iter().enumerate() {
        builder.link(host, if i < 10 { left } else { right }, slow, delay);
    }
    let flows = (0..10).map(|i| packets(i, 10 + i, 100)).collect();
    let outcome = run(isolation(builder.build().expect("a dumbbell"), flows, Scheme::None));
    for flow in &outcome.flows {
        let late = (flow.finish - flow.start) - flow.ideal_fct;
        assert!(late <= Span::from_ps(2 * 9 * (WIRE + CROSS)), "flow {} is {late} late", flow.flow);
    }
}

#[test]
fn a_class_takes_its_cap_of_the_egress_region_to_the_last_packet_and_no_more() {
    let (rate, delay) = cable();
    for kind in [Crossings::Single, Crossings::Multiple] {
        let network = generate::star(6, rate, delay).expect("a star");
        let flows = (1..6).map(|src| packets(src, 0, 30)).collect();
        let mut spec = isolation(network, flows, Scheme::None);
        let combined = crossbar(&mut spec);
        (combined.crossbar, combined.caps) = (kind, [Bytes::new(10 * PACKET); 8]);
        let outcome = run(spec);
        let switch = outcome.switches[0];
        assert_eq!(outcome.port((switch.node, 0), NORMAL).peak_queue.get(), 10 * PACKET, "{kind:?}");
        assert_eq!(switch.peak_egress.get(), 10 * PACKET, "{kind:?}: nothing else is there");
    }
}

/// a ─▶ s0 ─▶ s1 ─▶ c, and b ─▶ s1. Port numbers are in the order of the links.
fn tributary() -> Network {
    let mut builder = Builder::new();
    let (a, b, c) = (builder.host("a"), builder.host("b"), builder.host("c"));
    let (upper, lower) = (builder.switch("s0"), builder.switch("s1"));
    for (from, to) in [(a, upper), (upper, lower), (b, lower), (lower, c)] {
        let (rate, delay) = cable();
        builder.link(from, to, rate, delay);
    }
    builder.build().expect("a tributary")
}

#[test]
fn a_root_tells_its_upstream_which_tells_the_nic() {
    // b's packets are in s1 at 352.68 + 327.68 k, a's at 869.20 + 327.68 k (one link and one crossbar more). The crossbar to c
    // takes one at a time: b0 at 352.68, b1 680.36, a0 869.20, b2 1033.04 (in since 1008.04), a1 1196.88, b3 1360.72,
    // a2 1524.56, each across 163.84 later; c's wire takes b0 at 516.52, b1 844.20, then the next one every 327.68: a0 1171.88,
    // b2 1499.56. So these wait there when each comes in:
    //   b2 1196.88: b2    a1 1360.72: b2 a1    (b2 leaves 1499.56)    b3 1524.56: a1 b3    a2 1688.40: a1 b3 a2
    // That are three packets, all for c: a's flow is isolated and, as CIMs are sent at once here, s0 told: at 1718.52.
    // s0 crosses a4 (in at 1663.40) as a normal packet; a5 is the first that comes in later, at 1991.08: into the CFQ, and a CIM
    // to a, which is there at 2021.20. a6 has left at 1966.08; from a7 on a sends in the congested class.
    let network = tributary();
    let id = |name: &str| host(&network, name);
    let flows = vec![packets(id("a"), id("c"), 40), packets(id("b"), id("c"), 40)];
    let [a, upper, lower] = ["a", "s0", "s1"].map(|name| network.find(name).expect("a node"));
    let mut spec = isolation(network, flows, Scheme::Ici);
    let common = &mut ici(&mut spec).common;
    common.detect = Bytes::new(3 * PACKET);
    common.notify.on_allocation = true;
    spec.probe.isolation = true;
    let outcome = run(spec);
    let of_a = outcome.records.isolation.iter().filter(|record| record.src == Some(a));
    let told: Vec<(u64, u32, IsolationEvent, u8)> =
        of_a.take(5).map(|record| (record.time.as_ps(), record.node, record.what, record.origin)).collect();
    assert_eq!(
        told,
        [
            (1_688_400, lower, IsolationEvent::Allocated, 1),
            (1_688_400, lower, IsolationEvent::Notified, 1),
            (1_718_520, upper, IsolationEvent::Allocated, 2),
            (1_991_080, upper, IsolationEvent::Notified, 2),
            (2_021_200, a, IsolationEvent::Allocated, 2),
        ]
    );
    let root = outcome.records.isolation.iter().filter_map(|record| record.root);
    assert!(root.eq(outcome.records.isolation.iter().map(|_| (lower, 2))), "one root: the port to c");
    let sent = |priority| outcome.port((a, 0), priority).packets;
    assert_eq!((sent(NORMAL), sent(CONGESTED)), (7, 33));
}

#[test]
fn an_entry_ends_its_residency_after_its_last_packet() {
    // As above, but nothing is told upstream: b's flow and a's get entries in s1 alone. The last packet of the two flows leaves
    // for c when 79 others have left: 516.52 + 79 · 327.68 = 26403.24, the last but one 327.68 before. 10 us later each ends.
    let network = tributary();
    let id = |name: &str| host(&network, name);
    let flows = vec![packets(id("a"), id("c"), 40), packets(id("b"), id("c"), 40)];
    let mut spec = isolation(network, flows, Scheme::Ici);
    let common = &mut ici(&mut spec).common;
    common.detect = Bytes::new(3 * PACKET);
    common.notify.level = Bytes::new(1_000_000);
    isolating(&mut spec).host_hold = None;
    spec.probe.isolation = true;
    spec.probe.packets = vec![true];
    let outcome = scene::run_until(spec, us(100));
    let last = |flow| {
        let packets = outcome.records.arrived.iter().filter(|packet| packet.flow == flow);
        packets.map(|packet| packet.time.as_ps()).max().expect("packets")
    };
    assert_eq!(last(0).max(last(1)), 516_520 + 80 * WIRE + WAY);
    assert!(outcome.switches.iter().all(|switch| switch.cims_sent == 0), "no CFQ is as long as that");
    let released = outcome.records.isolation.iter().filter(|record| record.what == IsolationEvent::Released);
    let mut released: Vec<u64> = released.map(|record| record.time.as_ps()).collect();
    released.sort_unstable();
    let mut due = [0, 1].map(|flow| last(flow) - WIRE - WAY + Span::from_us(10).as_ps());
    due.sort_unstable();
    assert_eq!(released, due);
}
