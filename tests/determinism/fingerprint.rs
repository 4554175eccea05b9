//! Everything that a run says, to be compared with what another one says.
use std::sync::Arc;

use backwater_engine::{Processes, Together, mix};
use backwater_fabric::record::{FlowRecord, PortRecord, RankRecord, SwitchRecord};
use backwater_fabric::{Control, End, Kind, Records, Simulation, Spec, Violation};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Span, Time};
use scene::{Outcome, try_go, try_in_steps, try_run, try_saved};

/// What must be the same with probes on and off.
#[derive(Debug, PartialEq)]
pub(crate) struct Course {
    pub(crate) digest: u64,
    pub(crate) now: Time,
    pub(crate) end: End,
    events: u64,
    packet_hops: u64,
    pub(crate) flows: Vec<FlowRecord>,
    pub(crate) ports: Vec<PortRecord>,
    pub(crate) switches: Vec<SwitchRecord>,
    pub(crate) ranks: Vec<RankRecord>,
}

/// The course of a run and what its probes saw; or why it broke.
pub(crate) type Fingerprint = Result<(Course, Records), String>;

/// Turns all probes on.
pub(crate) fn watch_all(spec: &mut Spec) {
    let network = &spec.network;
    let ports = |node: u32| (0..network.ports(node).len() as u16).map(move |port| (node, port));
    spec.probe.ports = (0..network.nodes().len() as u32).flat_map(ports).collect();
    spec.probe.frames.clone_from(&spec.probe.ports);
    spec.probe.rates = vec![true; spec.flows.iter().map(|flow| flow.group + 1).max().unwrap_or(1).into()];
    spec.probe.sample = Some(Span::from_ps(777_777));
    (spec.probe.marks, spec.probe.pauses, spec.probe.states) = (true, true, true);
    (spec.probe.delivered, spec.probe.isolation, spec.probe.packets) = (true, true, vec![true]);
    (spec.probe.puts, spec.probe.streams) = (vec![true; 2], true);
    (spec.probe.endpoints, spec.probe.drops, spec.probe.dependencies) = (true, true, true);
    (spec.probe.throttle, spec.probe.throttle_states) = (true, true);
    spec.probe.blame = Some(scene::per_port(&spec.network, |_| Bytes::new(20_000)));
}

/// Turns all probes off.
pub(crate) fn watch_nothing(spec: &mut Spec) {
    spec.probe = backwater_fabric::ProbeSpec::default();
}

/// Runs it.
pub(crate) fn fingerprint(spec: Spec, kind: Kind, until: Option<Time>) -> Fingerprint {
    taken(try_run(spec, kind, until))
}

/// What a run, and a copy of it that is made in the middle, say in windows that are a third or less as long as they may be. The middle
/// is half the time that the run takes, or less.
fn shorter(spec: Spec, kind: Kind, until: Option<Time>, now: Time) -> [Fingerprint; 2] {
    let mut simulation = Simulation::in_windows(spec, kind, 3);
    let grid = simulation.window_ps();
    let middle = (now.as_ps() / 2).min(MIDDLE) / grid * grid;
    if let Err(violation) = simulation.prefixes(&[Time::from_ps(middle)], None) {
        let broken = || Err(violation.to_string());
        return [broken(), broken()];
    }
    let copy = simulation.clone();
    [simulation, copy].map(|simulation| taken(try_go(simulation, until)))
}

/// Before the first look for a deadlock, which a run has behind it that is stopped later.
const MIDDLE: u64 = 9_000_000_000;

/// At which picoseconds the steps of a run that takes `now` end: a few that are long, and a few that are short.
fn ends_of_steps(seed: u64, now: Time) -> Vec<(Time, Vec<Flow>)> {
    let draw = |i: u64| mix(seed, 0x57e9, i);
    let long = (0..draw(0) % 12).map(|i| draw(1 + i) % (now.as_ps() + 1));
    let mut ends: Vec<u64> = long.collect();
    let first = ends.first().copied().unwrap_or(0);
    ends.extend((0..draw(20) % 12).map(|i| first + draw(21 + i) % (3_000_000 >> (i % 12))));
    ends.sort_unstable();
    ends.into_iter().map(|end| (Time::from_ps(end), Vec::new())).collect()
}

/// In what a run that was copied, or its copy, in short windows, or one in steps, differs from `reference`, if in anything. With the
/// seed the engine changes.
pub(crate) fn of_copies(
    reference: &Fingerprint,
    spec: Spec,
    seed: u64,
    until: Option<Time>,
) -> Option<String> {
    let windows = |threads| Kind::Windows { threads };
    let kinds = [windows(1), windows(2), Kind::Heap, windows(4)];
    let kind = kinds[(seed % 3) as usize];
    let shared = of_processes(reference, &spec, seed, until);
    // What breaks ends the run at once: how far the others have come then is up to the windows.
    if shared.is_some() || reference.is_err() {
        return shared;
    }
    let (course, _) = reference.as_ref().ok()?;
    let parts = if seed.is_multiple_of(2) { 1 } else { 3 };
    let stepped = Simulation::in_windows(spec.clone(), kinds[(seed / 2 % 4) as usize], parts);
    let ends = ends_of_steps(seed, course.now);
    let control = Control { until, ..Control::default() };
    let stepped = taken(try_in_steps(stepped, &control, &ends));
    let saved = taken(of_saved(&spec, seed, parts, &control, &ends));
    let both = shorter(spec, kind, until, course.now);
    let named = both.iter().chain([&stepped, &saved]).zip(["copied", "copy", "in steps", "saved"]);
    let mut found = named.filter_map(|(one, name)| {
        difference(reference, one, true).map(|found| format!("{name}, {kind:?}: {found}"))
    });
    found.next()
}

/// What a run says that several processes share, if it says what `reference` does not. With the seed their number changes.
pub(crate) fn of_processes(
    reference: &Fingerprint,
    spec: &Spec,
    seed: u64,
    until: Option<Time>,
) -> Option<String> {
    let count = (2 + seed as usize % 3).min(spec.network.nodes().len());
    let kind = Kind::Windows { threads: 1 + (seed / 3) as usize % 2 };
    let parts = if reference.is_ok() && seed.is_multiple_of(5) { 3 } else { 1 };
    let ends = reference.as_ref().map_or_else(|_| Vec::new(), |(course, _)| ends_of_steps(seed, course.now));
    let shared = in_processes(count, |processes| {
        let mut simulation = || Simulation::among(Arc::clone(&processes), spec.clone(), kind, parts);
        let control = Control { until, ..Control::default() };
        // What breaks ends the run at once, and there is nothing to go on from.
        if reference.is_ok() && seed.is_multiple_of(2) {
            return taken(try_saved(&mut simulation, &control, &ends));
        }
        taken(try_in_steps(simulation(), &control, &ends))
    });
    difference(reference, &shared, true).map(|found| format!("{count} processes, {kind:?}: {found}"))
}

/// What the processes of a run say together: the first one has the records; what is broken one of them tells.
pub(crate) fn in_processes(
    count: usize,
    run: impl Fn(Arc<dyn Processes>) -> Fingerprint + Sync,
) -> Fingerprint {
    let elsewhere = Violation::Elsewhere.to_string();
    let mut all = Together::run(count, run);
    let told = all.iter().position(|said| said.as_ref().is_err_and(|broken| *broken != elsewhere));
    if let Ok((course, _)) = &all[0] {
        for other in &all {
            assert!(other.as_ref().is_ok_and(|(other, _)| other == course), "the processes differ");
        }
    }
    all.swap_remove(told.unwrap_or(0))
}

/// Saves at the end of each step, and goes on from that on another number of threads.
pub(crate) fn of_saved(
    spec: &Spec,
    seed: u64,
    parts: u64,
    control: &Control<'_>,
    ends: &[(Time, Vec<Flow>)],
) -> Result<Outcome, Violation> {
    let mut threads = (seed / 3) as usize;
    let mut next = || {
        threads += 1;
        Simulation::in_windows(spec.clone(), Kind::Windows { threads: [1, 2, 3, 4][threads % 4] }, parts)
    };
    try_saved(&mut next, control, ends)
}

pub(crate) fn taken(outcome: Result<Outcome, Violation>) -> Fingerprint {
    let outcome = outcome.map_err(|violation| violation.to_string())?;
    let course = Course {
        digest: outcome.totals.digest,
        now: outcome.totals.now,
        end: outcome.totals.end,
        events: outcome.totals.events,
        packet_hops: outcome.totals.packet_hops,
        flows: outcome.flows,
        ports: outcome.ports,
        switches: outcome.switches,
        ranks: outcome.simulation.ranks(),
    };
    Ok((course, outcome.records))
}

/// Names the first thing in which two fingerprints differ.
pub(crate) fn difference(one: &Fingerprint, other: &Fingerprint, with_records: bool) -> Option<String> {
    let ((a, seen_a), (b, seen_b)) = match (one, other) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(one), Err(other)) if one == other => return None,
        _ => return Some(format!("{:?} against {:?}", one.as_ref().err(), other.as_ref().err())),
    };
    let first = |what: &str, a: String, b: String| Some(format!("{what}: {a} against {b}"));
    if let Some((a, b)) = a.flows.iter().zip(&b.flows).find(|(a, b)| a != b) {
        return first("flow", format!("{a:?}"), format!("{b:?}"));
    }
    if let Some((a, b)) = a.ports.iter().zip(&b.ports).find(|(a, b)| a != b) {
        return first("port", format!("{a:?}"), format!("{b:?}"));
    }
    if let Some((a, b)) = a.switches.iter().zip(&b.switches).find(|(a, b)| a != b) {
        return first("switch", format!("{a:?}"), format!("{b:?}"));
    }
    if let Some((a, b)) = a.ranks.iter().zip(&b.ranks).find(|(a, b)| a != b) {
        return first("rank", format!("{a:?}"), format!("{b:?}"));
    }
    // Stopwatches are read whether probes are on or not.
    if let Some(found) = unequal("timing", &seen_a.timings, &seen_b.timings) {
        return Some(found);
    }
    if a != b {
        return first("course", a.summary(), b.summary());
    }
    if !with_records {
        return None;
    }
    unequal("mark", &seen_a.marks, &seen_b.marks)
        .or_else(|| unequal("dependency", &seen_a.dependencies, &seen_b.dependencies))
        .or_else(|| unequal("pause", &seen_a.pauses, &seen_b.pauses))
        .or_else(|| unequal("state", &seen_a.states, &seen_b.states))
        .or_else(|| unequal("sample", &seen_a.samples, &seen_b.samples))
        .or_else(|| unequal("rate", &seen_a.rates, &seen_b.rates))
        .or_else(|| unequal("hold", &seen_a.holds, &seen_b.holds))
        .or_else(|| unequal("crowd", &seen_a.crowds, &seen_b.crowds))
        .or_else(|| unequal("wait", &seen_a.waits, &seen_b.waits))
        .or_else(|| unequal("delivery", &seen_a.delivered, &seen_b.delivered))
        .or_else(|| unequal("injected packet", &seen_a.injected, &seen_b.injected))
        .or_else(|| unequal("arrived packet", &seen_a.arrived, &seen_b.arrived))
        .or_else(|| unequal("isolation event", &seen_a.isolation, &seen_b.isolation))
        .or_else(|| unequal("window", &seen_a.windows, &seen_b.windows))
        .or_else(|| unequal("PUT event", &seen_a.puts, &seen_b.puts))
        .or_else(|| unequal("PUT stream", &seen_a.streams, &seen_b.streams))
        .or_else(|| unequal("receive queue", &seen_a.endpoints, &seen_b.endpoints))
        .or_else(|| unequal("drop", &seen_a.drops, &seen_b.drops))
        .or_else(|| unequal("frame", &seen_a.frames, &seen_b.frames))
        .or_else(|| unequal("throttle", &seen_a.throttle, &seen_b.throttle))
        .or_else(|| unequal("throttle's state", &seen_a.throttle_states, &seen_b.throttle_states))
}

fn unequal<T: PartialEq + std::fmt::Debug>(what: &str, one: &[T], other: &[T]) -> Option<String> {
    if one.len() != other.len() {
        return Some(format!("{} {what} records against {}", one.len(), other.len()));
    }
    let pair = one.iter().zip(other).find(|(a, b)| a != b);
    pair.map(|(a, b)| format!("{what} {a:?} against {b:?}"))
}

impl Course {
    /// The first flow for which something came that was not sent, or sooner than an empty network would carry it.
    /// Jittered flows may overtake their own mean.
    pub(crate) fn miracle(&self, flows: &[Flow]) -> Option<&FlowRecord> {
        let jittered =
            |flow: &Flow| matches!(flow.pacing, Pacing::Constant { jitter_ppm, .. } if jitter_ppm > 0);
        let wrong = |record: &FlowRecord, flow: &Flow| {
            let finished = record.finish < Time::MAX;
            let early = || !jittered(flow) && record.finish.since(record.start) < record.ideal_fct;
            record.received > record.size || finished && (record.received != record.size || early())
        };
        self.flows.iter().zip(flows).find(|(record, flow)| wrong(record, flow)).map(|(record, _)| record)
    }

    fn summary(&self) -> String {
        format!("{:?} {:016x} {} events {} hops", self.end, self.digest, self.events, self.packet_hops)
    }
}
