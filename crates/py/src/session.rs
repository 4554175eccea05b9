//! One run from scenario text to results folder, without Python.
use crate::clock::Clock;
use crate::collectives::Collectives;
use crate::functions::{self, Loaded};
use crate::outlook;
use backwater_fabric::record::{PortRecord, RankRecord, SwitchRecord};
use backwater_fabric::{
    Control, End, Kind, Overflow, ProbeSpec, Queueing, Records, Simulation, Spec, Totals, Violation,
};
use backwater_probe::{
    Demand, IsolationSummary, NameError, Names, Plan, PlanError, RankSummary, Sink, SinkError, Summary,
    Summing, TableId, ThrottleSums, Written, run_json,
};
use backwater_scenario::{Scenario, ScenarioError, ValidScenario, memory};
use backwater_topology::Network;
use backwater_units::{Bytes, Time};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// What to run and where its results go.
pub(crate) struct Request<'a> {
    pub(crate) text: &'a str,
    pub(crate) origin: &'a str,
    pub(crate) base: &'a Path,
    pub(crate) overrides: &'a [String],
    /// Without a folder only the summary is kept.
    pub(crate) out: Option<&'a Path>,
    pub(crate) command: &'a str,
    pub(crate) functions: &'a Loaded,
}

/// How the run is seen and ended from another thread.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) interrupt: Arc<AtomicBool>,
    pub(crate) now: AtomicU64,
}

/// What is known of a run before it starts.
pub(crate) struct Outlook {
    /// When it will end or, of a run that ends with its last flow, when the last flow starts; 0: not known.
    pub(crate) expected_end: Time,
    pub(crate) flows: u64,
    /// What it may write.
    pub(crate) plan: Option<String>,
}

/// Why there are no results.
pub(crate) enum Failure {
    Input(String),
    Invariant(String),
    Output(String),
    /// A function of the user's: what there is to explain.
    User(Value),
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<SinkError> for Failure {
    fn from(error: SinkError) -> Self {
        Self::Output(error.to_string())
    }
}

/// A scenario that can run.
pub(crate) fn valid(
    text: &str,
    origin: &str,
    base: &Path,
    overrides: &[String],
) -> Result<ValidScenario, ScenarioError> {
    Scenario::parse(text, origin, base, overrides)?.validate()
}

/// Who calls the core without the package.
pub(crate) const UNLOADED: &str = "error: the scenario names functions of the user's, which have not been loaded; run it with backwater.run";

/// Runs to the end, or until the watch is told to interrupt; returns run.json. `ready` learns what is about to run.
pub(crate) fn run(
    request: &Request<'_>,
    watch: &Watch,
    ready: impl FnOnce(Outlook),
) -> Result<Value, Failure> {
    let scenario = valid(request.text, request.origin, request.base, request.overrides)?;
    let (until, kind, budget) = (scenario.until(), on_cores(scenario.engine()), scenario.budget());
    let mut facts = facts(request, &scenario);
    let files: Vec<String> = scenario.files().iter().map(|file| file.display().to_string()).collect();
    let traffic: Vec<String> = scenario.settings().traffic.iter().map(|entry| entry.name.clone()).collect();
    let mut collectives = Collectives::new(scenario.settings(), scenario.flows());
    let needed = scenario.functions().clone();
    let mut spec = scenario.build();
    spec.user.stop = Arc::clone(&watch.interrupt);
    if !needed.is_empty() && !request.functions.put(&needed, &mut spec.user) {
        return Err(Failure::Input(UNLOADED.to_owned()));
    }
    facts.extend(request.functions.facts.iter().map(|known| ("functions".to_owned(), known.clone())));
    let names = names(&spec, traffic)?;
    let plan = plan(&spec, until, &collectives, budget)
        .map_err(|error| Failure::Input(format!("error: {error}")))?;
    fits_memory(outlook::memory(&spec, until))?;
    let last_start = || {
        let starts = spec.flows.iter().map(|flow| flow.start).filter(|start| *start < Time::MAX);
        starts.max().unwrap_or(Time::ZERO)
    };
    ready(Outlook {
        expected_end: until.unwrap_or_else(last_start),
        flows: spec.flows.len() as u64,
        plan: request.out.map(|_| plan.to_string()),
    });
    let mut sink = request.out.map(|dir| Sink::create(dir, names.clone(), &plan)).transpose()?;
    let throttled = spec.probe.throttle;
    let clock = Clock::start(kind);
    let mut simulation = Simulation::new(spec, kind);
    let control = Control { until, interrupt: Some(&watch.interrupt), now: Some(&watch.now) };
    let mut throttles = ThrottleSums::default();
    let totals = simulate(&mut simulation, &control, &mut sink, &mut throttles)?;
    let totals_of = Ends {
        ports: simulation.ports(),
        switches: if plan.has(TableId::Switches) { simulation.switches() } else { Vec::new() },
        ranks: simulation.ranks(),
    };
    let summary = flows(&simulation, &totals_of.ports, &names, totals.now, sink.as_mut(), &mut collectives)?;
    facts.extend(outcome(&totals, &clock, kind));
    facts.insert("files".into(), files.into());
    // What paths in the scenario count from, for who runs it again.
    let base = std::path::absolute(request.base).unwrap_or_else(|_| request.base.to_owned());
    facts.insert("base".into(), base.display().to_string().into());
    facts.insert("aliases".into(), aliases(simulation.network(), &names)?);
    let broken = |error: serde_json::Error| Failure::Invariant(error.to_string());
    facts.insert("totals".into(), serde_json::to_value(&summary.totals).map_err(broken)?);
    facts.insert("traffic".into(), serde_json::to_value(&summary.traffic).map_err(broken)?);
    if !totals_of.switches.is_empty() {
        let sums = IsolationSummary::of(&totals_of.switches);
        facts.insert("isolation".into(), serde_json::to_value(sums).map_err(broken)?);
    }
    if !totals_of.ranks.is_empty() {
        let sums = RankSummary::of(&totals_of.ranks, &names)
            .map_err(|error| Failure::Invariant(error.to_string()))?;
        facts.insert("ranks".into(), serde_json::to_value(sums).map_err(broken)?);
    }
    if throttled {
        facts.insert("throttle".into(), serde_json::to_value(throttles.summary()).map_err(broken)?);
    }
    finish(request.out, sink, &totals_of, Value::Object(facts))
}

/// Who runs out of memory is killed, with the caller's Python: it is refused before anything is taken.
fn fits_memory(needed: f64) -> Result<(), Failure> {
    match memory::free() {
        Some(free) if needed > free.bytes as f64 => {
            let [needed, left] = [needed, free.bytes as f64].map(|bytes| bytes * 1e-9);
            Err(Failure::Input(format!(
                "error: this run takes about {needed:.2} GB of memory, and {left:.2} GB are left ({}). Send fewer flows, take a \
                 smaller network or do fewer runs at a time; set {}=SIZE, such as 64GB, if you know that there is more",
                free.source,
                memory::VARIABLE
            )))
        }
        _ => Ok(()),
    }
}

/// No more threads than this process has cores: the others would only wait for them. What happens is the same on any number.
fn on_cores(kind: Kind) -> Kind {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    match kind {
        Kind::Windows { threads } => Kind::Windows { threads: threads.min(cores) },
        Kind::Heap => kind,
    }
}

/// What a run leaves of its parts when it is over.
struct Ends {
    ports: Vec<PortRecord>,
    switches: Vec<SwitchRecord>,
    ranks: Vec<RankRecord>,
}

/// Runs the simulation with its records going to the sink.
fn simulate(
    simulation: &mut Simulation,
    control: &Control<'_>,
    sink: &mut Option<Sink>,
    throttles: &mut ThrottleSums,
) -> Result<Totals, Failure> {
    let mut refused = None;
    let ended = simulation.run(control, &mut |records| {
        throttles.add(&records.throttle);
        match sink {
            None => Ok(()),
            Some(sink) => append(sink, records).map_err(|error| {
                let message = error.to_string();
                refused = Some(error);
                message
            }),
        }
    });
    match (ended, refused) {
        (Ok(totals), _) => Ok(totals),
        (Err(_), Some(error)) => Err(error.into()),
        (Err(Violation::Sink(message)), None) => Err(Failure::Output(message)),
        (Err(Violation::User(fault)), None) => {
            let name = |node: u32| simulation.network().nodes()[node as usize].name.clone();
            Err(Failure::User(functions::told(&fault, name)))
        }
        (Err(violation), None) => Err(Failure::Invariant(violation.to_string())),
    }
}

fn append(sink: &mut Sink, records: &Records) -> Result<(), SinkError> {
    sink.append(&records.marks)?;
    sink.append(&records.pauses)?;
    sink.append(&records.states)?;
    sink.append(&records.samples)?;
    sink.append(&records.rates)?;
    sink.append(&records.holds)?;
    sink.append(&records.crowds)?;
    sink.append(&records.waits)?;
    sink.append(&records.delivered)?;
    sink.append(&records.injected)?;
    sink.append(&records.arrived)?;
    sink.append(&records.isolation)?;
    sink.append(&records.puts)?;
    sink.append(&records.streams)?;
    sink.append(&records.endpoints)?;
    sink.append(&records.drops)?;
    sink.append(&records.frames)?;
    sink.append(&records.timings)?;
    sink.append(&records.throttle)?;
    sink.append(&records.throttle_states)
}

fn finish(out: Option<&Path>, sink: Option<Sink>, ends: &Ends, facts: Value) -> Result<Value, Failure> {
    let (Some(dir), Some(mut sink)) = (out, sink) else {
        return Ok(run_json::complete(facts, &Written::default())?);
    };
    sink.append(&ends.ports)?;
    sink.append(&ends.switches)?;
    sink.append(&ends.ranks)?;
    let written = sink.finish()?;
    Ok(run_json::write(dir, facts, &written)?)
}

/// What a run may write.
pub(crate) fn plan(
    spec: &Spec,
    until: Option<Time>,
    collectives: &Collectives,
    budget: Bytes,
) -> Result<Plan, PlanError> {
    Plan::new(&[demands(spec, until), collectives.demands()].concat(), budget)
}

/// The tables of a run, with the rows that can be told beforehand.
fn demands(spec: &Spec, until: Option<Time>) -> Vec<Demand> {
    let ProbeSpec {
        sample,
        ports,
        rates,
        marks,
        pauses,
        states,
        delivered,
        packets,
        isolation,
        puts,
        streams,
        endpoints,
        drops,
        frames,
        throttle,
        throttle_states,
        blame,
    } = &spec.probe;
    let instants = until.zip(*sample).map(|(until, period)| until.as_ps() / period.as_ps().max(1) + 1);
    // At most all eight priorities of a port are in use.
    let of_ports = |count: usize| count as u64 * 8;
    let known = |table, rows| Demand { table, rows: Some(rows) };
    let mut demands = vec![
        known(TableId::Flows, spec.flows.len() as u64),
        known(TableId::Ports, of_ports(spec.network.port_count())),
    ];
    if matches!(spec.switch.queueing, Queueing::Combined(_)) {
        demands.push(known(TableId::Switches, spec.network.nodes().len() as u64));
    }
    if !spec.programs.ranks.is_empty() {
        demands.push(known(TableId::Ranks, spec.programs.ranks.len() as u64));
    }
    let (blame, packets) = (blame.is_some(), packets.contains(&true));
    let events = [
        (TableId::Marks, *marks),
        (TableId::Pauses, *pauses),
        (TableId::States, *states),
        (TableId::Holds, blame),
        (TableId::Crowds, blame),
        (TableId::Waits, blame),
        (TableId::Injected, packets),
        (TableId::Arrived, packets),
        (TableId::Isolation, *isolation),
        (TableId::Delivered, *delivered),
        (TableId::Puts, puts.contains(&true)),
        (TableId::Streams, *streams),
        (TableId::Endpoints, *endpoints),
        (TableId::Drops, *drops && spec.switch.overflow != Overflow::Stop),
        (TableId::Frames, !frames.is_empty()),
        (TableId::Throttle, *throttle),
        (TableId::ThrottleStates, *throttle_states),
        (TableId::Timings, !spec.programs.series.is_empty()),
    ];
    demands
        .extend(events.iter().filter(|(_, wanted)| *wanted).map(|&(table, _)| Demand { table, rows: None }));
    if sample.is_some() && !ports.is_empty() {
        demands.push(Demand { table: TableId::Samples, rows: instants.map(|n| n * of_ports(ports.len())) });
    }
    if sample.is_some() && !rates.is_empty() {
        demands.push(Demand { table: TableId::Rates, rows: instants.map(|n| n * rates.len() as u64) });
    }
    demands
}

fn names(spec: &Spec, traffic: Vec<String>) -> Result<Names, Failure> {
    let network = &spec.network;
    let nodes = network.nodes().iter().map(|node| node.name.clone()).collect();
    let count = network.nodes().len() as u32;
    let peers: Vec<Vec<u32>> =
        (0..count).map(|node| network.ports(node).iter().map(|port| port.peer).collect()).collect();
    let of_flows = spec.flows.iter().map(|flow| flow.group).collect();
    let slow = spec.endpoints.iter().zip(network.hosts()).filter(|(endpoint, _)| endpoint.is_some());
    let slow: Vec<u32> = slow.map(|(_, host)| *host).collect();
    let programs = &spec.programs;
    let ranks = programs.ranks.iter().map(|rank| (rank.group, rank.role)).collect();
    Names::new(nodes, &peers, traffic, of_flows)
        .and_then(|names| names.with_drains(&slow))
        .and_then(|names| names.with_programs(programs.roles.clone(), programs.series.clone(), ranks))
        .map_err(|error| Failure::Invariant(error.to_string()))
}

/// What is known of the run before it starts.
fn facts(request: &Request<'_>, scenario: &ValidScenario) -> Map<String, Value> {
    object(json!({
        "format": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "command": request.command,
        "scenario": scenario.resolved(),
        "scenario_text": request.text,
        "overrides": request.overrides,
        "seed": scenario.settings().run.seed,
        "caveats": scenario.caveats(),
        "ground_truth": scenario.long_queues(),
        "notes": scenario.notes(),
        "network": crate::network::columns(scenario),
    }))
}

/// How the run ended and what it took.
fn outcome(totals: &Totals, clock: &Clock, kind: Kind) -> Map<String, Value> {
    let (engine, threads) = match kind {
        Kind::Windows { threads } => ("windows", threads),
        Kind::Heap => ("heap", 1),
    };
    object(json!({
        "digest": format!("{:016x}", totals.digest),
        "status": if totals.end == End::Interrupted { "partial" } else { "complete" },
        "sim_time_ps": totals.now.as_ps(),
        "wall_s": clock.wall_s(),
        "cpu_s": clock.cpu_s(),
        "events": totals.events,
        "packet_hops": totals.packet_hops,
        "engine": engine,
        "threads": threads,
        "windows": {"run": totals.windows, "shared": totals.shared},
        "memory": {"bytes_per_port": totals.port_bytes, "packet_bytes": totals.packet_bytes},
    }))
}

/// Writes the flows and sums them up, in one pass.
fn flows(
    simulation: &Simulation,
    ports: &[PortRecord],
    names: &Names,
    end: Time,
    mut sink: Option<&mut Sink>,
    collectives: &mut Collectives,
) -> Result<Summary, Failure> {
    let broken = |error: NameError| Failure::Invariant(error.to_string());
    let mut summing = Summing::new(names, end);
    simulation.each_flow(|records| {
        summing.add(records).map_err(broken)?;
        collectives.add(records);
        match &mut sink {
            Some(sink) => Ok(sink.append(records)?),
            None => Ok::<(), Failure>(()),
        }
    })?;
    if let Some(sink) = sink {
        sink.append(collectives.rows())?;
    }
    summing.finish(ports).map_err(broken)
}

/// The topology's own names of ports, such as `P2`, with the labels that the tables use, such as `L0->T2`.
fn aliases(network: &Network, names: &Names) -> Result<Value, Failure> {
    let label = |(alias, (node, port)): (&str, (u32, u16))| {
        let label = names.port(node, port).map_err(|error| Failure::Invariant(error.to_string()))?;
        Ok((alias.to_owned(), Value::from(label)))
    };
    network.aliases().map(label).collect::<Result<Map<_, _>, Failure>>().map(Value::Object)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
