//! A hold names the queues that a PAUSE is for.
use std::collections::BTreeMap;

use backwater_control::flow_control::{Form, Threshold};
use backwater_fabric::Spec;
use backwater_fabric::record::{HoldRecord, PauseRecord};
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{
    PACKET, Scheme, authors, cable, flow, flow_of_priority, host, ideal, isolation, per_port, red, run,
    run_until, us,
};

use crate::watched;

const XOFF: u64 = 20_000;

fn with_xoff(mut spec: Spec, port_xoff: u64) -> Spec {
    let threshold = Threshold::Static {
        xoff: XOFF,
        xon: XOFF - 2_000,
        port_xoff,
        port_xon: port_xoff.saturating_sub(2_000),
        buffer: 18_000_000,
    };
    spec.switch.pfc.as_mut().unwrap().thresholds = per_port(&spec.network, |_| threshold);
    spec
}

/// The records of each PAUSE.
fn by_pause(holds: &[HoldRecord]) -> BTreeMap<(Time, u32, u16, u8), Vec<HoldRecord>> {
    let mut pauses: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for hold in holds {
        pauses.entry((hold.time, hold.node, hold.port, hold.priority)).or_default().push(*hold);
    }
    pauses
}

/// Six hosts send to two others, each of them to both.
fn two_incasts() -> Spec {
    let net = generate::star(8, Rate::from_gbps(40), Span::from_us(1)).unwrap();
    let pairs = (2..8).flat_map(|src| [(src, 0), (src, 1)]);
    let flows = pairs.map(|(src, dst)| flow(src, dst, 200_000, Time::ZERO, Pacing::LineRate)).collect();
    with_xoff(ideal(net, flows), u64::MAX)
}

#[test]
fn the_queues_that_a_pause_is_for_hold_what_crossed_xoff_to_the_packet() {
    let outcome = run(watched(two_incasts(), 100_000));
    let pauses = by_pause(&outcome.records.holds);
    assert!(pauses.len() > 10, "{} PAUSEs", pauses.len());
    for (pause, holds) in &pauses {
        let bytes: u64 = holds.iter().map(|hold| hold.bytes.get()).sum();
        assert!(bytes > XOFF && bytes <= XOFF + 1_000, "{pause:?} is for {bytes} B");
        assert!(holds.iter().all(|hold| hold.bytes <= hold.queue && hold.blocker_priority == hold.priority));
    }
    let receivers = |holds: &Vec<HoldRecord>| holds.iter().map(|hold| hold.blocker).collect::<Vec<_>>();
    assert!(
        pauses.values().all(|holds| receivers(holds) == [0, 1]),
        "each PAUSE is for both receivers' sake"
    );
}

#[test]
fn every_closing_of_a_gate_follows_a_hold_of_that_port_by_a_frame_and_a_delay() {
    let outcome = run(watched(two_incasts(), 100_000));
    let closings: Vec<&PauseRecord> = outcome.records.pauses.iter().filter(|pause| pause.paused).collect();
    let pauses = by_pause(&outcome.records.holds);
    assert_eq!(closings.len(), pauses.len());
    for closing in closings {
        let here = |hold: &&HoldRecord| {
            (hold.held_node, hold.held_port, hold.priority) == (closing.node, closing.port, closing.priority)
        };
        let last = outcome.records.holds.iter().filter(here).rfind(|hold| hold.time < closing.time);
        let took = closing.time.since(last.expect("a hold before it").time);
        // 1 us of link and 12.8 ns of frame, behind at most one packet of 200 ns.
        assert!(took >= Span::from_ps(1_012_800) && took <= Span::from_ps(1_212_800), "{took}");
    }
}

#[test]
fn where_the_whole_port_is_too_full_each_priority_is_held_for_the_queues_of_all() {
    // a sends priorities 3 and 4 to slow hosts; their sum crosses the threshold of the port.
    let mut builder = backwater_topology::Builder::new();
    let hosts = ["a", "b", "c"].map(|name| builder.host(name));
    let s = builder.switch("s");
    for (host, mbps) in hosts.into_iter().zip([40_000, 100, 1_000]) {
        builder.link(host, s, Rate::from_mbps(mbps), Span::from_us(1));
    }
    let flows = vec![
        flow_of_priority(3, 0, 1, 15_000, Time::ZERO, Pacing::LineRate),
        flow_of_priority(4, 0, 2, 15_000, Time::ZERO, Pacing::LineRate),
    ];
    let mut spec = with_xoff(ideal(builder.build().unwrap(), flows), XOFF);
    spec.switch.pfc.as_mut().unwrap().form = Form::Ideal;
    let outcome = run(watched(spec, 100_000));
    let pauses = by_pause(&outcome.records.holds);
    let first: Vec<_> = pauses.keys().filter(|pause| pause.0 == pauses.keys().next().unwrap().0).collect();
    assert_eq!(first.iter().map(|pause| pause.3).collect::<Vec<_>>(), [3, 4]);
    for pause in first {
        let blockers: Vec<u8> = pauses[pause].iter().map(|hold| hold.blocker_priority).collect();
        assert_eq!(blockers, [3, 4], "{pause:?}");
    }
}

#[test]
fn a_timed_pause_is_a_new_hold_when_the_one_before_it_has_run_out_and_not_when_it_is_kept_up() {
    let net = generate::tcd_figure_2(Rate::from_gbps(40), Span::from_us(4), None, false).unwrap();
    let mut flows = vec![flow(host(&net, "S1"), host(&net, "R1"), u64::MAX, us(0), Pacing::Controlled)];
    for burst in 0..15 {
        let source = host(&net, &format!("A{burst}"));
        flows.push(flow(source, host(&net, "R1"), 640_000, us(100), Pacing::Controlled));
    }
    let outcome = run_until(watched(authors(net, flows, red()), 207_030), us(2_000));
    let pauses = by_pause(&outcome.records.holds);
    let sent: u64 = outcome.ports.iter().map(|port| port.pauses_sent).sum();
    let closed: u64 = outcome.ports.iter().map(|port| port.pauses).sum();
    // Arrivals and polls repeat a PAUSE while the ingress is above Xoff; gates that stay closed do not close anew.
    assert!(sent > 20 * pauses.len() as u64, "{sent} PAUSE frames of {} holds", pauses.len());
    assert!(pauses.len() as u64 >= closed, "{} holds, {closed} gates closed", pauses.len());
    let bytes = |holds: &Vec<HoldRecord>| holds.iter().map(|hold| hold.bytes).sum::<Bytes>();
    let xoff = match Threshold::authors() {
        Threshold::Static { xoff, .. } => xoff,
        Threshold::Dynamic { .. } => unreachable!("the authors' thresholds are static"),
    };
    assert!(pauses.values().all(|holds| bytes(holds).get() > xoff));
}

#[test]
fn a_combined_switch_pauses_for_the_egress_port_that_its_ingress_queue_waits_for() {
    // Two hosts send to a third: its egress region fills, then the ingress regions, up to their threshold of 50 packets.
    let (rate, delay) = cable();
    let net = generate::star(3, rate, delay).unwrap();
    let flows = [1, 2].map(|src| flow(src, 0, 400 * PACKET, Time::ZERO, Pacing::LineRate)).to_vec();
    let mut spec = isolation(net, flows, Scheme::None);
    spec.probe.blame = Some(per_port(&spec.network, |_| Bytes::new(10 * PACKET)));
    let outcome = run(spec);
    let holds = &outcome.records.holds;
    assert!(holds.iter().all(|hold| hold.blocker == 0 && hold.bytes.get() == 50 * PACKET && !hold.closed));
    assert!([1, 2].iter().all(|&port| holds.iter().any(|hold| hold.port == port && hold.held_port == 0)));
    assert_eq!(holds.len() as u64, outcome.ports.iter().map(|port| port.pauses_sent).sum::<u64>());
}
