//! `run`, `prefixes` and `arrivals`: a scenario is simulated in a thread, while Python listens for Ctrl-C and hears of progress.
use crate::errors::raise;
use crate::functions::{Functions, loaded};
use crate::watching::watched;
use backwater::{Ahead, Error, Replay, Run, Scenario, Watch};
use backwater_units::Time;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs a scenario and returns its run.json. Results go to `out_dir`; None keeps only what is returned. `progress`
/// is called about ten times a second and may raise, which ends the run early: what it has is written as partial,
/// then the exception goes on to the caller. `functions` are those of `user_functions`, loaded: controllers as (address, events, rate at
/// first, words), the detector as (address, words), and JSON for run.json; whoever calls keeps their code alive.
#[pyfunction]
#[pyo3(signature = (text, origin, base_dir, overrides, out_dir=None, threads=None, seed=None, progress=None, functions=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "a Python function's arguments"
)]
pub(crate) fn run(
    py: Python<'_>,
    text: &str,
    origin: &str,
    base_dir: &str,
    mut overrides: Vec<String>,
    out_dir: Option<&str>,
    threads: Option<u32>,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    functions: Option<Functions>,
) -> PyResult<String> {
    overrides.extend(threads.map(|threads| format!("run.threads={threads}")));
    overrides.extend(seed.map(|seed| format!("run.seed={seed}")));
    let command = command_line(py);
    let functions = loaded(functions)?;
    let calls_python = functions.facts.is_some();
    let (watch, ahead) = (Watch::default(), OnceLock::new());
    let work = || {
        let scenario = Scenario::parse(text, origin, Path::new(base_dir), &overrides)?;
        let run = Run::new(scenario)?.command(command).functions(functions);
        let run = match out_dir {
            Some(folder) => run.in_folder(folder),
            None => run,
        };
        run.watched(&watch, |known| drop(ahead.set(known))).map(|results| results.json().to_string())
    };
    let tick = |py: Python<'_>| match (&progress, ahead.get()) {
        (Some(progress), Some(ahead)) => report(py, &watch, ahead, progress),
        _ => Ok(()),
    };
    let (run, raised) = watched(py, &watch.interrupt, calls_python, work, tick);
    // What could not be written comes first: who interrupted would believe that partial results are there.
    let run = run.map_err(|error| raise(py, error))?;
    raised.map_or(Ok(run), Err)
}

fn report(py: Python<'_>, watch: &Watch, ahead: &Ahead, progress: &Py<PyAny>) -> PyResult<()> {
    let report = PyDict::new(py);
    report.set_item("sim_time_ps", watch.now.load(Ordering::Relaxed))?;
    report.set_item("expected_end_ps", ahead.expected_end.as_ps())?;
    report.set_item("flows", ahead.flows)?;
    report.set_item("plan", ahead.tables.as_deref())?;
    progress.call1(py, (report,)).map(drop)
}

/// Runs to the last of `times_ps` (ascending) and returns, as JSON, `window_ps` and `prefixes`: for each time `time_ps`, `digest`
/// and `by_name` (16 hexadecimal digits) and `arrivals`.
/// `functions` as of `run`.
#[pyfunction]
#[pyo3(signature = (text, origin, base_dir, overrides, times_ps, functions=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "a Python function's arguments"
)]
pub(crate) fn prefixes(
    py: Python<'_>,
    text: &str,
    origin: &str,
    base_dir: &str,
    overrides: Vec<String>,
    times_ps: Vec<u64>,
    functions: Option<Functions>,
) -> PyResult<String> {
    let functions = loaded(functions)?;
    let stop = AtomicBool::new(false);
    let work = || {
        let scenario = Scenario::parse(text, origin, Path::new(base_dir), &overrides)?;
        let times: Vec<Time> = times_ps.iter().copied().map(Time::from_ps).collect();
        Replay::new(scenario, &functions)?.prefixes(&times, &stop).map(|found| found.to_string())
    };
    replayed(py, watched(py, &stop, functions.facts.is_some(), work, |_| Ok(())))
}

/// Every frame that arrived anywhere from `from_ps` on and before `to_ps`, as a JSON list in order of time, node and port.
/// `functions` as of `run`.
#[pyfunction]
#[pyo3(signature = (text, origin, base_dir, overrides, from_ps, to_ps, functions=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "a Python function's arguments"
)]
pub(crate) fn arrivals(
    py: Python<'_>,
    text: &str,
    origin: &str,
    base_dir: &str,
    overrides: Vec<String>,
    from_ps: u64,
    to_ps: u64,
    functions: Option<Functions>,
) -> PyResult<String> {
    let functions = loaded(functions)?;
    let stop = AtomicBool::new(false);
    let work = || {
        let scenario = Scenario::parse(text, origin, Path::new(base_dir), &overrides)?;
        let mut replay = Replay::new(scenario, &functions)?;
        let found = replay.arrivals(Time::from_ps(from_ps), Time::from_ps(to_ps), &stop);
        found.map(|found| found.to_string())
    };
    replayed(py, watched(py, &stop, functions.facts.is_some(), work, |_| Ok(())))
}

/// Of a run that only tells of itself, what was raised comes first: it is why there is no answer.
fn replayed(py: Python<'_>, (found, raised): (Result<String, Error>, Option<PyErr>)) -> PyResult<String> {
    raised.map_or_else(|| found.map_err(|error| raise(py, error)), Err)
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

/// What a scenario will take, as JSON; see `backwater::estimate`. Arguments as of `validate`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a Python function's arguments")]
pub(crate) fn outlook(
    py: Python<'_>,
    text: &str,
    origin: &str,
    base_dir: &str,
    overrides: Vec<String>,
) -> PyResult<String> {
    let estimate = py.detach(|| {
        let scenario = Scenario::parse(text, origin, Path::new(base_dir), &overrides)?;
        backwater::estimate(scenario.outline()?).map(|found| found.to_string())
    });
    estimate.map_err(|error| raise(py, error))
}
