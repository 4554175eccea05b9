//! A throttled NIC is no deadlock, however long it waits; one that waits for credits that never come is an end without success.
use backwater_control::reaction::StateRule;
use backwater_fabric::Violation;
use backwater_topology::generate::star;
use backwater_traffic::Pacing;
use backwater_units::{Rate, Span, Time};
use scene::{FAST, flow, run, spaced, throttled, try_run};

const LINE: Rate = Rate::from_gbps(100);

#[test]
fn gaps_longer_than_any_patience_are_no_deadlock() {
    // 64 flits of 1.28 ns, each with half a million idle flit times: 41.9 ms. A deadlock is looked for every 10 ms.
    let network = star(2, LINE, Span::from_us(1)).unwrap();
    let outcome = run(spaced(network, vec![flow(1, 0, 5 * 1024, Time::ZERO, Pacing::LineRate)], 512_000));
    let gap = 64 * 1_280 * 512_000_u64;
    let [record] = outcome.flows[..] else { panic!("one flow") };
    assert_eq!(record.nic_held.as_ps(), 3 * gap);
    assert!(record.finish.as_ps() > 3 * gap);
}

#[test]
fn a_nic_that_waits_for_credits_that_never_come_is_named() {
    // All updates are lost. With 1088 flits in use p is 0.
    let network = star(2, LINE, Span::from_us(1)).unwrap();
    let mut spec = throttled(network, vec![flow(1, 0, 100 * 1024, Time::ZERO, Pacing::LineRate)]);
    spec.switch.credits.as_mut().unwrap().loss_ppm = 1_000_000;
    let config = &mut spec.throttle.as_mut().unwrap().config;
    config.rule = StateRule::Fixed { enter: 1_024, escape: 1_024 };
    config.m = 20;
    let name = spec.network.name(spec.network.hosts()[1]).to_owned();
    match try_run(spec, FAST, None).err() {
        Some(Violation::Throttled { unfinished, hosts, .. }) => {
            assert_eq!(unfinished, 1);
            assert_eq!(hosts, [format!("{name} (1088 of 4096 credits in use)")]);
        }
        other => panic!("{other:?}"),
    }
}
