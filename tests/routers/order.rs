//! Five hosts at a switch that stores packets of 1000 B: 1 us on each wire of 8 Gbps, 1 us of cable. Host i is at port i.
use backwater_control::flow_control::Threshold;
use backwater_fabric::{ProbeSpec, Queueing, Spec};
use backwater_topology::Network;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span};
use scene::{Outcome, flow, ideal, ns, per_port, run, star, with_links};

/// The switch.
const SWITCH: u32 = 5;

fn network() -> Network {
    star(5, Rate::from_gbps(8), Span::from_us(1))
}

/// A packet that host `from` begins to send `at` nanoseconds, unless it is still sending another.
fn packet(from: u32, to: u32, at: u64) -> Flow {
    flow(from, to, 1000, ns(at), Pacing::LineRate)
}

fn routed(network: Network, flows: Vec<Flow>, queueing: Queueing) -> Spec {
    let mut spec = ideal(network, flows);
    spec.switch.queueing = queueing;
    spec
}

/// When each packet is at its host, in nanoseconds.
fn arrivals(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|flow| flow.finish.as_ps() / 1000).collect()
}

/// Hosts 1 and 4 each send host 2 a packet; then host 0 sends one there, too, and behind it one to host 3, whose link is free.
fn behind_a_head() -> Vec<Flow> {
    vec![packet(1, 2, 0), packet(4, 2, 50), packet(0, 2, 100), packet(0, 3, 150)]
}

#[test]
fn a_fifo_keeps_what_stands_behind_its_first_packet_and_the_others_do_not() {
    // In the switch at 2.00, 2.05, 2.10 and 3.10 us. The first passes and leaves by 3.00, the next two wait for each other: by 4.00
    // and 5.00. The fourth finds its egress port free at 3.10; in a FIFO it may leave when the third has left, at 5.00. From the
    // start of its way out it takes a packet has 1 us on the wire and 1 us of cable.
    for queueing in [Queueing::Output, Queueing::VirtualOutput, Queueing::OldestFirst, Queueing::Shared] {
        assert_eq!(arrivals(&run(routed(network(), behind_a_head(), queueing))), [4000, 5000, 6000, 5100]);
    }
    assert_eq!(arrivals(&run(routed(network(), behind_a_head(), Queueing::Input))), [4000, 5000, 6000, 7000]);
}

#[test]
fn the_time_for_which_a_port_stood_free_is_that_from_the_packets_coming_to_its_leaving() {
    let outcome = run(routed(network(), behind_a_head(), Queueing::Input));
    let blocked = outcome.simulation.blocked();
    let lost: Vec<_> = blocked.iter().filter(|record| record.blocked > Span::ZERO).collect();
    // From 3.10 to 5.00, at the port to host 3.
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!((lost[0].node, lost[0].port, lost[0].blocked), (SWITCH, 3, Span::from_ns(1900)));
    for queueing in [Queueing::Output, Queueing::VirtualOutput, Queueing::OldestFirst] {
        let outcome = run(routed(network(), behind_a_head(), queueing));
        assert!(outcome.simulation.blocked().iter().all(|record| record.blocked == Span::ZERO));
    }
}

#[test]
fn fifos_whose_first_packets_want_the_same_port_take_turns() {
    // Hosts 0 and 1 have three packets each for host 2 and come at the same time. Host 4's occupies the port until then; after port 4
    // the turn begins at 0.
    let mut flows = vec![packet(4, 2, 0)];
    for at in 0..3 {
        flows.extend([packet(0, 2, 100 + 2 * at), packet(1, 2, 101 + 2 * at)]);
    }
    // 2.0 to 3.0 on the wire, then one after the other.
    let expected = [4000, 5000, 6000, 7000, 8000, 9000, 10_000];
    // A FIFO whose packet has just left is looked at again behind the others that wait.
    assert_eq!(arrivals(&run(routed(network(), flows.clone(), Queueing::Input))), expected);
    assert_eq!(arrivals(&run(routed(network(), flows, Queueing::VirtualOutput))), expected);
}

#[test]
fn the_oldest_first_is_the_one_that_left_its_nic_first_not_the_one_that_came_first() {
    // Host 3 has a cable of 3 us. Its packet leaves at 0.10 and comes at 4.10. That of host 1 leaves at 2.05 and comes at 4.05, and
    // both wait for host 0's, which comes at 4.00. After port 0, port 1 has its turn.
    let far = || {
        with_links(&network(), |link, it| {
            it.delay = if link == 3 { Span::from_us(3) } else { Span::from_us(1) }
        })
    };
    let flows = vec![packet(3, 2, 100), packet(0, 2, 2000), packet(1, 2, 2050)];
    for queueing in [Queueing::Output, Queueing::VirtualOutput, Queueing::Input] {
        assert_eq!(arrivals(&run(routed(far(), flows.clone(), queueing))), [8000, 6000, 7000]);
    }
    assert_eq!(arrivals(&run(routed(far(), flows, Queueing::OldestFirst))), [7000, 6000, 8000]);
}

#[test]
fn a_hold_of_a_fifo_is_for_what_its_first_packet_waits_for() {
    // PAUSE above 1500 B: at the second packet of host 0. Its FIFO then holds one for host 2, whose port is busy, and one for host 3.
    let flows = vec![
        packet(1, 2, 0),
        packet(4, 2, 10),
        packet(1, 2, 20),
        packet(4, 2, 30),
        packet(0, 2, 100),
        packet(0, 3, 110),
        packet(0, 3, 120),
    ];
    let held_for = |queueing| {
        let mut spec = routed(network(), flows.clone(), queueing);
        let (xoff, xon) = (1500, 500);
        let threshold =
            Threshold::Static { xoff, xon, port_xoff: u64::MAX, port_xon: u64::MAX, buffer: 18_000_000 };
        spec.switch.pfc.as_mut().expect("on").thresholds = per_port(&spec.network, |_| threshold);
        spec.probe = ProbeSpec {
            blame: Some(per_port(&spec.network, |_| Bytes::new(1_000_000))),
            ..ProbeSpec::default()
        };
        let outcome = run(spec);
        let holds = outcome.records.holds.iter().filter(|hold| hold.held_node == 0);
        holds.map(|hold| (hold.blocker, hold.bytes.get())).collect::<Vec<_>>()
    };
    assert_eq!(held_for(Queueing::Input), [(2, 2000)]);
    // With a queue for each egress port it is for both queues in which something of host 0 stands when the PAUSE is sent.
    assert_eq!(held_for(Queueing::VirtualOutput), [(2, 1000), (3, 1000)]);
}
