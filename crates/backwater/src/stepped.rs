//! A run that is stepped: it stands still between two steps, and nothing comes of that.
use crate::checkpoint::{self, Checkpoint, Files, Head};
use crate::clock::Clock;
use crate::collectives::Collectives;
use crate::error::Error;
use crate::injection::{Gate, Injection, Moment};
use crate::processes;
use crate::results::{self, FinalRecords, Results};
use crate::run::Watch;
use crate::{functions, profile};
use backwater_codes::{Code, Remark};
use backwater_fabric::{
    Completion, Completions, Control, Course, End, Records, Reused, Simulation, Violation,
};
use backwater_probe::columns::JobMessageRecord;
use backwater_probe::{NameError, Names, Plan, Scribe, SinkError, Summary, Summing, TableId, ThrottleSums};
use backwater_units::{Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use serde_json::{Map, Value};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A run that stands between two steps. Whoever lets go of it before it is finished leaves partial results, as of a run that was
/// interrupted.
///
/// ```
/// use backwater::{Run, Scenario};
/// use backwater_units::Time;
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
/// let scenario = Scenario::parse(text, "incast.toml", ".".as_ref(), &[])?;
/// let mut run = Run::new(scenario)?.begin()?;
/// run.step(Time::from_ps(5_000_000))?;
/// assert_eq!((run.now(), run.is_over()), (Time::from_ps(5_000_000), false));
/// assert!(run.completions()?.is_empty());
/// run.step(Time::MAX)?;
/// assert_eq!(run.completions()?.len(), 3);
/// assert!(run.finish()?.is_complete());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SteppedRun {
    watch: Arc<Watch>,
    /// Gone when it is finished, or has failed.
    stands: Option<Box<Standing>>,
    now: Time,
    is_over: bool,
}

/// Of simulated time, between two looks at the clock.
const LEAST_STEP: Span = Span::from_us(1);
const MOST_STEP: Span = Span::from_ms(1_000);

/// What a run needs until its results are written.
pub(crate) struct Standing {
    pub(crate) simulation: Simulation,
    pub(crate) course: Course,
    pub(crate) plan: Plan,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) sink: Option<Scribe>,
    pub(crate) names: Names,
    /// What throttles did, if that is summed up.
    pub(crate) throttles: Option<ThrottleSums>,
    pub(crate) collectives: Collectives,
    pub(crate) messages: Vec<JobMessageRecord>,
    pub(crate) facts: Map<String, Value>,
    pub(crate) clock: Clock,
    pub(crate) threads: usize,
    pub(crate) completions: Completions,
    pub(crate) gate: Gate,
    pub(crate) files: Files,
    /// Whether iterations are counted that start from the same state as an earlier one.
    pub(crate) reuses: bool,
    /// What became of them.
    pub(crate) reused: Option<Reused>,
}

/// What a checkpoint keeps of what stands around a simulation.
#[derive(BorshSerialize, BorshDeserialize)]
struct Around {
    now: u64,
    is_over: bool,
    wall_s: f64,
    cpu_s: f64,
    throttles: Option<ThrottleSums>,
    /// Traffic entries of the flows that were injected.
    injected: Vec<u16>,
    has_tables: bool,
}

impl SteppedRun {
    pub(crate) const fn new(watch: Arc<Watch>, stands: Box<Standing>) -> Self {
        Self { watch, stands: Some(stands), now: Time::ZERO, is_over: false }
    }

    /// Runs to `until`, and stands there though all flows may be done before: time passes in an idle network, too. It stands at the
    /// end that the scenario says, or where it was interrupted, if that comes first. `Time::MAX`: until all flows are done. What
    /// happens is the same however a run is cut into steps.
    ///
    /// # Errors
    /// An instant that has passed; else as [`crate::Run::start`], and then the run is lost.
    pub fn step(&mut self, until: Time) -> Result<(), Error> {
        if self.stands()?.reuses {
            return Err(at_once("step"));
        }
        self.advance(until, false)
    }

    /// Runs as [`Self::step`] does, but not beyond the first instant at which a flow ends: it stands a picosecond later, so that what
    /// comes of that end can still be injected. It stays where it is while there are completions that were not asked for.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn step_to_completion(&mut self, until: Time) -> Result<(), Error> {
        if self.stands()?.reuses {
            return Err(at_once("step"));
        }
        self.advance(until, true)
    }

    fn advance(&mut self, until: Time, to_completion: bool) -> Result<(), Error> {
        if until < self.now {
            return Err(Error::Input(format!(
                "error: step: until = {until} has passed, the run has come to {}\n  allowed: {} or later\n  help: a run does \
                 not go back; begin another one",
                self.now, self.now
            )));
        }
        let watch = Arc::clone(&self.watch);
        let stands = self.stands()?;
        stands.clock.go_on();
        let stepped = stands.step(until, to_completion, &watch);
        stands.clock.stop();
        let stopped = to_completion && stands.simulation.has_ended(&mut stands.completions);
        let (reached, end) = (stands.simulation.now(), stands.course.end());
        // Time passes for a network that is idle, too: the user's clock goes on where the simulation has nothing left to do.
        let passes = until < Time::MAX && !stopped && !matches!(end, Some(End::Until | End::Interrupted));
        let waits = if passes { until.min(stands.course.until()) } else { Time::ZERO };
        (self.now, self.is_over) = (self.now.max(reached).max(waits), end.is_some());
        if stepped.is_err() {
            self.stands = None;
        }
        stepped
    }

    /// Saves it where it stands. [`Checkpoint::read`] reads the file, and a run that goes on [from](crate::Run::from) it has the outcome that this
    /// one will have, on any number of threads and processes. A file of that name is replaced as a whole. Of processes that share the run the
    /// first one writes it.
    ///
    /// # Errors
    /// If the run is finished or has failed, or the file cannot be written; then the run goes on as if nothing had been. Among processes it
    /// has failed then.
    pub fn save(&mut self, path: &Path) -> Result<(), Error> {
        self.save_as(path, false)
    }

    fn save_as(&mut self, path: &Path, passes: bool) -> Result<(), Error> {
        let (now, is_over) = (self.now, self.is_over);
        let stands = self.stands()?;
        if stands.reuses {
            return Err(at_once("save"));
        }
        let is_shared = stands.simulation.processes().count() > 1;
        let saved = stands.save(path, passes, now, is_over);
        if saved.is_err() && is_shared {
            self.stands = None;
        }
        saved
    }

    /// Goes on from what was saved.
    pub(crate) fn from(mut self, checkpoint: &Checkpoint, until: Option<Time>) -> Result<Self, Error> {
        let stands = self.stands.as_mut().expect("it has just been made");
        let around = stands.load(checkpoint)?;
        (self.now, self.is_over) = (Time::from_ps(around.now), around.is_over);
        if until.is_some_and(|until| until < self.now) {
            let until = until.unwrap_or_default();
            return Err(Error::Input(format!(
                "error: run.until = {until} has passed, the run has come to {}\n  allowed: {} or later\n  help: raise run.until, or leave \
                 it as it is",
                self.now, self.now
            )));
        }
        stands.course.go_on(until);
        self.is_over = stands.course.end().is_some();
        Ok(self)
    }

    /// How far it has come: nothing at this instant or after it has happened. What is injected starts here or later.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Whether nothing is left to do: all flows that it knows are done, or the end that the scenario says is reached, or it was
    /// interrupted. After the first of these it goes on with flows that are injected.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// The flows that have ended since the last call, in the order in which they did.
    ///
    /// # Errors
    /// If the run is finished, or has failed.
    pub fn completions(&mut self) -> Result<Vec<Completion>, Error> {
        let stands = self.stands()?;
        if stands.reuses {
            return Err(at_once("completions"));
        }
        Ok(stands.simulation.completions(&mut stands.completions))
    }

    /// Adds flows that start now or later, and returns their numbers. What happens is what would have if they had been the last
    /// flows of the scenario from the beginning: a flow's number decides its path and what it draws.
    ///
    /// # Errors
    /// Unknown hosts and entries, sizes of 0, a start that has passed, a priority without queues; then none of them is added. A run that
    /// is at the end that the scenario says, or was interrupted, takes no more.
    pub fn inject(&mut self, flows: &[Injection]) -> Result<Range<u32>, Error> {
        let now = self.now;
        let stands = self.stands()?;
        if stands.reuses {
            return Err(at_once("inject"));
        }
        let added = stands.inject(now, flows)?;
        self.is_over = stands.course.end().is_some();
        Ok(added)
    }

    /// The name of a host, by its number.
    ///
    /// # Errors
    /// As [`Self::completions`]; and no such host.
    pub fn host_name(&mut self, host: u32) -> Result<&str, Error> {
        let network = self.stands()?.simulation.network();
        network.hosts().get(host as usize).map(|node| network.name(*node)).ok_or_else(|| {
            let last = network.hosts().len() - 1;
            Error::Input(format!("error: there is no host {host}\n  allowed: 0 to {last}"))
        })
    }

    /// The name of a traffic entry, by its number.
    ///
    /// # Errors
    /// As [`Self::completions`]; and no such entry.
    pub fn entry_name(&mut self, entry: u16) -> Result<&str, Error> {
        self.stands()?.names.traffic(entry).map_err(|error| Error::Input(format!("error: {error}")))
    }

    /// Runs to the end and writes the results.
    ///
    /// # Errors
    /// As [`crate::Run::start`].
    pub fn finish(mut self) -> Result<Results, Error> {
        self.advance(Time::MAX, false)?;
        self.stop()
    }

    /// The same, and saves it at once and whenever so much time of the wall clock has passed: who is killed goes on from the file. A run that
    /// is complete removes it.
    ///
    /// # Errors
    /// As [`crate::Run::start`] and [`Self::save`].
    pub fn finish_saving(mut self, path: &Path, every: Duration) -> Result<Results, Error> {
        // The clock is looked at after steps of about so much.
        let turn = (every / 16).clamp(Duration::from_millis(1), Duration::from_secs(1));
        let (mut saved, mut step) = (Instant::now(), LEAST_STEP);
        let is_first = self.stands()?.simulation.processes().rank() == 0;
        self.save_as(path, true)?;
        while !self.is_over {
            let begun = Instant::now();
            self.step(self.now + step)?;
            let took = begun.elapsed();
            if took < turn / 2 {
                step = (step + step).min(MOST_STEP);
            } else if took > turn {
                step = (step / 2).max(LEAST_STEP);
            }
            // Processes that share the run do what the clock of the first one says.
            let own = (step.as_ps(), saved.elapsed() >= every);
            let (agreed, is_due) = self.stands()?.simulation.processes().gather(vec![own])[0];
            step = Span::from_ps(agreed);
            if !self.is_over && is_due {
                self.save_as(path, true)?;
                saved = Instant::now();
            }
        }
        let results = self.finish()?;
        if is_first && results.is_complete() {
            checkpoint::remove(path)?;
        }
        Ok(results)
    }

    /// Ends it where it stands, and writes what it has: partial results, unless it is over.
    ///
    /// # Errors
    /// As [`crate::Run::start`].
    pub fn stop(mut self) -> Result<Results, Error> {
        self.stands()?;
        self.stands.take().expect("it stands").end()
    }

    fn stands(&mut self) -> Result<&mut Standing, Error> {
        self.stands.as_deref_mut().ok_or_else(|| {
            Error::Input(
                "error: this run is lost, as a step of it has failed\n  help: begin another one".to_owned(),
            )
        })
    }
}

impl Drop for SteppedRun {
    fn drop(&mut self) {
        if let Some(stands) = self.stands.take().filter(|_| !std::thread::panicking()) {
            // Best effort: nobody is there to be told.
            drop(stands.end());
        }
    }
}

impl Standing {
    fn step(&mut self, until: Time, to_completion: bool, watch: &Watch) -> Result<(), Error> {
        let control = Control {
            until: None,
            interrupt: Some(&watch.interrupt),
            now: Some(&watch.now),
            looks: watch.looks.as_ref(),
        };
        let Self { simulation, course, sink, throttles, completions, reused, .. } = self;
        if self.reuses && reused.is_some() {
            return Ok(());
        }
        let reuses = self.reuses;
        writing(simulation, sink.as_mut(), throttles.as_mut(), |simulation, take| {
            let end = if reuses {
                *reused = Some(simulation.run_reusing(course, &control, take)?);
                Ok(course.end())
            } else if to_completion {
                simulation.step_to_completion(course, until, &control, completions, take)
            } else {
                simulation.step(course, until, &control, take)
            };
            end.map(drop)
        })
    }

    fn save(&mut self, path: &Path, passes: bool, now: Time, is_over: bool) -> Result<(), Error> {
        let mut state = Vec::new();
        let around = Around {
            now: now.as_ps(),
            is_over,
            wall_s: self.clock.wall_s(),
            cpu_s: self.clock.cpu_s(),
            throttles: self.throttles.clone(),
            injected: self.simulation.injected().iter().map(|flow| flow.group).collect(),
            has_tables: self.sink.is_some(),
        };
        around.serialize(&mut state).map_err(Error::bug)?;
        self.simulation.save(&self.course, &self.completions, &mut state).map_err(Error::bug)?;
        let mut put = || {
            if let Some(sink) = &mut self.sink {
                sink.save(&mut state)?;
            }
            checkpoint::write(path, &Head::new(&self.facts, &self.files, now, passes), &state)
        };
        let is_first = self.simulation.processes().rank() == 0;
        let written = if is_first { put() } else { Ok(()) };
        // All processes go on, or none: what the first one cannot write ends the others, too.
        let has_failed = self.simulation.processes().gather(vec![written.is_err()])[0];
        if has_failed && !is_first { Err(Error::Elsewhere) } else { written }
    }

    fn load(&mut self, checkpoint: &Checkpoint) -> Result<Around, Error> {
        let broken = |error| checkpoint.broken(error);
        let from = &mut checkpoint.state();
        let around = Around::deserialize(from).map_err(broken)?;
        for entry in &around.injected {
            self.names.add_flow(*entry).map_err(|error| checkpoint.broken(error))?;
            if let Some(sink) = &mut self.sink {
                sink.add_flow(*entry).map_err(|error| checkpoint.broken(error))?;
            }
        }
        (self.course, self.completions) = self.simulation.load(from).map_err(broken)?;
        self.simulation.learn_faults(checkpoint.faults()?);
        self.clock.after((around.wall_s, around.cpu_s));
        self.throttles.clone_from(&around.throttles);
        match &mut self.sink {
            Some(sink) if around.has_tables => sink.load(from)?,
            Some(_) => {
                return Err(Error::Input(
                    "error: the run was saved without tables, as it had no folder for results\n  help: go on without a folder, or run the \
                     scenario anew"
                        .to_owned(),
                ));
            }
            None => {}
        }
        Ok(around)
    }

    fn inject(&mut self, now: Time, injected: &[Injection]) -> Result<Range<u32>, Error> {
        if let Some(why) = self.course.end().filter(|end| *end != End::Finished) {
            let why = if why == End::Until { "at run.until, its end" } else { "interrupted" };
            return Err(Error::Input(format!(
                "error: inject: the run is {why}\n  help: begin another one, with a later run.until or without one"
            )));
        }
        let run = Moment { now, until: self.course.until(), simulation: &self.simulation };
        let flows = self.gate.flows(injected, &run)?;
        for flow in &flows {
            self.names.add_flow(flow.group).map_err(Error::bug)?;
            if let Some(sink) = &mut self.sink {
                sink.add_flow(flow.group)?;
            }
        }
        Ok(self.simulation.inject(&mut self.course, &flows))
    }

    /// Writes the results of a run that ends here.
    fn end(self) -> Result<Results, Error> {
        let Self { mut simulation, course, plan, folder, mut sink, names, mut throttles, .. } = self;
        let (mut collectives, mut facts, mut clock) = (self.collectives, self.facts, self.clock);
        clock.go_on();
        let totals = writing(&mut simulation, sink.as_mut(), throttles.as_mut(), |simulation, take| {
            simulation.finish(course, take)
        })?;
        results::warn(&mut facts, storms(&simulation));
        if let Some(reused) = &self.reused {
            told(reused, &mut facts)?;
        }
        let ends = FinalRecords {
            ports: simulation.ports(),
            switches: if plan.has(TableId::Switches) { simulation.switches() } else { Vec::new() },
            drops: if plan.has(TableId::DropCounts) { simulation.drop_counts() } else { Vec::new() },
            faults: simulation.fault_costs(),
            blocked: if plan.has(TableId::Blocked) { simulation.blocked() } else { Vec::new() },
            ranks: simulation.ranks(),
        };
        let summary = flows(&simulation, &ends, &names, totals.now, sink.as_mut(), &mut collectives)?;
        if let Some(sink) = &mut sink {
            sink.append(&self.messages)?;
        }
        let counted = self.reused.as_ref().is_some_and(|reused| reused.counted > 0);
        facts.extend(results::outcome(&totals, counted, &clock, self.threads, simulation.processes()));
        let shared = processes::told(simulation.processes(), &simulation, self.threads);
        facts.extend(shared.map(|told| ("processes".to_owned(), told)));
        facts.extend(results::sums(&summary, &ends, &names, simulation.network())?);
        if let Some(throttles) = throttles {
            facts.insert("throttle".into(), results::to_json(throttles.summary())?);
        }
        if let Some(profile) = simulation.profile() {
            facts.insert("profile".into(), profile::to_json(&profile));
        }
        results::finish(folder.as_deref(), sink, &ends, facts)
    }
}

/// A run that counts iterations does not stand between two steps.
fn at_once(what: &str) -> Error {
    Error::Input(format!(
        "error: {what}: with run.reuse = true the run goes to its end at once, as iterations that are counted have no instants to stand at\n  \
         help: write run.reuse = false, or let it run to its end (finish)"
    ))
}

/// What became of the iterations, and a caveat if none was counted.
fn told(reused: &Reused, facts: &mut Map<String, Value>) -> Result<(), Error> {
    let Reused { iterations, counted, first, period, takes, why } = reused;
    let mut told = serde_json::json!({"iterations": iterations, "counted": counted});
    if let (Some(told), true) = (told.as_object_mut(), *counted > 0) {
        told.insert("first".to_owned(), results::to_json(first)?);
        told.insert("period".to_owned(), results::to_json(period)?);
        told.insert("period_ps".to_owned(), results::to_json(takes.as_ps())?);
    }
    facts.insert("reuse".to_owned(), told);
    let message = why.as_ref().map(|why| format!("run.reuse = true has counted no iteration: {why}"));
    results::warn(facts, message.into_iter().map(|why| Remark::new(Code::ReuseIdle, "run.reuse", why)));
    Ok(())
}

/// Storms that hold packets when the run ends: it was told when to end, and goes on in spite of them.
fn storms(simulation: &Simulation) -> impl Iterator<Item = Remark> {
    simulation.held_by_storms().into_iter().map(|(host, port)| {
        let message = format!(
            "at the end of the run the NIC of {host} still sends PAUSE without end, and packets wait behind {port}: what it holds \
             back had not arrived, and counts as under way. Set switch.pfc.watchdog.action (with a detect that ends before the run), or \
             end the storm before (until)"
        );
        Remark::new(Code::StormHolds, "fault", message)
    })
}

/// Does a part of a run whose records go to the sink.
fn writing<T>(
    simulation: &mut Simulation,
    mut sink: Option<&mut Scribe>,
    mut throttles: Option<&mut ThrottleSums>,
    part: impl FnOnce(&mut Simulation, &mut dyn FnMut(&Records) -> Result<(), String>) -> Result<T, Violation>,
) -> Result<T, Error> {
    let mut refused = None;
    let done = part(simulation, &mut |records| {
        if let Some(throttles) = &mut throttles {
            throttles.add(&records.throttle);
        }
        match &mut sink {
            None => Ok(()),
            Some(sink) => append(sink, records).map_err(|error| {
                let message = error.to_string();
                refused = Some(error);
                message
            }),
        }
    });
    match (done, refused) {
        (Ok(done), _) => Ok(done),
        (Err(_), Some(error)) => Err(error.into()),
        (Err(Violation::User(fault)), None) => {
            let name = |node: u32| simulation.network().nodes()[node as usize].name.clone();
            Err(Error::User(functions::told(&fault, name)))
        }
        (Err(violation), None) => Err(violation.into()),
    }
}

fn append(sink: &mut Scribe, records: &Records) -> Result<(), SinkError> {
    sink.append(&records.marks)?;
    sink.append(&records.pauses)?;
    sink.append(&records.states)?;
    sink.append(&records.samples)?;
    sink.append(&records.rates)?;
    sink.append(&records.holds)?;
    sink.append(&records.closures)?;
    sink.append(&records.crowds)?;
    sink.append(&records.waits)?;
    sink.append(&records.delivered)?;
    sink.append(&records.injected)?;
    sink.append(&records.arrived)?;
    sink.append(&records.isolation)?;
    sink.append(&records.windows)?;
    sink.append(&records.puts)?;
    sink.append(&records.streams)?;
    sink.append(&records.endpoints)?;
    sink.append(&records.drops)?;
    sink.append(&records.faults)?;
    sink.append(&records.frames)?;
    sink.append(&records.timings)?;
    sink.append(&records.jobs)?;
    sink.append(&records.dependencies)?;
    sink.append(&records.throttle)?;
    sink.append(&records.throttle_states)
}

/// Writes the flows and sums them up, in one pass.
fn flows(
    simulation: &Simulation,
    ends: &FinalRecords,
    names: &Names,
    end: Time,
    mut sink: Option<&mut Scribe>,
    collectives: &mut Collectives,
) -> Result<Summary, Error> {
    let broken = |error: NameError| Error::bug(error);
    let mut summing = Summing::new(names, end);
    simulation.each_flow(|records| {
        summing.add(records).map_err(broken)?;
        collectives.add(records);
        match &mut sink {
            Some(sink) => Ok(sink.append(records)?),
            None => Ok::<(), Error>(()),
        }
    })?;
    if let Some(sink) = &mut sink {
        sink.append(collectives.rows())?;
    }
    // All processes tell theirs, for the sink of one of them.
    if sink.is_some() || simulation.processes().count() > 1 {
        simulation.each_dependency(|records| sink.as_mut().map_or(Ok(()), |sink| sink.append(records)))?;
    }
    summing.finish(&ends.ports).map_err(broken)
}
