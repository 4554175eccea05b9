//! A NIC that is never Congested is like one without a throttle, and nothing but the seed changes a run.
use backwater_control::flow_control::CreditReturn;
use backwater_control::reaction::StateRule;
use backwater_fabric::{Kind, Spec};
use backwater_topology::generate::leaf_spine;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Rate, Span};
use scene::{FAST, flow, throttled, try_run, us};

fn crowd() -> Spec {
    let network = leaf_spine(3, 2, 6, Rate::from_gbps(100), None, Span::from_ns(300)).unwrap();
    let flows: Vec<Flow> = (1..18_u32)
        .map(|i| flow(i, if i % 3 == 0 { i - 1 } else { 0 }, 300_000, us(u64::from(i % 4)), Pacing::LineRate))
        .collect();
    let mut flows = flows;
    flows.sort_by_key(|flow| flow.start);
    throttled(network, flows)
}

fn digest(spec: Spec, kind: Kind) -> (u64, Vec<backwater_fabric::record::FlowRecord>) {
    let outcome = try_run(spec, kind, None).unwrap_or_else(|violation| panic!("{violation}"));
    (outcome.totals.digest, outcome.flows)
}

#[test]
fn a_throttle_that_never_enters_congested_changes_nothing() {
    for returned in [CreditReturn::AtOnce, CreditReturn::Periodic(Span::from_us(2))] {
        let with = |throttle: bool| {
            let mut spec = crowd();
            spec.switch.credits.as_mut().unwrap().returned = returned;
            spec.throttle.as_mut().unwrap().config.rule = StateRule::Fixed { enter: u32::MAX, escape: 0 };
            spec.throttle = spec.throttle.filter(|_| throttle);
            digest(spec, FAST)
        };
        assert_eq!(with(true), with(false));
    }
}

#[test]
fn the_throttle_does_something_in_this_crowd_and_depends_on_the_seed() {
    let of_seed = |seed| digest(Spec { seed, ..crowd() }, FAST);
    let without = digest(Spec { throttle: None, ..crowd() }, FAST);
    assert_ne!(of_seed(1), without);
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1), of_seed(2));
}

#[test]
fn engines_threads_and_probes_change_nothing() {
    let reference = digest(crowd(), Kind::Heap);
    for threads in 1..=3 {
        for probes in [true, false] {
            let mut spec = crowd();
            spec.batching = probes;
            (spec.probe.throttle, spec.probe.throttle_states) = (probes, probes);
            assert_eq!(digest(spec, Kind::Windows { threads }), reference);
        }
    }
}
