//! Links under credits: nothing is sent without credits, nothing is lost, credits come back, and a link that is not
//! congested does not notice.
use backwater_control::detector::{Detector, Fecn};
use backwater_control::flow_control::CreditReturn;
use backwater_control::notify::NotifyConfig;
use backwater_fabric::{AckSpec, Arbiter, End, Kind, Queueing, Spec, Switching};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;
use scene::{FAST, chain, flow, flow_of_priority, infiniband, per_port, run, try_run, us};

fn star(hosts: u32) -> Network {
    generate::star(hosts, Rate::from_gbps(32), Span::from_us(4)).unwrap()
}

/// Six hosts send 400 KB each to the seventh.
fn incast() -> Spec {
    let flows = (0..6).map(|src| flow(src, 6, 400_000, Time::ZERO, Pacing::LineRate)).collect();
    infiniband(star(7), flows)
}

#[test]
fn a_flow_alone_takes_what_cut_through_arithmetic_says() {
    let link = (Rate::from_gbps(32), Span::from_us(4));
    let flows = vec![flow(0, 1, 2048 * 10 + 1000, Time::ZERO, Pacing::LineRate)];
    let mut spec = infiniband(chain(&[link; 4]), flows);
    // So that no update travels with the data: only what has been freed is told, and only then.
    spec.switch.credits.as_mut().unwrap().returned = CreditReturn::AtOnce;
    let outcome = run(spec);
    // Ten packets of 512 ns, then 1000 B in 250 ns; three switches forward it when 20 B = 5 ns are in; 4 links of 4 us.
    let expected = 10 * 512_000 + 250_000 + 3 * 5_000 + 4 * 4_000_000;
    assert_eq!(outcome.flows[0].finish.as_ps(), expected);
    assert_eq!(outcome.flows[0].ideal_fct.as_ps(), expected);
}

#[test]
fn a_switch_stores_what_comes_from_a_slower_link_before_it_cuts_it_through() {
    let (slow, fast) = ((Rate::from_gbps(16), Span::from_us(4)), (Rate::from_gbps(32), Span::from_us(4)));
    let flows = vec![flow(0, 1, 2048, Time::ZERO, Pacing::LineRate)];
    let outcome = run(infiniband(chain(&[slow, fast, fast]), flows));
    // 1024 ns at 16G, all of it; 5 ns of it at the second switch; 512 ns to the host.
    assert_eq!(outcome.flows[0].finish.as_ps(), 1_024_000 + 5_000 + 512_000 + 3 * 4_000_000);
}

#[test]
fn an_incast_under_credits_ends_with_every_byte_delivered_and_no_buffer_overrun() {
    for queueing in [Queueing::Output, Queueing::VirtualOutput] {
        for switching in [Switching::StoreAndForward, Switching::CutThrough { header: Bytes::new(20) }] {
            for returned in [CreditReturn::AtOnce, CreditReturn::Periodic(Span::from_us(50))] {
                let mut spec = incast();
                spec.switch.queueing = queueing;
                spec.switch.switching = switching;
                spec.switch.credits.as_mut().unwrap().returned = returned;
                let outcome = run(spec);
                assert_eq!(outcome.totals.end, End::Finished);
                assert!(outcome.flows.iter().all(|flow| flow.received == flow.size));
                // A buffer of 280 KB, counted in blocks that 2048 B fill exactly.
                let peak = outcome.ports.iter().map(|port| port.peak_ingress.get()).max().unwrap();
                assert!((200_000..=280_000).contains(&peak), "{peak}");
            }
        }
    }
}

#[test]
fn ingress_ports_share_an_egress_port_in_equal_turns() {
    let outcome = run(incast());
    let ends: Vec<u64> = outcome.flows.iter().map(|flow| flow.finish.as_ps()).collect();
    let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    // 2.4 MB at 32 Gbps are 600 us; the six last packets of 512 ns end within two turns of each other.
    assert!(*last >= 600_000_000 && last - first <= 2 * 6 * 512_000, "{ends:?}");
}

#[test]
fn in_turns_of_ingress_ports_a_modest_flow_does_not_feel_a_greedy_one_and_in_one_queue_it_does() {
    let lateness = |queueing: Queueing| {
        let modest = Pacing::Constant { rate: Rate::from_gbps(8), jitter_ppm: 0, catch_up: true };
        let flows = vec![
            flow(0, 2, 4_000_000, Time::ZERO, Pacing::LineRate),
            flow(1, 2, 102_400, Time::ZERO, modest),
        ];
        let mut spec = infiniband(star(3), flows);
        spec.switch.queueing = queueing;
        let flow = run(spec).flows[1];
        flow.finish.since(flow.start + flow.ideal_fct)
    };
    // In turn it waits for one packet under way, 512 ns, and one turn. In one queue the greedy flow brings four times as much,
    // so that a fifth of 100 us of excess stands before its last packet.
    assert!(lateness(Queueing::VirtualOutput) <= Span::from_ns(2 * 512));
    assert!(lateness(Queueing::Output) > Span::from_us(15));
}

#[test]
fn the_order_of_events_under_credits_is_the_same_on_any_engine_and_number_of_threads() {
    for (queueing, returned) in [
        (Queueing::VirtualOutput, CreditReturn::Periodic(Span::from_us(50))),
        (Queueing::Output, CreditReturn::AtOnce),
    ] {
        let digest = |kind: Kind| {
            let net = generate::leaf_spine(3, 2, 4, Rate::from_gbps(32), None, Span::from_us(1)).unwrap();
            let flows = (0..12)
                .flat_map(|src| [1, 5, 6].map(|step| (src, (src + step) % 12)))
                .map(|(src, dst)| flow(src, dst, 150_000 + u64::from(src), us(1), Pacing::LineRate))
                .collect();
            let mut spec = infiniband(net, flows);
            spec.switch.queueing = queueing;
            spec.switch.credits.as_mut().unwrap().returned = returned;
            try_run(spec, kind, None).unwrap_or_else(|v| panic!("{v}")).totals.digest
        };
        let one = digest(FAST);
        assert_eq!(one, digest(Kind::Heap));
        assert_eq!(one, digest(Kind::Windows { threads: 3 }));
    }
}

#[test]
fn an_idle_fabric_sends_no_updates() {
    // One packet: its links tell that a packet was sent and, once, what has become free.
    let outcome = run(infiniband(star(8), vec![flow(0, 1, 2048, Time::ZERO, Pacing::LineRate)]));
    assert_eq!(outcome.totals.packet_hops, 2);
    assert!(outcome.totals.events <= 2 + 4, "{}", outcome.totals.events);
}

#[test]
fn an_acknowledgement_leaves_on_credits_that_are_too_few_for_the_data_it_shares_its_lane_with() {
    // Host 1 has room for four packets and three blocks at the switch, and its gate is closed from 2.048 us on. No update comes in
    // the first 40 us, by the seed. At 20 us it gets a packet: its ACK of one block is not held back with the data.
    let link = (Rate::from_gbps(32), Span::from_us(1));
    let flows =
        vec![flow(1, 0, 20 * 2048, Time::ZERO, Pacing::LineRate), flow(0, 1, 2048, us(20), Pacing::LineRate)];
    let mut spec = infiniband(chain(&[link; 2]), flows);
    spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: None });
    let credits = spec.switch.credits.as_mut().unwrap();
    (credits.buffer, credits.returned) =
        (Bytes::new(4 * 2048 + 3 * 64), CreditReturn::Periodic(Span::from_us(200)));
    let outcome = run(spec);
    let gate = outcome.pauses_at((outcome.flows[0].src, 0));
    assert!(gate[0].paused && gate[0].time < us(3));
    assert!(gate.iter().any(|change| change.paused && change.time > us(21)));
    // 64 B over two links of 1 us.
    let back = outcome.flows[1].acked.since(outcome.flows[1].finish);
    assert!(back < Span::from_ns(2_100), "{back}");
}

fn weighted(high: &[(u8, u8)], low: &[(u8, u8)]) -> Arbiter {
    let table = |lines: &[(u8, u8)]| {
        lines.iter().map(|&(vl, weight)| backwater_control::arbitration::VlEntry { vl, weight }).collect()
    };
    Arbiter::Weighted { high: table(high), low: table(low), high_limit: 255 }
}

#[test]
fn virtual_lanes_share_a_link_by_their_weights() {
    let net = star(4);
    let flows: Vec<Flow> = [(1u8, 0u32), (2, 1), (3, 2)]
        .map(|(vl, src)| flow_of_priority(vl, src, 3, u64::MAX, Time::ZERO, Pacing::LineRate))
        .to_vec();
    let mut spec = infiniband(net, flows);
    spec.switch.credits.as_mut().unwrap().returned = CreditReturn::AtOnce;
    spec.switch.arbiter = weighted(&[], &[(1, 32), (2, 64), (3, 128)]);
    let outcome = try_run(spec, FAST, Some(us(4_000))).unwrap_or_else(|v| panic!("{v}"));
    let received: Vec<f64> = outcome.flows.iter().map(|flow| flow.received.get() as f64).collect();
    let total: f64 = received.iter().sum();
    for (got, share) in received.iter().zip([1.0 / 7.0, 2.0 / 7.0, 4.0 / 7.0]) {
        assert!((got / total - share).abs() < 0.01, "{received:?}");
    }
}

#[test]
fn buffers_under_credits_are_apart_from_the_memory_that_notifications_share() {
    // 40 ingress ports may hold 11 MB in all; the shared memory of 100 KB is for CNPs alone.
    let flows = (0..40).map(|src| flow(src, 40, 600_000, Time::ZERO, Pacing::Controlled)).collect();
    let mut spec = infiniband(star(41), flows);
    spec.switch.buffer = Bytes::from_kb(100);
    let fecn = Fecn { threshold: Bytes::from_kb(50), marking_rate: 0, packet_size: Bytes::ZERO };
    spec.switch.detectors = per_port(&spec.network, |_| Detector::Fecn(fecn));
    spec.pairs[0].notify = Some(NotifyConfig::each_mark());
    let outcome = run(spec);
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size));
    assert!(outcome.flows.iter().any(|flow| flow.cnps_ce > 0));
}

#[test]
fn what_is_returned_at_once_is_never_repeated() {
    let mut spec = incast();
    let credits = spec.switch.credits.as_mut().unwrap();
    (credits.returned, credits.unchanged) = (CreditReturn::AtOnce, true);
    assert_eq!(run(spec).totals.end, End::Finished);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_buffer_of_any_size_never_gets_more_than_it_has_room_for(
        buffer in 4_096_u64..20_000,
        payload in 64_u64..4_000,
        at_once in any::<bool>(),
        seed in 0u64..1000,
        sizes in prop::collection::vec(1u64..100_000, 8),
    ) {
        // Host i sends to hosts i + 1 and i + 2: every port is an ingress and an egress.
        let ends = (0..4).flat_map(|src| [(src, (src + 1) % 4), (src, (src + 2) % 4)]);
        let flows = ends.zip(&sizes).map(|((src, dst), &size)| flow(src, dst, size, Time::ZERO, Pacing::LineRate));
        let mut spec = infiniband(star(4), flows.collect());
        spec.seed = seed;
        spec.packet.payload = Bytes::new(payload);
        let credits = spec.switch.credits.as_mut().unwrap();
        credits.buffer = Bytes::new(buffer);
        credits.returned = if at_once { CreditReturn::AtOnce } else { CreditReturn::Periodic(Span::from_us(20)) };
        // A packet without room, and accounts that do not add up, would end the run.
        let outcome = run(spec);
        for flow in &outcome.flows {
            prop_assert_eq!(flow.received, flow.size);
        }
        for port in &outcome.ports {
            prop_assert!(port.peak_ingress.get() <= buffer);
        }
    }

    #[test]
    fn lost_updates_cost_time_and_never_a_byte_or_a_credit(
        loss_ppm in 0u32..600_000,
        period in 5u64..60,
        seed in 0u64..1000,
        sizes in prop::collection::vec(1u64..300_000, 4),
    ) {
        let flows = sizes.iter().zip(0..).map(|(&size, src)| flow(src, 4, size, Time::ZERO, Pacing::LineRate));
        let mut spec = infiniband(star(5), flows.collect());
        spec.seed = seed;
        let credits = spec.switch.credits.as_mut().unwrap();
        credits.returned = CreditReturn::Periodic(Span::from_us(period));
        credits.unchanged = true;
        credits.loss_ppm = loss_ppm;
        let outcome = run(spec);
        prop_assert_eq!(outcome.totals.end, End::Finished);
        for flow in &outcome.flows {
            prop_assert_eq!(flow.received, flow.size);
        }
    }
}
