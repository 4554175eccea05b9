//! `Scenario`: read once, then asked as often as wanted, or run.
use crate::checkpoint::Checkpoint;
use crate::errors::raise;
use crate::functions::{Functions, loaded};
use crate::processes::joined;
use crate::stepped::SteppedRun;
use crate::watching::{unless_interrupted, watched};
use backwater::{Ahead, Error, Look, Looks, Replay, Run, UserFunctions, ValidScenario, Watch};
use backwater_units::Time;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A scenario that has been read. `origin` names the text in messages, paths in it count from `base_dir`, `overrides` are
/// texts such as `traffic.load=0.6`. Whatever is wrong raises `ScenarioError`: what can be seen without the network at once,
/// the rest with the first question. Answers are JSON.
#[pyclass(frozen)]
pub(crate) struct Scenario {
    read: Arc<backwater::Scenario>,
    /// What questions are asked of. None is about its flows, which may be millions.
    outline: Arc<OnceLock<Result<ValidScenario, String>>>,
}

impl Scenario {
    fn asked(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&ValidScenario) -> Result<Value, Error> + Send + 'static,
    ) -> PyResult<String> {
        let (read, outline) = (Arc::clone(&self.read), Arc::clone(&self.outline));
        let answer = unless_interrupted(py, move || {
            let checked = || backwater::outline((*read).clone()).map_err(|error| error.to_string());
            match outline.get_or_init(checked) {
                Ok(scenario) => question(scenario).map(|answer| answer.to_string()),
                Err(message) => Err(Error::Input(message.clone())),
            }
        });
        answer?.map_err(|error| raise(py, error))
    }

    /// A run once more, which only tells of itself.
    fn replay(
        &self,
        py: Python<'_>,
        functions: Option<Functions>,
        question: impl FnOnce(&mut Replay, &AtomicBool) -> Result<Value, Error> + Send,
    ) -> PyResult<String> {
        let functions = loaded(functions)?;
        let stop = AtomicBool::new(false);
        let work = || question(&mut Replay::new((*self.read).clone(), &functions)?, &stop);
        let (found, raised) = watched(py, &stop, functions.facts.is_some(), work, |_| Ok(()));
        // What was raised comes first: it is why there is no answer.
        raised.map_or_else(|| found.map(|found| found.to_string()).map_err(|error| raise(py, error)), Err)
    }
}

#[pymethods]
impl Scenario {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn new(
        py: Python<'_>,
        text: &str,
        origin: &str,
        base_dir: PathBuf,
        overrides: Vec<String>,
    ) -> PyResult<Self> {
        let read = py.detach(|| backwater::Scenario::parse(text, origin, &base_dir, &overrides));
        let read = read.map_err(|error| raise(py, error.into()))?;
        Ok(Self { read: Arc::new(read), outline: Arc::default() })
    }

    /// The scenario with every default filled in.
    fn resolved(&self, py: Python<'_>) -> PyResult<String> {
        self.asked(py, |scenario| Ok(scenario.resolved()))
    }

    /// What `backwater topology` tells of its network.
    fn topology(&self, py: Python<'_>) -> PyResult<String> {
        self.asked(py, |scenario| Ok(backwater::network_facts(scenario)))
    }

    /// What it will take: `backwater::estimate`. The memory is that of each of so many processes that share the run.
    #[pyo3(signature = (processes=1))]
    fn estimate(&self, py: Python<'_>, processes: usize) -> PyResult<String> {
        self.asked(py, move |scenario| backwater::estimate(scenario, processes.max(1)))
    }

    /// The functions of the user's that it names: `controllers` and `detector`, each with `place`, `function` and `parameters`; None
    /// if it names none, which costs nothing to know.
    fn functions(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let named = self.read.names_functions();
        named.then(|| self.asked(py, |scenario| Ok(json!(scenario.functions())))).transpose()
    }

    /// Runs it and returns its run.json. Results go to `out_dir`; None keeps only what is returned. `progress` is called about ten
    /// times a second and may raise, which ends the run early: what it has is written as partial, then the exception goes on
    /// to the caller. `functions` are those that it names, loaded: controllers as (address, events, rate at first, words), the
    /// detector as (address, words), and JSON for run.json; whoever calls keeps their code alive. `live`: looks at the run about twice
    /// a second, so that the progress has its packet-hops, its flows and its hottest ports. `program`: the processes that have been
    /// joined share the run, whose builds have such a number. `checkpoint`: goes on from it. `saves`: a file, and after how many seconds
    /// the run is saved there, again and again.
    #[pyo3(signature = (
        out_dir=None, progress=None, functions=None, live=false, program=None, checkpoint=None, saves=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "what Python hands over by name")]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn run(
        &self,
        py: Python<'_>,
        out_dir: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
        functions: Option<Functions>,
        live: bool,
        program: Option<u64>,
        checkpoint: Option<Py<Checkpoint>>,
        saves: Option<(PathBuf, f64)>,
    ) -> PyResult<String> {
        let command = command_line(py);
        let functions = loaded(functions)?;
        let calls_python = functions.facts.is_some();
        let watch = Arc::new(Watch { looks: live.then(Looks::default), ..Watch::default() });
        let ahead = OnceLock::new();
        let (mut ticks, mut look) = (0, None);
        let from = checkpoint.map(|checkpoint| Arc::clone(&checkpoint.get().0));
        let work = || {
            let run = made(&self.read, command, functions, out_dir, from)?;
            let run = match joined().zip(program) {
                Some((processes, program)) => run.among(processes, program),
                None => run,
            };
            let run = run.watched(Arc::clone(&watch), |known| drop(ahead.set(known)))?;
            let results = match &saves {
                Some((file, every_s)) => run.finish_saving(file, Duration::from_secs_f64(*every_s))?,
                None => run.finish()?,
            };
            Ok(results.json().to_string())
        };
        let tick = |py: Python<'_>| match (&progress, ahead.get()) {
            (Some(progress), Some(ahead)) => {
                if let (Some(looks), 0) = (&watch.looks, ticks % TICKS_OF_A_LOOK) {
                    look = looks.ask();
                }
                ticks += 1;
                report(py, &watch, ahead, look.as_ref(), progress)
            }
            _ => Ok(()),
        };
        let (run, raised) = watched(py, &watch.interrupt, calls_python, work, tick);
        // What could not be written comes first: who interrupted would believe that partial results are there.
        let run = run.map_err(|error| raise(py, error))?;
        raised.map_or(Ok(run), Err)
    }

    /// Makes the run ready and stands at its beginning; `out_dir`, `functions` and `checkpoint` as of `run`.
    #[pyo3(signature = (out_dir=None, functions=None, checkpoint=None))]
    fn begin(
        &self,
        py: Python<'_>,
        out_dir: Option<PathBuf>,
        functions: Option<Functions>,
        checkpoint: Option<Py<Checkpoint>>,
    ) -> PyResult<SteppedRun> {
        let command = command_line(py);
        let functions = loaded(functions)?;
        let calls_python = functions.facts.is_some();
        let watch = Arc::new(Watch::default());
        let from = checkpoint.map(|checkpoint| Arc::clone(&checkpoint.get().0));
        let work =
            || made(&self.read, command, functions, out_dir, from)?.watched(Arc::clone(&watch), |_| {});
        let (run, raised) = watched(py, &watch.interrupt, calls_python, work, |_| Ok(()));
        let run = run.map_err(|error| raise(py, error))?;
        raised.map_or_else(|| Ok(SteppedRun::new(run, Arc::clone(&watch), calls_python)), Err)
    }

    /// Runs to the last of `times_ps` (ascending): `window_ps` and `prefixes`, for each time `time_ps`, `digest` and `by_name` (16
    /// hexadecimal digits) and `arrivals`.
    #[pyo3(signature = (times_ps, functions=None))]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn prefixes(&self, py: Python<'_>, times_ps: Vec<u64>, functions: Option<Functions>) -> PyResult<String> {
        let times: Vec<Time> = times_ps.iter().copied().map(Time::from_ps).collect();
        self.replay(py, functions, |replay, stop| replay.prefixes(&times, stop))
    }

    /// Every frame that arrived anywhere from `from_ps` on and before `to_ps`, as a list in order of time, node and port.
    #[pyo3(signature = (from_ps, to_ps, functions=None))]
    fn arrivals(
        &self,
        py: Python<'_>,
        from_ps: u64,
        to_ps: u64,
        functions: Option<Functions>,
    ) -> PyResult<String> {
        let (from, to) = (Time::from_ps(from_ps), Time::from_ps(to_ps));
        self.replay(py, functions, |replay, stop| replay.arrivals(from, to, stop))
    }
}

/// A run of what was read. One that goes on has the command of the run that was saved.
fn made(
    read: &backwater::Scenario,
    command: String,
    functions: UserFunctions,
    folder: Option<PathBuf>,
    from: Option<Arc<backwater::Checkpoint>>,
) -> Result<Run, Error> {
    let run = Run::new(read.clone())?.functions(functions);
    let run = match folder {
        Some(folder) => run.in_folder(folder),
        None => run,
    };
    Ok(match from {
        Some(checkpoint) => run.from(checkpoint),
        None => run.command(command),
    })
}

/// Progress is reported ten times a second.
const TICKS_OF_A_LOOK: u32 = 5;

fn report(
    py: Python<'_>,
    watch: &Watch,
    ahead: &Ahead,
    look: Option<&Look>,
    progress: &Py<PyAny>,
) -> PyResult<()> {
    let report = PyDict::new(py);
    report.set_item("sim_time_ps", watch.now.load(Ordering::Relaxed))?;
    report.set_item("expected_end_ps", ahead.expected_end.as_ps())?;
    report.set_item("flows", ahead.flows)?;
    report.set_item("plan", ahead.tables.as_deref())?;
    report.set_item("look", look.map(|look| looked(py, look, ahead)).transpose()?)?;
    progress.call1(py, (report,)).map(drop)
}

fn looked<'py>(py: Python<'py>, look: &Look, ahead: &Ahead) -> PyResult<Bound<'py, PyDict>> {
    let ports = look.ports.iter().filter_map(|port| {
        let name = ahead.names.port(port.node, port.port).ok()?;
        Some((name, port.queue.get(), port.closed, port.held.as_ps()))
    });
    let found = PyDict::new(py);
    found.set_item("sim_time_ps", look.now.as_ps())?;
    found.set_item("packet_hops", look.packet_hops)?;
    found.set_item("flows_done", look.flows_done)?;
    found.set_item("ports", ports.collect::<Vec<_>>())?;
    Ok(found)
}

/// The command as the user typed it, as far as Python knows, so that a shell takes it again.
fn command_line(py: Python<'_>) -> String {
    let argv =
        py.import("sys").and_then(|sys| sys.getattr("argv")).and_then(|argv| argv.extract::<Vec<String>>());
    let mut argv = argv.unwrap_or_default();
    if let Some(program) = argv.first_mut()
        && let Some(name) = Path::new(program.as_str()).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    let quoted = py.import("shlex").and_then(|shlex| shlex.call_method1("join", (argv.clone(),))?.extract());
    quoted.unwrap_or_else(|_| argv.join(" "))
}
