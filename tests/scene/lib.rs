//! For whoever writes a test about a network: fabrics, traffic and settings in few words, and runs of them.
mod alone;
mod endpoint;
mod isolation;
mod networks;
mod oracle;
mod ranks;
mod settings;
mod slow_host;
mod throttle;
mod traffic;
mod uec;

use backwater_fabric::record::{FlowRecord, PauseRecord, PortRecord, SwitchRecord};
use backwater_fabric::{Completions, Control, Course, Kind, Records, Simulation, Spec, Totals, Violation};
use backwater_traffic::Flow;
use backwater_units::{Span, Time};

pub use alone::{Hop, arrivals, cut_through, exact, whole_ns};
pub use endpoint::{DELAY, LINE, POLICIES, lossy, slow, star, unicast};
pub use isolation::{
    CONGESTED, NORMAL, PACKET, Scheme, burst, cable, crossbar, hot_sources, hot_spots, ici, isolating,
    isolation, ramp, tree, uniform_load,
};
pub use networks::{chain, host, per_port, ring, with_links};
pub use oracle::Oracle;
pub use ranks::{
    COSTS, START, WAIT, application, compute, irecv, isend, messages, recv, repeated, send, stop,
};
pub use settings::{authors, bfc, dynamic_thresholds, hpcc_ns3, ideal, infiniband, red, tcd};
pub use slow_host::{fixed, mbps, slow_host, slow_under_pfc};
pub use throttle::{spaced, throttled};
pub use traffic::{flow, flow_of_priority, poisson_packets};
pub use uec::{Rules, uec};

/// The engine that users get, on one thread.
pub const FAST: Kind = Kind::Windows { threads: 1 };

/// A run that came to its end.
pub struct Outcome {
    /// One number for what happened.
    pub totals: Totals,
    /// One record per flow.
    pub flows: Vec<FlowRecord>,
    /// One record per node, port and priority.
    pub ports: Vec<PortRecord>,
    /// One record per switch with combined queueing.
    pub switches: Vec<SwitchRecord>,
    /// What the probes saw.
    pub records: Records,
    /// The fabric.
    pub simulation: Simulation,
}

impl Outcome {
    /// The gate changes of one egress port.
    pub fn pauses_at(&self, port: (u32, u16)) -> Vec<PauseRecord> {
        let here = |r: &&PauseRecord| (r.node, r.port) == port;
        self.records.pauses.iter().filter(here).copied().collect()
    }

    /// Lengths of the times between an opening of the gate and its next closing.
    pub fn on_periods(&self, port: (u32, u16)) -> Vec<Span> {
        let changes = self.pauses_at(port);
        let pairs = changes.windows(2).filter(|pair| !pair[0].paused && pair[1].paused);
        pairs.map(|pair| pair[1].time.since(pair[0].time)).collect()
    }

    /// The totals of one egress queue.
    ///
    /// # Panics
    /// If there is no such port, or no flow uses the priority.
    pub fn port(&self, port: (u32, u16), priority: u8) -> &PortRecord {
        let here = |r: &&PortRecord| (r.node, r.port) == port && r.priority == priority;
        self.ports.iter().find(here).expect("a port and a priority in use")
    }
}

/// Runs a scene until all finite flows are done, or to `until`.
///
/// # Errors
/// The invariant that broke.
pub fn try_run(spec: Spec, kind: Kind, until: Option<Time>) -> Result<Outcome, Violation> {
    try_go(Simulation::new(spec, kind), until)
}

/// Runs on what has been built, or has been run to some instant.
///
/// # Errors
/// The invariant that broke.
pub fn try_go(simulation: Simulation, until: Option<Time>) -> Result<Outcome, Violation> {
    try_under(simulation, &Control { until, ..Control::default() })
}

/// The same, watched from outside.
///
/// # Errors
/// The invariant that broke.
pub fn try_under(simulation: Simulation, control: &Control<'_>) -> Result<Outcome, Violation> {
    try_in_steps(simulation, control, &[])
}

/// The same in steps that end at these instants, at which these flows are injected, and one to the end.
///
/// # Errors
/// The invariant that broke.
pub fn try_in_steps(
    mut simulation: Simulation,
    control: &Control<'_>,
    stops: &[(Time, Vec<Flow>)],
) -> Result<Outcome, Violation> {
    let mut all = Records::default();
    let mut take = |records: &Records| {
        add(&mut all, records);
        Ok(())
    };
    let mut course = simulation.course(control.until);
    for (to, flows) in stops {
        simulation.step(&mut course, *to, control, &mut take)?;
        // Nothing comes of a change of threads either.
        simulation.deal_at_random(to.as_ps());
        simulation.inject(&mut course, flows);
    }
    simulation.step(&mut course, Time::MAX, control, &mut take)?;
    let totals = simulation.finish(course, &mut take)?;
    let (flows, ports, switches) = (simulation.flows(), simulation.ports(), simulation.switches());
    Ok(Outcome { totals, flows, ports, switches, records: all, simulation })
}

/// Runs to the end in one simulation after the other: where each stands at the end of its step it is saved, and the next one, made by
/// `next`, goes on from the bytes.
///
/// # Errors
/// The invariant that broke.
///
/// # Panics
/// If what was saved cannot be loaded, or is saved as other bytes by who has loaded it.
pub fn try_saved(
    next: &mut dyn FnMut() -> Simulation,
    control: &Control<'_>,
    stops: &[(Time, Vec<Flow>)],
) -> Result<Outcome, Violation> {
    let mut all = Records::default();
    let mut take = |records: &Records| {
        add(&mut all, records);
        Ok(())
    };
    let mut simulation = next();
    let mut course = simulation.course(control.until);
    let mut completions = Completions::new(&simulation);
    for (to, flows) in stops {
        simulation.step(&mut course, *to, control, &mut take)?;
        // What is saved says nothing of which thread has which node.
        simulation.deal_at_random(to.as_ps());
        simulation.inject(&mut course, flows);
        let first = saved(&mut simulation, &course, &completions);
        simulation = next();
        let mut rest = &first[..];
        (course, completions) = simulation.load(&mut rest).expect("it was saved of the same");
        assert!(rest.is_empty(), "all of it was read");
        simulation.deal_at_random(!to.as_ps());
        let again = saved(&mut simulation, &course, &completions);
        assert!(first == again, "what was loaded is saved as the same bytes");
    }
    simulation.step(&mut course, Time::MAX, control, &mut take)?;
    let totals = simulation.finish(course, &mut take)?;
    let (flows, ports, switches) = (simulation.flows(), simulation.ports(), simulation.switches());
    Ok(Outcome { totals, flows, ports, switches, records: all, simulation })
}

/// The state of a run; of one that processes share what the first of them has, in all.
fn saved(simulation: &mut Simulation, course: &Course, completions: &Completions) -> Vec<u8> {
    let mut bytes = Vec::new();
    simulation.save(course, completions, &mut bytes).expect("state has a form");
    if simulation.processes().rank() > 0 {
        bytes.clear();
    }
    simulation.processes().gather(bytes)
}

fn add(all: &mut Records, records: &Records) {
    all.marks.extend(&records.marks);
    all.pauses.extend(&records.pauses);
    all.states.extend(&records.states);
    all.samples.extend(&records.samples);
    all.rates.extend(&records.rates);
    all.holds.extend(&records.holds);
    all.crowds.extend(&records.crowds);
    all.waits.extend(&records.waits);
    all.delivered.extend(&records.delivered);
    all.injected.extend(&records.injected);
    all.arrived.extend(&records.arrived);
    all.isolation.extend(&records.isolation);
    all.endpoints.extend(&records.endpoints);
    all.drops.extend(&records.drops);
    all.faults.extend(&records.faults);
    all.frames.extend(&records.frames);
    all.throttle.extend(&records.throttle);
    all.throttle_states.extend(&records.throttle_states);
    all.puts.extend(&records.puts);
    all.streams.extend(&records.streams);
    all.timings.extend(&records.timings);
    all.jobs.extend(&records.jobs);
    all.dependencies.extend(&records.dependencies);
    all.windows.extend(&records.windows);
}

/// Runs a scene in which nothing breaks until all finite flows are done.
///
/// # Panics
/// If an invariant breaks.
pub fn run(spec: Spec) -> Outcome {
    try_run(spec, FAST, None).unwrap_or_else(|violation| panic!("{violation}"))
}

/// Runs a scene in which nothing breaks to `until`.
///
/// # Panics
/// If an invariant breaks.
pub fn run_until(spec: Spec, until: Time) -> Outcome {
    try_run(spec, FAST, Some(until)).unwrap_or_else(|violation| panic!("{violation}"))
}

/// An instant in microseconds.
pub const fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

/// An instant in nanoseconds.
pub const fn ns(ns: u64) -> Time {
    Time::from_ps(ns * 1_000)
}
