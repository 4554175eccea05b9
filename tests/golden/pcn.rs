//! PCN from the switch to the sender: what a period of 50 us comes to, and whom it is told. 40 Gbps and 1 us per link; 1000 B take 0.2 us.
use backwater_control::detector::{Detector, NpEcn, Red};
use backwater_control::flow_control::Threshold;
use backwater_control::notify::{Mode, NotifyConfig};
use backwater_control::reaction::{PcnConfig, ReactionConfig};
use backwater_fabric::Spec;
use backwater_topology::{Builder, Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, flow, host, ideal, per_port, run_until, us};

use crate::link;

/// Whatever leaves a packet behind is marked.
fn any_queue() -> Red {
    Red::new(Bytes::ZERO, Bytes::ZERO, 1.0, Bytes::ZERO).expect("a step")
}

fn np_ecn() -> Detector {
    Detector::NpEcn(NpEcn { red: any_queue() })
}

fn pcn(network: Network, flows: Vec<Flow>, detector: Detector, fraction: f64) -> Spec {
    let mut spec = ideal(network, flows);
    spec.switch.detectors = per_port(&spec.network, |_| detector);
    spec.pairs[0].reaction = ReactionConfig::Pcn(PcnConfig::authors());
    spec.pairs[0].notify = Some(NotifyConfig { interval: Span::from_us(50), mode: Mode::Advice, fraction });
    spec.probe.sample = Some(Span::from_us(10));
    spec.probe.rates = vec![true];
    spec
}

/// The rates of all flows at an instant.
fn rates(outcome: &Outcome, at: Time) -> Vec<Rate> {
    outcome.records.rates.iter().filter(|sample| sample.time == at).map(|sample| sample.rate).collect()
}

#[test]
fn after_one_period_four_flows_into_one_port_send_at_a_quarter_of_it() {
    let flows = (1..=4).map(|src| flow(src, 0, u64::MAX, Time::ZERO, Pacing::Controlled)).collect();
    let network = generate::star(5, Rate::from_gbps(40), Span::from_us(1)).expect("a star");
    let outcome = run_until(pcn(network, flows, np_ecn(), 0.95), us(120));
    // The first packets are there at 2.4, 2.6, 2.8, 3.0 us, then one of each flow in 0.8 us: 63 in 50 us, all marked but the very first.
    // 63 · 8000 bit / 50 us = 10.08 Gbps; of it 127/128. The last CNP is back at 3 + 50 + 2.0256 us.
    assert_eq!(rates(&outcome, us(50)), [Rate::from_gbps(40); 4]);
    assert_eq!(rates(&outcome, us(60)), [Rate::from_bps(10_001_250_000); 4]);
    // They fill the port, so that its queue stays: again 62 or 63 packets of each, of which 127/128 may be sent.
    let most_and_least = Rate::from_bps(9_842_500_000)..=Rate::from_bps(10_001_250_000);
    assert!(rates(&outcome, us(110)).iter().all(|rate| most_and_least.contains(rate)));
    assert!(outcome.flows.iter().all(|flow| (flow.cnps_ce, flow.cnps_ue) == (2, 0)));
    assert!(outcome.records.pauses.is_empty(), "no PAUSE was needed");
}

/// v, b ── s0 ══100G══ s1 ══100G══ x, and y, c0 … c3 at s1: v sends to x, whose links are never full, the others to y, whose port is.
fn victim(detector: Detector, fraction: f64) -> Outcome {
    let mut builder = Builder::new();
    let hosts = ["v", "b", "x", "y", "c0", "c1", "c2", "c3"].map(|name| builder.host(name));
    let switches = ["s0", "s1"].map(|name| builder.switch(name));
    for (index, host) in hosts.into_iter().enumerate() {
        let (rate, delay) = link(if index == 2 { 100 } else { 40 });
        builder.link(host, switches[usize::from(index > 1)], rate, delay);
    }
    let (fast, delay) = link(100);
    builder.link(switches[0], switches[1], fast, delay);
    let network = builder.build().expect("a network");
    let to = |from: &str, to: &str| {
        flow(host(&network, from), host(&network, to), u64::MAX, Time::ZERO, Pacing::Controlled)
    };
    let mut flows = vec![to("v", "x"), to("b", "y")];
    flows.extend(["c0", "c1", "c2", "c3"].map(|from| to(from, "y")));
    let mut spec = pcn(network, flows, detector, fraction);
    let (port_xoff, port_xon) = (u64::MAX, u64::MAX);
    let low = Threshold::Static { xoff: 20_000, xon: 18_000, port_xoff, port_xon, buffer: 18_000_000 };
    spec.switch.pfc.as_mut().expect("on").thresholds = per_port(&spec.network, |_| low);
    run_until(spec, us(500))
}

#[test]
fn a_flow_that_is_only_paused_keeps_its_rate_and_loses_it_where_any_mark_of_plain_ecn_counts() {
    let outcome = victim(np_ecn(), 0.95);
    let trunk = outcome.simulation.network().find("s0").expect("s0");
    assert!(outcome.records.pauses.iter().any(|pause| pause.node == trunk), "the victim's port is paused");
    assert_eq!(outcome.flows[0].cnps_ce, 0);
    assert_eq!(rates(&outcome, us(500))[0], Rate::from_gbps(40));
    assert!(outcome.flows[1..].iter().all(|flow| flow.cnps_ce > 0), "those who fill y's port are told");

    // The same without PCN's two halves: what a PAUSE held is marked, and one mark is enough.
    let plain = victim(Detector::Red(any_queue()), 0.0);
    assert!(plain.flows[0].ce_packets > outcome.flows[0].ce_packets);
    assert!(plain.flows[0].cnps_ce > 0);
    let samples = plain.records.rates.iter().filter(|sample| sample.flow == 0);
    assert!(samples.map(|sample| sample.rate).min() < Some(Rate::from_gbps(40)));
}
