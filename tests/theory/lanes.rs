//! Virtual lanes of one link: each gets its weight's share in bytes, whatever its packets measure, and none waits for another that
//! is blocked (InfiniBand Architecture Specification vol. 1, §7.6).
use backwater_control::arbitration::VlEntry;
use backwater_control::flow_control::CreditReturn;
use backwater_fabric::{Arbiter, Queueing, Spec};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{flow_of_priority, infiniband, run_until, us, with_links};

const RATE: Rate = Rate::from_gbps(32);

fn star(hosts: u32) -> Network {
    generate::star(hosts, RATE, Span::from_us(1)).unwrap()
}

fn weighted(lines: &[(u8, u8)]) -> Arbiter {
    let low = lines.iter().map(|&(vl, weight)| VlEntry { vl, weight }).collect();
    Arbiter::Weighted { high: Vec::new(), low, high_limit: 255 }
}

/// VL 1 sends packets of 2048 B without end, VL 2 messages of 512 B back to back, each from a host of its own to a third:
/// the bytes that each has brought there in 1 ms.
fn bytes_of_long_and_short_packets(weights: [u8; 2]) -> [f64; 2] {
    let mut flows = vec![flow_of_priority(1, 0, 2, u64::MAX, Time::ZERO, Pacing::LineRate)];
    let short = flow_of_priority(2, 1, 2, 512, Time::ZERO, Pacing::LineRate).on(0);
    flows.extend(std::iter::repeat_n(short, 8_000));
    let mut spec = infiniband(star(3), flows);
    spec.switch.arbiter = weighted(&[(1, weights[0]), (2, weights[1])]);
    spec.switch.credits.as_mut().unwrap().returned = CreditReturn::AtOnce;
    let outcome = run_until(spec, us(1_000));
    let received: Vec<f64> = outcome.flows.iter().map(|flow| flow.received.get() as f64).collect();
    [received[0], received[1..].iter().sum()]
}

#[test]
fn weights_share_bytes_and_not_packets() {
    // 32 units of 64 B are one packet of 2048 B or four of 512 B.
    for (weights, share) in [([32, 32], 1.0 / 2.0), ([32, 64], 1.0 / 3.0), ([96, 32], 3.0 / 4.0)] {
        let [long, short] = bytes_of_long_and_short_packets(weights);
        assert!((long / (long + short) - share).abs() < 0.01, "{weights:?}: {long} {short}");
    }
}

#[test]
fn a_weight_below_a_packet_is_worth_one_packet() {
    // In turn one of 2048 B and one of 512 B.
    let [long, short] = bytes_of_long_and_short_packets([1, 1]);
    assert!((long / short - 4.0).abs() < 0.05, "{long} {short}");
}

#[test]
fn what_a_lane_leaves_goes_to_the_others_by_their_weights() {
    // VL 1 may have half and takes an eighth; VL 2 and 3 share the rest, 28 Gbps, one to three.
    let modest = Pacing::Constant { rate: Rate::from_gbps(4), jitter_ppm: 0, catch_up: true };
    let flow = |vl: u8, pacing| flow_of_priority(vl, u32::from(vl) - 1, 3, u64::MAX, Time::ZERO, pacing);
    let flows = vec![flow(1, modest), flow(2, Pacing::LineRate), flow(3, Pacing::LineRate)];
    let mut spec = infiniband(star(4), flows);
    spec.switch.arbiter = weighted(&[(1, 128), (2, 32), (3, 96)]);
    spec.switch.credits.as_mut().unwrap().returned = CreditReturn::AtOnce;
    let outcome = run_until(spec, us(2_000));
    let gbps = |flow: usize| outcome.flows[flow].received.get() as f64 * 8.0 / 2e6;
    for (flow, expected) in [(0, 4.0), (1, 7.0), (2, 21.0)] {
        assert!((gbps(flow) - expected).abs() < 0.15, "flow {flow}: {}", gbps(flow));
    }
}

#[test]
fn a_lane_that_no_table_names_takes_what_the_others_leave() {
    let modest = Pacing::Constant { rate: Rate::from_gbps(4), jitter_ppm: 0, catch_up: true };
    let flow = |vl: u8, pacing| flow_of_priority(vl, u32::from(vl) - 1, 2, u64::MAX, Time::ZERO, pacing);
    let mut spec = infiniband(star(3), vec![flow(1, modest), flow(2, Pacing::LineRate)]);
    spec.switch.arbiter = weighted(&[(1, 1)]);
    spec.switch.credits.as_mut().unwrap().returned = CreditReturn::AtOnce;
    let outcome = run_until(spec, us(2_000));
    let gbps = |flow: usize| outcome.flows[flow].received.get() as f64 * 8.0 / 2e6;
    assert!((gbps(0) - 4.0).abs() < 0.15 && (gbps(1) - 28.0).abs() < 0.15, "{} {}", gbps(0), gbps(1));
}

/// h0 floods h3, which hangs on a link of 100 Mbps, in VL 1, and sends h2 a packet every 7.3 us in `lane`: the longest that one of
/// those took more than it takes alone.
fn delay_beside_a_blocked_lane(lane: u8, queueing: Queueing, arbiter: Arbiter) -> Span {
    let net = with_links(&star(4), |i, link| {
        if i == 3 {
            link.rate = Rate::from_mbps(100);
        }
    });
    let mut flows = vec![flow_of_priority(1, 0, 3, u64::MAX, Time::ZERO, Pacing::LineRate)];
    let packet = |i: u64| {
        let start = Time::from_ps(200_000_000 + i * 7_300_001);
        flow_of_priority(lane, 0, 2, 2048, start, Pacing::LineRate)
    };
    flows.extend((0..200).map(packet));
    let mut spec = infiniband(net, flows);
    spec.switch.queueing = queueing;
    spec.switch.arbiter = arbiter;
    let outcome = run_until(spec, us(60_000));
    let late = |flow: &backwater_fabric::record::FlowRecord| flow.finish.since(flow.start + flow.ideal_fct);
    let messages = &outcome.flows[1..];
    assert!(messages.iter().all(|flow| flow.received == Bytes::new(2048)));
    let gate = outcome.port((outcome.flows[0].src, 0), 1);
    assert!(gate.paused > Span::from_ms(50), "VL 1 was not blocked: {}", gate.paused);
    messages.iter().map(late).max().unwrap()
}

#[test]
fn a_lane_that_is_blocked_delays_another_by_one_packet_and_the_same_lane_by_milliseconds() {
    let arbiters = || [Arbiter::RoundRobin, Arbiter::Strict, weighted(&[(1, 255), (2, 1)])];
    for queueing in [Queueing::Output, Queueing::VirtualOutput] {
        for arbiter in arbiters() {
            // A packet that the host has begun, 512 ns, and updates of 2 ns on the way.
            let other = delay_beside_a_blocked_lane(2, queueing, arbiter.clone());
            assert!(other <= Span::from_ns(512 + 2 * 4), "{queueing:?} {arbiter:?}: {other}");
            let same = delay_beside_a_blocked_lane(1, queueing, arbiter);
            assert!(same > Span::from_ms(1), "{same}");
        }
    }
}

#[test]
fn a_lane_that_is_blocked_beyond_a_switch_does_not_take_its_turn_there() {
    // s0 ──▶ s1: VL 1 is blocked at s1, VL 2 has the link for itself although VL 1 has all the weight.
    let net = generate::dumbbell(2, 2, RATE, Span::from_us(1), None).unwrap();
    let net = with_links(&net, |i, link| {
        if i == 2 {
            link.rate = Rate::from_mbps(100);
        }
    });
    let (slow, fast) = (slow_host(&net), 5 - slow_host(&net));
    let flow =
        |vl, src, dst| -> Flow { flow_of_priority(vl, src, dst, u64::MAX, Time::ZERO, Pacing::LineRate) };
    let mut spec: Spec = infiniband(net, vec![flow(1, 0, slow), flow(2, 1, fast)]);
    spec.switch.arbiter = weighted(&[(1, 255), (2, 1)]);
    let outcome = run_until(spec, us(4_000));
    let gbps = outcome.flows[1].received.get() as f64 * 8.0 / 4e6;
    // VL 1 fills its three buffers of 280 KB at the beginning, 210 us, and gets 0.1 Gbps after that.
    assert!(gbps > 32.0 * (1.0 - 210.0 / 4000.0) - 0.3, "{gbps}");
}

/// The host of the right side with the slow link.
fn slow_host(net: &Network) -> u32 {
    let slow = |host: &u32| net.ports(net.hosts()[*host as usize])[0].rate < RATE;
    (0..4).find(slow).expect("one of them")
}
