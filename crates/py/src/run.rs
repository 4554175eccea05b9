//! `run`: a simulation in a thread of its own, while the caller's thread shows progress and listens for Ctrl-C.
use crate::errors::{InvariantError, UserFunctionError, bad_input};
use crate::functions::Loaded;
use crate::session::{self, Failure, Outlook, Request, Watch};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use std::any::Any;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often Python is asked for signals and told of progress.
const TICK: Duration = Duration::from_millis(100);

/// What [`Loaded::new`] takes.
pub(crate) type Functions = (Vec<(usize, i64, f64, Vec<u64>)>, Option<(usize, Vec<u64>)>, String);

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
    let request = Request {
        text,
        origin,
        base: Path::new(base_dir),
        overrides: &overrides,
        out: out_dir.map(Path::new),
        command: &command,
        functions: &functions,
    };
    let (result, stopped) = py.detach(|| watched(&request, progress.as_ref()));
    let run = result.map_err(raise)?;
    match stopped {
        Some(error) => Err(error),
        None => Ok(run.to_string()),
    }
}

/// The functions of the user's that came with a call.
pub(crate) fn loaded(functions: Option<Functions>) -> PyResult<Loaded> {
    match functions {
        Some((controllers, detector, facts)) => Loaded::new(&controllers, detector.as_ref(), &facts),
        None => Ok(Loaded::default()),
    }
}

/// Runs in a thread; also what the caller's thread was told to raise meanwhile.
fn watched(request: &Request<'_>, progress: Option<&Py<PyAny>>) -> (Result<Value, Failure>, Option<PyErr>) {
    let watch = Watch::default();
    thread::scope(|scope| {
        let (ready, news) = channel();
        let worker = scope.spawn({
            let watch = &watch;
            move || {
                // Owned here, so that the channel closes when this thread ends.
                let ready = ready;
                let run = || session::run(request, watch, |outlook| drop(ready.send(outlook)));
                if request.functions.facts.is_none() {
                    return run();
                }
                // Known to Python as long as it runs: else every callback into plain Python would make itself known anew.
                Python::attach(|py| py.detach(run))
            }
        });
        let (mut outlook, mut stopped) = (None, None);
        loop {
            match news.recv_timeout(TICK) {
                Ok(known) => outlook = Some(known),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stopped.is_none()
                && let Err(error) = Python::attach(|py| tick(py, &watch, outlook.as_ref(), progress))
            {
                stopped = Some(error);
                watch.interrupt.store(true, Ordering::Relaxed);
            }
        }
        let result = worker.join().unwrap_or_else(|panic| Err(Failure::Invariant(panicked(panic.as_ref()))));
        (result, stopped)
    })
}

/// Signals first, then the user's function.
fn tick(
    py: Python<'_>,
    watch: &Watch,
    outlook: Option<&Outlook>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<()> {
    py.check_signals()?;
    let (Some(progress), Some(outlook)) = (progress, outlook) else {
        return Ok(());
    };
    let report = PyDict::new(py);
    report.set_item("sim_time_ps", watch.now.load(Ordering::Relaxed))?;
    report.set_item("expected_end_ps", outlook.expected_end.as_ps())?;
    report.set_item("flows", outlook.flows)?;
    report.set_item("plan", outlook.plan.as_deref())?;
    progress.call1(py, (report,)).map(drop)
}

fn raise(failure: Failure) -> PyErr {
    match failure {
        Failure::Input(message) => bad_input(message),
        Failure::Invariant(message) => InvariantError::new_err(message),
        Failure::Output(message) => PyOSError::new_err(message),
        Failure::User(fault) => UserFunctionError::new_err(fault.to_string()),
    }
}

fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let message = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("the simulator stopped itself: {message} (a bug; please report it with the scenario)")
}

/// The command as the user typed it, as far as Python knows.
fn command_line(py: Python<'_>) -> String {
    let argv =
        py.import("sys").and_then(|sys| sys.getattr("argv")).and_then(|argv| argv.extract::<Vec<String>>());
    let mut argv = argv.unwrap_or_default();
    if let Some(program) = argv.first_mut()
        && let Some(name) = Path::new(program.as_str()).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    argv.join(" ")
}
