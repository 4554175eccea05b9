//! Fabrics under load, larger than those of the swarm: every engine tells the same story.
use backwater_control::detector::{Detector, Fecn, Tcd, Trend};
use backwater_control::flow_control::CreditReturn;
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{IbCcConfig, ReactionConfig};
use backwater_fabric::{Kind, Queueing, Spec};
use backwater_topology::{Network, Routes, Routing, generate};
use backwater_traffic::{Flow, Pacing, connect};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{authors, bfc, flow, hpcc_ns3, ideal, infiniband, per_port, red, run, tcd, with_links};

use crate::fingerprint::{difference, fingerprint, watch_nothing};

const KINDS: [(Kind, bool); 4] = [
    (Kind::Windows { threads: 1 }, false),
    (Kind::Windows { threads: 1 }, true),
    (Kind::Windows { threads: 2 }, true),
    (Kind::Windows { threads: 5 }, true),
];

fn check(spec: impl Fn() -> Spec) {
    let outcome = |kind, batching| {
        let mut spec = spec();
        spec.batching = batching;
        watch_nothing(&mut spec);
        fingerprint(spec, kind, None)
    };
    let reference = outcome(Kind::Heap, false);
    assert!(reference.is_ok(), "{:?}", reference.as_ref().err());
    for (kind, batching) in KINDS {
        let found = difference(&reference, &outcome(kind, batching), false);
        assert!(found.is_none(), "{kind:?}, batching {batching}: {}", found.unwrap_or_default());
    }
}

fn fat_tree() -> Network {
    generate::fat_tree(4, Rate::from_gbps(100), Span::from_us(1)).unwrap()
}

/// Every host to every other, the starts 1.7 us apart: three packet times at most coincide.
fn all_to_all(hosts: u32, bytes: u64) -> Vec<Flow> {
    let pairs = (1..hosts).flat_map(|step| (0..hosts).map(move |src| (src, (src + step) % hosts)));
    let timed = pairs.zip(0u64..).map(|((src, dst), i)| {
        flow(src, dst, bytes + 37 * i, Time::from_ps(i * 1_700_000 / 2), Pacing::Controlled)
    });
    timed.collect()
}

#[test]
fn all_to_all_over_a_fat_tree_with_acknowledgements() {
    check(|| hpcc_ns3(fat_tree(), all_to_all(16, 60_000), 32 << 20));
}

#[test]
fn all_to_all_in_a_small_buffer_where_pfc_fires() {
    let spec = || hpcc_ns3(fat_tree(), all_to_all(16, 60_000), 400_000);
    assert!(run(spec()).ports.iter().any(|port| port.pauses > 0));
    check(spec);
}

#[test]
fn all_to_all_under_tcd_and_timed_pauses_over_links_of_many_lengths() {
    let net = || with_links(&fat_tree(), |i, link| link.delay = Span::from_ps(500_000 + 130_001 * i as u64));
    check(|| authors(net(), all_to_all(16, 60_000), tcd()));
}

#[test]
fn an_incast_of_three_racks_under_ecn() {
    let net = || generate::leaf_spine(4, 3, 8, Rate::from_gbps(40), None, Span::from_us(2)).unwrap();
    let flows = || (8..32).map(|src| flow(src, 0, 400_000, Time::ZERO, Pacing::Controlled)).collect();
    check(|| authors(net(), flows(), red()));
}

#[test]
fn queues_of_flows_that_are_held_upstream_and_shared_at_random() {
    for queues in [3, 32] {
        let net = || generate::leaf_spine(4, 3, 8, Rate::from_gbps(40), None, Span::from_us(2)).unwrap();
        let incast = || (8..32).map(|src| flow(src, 0, 100_000, Time::ZERO, Pacing::LineRate));
        let spec = || {
            let others = all_to_all(32, 10_000).into_iter().filter(|flow| flow.src < 16);
            let mut spec = bfc(net(), incast().chain(others).collect());
            let Queueing::Bfc(bfc) = &mut spec.switch.queueing else { unreachable!("the scene is of BFC") };
            bfc.queues = queues;
            spec
        };
        assert!(run(spec()).ports.iter().any(|port| port.pauses > 0));
        check(spec);
    }
}

#[test]
fn back_to_back_senders_whose_packets_meet_at_the_same_instants() {
    let net = || generate::leaf_spine(2, 2, 8, Rate::from_gbps(40), None, Span::from_us(1)).unwrap();
    let flows = || {
        let twice = (0..16).chain(0..16);
        twice.map(|src| flow(src, (src + 8) % 16, 300_000, Time::ZERO, Pacing::LineRate)).collect()
    };
    check(|| ideal(net(), flows()));
}

/// A fabric of InfiniBand with its congestion control, and buffers of 20 packets in which gates close.
fn small_buffers(detector: Detector, returned: CreditReturn, flows: Vec<Flow>) -> Spec {
    let net = generate::fat_tree(4, Rate::from_gbps(32), Span::from_us(1)).unwrap();
    let routes = Routes::new(&net, Routing::DModK).unwrap();
    let mut spec = infiniband(net, flows);
    spec.routes = routes;
    spec.switch.detectors = per_port(&spec.network, |_| detector);
    let credits = spec.switch.credits.as_mut().unwrap();
    (credits.buffer, credits.returned) = (Bytes::new(20 * 2048), returned);
    spec.pairs[0].reaction = ReactionConfig::IbCc(IbCcConfig::with_tcd());
    spec.pairs[0].notify = Some(NotifyConfig::each_mark());
    spec
}

#[test]
fn all_to_all_under_credits_that_come_back_every_10_us_with_tcd() {
    let tc = Span::from_us(10);
    let tcd = Detector::Tcd(Tcd::credits(Trend::RiseBp, tc, Bytes::new(20_000), Bytes::new(2048)));
    let spec = || small_buffers(tcd, CreditReturn::Periodic(tc), all_to_all(16, 60_000));
    assert!(run(spec()).ports.iter().any(|port| port.pauses > 0));
    check(spec);
}

#[test]
fn messages_of_connections_under_credits_that_come_back_at_once_with_fecn() {
    let fecn =
        Detector::Fecn(Fecn { threshold: Bytes::new(10_000), marking_rate: 2, packet_size: Bytes::ZERO });
    let spec = || {
        let mut flows = all_to_all(16, 40_000);
        // Each twice, the second right behind the first.
        flows = flows.into_iter().flat_map(|flow| [flow; 2]).collect();
        connect(&mut flows, 0);
        small_buffers(fecn, CreditReturn::AtOnce, flows)
    };
    let outcome = run(spec());
    assert!(outcome.flows.iter().any(|flow| flow.cnps_ce > 0));
    assert!(outcome.ports.iter().any(|port| port.pauses > 0));
    check(spec);
}
