//! Fabrics under load, larger than those of the swarm: every engine tells the same story.
use backwater_fabric::{Kind, Spec};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Rate, Span, Time};
use scene::{authors, flow, hpcc_ns3, ideal, red, run, tcd, with_links};

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
fn back_to_back_senders_whose_packets_meet_at_the_same_instants() {
    let net = || generate::leaf_spine(2, 2, 8, Rate::from_gbps(40), None, Span::from_us(1)).unwrap();
    let flows = || {
        let twice = (0..16).chain(0..16);
        twice.map(|src| flow(src, (src + 8) % 16, 300_000, Time::ZERO, Pacing::LineRate)).collect()
    };
    check(|| ideal(net(), flows()));
}
