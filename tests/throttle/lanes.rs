//! Two virtual lanes of a NIC: one throttle for both, or one for each.
use backwater_control::reaction::StateRule;
use backwater_fabric::Scope;
use backwater_topology::generate::star;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, flow_of_priority, run_until, throttled, us};

const LINE: Rate = Rate::from_gbps(100);

/// Hosts 1 to 8 send to host 0 in priority 3; host 1 to host 9, too, in priority 5.
fn outcome(scope: Scope) -> Outcome {
    let endless = |priority, src, dst| -> Flow {
        flow_of_priority(priority, src, dst, u64::MAX, Time::ZERO, Pacing::LineRate)
    };
    let mut flows: Vec<Flow> = (1..=8).map(|i| endless(3, i, 0)).collect();
    flows.push(endless(5, 1, 9));
    let mut spec = throttled(star(10, LINE, Span::from_ns(100)).unwrap(), flows);
    let throttle = spec.throttle.as_mut().unwrap();
    throttle.config.rule = StateRule::Fixed { enter: 672, escape: 592 };
    throttle.scope = scope;
    run_until(spec, us(500))
}

fn received(outcome: &Outcome, flow: usize) -> Bytes {
    outcome.flows[flow].received
}

#[test]
fn one_throttle_for_the_port_slows_down_the_innocent_lane_too() {
    let (port, lane) = (outcome(Scope::Port), outcome(Scope::VirtualLane));
    // With a throttle of its own the lane has all that the other one leaves: 7/8 of the link.
    assert!(received(&lane, 8) > Bytes::new(12_500 * 500 / 100 * 85), "{}", received(&lane, 8));
    assert!(received(&port, 8) < received(&lane, 8) / 2, "{} {}", received(&port, 8), received(&lane, 8));
}

#[test]
fn each_lane_has_its_own_state() {
    let lane = outcome(Scope::VirtualLane);
    assert!(!lane.records.throttle_states.is_empty());
    assert!(lane.records.throttle_states.iter().all(|state| state.lane == 3));
    let port = outcome(Scope::Port);
    assert!(port.records.throttle_states.iter().all(|state| state.lane == 0));
}

#[test]
fn the_hot_port_is_at_line_rate_in_both() {
    for scope in [Scope::Port, Scope::VirtualLane] {
        let outcome = outcome(scope);
        let hot: u64 = (0..8).map(|flow| received(&outcome, flow).get()).sum();
        assert!(hot >= 12_500 * 499, "{scope:?}: {hot}");
    }
}
