//! Packet-hops per CPU-second of the benchmark workloads: `throughput ratios [--runs N]` runs some in turns and relates each to `k8`;
//! `throughput WORKLOAD [--engine heap] [--threads N] [--batching off] [--blame on] [--credits on] [--pft on] [--isolation on] [--holds on] [--puts on] [--uec on] [--ranks on] [--losses go-back-n|selective-repeat] [--marks off] [--runs N]`.
use std::collections::BTreeMap;
use std::process::ExitCode;

use backwater_benches::{
    Links, Repeats, Workload, scenario, scenario_on, thresholds, under_credits, with_holds, with_isolation,
    with_losses, with_puts, with_ranks, with_throttles, with_uec,
};
use backwater_fabric::record::FlowRecord;
use backwater_fabric::{Control, Kind, Simulation, Spec, Totals};
use backwater_units::{Bytes, Span};
use cpu_time::ProcessTime;

const USAGE: &str = "usage: throughput ratios|k8|k16|k32|k32-400g|quick|messages [--engine windows|heap] [--threads N] [--batching off] [--blame on] [--credits on] [--pft on] [--isolation on] [--holds on] [--puts on] [--uec on] [--ranks on] [--losses go-back-n|selective-repeat] [--marks off] [--runs N]";

#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
struct Options {
    name: String,
    kind: Kind,
    runs: u32,
    batching: bool,
    blame: bool,
    credits: bool,
    pft: bool,
    isolation: bool,
    holds: bool,
    puts: bool,
    uec: bool,
    ranks: bool,
    losses: Option<Repeats>,
    marks: bool,
}

fn options() -> Option<Options> {
    let mut words = std::env::args().skip(1);
    let name = words.next()?;
    let mut options = Options {
        name,
        kind: Kind::Windows { threads: 1 },
        runs: 3,
        batching: true,
        blame: false,
        credits: false,
        pft: false,
        isolation: false,
        holds: false,
        puts: false,
        uec: false,
        ranks: false,
        losses: None,
        marks: true,
    };
    let (mut heap, mut threads) = (false, 1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--engine" => heap = value == "heap",
            "--threads" => threads = value.parse().ok()?,
            "--batching" => options.batching = value != "off",
            "--blame" => options.blame = value == "on",
            "--credits" => options.credits = value == "on",
            "--pft" => options.pft = value == "on",
            "--isolation" => options.isolation = value == "on",
            "--holds" => options.holds = value == "on",
            "--puts" => options.puts = value == "on",
            "--uec" => options.uec = value == "on",
            "--ranks" => options.ranks = value == "on",
            "--losses" => {
                options.losses = Some(match value.as_str() {
                    "go-back-n" => Repeats::GoBackN,
                    "selective-repeat" => Repeats::Selective,
                    _ => return None,
                });
            }
            "--marks" => options.marks = value != "off",
            "--runs" => options.runs = value.parse().ok()?,
            _ => return None,
        }
    }
    options.kind = Kind::Windows { threads };
    if heap {
        #[cfg(feature = "reference")]
        {
            options.kind = Kind::Heap;
        }
        #[cfg(not(feature = "reference"))]
        return None;
    }
    Some(options)
}

fn workload(name: &str) -> Option<(u32, Workload)> {
    match name {
        "k8" => Some((8, Workload::WebSearch(Span::from_ms(2)))),
        "k16" => Some((16, Workload::Permutation(Bytes::from_mb(2)))),
        "k32" => Some((32, Workload::Permutation(Bytes::from_kb(250)))),
        "k32-400g" => Some((32, Workload::Permutation(Bytes::from_mb(1)))),
        "messages" => Some((8, Workload::Messages(2_000_000))),
        "messages-short" => Some((8, Workload::Messages(20_000))),
        "quick" => Some((4, Workload::WebSearch(Span::from_ms(1)))),
        "k4-short" => Some((4, Workload::WebSearch(Span::from_us(100)))),
        "k8-short" => Some((8, Workload::WebSearch(Span::from_us(100)))),
        "k8-brief" => Some((8, Workload::WebSearch(Span::from_us(300)))),
        "k16-short" => Some((16, Workload::Permutation(Bytes::from_kb(50)))),
        _ => None,
    }
}

fn main() -> ExitCode {
    let options = options();
    if let Some(Options { runs, .. }) = options.as_ref().filter(|options| options.name == "ratios") {
        return ratios(*runs);
    }
    let parsed = options.and_then(|o| workload(&o.name).map(|w| (o, w)));
    let Some((options, (k, workload))) = parsed else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    for run in 0..options.runs {
        let links = if options.name == "k32-400g" { Links::FAST } else { Links::STANDARD };
        let mut spec = Spec { batching: options.batching, ..scenario_on(links, k, workload, 1) };
        if options.credits {
            spec = under_credits(spec);
        }
        if options.pft {
            spec = with_throttles(spec);
        }
        if options.isolation {
            spec = with_isolation(spec);
        }
        if options.holds {
            spec = with_holds(spec);
        }
        if options.puts {
            spec = with_puts(spec);
        }
        if options.uec {
            spec = with_uec(spec);
        }
        if options.ranks {
            spec = with_ranks(Spec { throttle: None, ..with_throttles(spec) }, 1);
        }
        if let Some(repeats) = options.losses {
            spec = with_losses(spec, repeats, options.marks);
        }
        spec.probe.blame = options.blame.then(|| thresholds(&spec.network));
        let built = ProcessTime::now();
        let mut simulation = Simulation::new(spec, options.kind);
        println!(
            "built in {:.3} s, memory {} KiB",
            built.elapsed().as_secs_f64(),
            peak_memory_kib().unwrap_or(0)
        );
        let hosts = simulation.network().hosts().len() as u64;
        let start = ProcessTime::now();
        let wall = std::time::Instant::now();
        match simulation.run(&Control::default(), &mut |_| Ok(())) {
            Ok(totals) => {
                report(run, &totals, hosts, start.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64());
                if options.losses.is_some() || options.uec {
                    report_losses(&simulation);
                }
                let (start, made) = (ProcessTime::now(), simulation.flows().len());
                println!(
                    "{made} records made in {:.3} CPU-s, memory {} KiB",
                    start.elapsed().as_secs_f64(),
                    peak_memory_kib().unwrap_or(0)
                );
            }
            Err(violation) => {
                eprintln!("{violation}");
                return ExitCode::from(3);
            }
        }
    }
    ExitCode::SUCCESS
}

/// A name, the least part of the packet-hops per CPU-second of the first case that is wanted, and what is run.
type Case = (&'static str, f64, fn() -> Spec);

/// What is related to the first of them.
const RELATED: [Case; 9] = [
    ("k8", 1.0, || scenario(8, Workload::WebSearch(Span::from_ms(2)), 1)),
    ("k16", 0.75, || scenario(16, Workload::Permutation(Bytes::from_mb(2)), 1)),
    ("8192 hosts", 0.55, || scenario(32, Workload::Permutation(Bytes::from_kb(250)), 1)),
    ("credits", 0.5, || under_credits(scenario(8, Workload::WebSearch(Span::from_ms(2)), 1))),
    ("PFT", 0.4, || with_throttles(scenario(8, Workload::WebSearch(Span::from_us(500)), 1))),
    ("isolation", 0.25, || with_isolation(scenario(8, Workload::WebSearch(Span::from_us(500)), 1))),
    ("PUTs", 0.6, || with_puts(scenario(8, Workload::WebSearch(Span::from_ms(2)), 1))),
    ("NSCC", 0.35, || with_uec(scenario(8, Workload::WebSearch(Span::from_ms(2)), 1))),
    ("8192 hosts, 400G", 0.0, || scenario_on(Links::FAST, 32, Workload::Permutation(Bytes::from_mb(1)), 1)),
];

/// Runs all of [`RELATED`] in turns on one thread, so that what else the machine does touches all of them, and prints for each the median
/// of its packet-hops per CPU-second and of their ratio to the first in the same turn.
fn ratios(runs: u32) -> ExitCode {
    let mut speeds = [const { Vec::new() }; RELATED.len()];
    for _ in 0..runs.max(1) {
        for ((_, _, spec), speeds) in RELATED.iter().zip(&mut speeds) {
            let mut simulation = Simulation::new(spec(), Kind::Windows { threads: 1 });
            let start = ProcessTime::now();
            match simulation.run(&Control::default(), &mut |_| Ok(())) {
                Ok(totals) => speeds.push(totals.packet_hops as f64 / start.elapsed().as_secs_f64() / 1e6),
                Err(violation) => {
                    eprintln!("{violation}");
                    return ExitCode::from(3);
                }
            }
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values[values.len() / 2]
    };
    println!("{:<18}{:>24}{:>11}{:>9}", "case", "M packet-hops/CPU-s", "over k8", "wanted");
    for ((name, wanted, _), of) in RELATED.iter().zip(&speeds) {
        let ratio = median(of.iter().zip(&speeds[0]).map(|(speed, first)| speed / first).collect());
        let wanted = if *wanted > 0.0 { format!(">= {wanted}") } else { String::new() };
        println!("{name:<18}{:>24.2}{ratio:>11.2}{wanted:>9}", median(of.clone()));
    }
    ExitCode::SUCCESS
}

fn report(run: u32, totals: &Totals, hosts: u64, cpu: f64, wall: f64) {
    let hops = totals.packet_hops as f64;
    println!(
        "run {run}: {:.2} M packet-hops/CPU-s ({} hops, {cpu:.3} CPU-s, {wall:.3} s), {:.3} events/hop, \
         {} B/port, {} packet bytes ({} per host, {:.0} per packet), peak memory {} KiB, simulated {}, digest {:016x}",
        hops / cpu / 1e6,
        totals.packet_hops,
        totals.events as f64 / hops,
        totals.port_bytes,
        totals.packet_bytes,
        totals.packet_bytes / hosts,
        totals.packet_bytes as f64 / totals.packets as f64,
        peak_memory_kib().unwrap_or(0),
        totals.now,
        totals.digest,
    );
}

/// What was lost, and what was sent again for it. A packet counts as a hop on each link that it crosses, also if it is dropped behind
/// that: at the next switch, or by a receiver that misses a packet before it.
fn report_losses(simulation: &Simulation) {
    let (flows, mut dropped) = (simulation.flows(), BTreeMap::new());
    for count in simulation.drop_counts() {
        *dropped.entry(count.reason).or_insert(0) += count.packets;
    }
    let sum = |of: fn(&FlowRecord) -> u64| flows.iter().map(of).sum::<u64>();
    let marks = sum(|flow| flow.cnps_ce);
    let dropped: Vec<String> =
        dropped.into_iter().map(|(reason, packets)| format!("{packets} {}", reason.word())).collect();
    println!(
        "dropped: {}; {} packets, {} sent again, {} NACKs, {} timeouts, {marks} marks answered",
        if dropped.is_empty() { "nothing".to_owned() } else { dropped.join(", ") },
        sum(|flow| flow.packets),
        sum(|flow| flow.resent_packets),
        sum(|flow| flow.nacks),
        sum(|flow| flow.timeouts),
    );
}

/// High-water mark of the resident set, from the kernel (Linux only).
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
