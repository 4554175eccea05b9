//! Incasts and permutations with windows have one course: whatever the engine, batching, threads.
use backwater_control::reaction::{HpccConfig, ReactionConfig};
use backwater_fabric::{Kind, Spec};
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Span, Time};
use scene::{flow, try_run, us};

use crate::settings::{LINE, ROUND_TRIP, dctcp, hpcc, swift, windowed};

fn fabric(reaction: ReactionConfig) -> Spec {
    let network = generate::leaf_spine(4, 2, 4, LINE, None, Span::from_us(1)).expect("a leaf-spine");
    let incast = (1..12).map(|src| flow(src, 0, 150_000, us(u64::from(src) / 4), Pacing::Controlled));
    let across = (0..16).map(|src| flow(src, (src + 5) % 16, 90_001, Time::ZERO, Pacing::Controlled));
    let mut flows: Vec<Flow> = incast.chain(across).collect();
    flows.sort_by_key(|flow| flow.start);
    windowed(network, flows, reaction)
}

#[test]
fn each_engine_with_any_threads_tells_one_story() {
    // Packets of half the size that the controller thinks are twice as many under way, each with telemetry of its own.
    let halves = ReactionConfig::Hpcc(HpccConfig::paper(2000, LINE, ROUND_TRIP));
    for reaction in [dctcp(), swift(), hpcc(), halves] {
        let course = |kind, batching| {
            let mut spec = fabric(reaction);
            spec.batching = batching;
            let outcome = try_run(spec, kind, None).unwrap_or_else(|violation| panic!("{violation}"));
            let ends: Vec<_> = outcome.flows.iter().map(|flow| flow.finish).collect();
            (outcome.totals.digest, ends)
        };
        let reference = course(Kind::Heap, false);
        assert!(reference.1.iter().all(|end| *end < Time::MAX), "{reaction:?}");
        for (kind, batching) in [
            (Kind::Windows { threads: 1 }, false),
            (Kind::Windows { threads: 1 }, true),
            (Kind::Windows { threads: 2 }, true),
            (Kind::Windows { threads: 5 }, true),
        ] {
            assert_eq!(course(kind, batching), reference, "{reaction:?} {kind:?} {batching}");
        }
    }
}
