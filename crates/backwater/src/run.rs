//! One run: a scenario that is checked, then simulated, then written.
use crate::checkpoint::{Checkpoint, Files};
use crate::clock::Clock;
use crate::collectives::Collectives;
use crate::error::Error;
use crate::functions::UserFunctions;
use crate::injection::Gate;
use crate::results::{self, Results};
use crate::stepped::{Standing, SteppedRun};
use crate::{estimate, jobs, processes, tables};
use backwater_engine::{Alone, Processes};
use backwater_fabric::{Change, Completions, Kind, Looks, Simulation, Spec};
use backwater_probe::{Names, Plan, Scribe, Sink, ThrottleSums};
use backwater_scenario::{Scenario, ScenarioError, ValidScenario, memory};
use backwater_units::Time;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// A scenario that is ready to run, and where its results go.
///
/// ```
/// use backwater::{Run, Scenario};
///
/// let text = r#"
///     [topology]
///     kind = "star"
///     hosts = 4
///     rate = "100Gbps"
///     delay = "1us"
///
///     [[traffic]]
///     name = "incast"
///     kind = "incast"
///     from = "*"
///     to = "h0"
///     size = "100KB"
/// "#;
/// let scenario = Scenario::parse(text, "incast.toml", ".".as_ref(), &["run.seed=3".to_owned()])?;
/// let results = Run::new(scenario)?.start()?;
/// assert!(results.is_complete());
/// assert_eq!(results.json()["totals"]["flows"], 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Run {
    scenario: ValidScenario,
    collectives: Collectives,
    plan: Plan,
    folder: Option<PathBuf>,
    command: String,
    functions: UserFunctions,
    processes: Arc<dyn Processes>,
    program: u64,
    from: Option<Arc<Checkpoint>>,
}

/// How a run is seen and ended from another thread.
#[derive(Debug, Default)]
pub struct Watch {
    /// Set to end the run early: what it has is written and called partial.
    pub interrupt: Arc<AtomicBool>,
    /// The simulated time that it has reached, in picoseconds.
    pub now: AtomicU64,
    /// Where looks at it are asked for, if anybody looks.
    pub looks: Option<Looks>,
}

/// What is known of a run before it starts.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// When it will end or, of a run that ends with its last flow, when the last flow starts; 0: not known.
    pub expected_end: Time,
    /// How many flows it has.
    pub flows: u64,
    /// What it may write, in a sentence; none without a folder.
    pub tables: Option<String>,
    /// The names of its nodes and ports.
    pub names: Names,
}

/// Who calls the core without the package.
pub(crate) const UNLOADED: &str = "error: the scenario names functions of the user's, which have not been loaded; run it with backwater.run";

impl Run {
    /// Checks everything that the run needs. Without [`Self::in_folder`] only the summary is kept.
    ///
    /// # Errors
    /// As [`Scenario::validate`], and a budget of results that does not hold the tables.
    pub fn new(scenario: Scenario) -> Result<Self, ScenarioError> {
        let scenario = scenario.validate()?;
        let collectives = Collectives::new(scenario.settings(), scenario.flows());
        let plan = tables::plan(&scenario, scenario.flows().len() as u64, &collectives)?;
        let functions = UserFunctions::default();
        let (folder, command, from) = (None, String::new(), None);
        let (processes, program) = (Arc::new(Alone), 0);
        Ok(Self { scenario, collectives, plan, folder, command, functions, processes, program, from })
    }

    /// Writes tables and `run.json` into this folder, which is made if it is not there.
    #[must_use]
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..self }
    }

    /// The command that `run.json` names.
    #[must_use]
    pub fn command(self, command: impl Into<String>) -> Self {
        Self { command: command.into(), ..self }
    }

    /// What stands behind the functions that the scenario names.
    #[must_use]
    pub fn functions(self, functions: UserFunctions) -> Self {
        Self { functions, ..self }
    }

    /// Shares the run with other processes, which all do the same with the same scenario: each builds its part of the network, and the
    /// first one writes the results. `program` is a number that differs between builds.
    #[must_use]
    pub fn among(self, processes: Arc<dyn Processes>, program: u64) -> Self {
        Self { processes, program, ..self }
    }

    /// Goes on from where a run stood that was saved: one of the same scenario ([`Checkpoint::scenario`]), but for values that its state
    /// can follow. Without a command of its own it has that of the other.
    #[must_use]
    pub fn from(self, checkpoint: impl Into<Arc<Checkpoint>>) -> Self {
        Self { from: Some(checkpoint.into()), ..self }
    }

    /// The scenario, checked.
    pub fn scenario(&self) -> &ValidScenario {
        &self.scenario
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// Results or memory that do not fit, a model that breaks a promise, a folder that cannot be written, functions that fail.
    pub fn start(self) -> Result<Results, Error> {
        self.begin()?.finish()
    }

    /// Makes all ready and stands at the beginning, to be run step by step.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn begin(self) -> Result<SteppedRun, Error> {
        self.watched(Arc::default(), |_| {})
    }

    /// The same; the watch sees it and can interrupt it, and `ready` learns what is about to run.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn watched(self, watch: Arc<Watch>, ready: impl FnOnce(Ahead)) -> Result<SteppedRun, Error> {
        let Self { scenario, collectives, plan, folder, mut command, functions, processes, program, from } =
            self;
        let files = Files::of(&scenario)?;
        let checkpoint = from.as_ref().map_or(0, |checkpoint| checkpoint.checksum());
        processes::agree(&*processes, &scenario, &files, program, checkpoint)?;
        let folder = folder.filter(|_| processes.rank() == 0);
        if let Some(checkpoint) = &from {
            checkpoint.fits(&scenario, &files, &functions)?;
            if command.is_empty() {
                checkpoint.command().clone_into(&mut command);
            }
        }
        let (until, threads) = (scenario.until(), on_cores(scenario.threads()));
        let is_profiled = scenario.settings().run.profiled;
        if scenario.settings().run.reuse && from.is_some() {
            let why = "error: run.reuse = true begins with the first iteration, and this run goes on from a checkpoint\n  help: write run.reuse = \
                       false, or run the scenario anew";
            return Err(Error::Input(why.to_owned()));
        }
        if is_profiled && processes.count() > 1 {
            let why = format!(
                "error: run.profiled (--profile) counts in one process, and {} share this run\n  help: profile it in one process, on \
                 fewer windows (run.until) if it is too large",
                processes.count()
            );
            return Err(Error::Input(why));
        }
        let mut facts = results::beginning(&scenario, &command, &functions);
        let traffic: Vec<String> =
            scenario.settings().traffic.iter().map(|entry| entry.name.clone()).collect();
        let gate = Gate::new(&scenario);
        let reuses = scenario.settings().run.reuse;
        let needed = scenario.functions().clone();
        let mut spec = scenario.build();
        spec.user.stop = Arc::clone(&watch.interrupt);
        if !needed.is_empty() && !functions.put(&needed, &mut spec.user) {
            return Err(Error::Input(UNLOADED.to_owned()));
        }
        if !spec.jobs.is_empty() {
            facts.insert("placements".into(), jobs::places(&spec, &traffic));
        }
        let names = names(&spec, traffic)?;
        let needed = estimate::memory(&spec, &estimate::Like(Vec::new()), until, processes.count());
        fits_memory(processes::on_this_machine(&*processes, needed))?;
        ready(Ahead {
            expected_end: until.unwrap_or_else(|| last_start(&spec)),
            flows: spec.flows.len() as u64,
            tables: folder.as_ref().map(|_| plan.to_string()),
            names: names.clone(),
        });
        let sink = folder.as_deref().map(|dir| Sink::create(dir, names.clone(), &plan)).transpose()?;
        let scribe = if threads > 1 { Scribe::away } else { Scribe::here };
        let sink = sink.map(scribe);
        let throttles = spec.probe.throttle.then(ThrottleSums::default);
        let messages = jobs::messages(&spec);
        let mut clock = Clock::start(threads);
        let mut simulation = Simulation::among(processes, spec, Kind::Windows { threads }, 1);
        if is_profiled {
            simulation.begin_profile();
        }
        clock.stop();
        let (course, completions) = (simulation.course(until), Completions::new(&simulation));
        let stands = Standing {
            simulation,
            course,
            plan,
            folder,
            sink,
            names,
            throttles,
            collectives,
            messages,
            facts,
            clock,
            threads,
            completions,
            gate,
            files,
            reuses,
            reused: None,
        };
        let run = SteppedRun::new(watch, Box::new(stands));
        match from {
            None => Ok(run),
            Some(checkpoint) => run.from(&checkpoint, until),
        }
    }
}

fn last_start(spec: &Spec) -> Time {
    let starts = spec.flows.iter().map(|flow| flow.start).filter(|start| *start < Time::MAX);
    starts.max().unwrap_or(Time::ZERO)
}

/// Who runs out of memory is killed, with the caller's Python: it is refused before anything is taken.
fn fits_memory(needed: f64) -> Result<(), Error> {
    match memory::free().map_err(|error| Error::Input(format!("error: {error}")))? {
        Some(free) if needed > free.bytes as f64 => {
            let [needed, left] = [needed, free.bytes as f64].map(|bytes| bytes * 1e-9);
            Err(Error::Input(format!(
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
fn on_cores(threads: usize) -> usize {
    threads.min(std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

fn names(spec: &Spec, traffic: Vec<String>) -> Result<Names, Error> {
    let network = &spec.network;
    let nodes = network.nodes().iter().map(|node| node.name.clone()).collect();
    let count = network.nodes().len() as u32;
    let peers: Vec<Vec<u32>> =
        (0..count).map(|node| network.ports(node).iter().map(|port| port.peer).collect()).collect();
    let of_flows = spec.flows.iter().map(|flow| flow.group).collect();
    let slow = spec.endpoints.iter().zip(network.hosts()).filter(|(endpoint, _)| endpoint.is_some());
    let mut slow: Vec<u32> = slow.map(|(_, host)| *host).collect();
    // What sends PAUSE without end holds others as a slow host does.
    for change in spec.faults.changes.iter().filter(|change| matches!(change.what, Change::Storm(..))) {
        if !slow.contains(&change.node) {
            slow.push(change.node);
        }
    }
    let programs = &spec.programs;
    let ranks = programs.ranks.iter().map(|rank| (rank.group, rank.role)).collect();
    Names::new(nodes, &peers, traffic, of_flows)
        .and_then(|names| names.with_drains(&slow))
        .and_then(|names| names.with_programs(programs.roles.clone(), programs.series.clone(), ranks))
        .map_err(Error::bug)
}
