//! Bytes: what is sent arrives, once, and nothing else does; a lossy setting that loses says where.
use backwater_fabric::{End, Spec, Violation};
use backwater_topology::generate;
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, authors, flow, ideal, run, tcd, try_run, us};

/// 20 hosts in five racks; every host sends 100 KB and a bit to three others.
fn everyone_to_three_others() -> Spec {
    let net = generate::leaf_spine(5, 2, 4, Rate::from_gbps(40), None, Span::from_us(1)).unwrap();
    let flows = (0..20)
        .flat_map(|src| [1, 7, 11].map(|step| (src, (src + step) % 20)))
        .map(|(src, dst)| flow(src, dst, 100_000 + u64::from(src), us(1), Pacing::Controlled))
        .collect();
    authors(net, flows, tcd())
}

/// Bytes on the wire in priority 3 that the ports in `from_host` (or else the ports to hosts) have sent.
fn wire_bytes(outcome: &scene::Outcome, from_host: bool) -> u64 {
    let network = outcome.simulation.network();
    let counts = |node: u32, peer: u32| !network.is_switch(if from_host { node } else { peer });
    let ports = outcome.ports.iter();
    let ports = ports.filter(|p| p.priority == 3 && counts(p.node, p.peer));
    ports.map(|p| p.bytes.get()).sum()
}

#[test]
fn every_byte_that_a_flow_sends_arrives_and_headers_travel_with_it() {
    let outcome = run(everyone_to_three_others());
    assert_eq!(outcome.totals.end, End::Finished);
    for flow in &outcome.flows {
        assert_eq!(flow.received, flow.size);
        // 100 full packets and the rest
        assert_eq!(flow.packets, if flow.size.get() == 100_000 { 100 } else { 101 });
        assert!(flow.finish.since(flow.start) >= flow.ideal_fct);
    }
    let payload: u64 = outcome.flows.iter().map(|flow| flow.size.get()).sum();
    let headers: u64 = outcome.flows.iter().map(|flow| 20 * flow.packets).sum();
    assert_eq!(wire_bytes(&outcome, true), payload + headers);
    assert_eq!(wire_bytes(&outcome, false), payload + headers);
}

#[test]
fn packet_hops_are_links_crossed_by_data_and_acknowledgements() {
    let net = generate::fat_tree(4, Rate::from_gbps(100), Span::from_us(1)).unwrap();
    // 2, 4 and 6 links; 10 packets each way
    let flows = [1, 2, 15].map(|dst| flow(0, dst, 10_000, Time::ZERO, Pacing::LineRate));
    let spec = scene::hpcc_ns3(net, flows.to_vec(), 32 << 20);
    assert_eq!(run(spec).totals.packet_hops, 2 * 10 * (2 + 4 + 6));
}

#[test]
fn without_flow_control_a_full_buffer_stops_the_run_and_names_the_switch() {
    let net = generate::dumbbell(4, 1, Rate::from_gbps(40), Span::from_us(1), None).unwrap();
    let flows = (0..4).map(|src| flow(src, 4, 1_000_000, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = ideal(net, flows);
    spec.switch.pfc = None;
    spec.switch.buffer = Bytes::new(500_000);
    let Err(violation) = try_run(spec, FAST, None) else {
        panic!("4 MB at four times the rate fitted into 500 KB");
    };
    let Violation::BufferOverflow { node, buffer, .. } = &violation else {
        panic!("{violation}");
    };
    assert_eq!((node.as_str(), *buffer), ("left", Bytes::new(500_000)));
    let text = violation.to_string();
    assert!(text.contains("left") && text.contains("Flow control is off"), "{text}");
    // All that waits waits for the one link to the right: 500 packets of 1000 B.
    assert!(text.contains("its longest queue, to right, holds 500KB"), "{text}");
}

#[test]
fn where_pfc_holds_back_other_priorities_a_full_buffer_names_the_key_that_lists_them() {
    let net = generate::dumbbell(4, 1, Rate::from_gbps(40), Span::from_us(1), None).unwrap();
    let flows = (0..4).map(|src| flow(src, 4, 1_000_000, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = ideal(net, flows);
    let used = 1 << spec.flows[0].priority;
    spec.switch.pfc.as_mut().unwrap().priorities &= !used;
    spec.switch.buffer = Bytes::new(500_000);
    let Err(violation @ Violation::BufferOverflow { .. }) = try_run(spec, FAST, None) else {
        panic!("4 MB at four times the rate fitted into 500 KB");
    };
    let text = violation.to_string();
    assert!(text.contains("switch.pfc.priorities") && !text.contains("Flow control is off"), "{text}");
}

#[test]
fn without_flow_control_a_buffer_that_holds_the_excess_loses_nothing() {
    let net = generate::dumbbell(4, 1, Rate::from_gbps(40), Span::from_us(1), None).unwrap();
    let flows = (0..4).map(|src| flow(src, 4, 1_000_000, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = ideal(net, flows);
    spec.switch.pfc = None;
    // three quarters of 4 MB wait at the end of the burst
    spec.switch.buffer = Bytes::new(3_000_000);
    let outcome = run(spec);
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size));
    let peak = outcome.ports.iter().map(|port| port.peak_queue.get()).max();
    assert!((2_990_000..=3_000_000).contains(&peak.unwrap()), "{peak:?}");
}
