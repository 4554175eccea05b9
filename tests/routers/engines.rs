//! Each router under PFC and under credits, with flows that keep to a way and with such as are spread: the same course on the reference engine
//! and on windows with one and two threads, and every packet arrives.
use backwater_fabric::{Balancing, Kind, ProbeSpec, Queueing, Spec};
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{flow, flow_of_priority, ideal, infiniband, per_port, try_run};

use crate::ROUTERS;

/// Everyone sends to everyone, and all but one to host 0.
fn flows() -> Vec<Flow> {
    let mut flows = Vec::new();
    for src in 0..8 {
        for step in 1..8 {
            let dst = (src + step) % 8;
            flows.push(flow(src, dst, 20_000, Time::from_ps(u64::from(step) * 700_000), Pacing::LineRate));
        }
        if src > 0 {
            flows.push(flow_of_priority(1, src, 0, 90_000, Time::ZERO, Pacing::LineRate));
        }
    }
    flows.sort_by_key(|flow| flow.start);
    flows
}

fn specs(queueing: Queueing, balancing: Balancing) -> Vec<Spec> {
    let network = || generate::leaf_spine(2, 2, 4, Rate::from_gbps(40), None, Span::from_us(1)).unwrap();
    let mut credits = infiniband(network(), flows());
    credits.switch.credits.as_mut().unwrap().buffer = Bytes::new(270_000);
    let pfc = ideal(network(), flows());
    let finish = |mut spec: Spec| {
        (spec.switch.queueing, spec.switch.balancing) = (queueing, balancing);
        spec.probe = ProbeSpec {
            blame: Some(per_port(&spec.network, |_| Bytes::new(20_000))),
            ..ProbeSpec::default()
        };
        spec
    };
    [credits, pfc].into_iter().map(finish).collect()
}

#[test]
fn a_router_runs_the_same_on_every_engine_and_loses_nothing() {
    for queueing in ROUTERS {
        for balancing in [Balancing::Ecmp, Balancing::Adaptive, Balancing::Spray] {
            let kinds = [Kind::Heap, Kind::Windows { threads: 1 }, Kind::Windows { threads: 2 }];
            let outcomes = kinds.map(|kind| {
                specs(queueing, balancing)
                    .into_iter()
                    .map(|spec| {
                        let sizes: u64 = spec.flows.iter().map(|flow| flow.size.get()).sum();
                        let outcome = try_run(spec, kind, None)
                            .unwrap_or_else(|broken| panic!("{queueing:?}: {broken}"));
                        let received: u64 = outcome.flows.iter().map(|flow| flow.received.get()).sum();
                        assert_eq!(received, sizes, "{queueing:?}, {balancing:?}");
                        let course: Vec<_> = outcome
                            .records
                            .holds
                            .iter()
                            .map(|hold| (hold.time, hold.blocker, hold.bytes))
                            .collect();
                        (outcome.totals.digest, course.len())
                    })
                    .collect::<Vec<_>>()
            });
            assert_eq!(outcomes[0], outcomes[1], "{queueing:?}, {balancing:?}");
            assert_eq!(outcomes[0], outcomes[2], "{queueing:?}, {balancing:?}");
        }
    }
}
