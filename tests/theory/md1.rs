//! Packets of one size that arrive at random at one egress port wait as long as in an M/D/1 queue.
use backwater_topology::Builder;
use backwater_units::{Bytes, Rate, Span};
use scene::{ideal, poisson_packets, run};

/// 1000 B at 10 Gbps.
const SERVICE: f64 = 800_000.0;
const SOURCES: u32 = 200;
/// 1000 B at 400 Gbps, two delays of 1 µs, 1000 B at 10 Gbps.
const UNLOADED: u64 = 20_000 + 1_000_000 + 800_000 + 1_000_000;

/// Mean wait in service times and the half width of its 95 % confidence interval, from 20 batch means. The sources'
/// links are 40 times as fast as the egress, so that they spread the arrivals by 1/40 of a service time at most.
fn wait(load: f64, packets: u32) -> (f64, f64) {
    let mut builder = Builder::new();
    let hosts: Vec<u32> = (0..=SOURCES).map(|i| builder.host(format!("h{i}"))).collect();
    let switch = builder.switch("s");
    for &host in &hosts {
        let rate = if host == hosts[0] { 10 } else { 400 };
        builder.link(host, switch, Rate::from_gbps(rate), Span::from_us(1));
    }
    let flows = poisson_packets(SOURCES, 1000, SERVICE / load, packets, 7);
    let mut spec = ideal(builder.build().unwrap(), flows);
    spec.switch.buffer = Bytes::new(1 << 30);
    spec.switch.pfc = None;
    let outcome = run(spec);
    let waits: Vec<f64> =
        outcome.flows.iter().map(|f| (f.finish.since(f.start).as_ps() - UNLOADED) as f64 / SERVICE).collect();
    // The queue starts empty: the first tenth is left out.
    let waits = &waits[waits.len() / 10..];
    let batches: Vec<f64> = waits
        .chunks_exact(waits.len() / 20)
        .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
        .collect();
    let mean = batches.iter().sum::<f64>() / 20.0;
    let variance = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / 19.0;
    // Student's t with 19 degrees of freedom
    (mean, 2.093 * (variance / 20.0).sqrt())
}

/// Pollaczek and Khinchine for constant service.
fn pollaczek_khinchine(load: f64) -> f64 {
    load / (2.0 * (1.0 - load))
}

fn check(load: f64, packets: u32, precision: f64) {
    let (mean, half_width) = wait(load, packets);
    let theory = pollaczek_khinchine(load);
    assert!(
        half_width < precision * theory,
        "load {load}: {mean} ± {half_width} is too blunt to test {theory}"
    );
    assert!(
        (mean - theory).abs() < half_width.max(0.01 * theory),
        "load {load}: {mean} ± {half_width}, theory {theory}"
    );
}

#[test]
fn at_half_load_a_packet_waits_half_a_service_time() {
    check(0.5, 100_000, 0.04);
}

#[test]
fn at_70_percent_load_a_packet_waits_seven_sixths_of_a_service_time() {
    check(0.7, 150_000, 0.05);
}

#[test]
fn at_90_percent_load_a_packet_waits_four_and_a_half_service_times() {
    check(0.9, 300_000, 0.1);
}
