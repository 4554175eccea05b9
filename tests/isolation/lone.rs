//! A flow that nobody meets is no congestion, whatever looks for one.
use backwater_traffic::Pacing;
use backwater_units::Time;
use scene::{CONGESTED, PACKET, Scheme, flow, isolation, run, tree};

#[test]
fn a_flow_alone_at_line_rate_is_never_isolated_never_paused_and_never_late() {
    for scheme in Scheme::ALL {
        let flows = vec![flow(63, 0, 1000 * PACKET, Time::ZERO, Pacing::Controlled)];
        let mut spec = isolation(tree(), flows, scheme);
        spec.probe.isolation = true;
        let outcome = run(spec);
        let record = outcome.flows[0];
        assert_eq!(record.finish.since(record.start), record.ideal_fct, "{scheme:?}");
        assert_eq!((record.ce_packets, record.cnps_ce), (0, 0), "{scheme:?}");
        assert!(outcome.records.pauses.is_empty() && outcome.records.isolation.is_empty(), "{scheme:?}");
        assert!(
            outcome.ports.iter().all(|port| port.priority != CONGESTED || port.packets == 0),
            "{scheme:?}"
        );
        // At most one packet waits anywhere: the next one comes when it has left.
        let peak = |switch: &backwater_fabric::record::SwitchRecord| switch.peak_egress.get();
        assert!(outcome.switches.iter().all(|switch| peak(switch) <= 2 * PACKET), "{scheme:?}");
    }
}

#[test]
fn flows_that_fill_their_links_without_meeting_are_no_congestion() {
    // Every host to the one with the number opposite: no two ways share a link in one direction.
    for scheme in Scheme::ISOLATING {
        let pair = |src| flow(src, src ^ 1, 300 * PACKET, Time::ZERO, Pacing::Controlled);
        let mut spec = isolation(tree(), (0..64).map(pair).collect(), scheme);
        spec.probe.isolation = true;
        let outcome = run(spec);
        assert!(outcome.records.pauses.is_empty() && outcome.records.isolation.is_empty(), "{scheme:?}");
        assert!(
            outcome.flows.iter().all(|flow| flow.finish.since(flow.start) == flow.ideal_fct),
            "{scheme:?}"
        );
    }
}
