//! Two hosts, one link of 40 Gbps and 1 us. A packet of 950 B and 50 B of header takes 200 ns. Periods of 2 us.
use backwater_control::detector::{Detector, Red};
use backwater_control::notify::NotifyConfig;
use backwater_fabric::Spec;
use backwater_fabric::record::DeliveredRecord;
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, chain, flow, ideal, ns, per_port, run, us};

use crate::link;

/// Five full packets from 0 on and 10 B at 8 us, of the first entry; two packets at 6 us of the second.
fn scene() -> Spec {
    let second = Flow { group: 1, ..flow(0, 1, 1900, us(6), Pacing::LineRate) };
    let flows =
        vec![flow(0, 1, 4750, us(0), Pacing::LineRate), second, flow(0, 1, 10, us(8), Pacing::LineRate)];
    let mut spec = ideal(chain(&[link(40)]), flows);
    (spec.packet.payload, spec.packet.header) = (Bytes::new(950), Bytes::new(50));
    spec.probe.sample = Some(Span::from_us(2));
    (spec.probe.delivered, spec.probe.packets) = (true, vec![false, true]);
    spec
}

/// Start of the period in microseconds, entry, payload, bytes on the wire, packets.
fn told(outcome: &Outcome) -> Vec<(u64, u16, u64, u64, u64)> {
    let row = |r: &DeliveredRecord| {
        (r.time.as_ps() / 1_000_000, r.group, r.bytes.get(), r.wire_bytes.get(), r.packets)
    };
    outcome.records.delivered.iter().map(row).collect()
}

#[test]
fn a_host_tells_what_it_got_of_each_entry_in_each_period_and_nothing_of_empty_ones() {
    let outcome = run(scene());
    // Arrivals at 1.2, 1.4, 1.6, 1.8 and 2.0 us: the last one is in the next period. 7.2 and 7.4 us; 60 B at 9.012 us.
    let expected = [(0, 0, 3800, 4000, 4), (2, 0, 950, 1000, 1), (6, 1, 1900, 2000, 2), (8, 0, 10, 60, 1)];
    assert_eq!(told(&outcome), expected);
    assert!(outcome.records.delivered.iter().all(|record| record.node == 1), "only host 1 gets anything");
}

#[test]
fn packets_of_the_entries_in_probe_packets_are_followed_from_their_message_to_their_arrival() {
    let outcome = run(scene());
    let sent: Vec<_> = outcome.records.injected.iter().map(|r| (r.flow, r.seq, r.made, r.time)).collect();
    assert_eq!(sent, [(1, 0, us(6), us(6)), (1, 1, us(6), ns(6200))]);
    let got: Vec<_> = outcome.records.arrived.iter().map(|r| (r.flow, r.seq, r.time, r.ce)).collect();
    assert_eq!(got, [(1, 0, ns(7200), false), (1, 1, ns(7400), false)]);
}

#[test]
fn without_a_sampling_period_the_run_is_one() {
    let mut spec = scene();
    spec.probe.sample = None;
    assert_eq!(told(&run(spec)), [(0, 0, 4760, 5060, 6), (0, 1, 1900, 2000, 2)]);
}

#[test]
fn what_hosts_tell_adds_up_to_what_flows_got_and_every_cnp_is_counted_where_it_begins() {
    // Two hosts at 40 Gbps send to a third; the switch marks every packet that leaves more than 5 kB behind.
    let scene = |delivered| {
        let net = generate::star(3, Rate::from_gbps(40), Span::from_us(1)).unwrap();
        let flows = [1, 2].map(|src| flow(src, 0, 500_000, Time::ZERO, Pacing::LineRate)).to_vec();
        let mut spec = ideal(net, flows);
        let step = Red::new(Bytes::new(5_000), Bytes::new(5_000), 1.0, Bytes::ZERO).unwrap();
        spec.switch.detectors = per_port(&spec.network, |_| Detector::Red(step));
        spec.pairs[0].notify = Some(NotifyConfig::standard());
        (spec.probe.sample, spec.probe.delivered) = (Some(Span::from_us(10)), delivered);
        run(spec)
    };
    let (outcome, plain) = (scene(true), scene(false));
    let sum = |count: fn(&DeliveredRecord) -> u64| outcome.records.delivered.iter().map(count).sum::<u64>();
    assert_eq!(sum(|r| r.bytes.get()), 1_000_000);
    assert_eq!(sum(|r| r.ce_packets), outcome.flows.iter().map(|f| f.ce_packets).sum::<u64>());
    // 1 MB takes 200 us: with a CNP per flow and 50 us there are four or five each, all of which the sources get.
    assert_eq!(sum(|r| r.cnps), outcome.flows.iter().map(|f| f.cnps_ce).sum::<u64>());
    assert!((8..=10).contains(&sum(|r| r.cnps)));
    assert_eq!(outcome.totals.digest, plain.totals.digest, "watching changes nothing");
}
