//! `prefixes` and `arrivals`: a run once more, for `backwater diff`. Nothing is written, and nothing is recorded but what is asked for.
use crate::errors::{InvariantError, bad_input};
use crate::functions::Loaded;
use crate::run::{Functions, loaded};
use crate::session;
use backwater_fabric::retrace::Arrival;
use backwater_fabric::{Kind, ProbeSpec, Simulation};
use backwater_units::Time;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(100);

/// Why there is no answer.
enum Failure {
    Input(String),
    Invariant(String),
}

/// A scenario ready to run without probes, and the names of its traffic entries.
fn prepared(
    text: &str,
    origin: &str,
    base: &str,
    overrides: &[String],
    functions: &Loaded,
    heap: bool,
) -> Result<(Simulation, Vec<String>), Failure> {
    let scenario = session::valid(text, origin, Path::new(base), overrides)
        .map_err(|error| Failure::Input(error.to_string()))?;
    let needed = scenario.functions().clone();
    let traffic = scenario.settings().traffic.iter().map(|entry| entry.name.clone()).collect();
    let kind = if heap { Kind::Heap } else { scenario.engine() };
    let mut spec = scenario.build();
    if !needed.is_empty() && !functions.put(&needed, &mut spec.user) {
        return Err(Failure::Input(session::UNLOADED.to_owned()));
    }
    spec.probe = ProbeSpec::default();
    Ok((Simulation::new(spec, kind), traffic))
}

/// What Python has caught meanwhile, such as Ctrl-C.
fn signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Runs `work` in a thread while this one listens for Ctrl-C, which ends it.
fn interruptible(
    py: Python<'_>,
    functions: &Loaded,
    work: impl FnOnce(&AtomicBool) -> Result<Value, Failure> + Send,
) -> PyResult<String> {
    let stop = AtomicBool::new(false);
    let (result, interrupted) = py.detach(|| {
        thread::scope(|scope| {
            let (done, news) = channel::<()>();
            let stop = &stop;
            let worker = scope.spawn(move || {
                // Owned here, so that the channel closes when this thread ends.
                let _done = done;
                if functions.facts.is_none() {
                    return work(stop);
                }
                // Known to Python as long as it runs: else every callback into plain Python would make itself known anew.
                Python::attach(|py| py.detach(|| work(stop)))
            });
            let mut interrupted = None;
            while news.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if interrupted.is_none()
                    && let Err(error) = Python::attach(signals)
                {
                    interrupted = Some(error);
                    stop.store(true, Ordering::Relaxed);
                }
            }
            let stopped = || Failure::Invariant("the simulator stopped itself (a bug)".to_owned());
            (worker.join().unwrap_or_else(|_| Err(stopped())), interrupted)
        })
    });
    match (interrupted, result) {
        (Some(error), _) => Err(error),
        (None, Ok(value)) => Ok(value.to_string()),
        (None, Err(Failure::Input(message))) => Err(bad_input(message)),
        (None, Err(Failure::Invariant(message))) => Err(InvariantError::new_err(message)),
    }
}

/// Runs to the last of `times_ps` (ascending) and returns, as JSON, `window_ps` and `prefixes`: for each time `time_ps`, `digest`
/// and `by_name` (16 hexadecimal digits) and `arrivals`. Without `heap` all times but the last must be multiples of `window_ps`.
/// `functions` as of `run`.
#[pyfunction]
#[pyo3(signature = (text, origin, base_dir, overrides, times_ps, heap, functions=None))]
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
    heap: bool,
    functions: Option<Functions>,
) -> PyResult<String> {
    let functions = loaded(functions)?;
    interruptible(py, &functions, |stop| {
        let (mut simulation, _) = prepared(text, origin, base_dir, &overrides, &functions, heap)?;
        let times: Vec<Time> = times_ps.iter().copied().map(Time::from_ps).collect();
        let found = simulation
            .prefixes(&times, Some(stop))
            .map_err(|violation| Failure::Invariant(violation.to_string()))?;
        let found: Vec<Value> = found
            .iter()
            .map(|prefix| {
                json!({
                    "time_ps": prefix.time.as_ps(),
                    "digest": format!("{:016x}", prefix.digest),
                    "by_name": format!("{:016x}", prefix.by_name),
                    "arrivals": prefix.arrivals,
                })
            })
            .collect();
        Ok(json!({"window_ps": simulation.window_ps(), "prefixes": found}))
    })
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
    interruptible(py, &functions, |stop| {
        let (mut simulation, traffic) = prepared(text, origin, base_dir, &overrides, &functions, true)?;
        let found = simulation
            .arrivals(Time::from_ps(from_ps), Time::from_ps(to_ps), Some(stop))
            .map_err(|violation| Failure::Invariant(violation.to_string()))?;
        Ok(found.iter().map(|arrival| told(arrival, &simulation, &traffic)).collect())
    })
}

/// A frame with names instead of numbers.
fn told(arrival: &Arrival, simulation: &Simulation, traffic: &[String]) -> Value {
    let network = simulation.network();
    let host = |index: u32| network.hosts().get(index as usize).map(|&node| network.name(node));
    let of_flow = arrival.of_flow.map(|(src, dst, group)| {
        json!({"src": host(src), "dst": host(dst), "traffic": traffic.get(usize::from(group))})
    });
    let peer = network.ports(arrival.node).get(usize::from(arrival.port)).map(|port| port.peer);
    json!({
        "time_ps": arrival.time.as_ps(),
        "node": network.name(arrival.node),
        "from": peer.map(|peer| network.name(peer)),
        "port": arrival.port,
        "kind": arrival.kind,
        "flow": arrival.flow,
        "of_flow": of_flow,
        "seq": arrival.seq,
        "word": arrival.word,
        "bytes": arrival.bytes,
        "code": arrival.code,
        "echo": arrival.echo,
        "class": arrival.class,
    })
}
