//! Packets that come as congested ones to a switch that has no entry for them.
use backwater_topology::{Builder, Network};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Rate, Time};
use scene::{CONGESTED, NORMAL, PACKET, Scheme, cable, flow, ici, isolating, isolation, run_until, us};

/// Hosts 0, 1 and 2 around a switch; the link of host 0 has 10 Gbps, 3.2768 us for a packet.
fn slow_star() -> Network {
    let (rate, delay) = cable();
    let mut builder = Builder::new();
    let hosts = ["h0", "h1", "h2"].map(|name| builder.host(name));
    let switch = builder.switch("s");
    for (i, host) in hosts.into_iter().enumerate() {
        builder.link(host, switch, if i == 0 { Rate::from_gbps(10) } else { rate }, delay);
    }
    builder.build().expect("a star")
}

fn burst(src: u32, packets: u64, start: Time) -> Flow {
    flow(src, 0, packets * PACKET, start, Pacing::LineRate)
}

#[test]
fn a_switch_that_stores_congested_packets_as_normal_ones_pauses_both_classes() {
    // One slot. Host 1's burst takes it, and host 1 is told; that is over before 120 us. Then host 2's burst takes the slot; and
    // when host 1 sends its next one, still in the congested class, the switch has no slot for it: its packets are normal ones
    // there. 36 of them wait at the egress port, and from the 22nd on at the ingress port host 1 must not send, in either class.
    let flows = vec![burst(1, 30, Time::ZERO), burst(2, 60, us(120)), burst(1, 100, us(135))];
    let mut spec = isolation(slow_star(), flows, Scheme::Ici);
    isolating(&mut spec).slots = Some(1);
    ici(&mut spec).common.notify.on_allocation = true;
    spec.probe.isolation = true;
    let outcome = run_until(spec, us(1000));
    let (node, host) = (outcome.switches[0].node, outcome.simulation.network().hosts()[1]);
    let last = outcome.port((host, 0), CONGESTED);
    assert!(last.packets >= 50, "host 1 goes on in the congested class: {last:?}");
    assert!(outcome.switches[0].refusals > 0);
    let closed = |priority| {
        let mut changes = outcome.pauses_at((host, 0)).into_iter();
        changes.find(|change| change.paused && change.priority == priority && change.time > us(130))
    };
    let [normal, congested] = [NORMAL, CONGESTED].map(|priority| closed(priority).expect("a PAUSE"));
    // The two frames follow each other.
    assert!(congested.time.max(normal.time).since(congested.time.min(normal.time)).as_ps() <= 5_120);
    let held = outcome.port((node, 1), NORMAL).peak_ingress;
    assert!(held.get() <= (22 + 4) * PACKET, "{held} at the ingress port");
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size));
    assert_eq!(outcome.switches[0].entries_left, 0);
}
