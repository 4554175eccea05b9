//! Hosts with 1 to 16 ports of unlike rates, by every rule: what happens is the same on every engine and number of threads and processes, saved in
//! the middle or not; everything arrives, and the books balance, under PFC and under credits.
use backwater_control::reaction::PftConfig;
use backwater_engine::{Stream, stream, uniform};
use backwater_fabric::{AckSpec, DrainSpec, Kind, PortRule, PutSpec, Scope, Spec, ThrottleSpec};
use backwater_topology::{Builder, Network};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, POLICIES, fixed, flow, ideal, infiniband, per_port, slow_host, try_run};

use crate::fingerprint::{difference, fingerprint, of_copies, watch_all, watch_nothing};

fn below(random: &mut Stream, most: u64) -> u64 {
    (uniform(random) * most as f64) as u64
}

/// Three switches in a row, and six hosts with 1 to 16 ports at any of them.
fn network(random: &mut Stream) -> Network {
    let mut b = Builder::with_parallel_links();
    let switches = ["s", "t", "u"].map(|name| b.switch(name));
    for pair in switches.windows(2) {
        b.link(pair[0], pair[1], Rate::from_gbps(100), Span::from_ns(700));
    }
    for index in 0..6 {
        let host = b.host(format!("h{index}"));
        let ports = [1, 2, 3, 5, 16, 1 + below(random, 16)][index];
        for _ in 0..ports {
            let rate = [25, 40, 100, 200, 400][below(random, 5) as usize];
            let delay = Span::from_ns(500 + below(random, 500));
            b.link(host, switches[below(random, 3) as usize], Rate::from_gbps(rate), delay);
        }
    }
    b.build().unwrap()
}

/// Every host to every other, twice.
fn flows(random: &mut Stream) -> Vec<Flow> {
    let pairs = (0..72).map(|index| (index / 12, index / 2 % 6)).filter(|(src, dst)| src != dst);
    let mut flows: Vec<Flow> = pairs
        .map(|(src, dst)| {
            let bytes = 1 + below(random, 60_000);
            flow(src, dst, bytes, Time::from_ps(below(random, 20_000_000)), Pacing::LineRate)
        })
        .collect();
    backwater_traffic::sort(&mut flows);
    flows
}

fn same_on_all(seed: u64, spec: impl Fn(Network, Vec<Flow>) -> Spec) {
    let random = &mut stream(seed, 0x71c5, 0);
    let (network, flows) = (network(random), flows(random));
    let seen = |all: bool| {
        let mut spec = spec(network.clone(), flows.clone());
        spec.nic.port = [PortRule::Hash, PortRule::Spray, PortRule::Plane][seed as usize % 3];
        if all {
            watch_all(&mut spec);
        } else {
            watch_nothing(&mut spec);
        }
        spec
    };
    let outcome =
        try_run(seen(true), FAST, None).unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
    assert!(outcome.flows.iter().all(|flow| flow.received == flow.size), "seed {seed}");
    assert!(outcome.ports.iter().any(|port| port.pauses > 0), "seed {seed}: no gate has been closed");
    let reference = fingerprint(seen(false), Kind::Heap, None);
    for threads in [1, 2, 3, 7] {
        let other = fingerprint(seen(threads != 2), Kind::Windows { threads }, None);
        let found = difference(&reference, &other, false);
        assert!(found.is_none(), "seed {seed}, {threads} threads: {}", found.unwrap_or_default());
    }
    let found = of_copies(&reference, seen(false), seed, None);
    assert!(found.is_none(), "seed {seed}: {}", found.unwrap_or_default());
}

#[test]
fn under_pfc() {
    for seed in 0..6 {
        same_on_all(seed, |network, flows| {
            let mut spec = ideal(network, flows);
            spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: None });
            let thresholds = per_port(&spec.network, |_| fixed(20_000, 18_000, 1_000_000));
            spec.switch.pfc.as_mut().unwrap().thresholds = thresholds;
            spec
        });
    }
}

#[test]
fn under_credits() {
    for seed in 0..6 {
        same_on_all(seed, |network, flows| {
            let mut spec = infiniband(network, flows);
            spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: None });
            spec.switch.credits.as_mut().unwrap().buffer = Bytes::new(8 * 2112);
            spec
        });
    }
}

#[test]
fn of_slow_hosts() {
    for seed in 0..6 {
        same_on_all(seed, |network, flows| {
            let ports: Vec<usize> = (0..6).map(|host| network.nics(host).len()).collect();
            let mut spec = ideal(network, flows);
            spec.pairs[0].ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: None });
            for host in [2, 4] {
                let drain = DrainSpec::Constant(Rate::from_gbps(20));
                // 100 KB, and what 400 Gbps bring in the round trip of a PAUSE.
                let pfc = vec![fixed(100_000, 90_000, 400_000); ports[host as usize]];
                slow_host(&mut spec, host, drain, 400_000).pfc = Some(pfc);
            }
            let thresholds = per_port(&spec.network, |_| fixed(20_000, 18_000, 1_000_000));
            spec.switch.pfc.as_mut().unwrap().thresholds = thresholds;
            spec
        });
    }
}

#[test]
fn of_puts() {
    // Sprayed they are refused.
    for (seed, policy) in [0, 2, 3, 5, 6, 8].into_iter().zip(POLICIES.iter().cycle()) {
        same_on_all(seed, |network, mut flows| {
            backwater_traffic::connect(&mut flows, 0);
            let mut spec = ideal(network, flows);
            (spec.puts, spec.put_of) = (vec![PutSpec::standard(*policy)], vec![Some(0)]);
            let thresholds = per_port(&spec.network, |_| fixed(20_000, 18_000, 1_000_000));
            spec.switch.pfc.as_mut().unwrap().thresholds = thresholds;
            spec
        });
    }
}

#[test]
fn of_throttled_hosts() {
    for seed in 0..6 {
        same_on_all(seed, |network, flows| {
            let mut spec = infiniband(network, flows);
            spec.switch.credits.as_mut().unwrap().buffer = Bytes::new(8 * 2112);
            let scope = if seed % 2 == 0 { Scope::Port } else { Scope::VirtualLane };
            spec.throttle = Some(ThrottleSpec { config: PftConfig::standard(), scope });
            spec
        });
    }
}
