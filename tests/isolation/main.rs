//! Congestion isolation in the network of the ICI paper: what each scheme does there, and what none of them may do.
mod alike;
mod lone;
mod marks;
mod nics;
mod ports;
mod profile;
mod shares;
mod strays;
mod tables;
mod trees;

use backwater_fabric::{Kind, Spec};
use backwater_units::{Span, Time};
use scene::{Outcome, Scheme, hot_spots, isolation, tree, try_run, us};

/// One tree at host 0, and four at hosts of the same switches at the top.
const ONE: &[u32] = &[0];
const FOUR: &[u32] = &[0, 16, 32, 48];

/// When the workloads end here. Sources stop then; a run goes on until everything has arrived.
const END: Time = us(500);

/// The first workloads of the paper, with everything recorded that these tests look at.
fn workload(scheme: Scheme, targets: &[u32]) -> Spec {
    let mut spec = isolation(tree(), hot_spots(1, targets, END), scheme);
    (spec.probe.isolation, spec.probe.delivered) = (true, true);
    spec.probe.sample = Some(Span::from_us(50));
    spec
}

/// Runs until all has arrived, and a millisecond more for the last entries.
fn drained(spec: Spec) -> Outcome {
    let far = END + Span::from_ms(6);
    try_run(spec, Kind::Windows { threads: 1 }, Some(far)).unwrap_or_else(|violation| panic!("{violation}"))
}

/// The payload that arrived of a traffic entry from `from` to `to`, in Gbit/s.
fn goodput(outcome: &Outcome, group: u16, from: Time, to: Time) -> f64 {
    let records = outcome.records.delivered.iter();
    let within = records.filter(|record| record.group == group && record.time >= from && record.time < to);
    within.map(|record| record.bytes.get() as f64 * 8.0).sum::<f64>() / to.since(from).as_ps() as f64 * 1e3
}
