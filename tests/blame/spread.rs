//! Flows that have many ways: where the last packet's time went adds up to what the flow lost, and looking changes nothing.
use backwater_fabric::record::FlowRecord;
use backwater_fabric::{Balancing, Spec};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, flow, ideal, infiniband, run, with_links};

use crate::watched;

const LINE: Rate = Rate::from_gbps(40);
const ALL: [Balancing; 4] =
    [Balancing::Ecmp, Balancing::Spray, Balancing::Flowlet { gap: Span::from_us(5) }, Balancing::Adaptive];

fn leaf_spine() -> Network {
    generate::leaf_spine(3, 3, 4, LINE, None, Span::from_us(1)).expect("a leaf-spine")
}

/// An incast of seven hosts to the first, flows that cross the fabric beside it, and short ones.
fn crowd(seed: u64) -> Vec<Flow> {
    let at = |us: u64| Time::from_ps(us * 1_000_000);
    let incast = (5..12).map(|src| flow(src, 0, 600_000 + 777 * seed, at(0), Pacing::LineRate));
    let across = (4..8).map(|src| flow(src, src - 3, 400_001 + seed, at(3 + seed % 7), Pacing::LineRate));
    let short = (8..12).map(|src| flow(src, src - 7, 1_500, at(20 + seed), Pacing::LineRate));
    incast.chain(across).chain(short).collect()
}

/// FCT − FCT alone + wait alone − all parts, in picoseconds.
fn rest(outcome: &Outcome, flow: &FlowRecord) -> i128 {
    let waits = outcome.records.waits.iter().filter(|wait| wait.last && wait.flow == flow.flow);
    let network: u64 = waits.map(|wait| wait.end.since(wait.start).as_ps()).sum();
    let parts = [flow.behind, flow.paced, flow.nic_held, flow.nic_queue, flow.reorder_wait].map(Span::as_ps);
    let explained = i128::from(parts.iter().sum::<u64>() + network);
    let lost = i128::from(flow.finish.since(flow.start).as_ps()) - i128::from(flow.ideal_fct.as_ps());
    lost + i128::from(flow.ideal_wait.as_ps()) - explained
}

fn each(mut check: impl FnMut(&dyn Fn() -> Spec, Balancing)) {
    for seed in 1..6 {
        for balancing in ALL {
            for world in [ideal, infiniband] {
                let made = || {
                    let mut spec = world(leaf_spine(), crowd(seed));
                    (spec.seed, spec.switch.balancing) = (seed, balancing);
                    spec
                };
                check(&made, balancing);
            }
        }
    }
}

#[test]
fn what_a_spread_flow_lost_is_the_sum_of_its_parts_to_the_picosecond() {
    let (mut reordered, mut held) = (0, 0);
    each(|made, balancing| {
        let outcome = run(watched(made(), 50_000));
        for flow in &outcome.flows {
            assert_eq!(rest(&outcome, flow), 0, "{balancing:?}, flow {}", flow.flow);
            assert!(balancing != Balancing::Ecmp || flow.reorder_wait == Span::ZERO);
        }
        reordered += outcome.flows.iter().filter(|flow| flow.reorder_wait > Span::ZERO).count();
        held += usize::from(balancing != Balancing::Ecmp && !outcome.records.holds.is_empty());
    });
    assert!(reordered > 20, "the last packets of {reordered} flows came early");
    assert!(held > 20, "in {held} runs something was held back");
}

#[test]
fn looking_at_spread_flows_changes_nothing() {
    each(|made, balancing| {
        let mut blind = made();
        blind.probe = backwater_fabric::ProbeSpec::default();
        let seen = run(watched(made(), 50_000)).totals.digest;
        assert_eq!(run(blind).totals.digest, seen, "{balancing:?}");
    });
}

#[test]
fn a_way_with_other_links_than_that_of_the_hash_is_all_that_is_left() {
    // The second of two spines is 3 us farther away from both leaves: its way takes 6 us longer, and nothing else is unexplained.
    let network = generate::leaf_spine(2, 2, 1, LINE, None, Span::from_us(1)).expect("a leaf-spine");
    let leaf = network.ports(network.hosts()[0])[0].peer;
    let spine =
        network.ports(leaf).iter().map(|port| port.peer).filter(|&peer| network.is_switch(peer)).max();
    let network = with_links(&network, |_, link| {
        if Some(link.a) == spine || Some(link.b) == spine {
            link.delay = Span::from_us(4);
        }
    });
    let mut seen = Vec::new();
    for seed in 1..9 {
        let mut spec = ideal(network.clone(), vec![flow(0, 1, 50_000, Time::ZERO, Pacing::LineRate)]);
        (spec.seed, spec.switch.balancing) = (seed, Balancing::Spray);
        let outcome = run(watched(spec, 50_000));
        seen.push(rest(&outcome, &outcome.flows[0]));
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [-6_000_000, 0, 6_000_000]);
}

#[test]
fn the_queue_of_an_incast_is_crowded_by_its_flows_alone_however_they_come() {
    each(|made, balancing| {
        let outcome = run(watched(made(), 50_000));
        let network = outcome.simulation.network();
        let receiver = network.hosts()[0];
        let leaf = network.ports(receiver)[0].peer;
        let port = network.port_to(leaf, receiver).expect("its port");
        let here =
            |record: &&backwater_fabric::record::CrowdRecord| (record.node, record.port) == (leaf, port);
        let mut flows: Vec<u32> =
            outcome.records.crowds.iter().filter(here).map(|record| record.flow).collect();
        flows.sort_unstable();
        flows.dedup();
        assert_eq!(flows, [0, 1, 2, 3, 4, 5, 6], "{balancing:?}");
        // And each PAUSE, or credit that is missing, which is for that port, holds back packets that wait there.
        let holds = outcome.records.holds.iter().filter(|hold| (hold.node, hold.blocker) == (leaf, port));
        assert!(
            holds.clone().count() > 0 && holds.clone().all(|hold| hold.bytes > Bytes::ZERO),
            "{balancing:?}"
        );
    });
}
