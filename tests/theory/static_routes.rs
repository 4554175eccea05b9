//! D-mod-k on a fat tree sends a shift permutation over ways that share no link (Zahavi et al., Optimized InfiniBand fat-tree
//! routing for shift all-to-all communication patterns, 2010): every host at line rate, all at once.
use backwater_fabric::Spec;
use backwater_topology::{Routes, Routing, generate};
use backwater_traffic::Pacing;
use backwater_units::{Rate, Span, Time};
use scene::{flow, infiniband, run};

const MESSAGE: u64 = 200 * 2048;

fn shifted(k: u32, by: u32, routing: Routing) -> Spec {
    let net = generate::fat_tree(k, Rate::from_gbps(32), Span::from_us(1)).unwrap();
    let hosts = net.hosts().len() as u32;
    let routes = Routes::new(&net, routing).unwrap();
    let flows =
        (0..hosts).map(|src| flow(src, (src + by) % hosts, MESSAGE, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = infiniband(net, flows);
    spec.routes = routes;
    spec
}

#[test]
fn every_shift_permutation_runs_at_line_rate_without_a_single_stop() {
    for (k, shifts) in [(4, (1..16).collect::<Vec<u32>>()), (6, vec![1, 5, 9, 26, 27, 53])] {
        for by in shifts {
            let outcome = run(shifted(k, by, Routing::DModK));
            assert_eq!(outcome.records.pauses, [], "k = {k}, shift {by}");
            for flow in &outcome.flows {
                // An update of 2 ns on each of six links, in each of the three periods that the message touches.
                let fct = flow.finish.since(flow.start);
                assert!(fct <= flow.ideal_fct + Span::from_ns(2 * 6 * 5), "k = {k}, shift {by}: {fct}");
            }
        }
    }
}

#[test]
fn hashed_ways_of_the_same_permutation_meet() {
    let outcome = run(shifted(4, 5, Routing::Ecmp));
    let slowest = outcome.flows.iter().map(|flow| flow.finish.since(flow.start)).max().unwrap();
    // Two flows on one link take at least twice as long.
    assert!(slowest > outcome.flows[0].ideal_fct + Span::from_us(50), "{slowest}");
}
