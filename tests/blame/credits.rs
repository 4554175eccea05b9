//! Under credits, too, the ground truth says which egress queues hold a port upstream back.
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Rate, Span, Time};
use scene::{flow, infiniband, run};

use crate::watched;

#[test]
fn a_port_that_runs_out_of_credits_was_told_before_that_little_is_free_and_which_queue_takes_it() {
    let net = generate::dumbbell(2, 2, Rate::from_gbps(32), Span::from_us(4), None).unwrap();
    // l0 to r0 crosses the link between the switches; r1 crowds r0, too.
    let flows = [0, 3].map(|src| flow(src, 2, 4_000_000, Time::ZERO, Pacing::LineRate));
    let outcome = run(watched(infiniband(net, flows.to_vec()), 50_000));
    let network = outcome.simulation.network();
    let (left, right) = (network.find("left").unwrap(), network.find("right").unwrap());
    let r0 = network.find("r0").unwrap();
    let held: Vec<_> = outcome.records.holds.iter().filter(|hold| hold.held_node == left).collect();
    assert!(!held.is_empty());
    for hold in held {
        assert_eq!(hold.node, right);
        assert_eq!(network.ports(right)[usize::from(hold.blocker)].peer, r0);
        assert!(!hold.closed, "r0 is no switch and always has room");
    }
    let starved = outcome.records.pauses.iter().find(|r| r.node == left && r.paused).unwrap();
    assert!(outcome.records.holds.iter().any(|hold| hold.held_node == left && hold.time <= starved.time));
}
