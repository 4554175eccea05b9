//! Ranks of message-passing applications, and NICs that throttle themselves: against arithmetic, against the rules of MPI, and
//! against the independent programs in `oracle/`.
mod collective;
mod latency;
mod machine;
mod matching;
mod oracle;
mod records;
mod sides;
mod stars;
mod stuck;

use backwater_fabric::{Spec, Violation};
use backwater_topology::Network;
use backwater_traffic::program::Op;
use backwater_units::{Rate, Span};
use scene::{COSTS, FAST, messages, run, star, try_run};

/// What a stopwatch of a rank measured, in picoseconds: (rank, label, start, end).
type Timing = (u32, u32, u64, u64);

/// A byte takes 80 ps.
const LINE: Rate = Rate::from_gbps(100);

/// Of each link.
const WAY: u64 = 100_000;

/// A frame with so many bytes of message over two links and a switch that stores it.
const fn across(bytes: u64) -> u64 {
    2 * ((bytes + 32) * 80 + WAY)
}

fn network(hosts: u32) -> Network {
    star(hosts, LINE, Span::from_ps(WAY))
}

/// One rank on each host of a star.
fn each(programs: Vec<Vec<Op>>) -> Spec {
    let hosts = programs.len() as u32;
    let placed: Vec<(u32, Vec<Op>)> = (0..).zip(programs).collect();
    messages(network(hosts), &placed, COSTS)
}

/// The readings of all stopwatches in order of time.
fn timings(spec: Spec) -> Vec<Timing> {
    let outcome = run(spec);
    let told = outcome.records.timings.iter();
    told.map(|record| (record.rank, record.label, record.start.as_ps(), record.time.as_ps())).collect()
}

/// The end of the only reading with a label.
fn end_of(timings: &[Timing], label: u32) -> u64 {
    let mut found = timings.iter().filter(|timing| timing.1 == label);
    match (found.next(), found.next()) {
        (Some(timing), None) => timing.3,
        other => panic!("label {label}: {other:?} of {timings:?}"),
    }
}

/// Why a run broke.
fn why(spec: Spec) -> Violation {
    try_run(spec, FAST, None).err().expect("a program that is wrong")
}
