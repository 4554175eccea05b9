//! Workloads of other tools as traces of ours.
use backwater_traffic::read::{self, HtsimRules, Imported};
use backwater_traffic::trace::Trace;
use pyo3::prelude::*;

use crate::errors::bad_input;

/// A trace file of ours, what it holds in a sentence, and what the user should know about it.
type Made = (String, String, Vec<String>);

/// Switch, uplink and line of a failure in a connection matrix.
type Failure = (u32, u32, usize);

fn made(trace: &Trace, notes: Vec<String>) -> Made {
    let (ranks, messages, collectives) = (trace.ranks, trace.messages.len(), trace.collectives.len());
    let flows = trace.flows();
    let holds = format!(
        "{ranks} ranks, {messages} messages and {collectives} collectives: {flows} flows with the default algorithms"
    );
    (trace.to_string(), holds, notes)
}

fn text(format_: &str, bytes: &[u8], origin: &str) -> PyResult<String> {
    let wrong = |error| bad_input(format!("error: {origin} is no text ({error}), as files of {format_} are"));
    std::str::from_utf8(bytes).map(str::to_owned).map_err(wrong)
}

/// A connection matrix of htsim as a trace of ours, and the failures in it: switch, uplink and line of each. With `microseconds`
/// its starts are such; with `reuse` flows of one id are messages of one connection, and with `merge` one flow. `origin` names it in messages.
#[pyfunction]
#[pyo3(signature = (file, origin, *, microseconds = false, reuse = false, merge = false))]
#[allow(clippy::needless_pass_by_value, reason = "what Python hands over belongs to the function")]
pub(crate) fn import_matrix(
    py: Python<'_>,
    file: Vec<u8>,
    origin: &str,
    microseconds: bool,
    reuse: bool,
    merge: bool,
) -> PyResult<(Made, Vec<Failure>)> {
    let text = text("htsim", &file, origin)?;
    let read = py.detach(|| {
        let (imported, failures) = read::htsim_matrix(&text, HtsimRules { microseconds, reuse, merge })?;
        let failures = failures.iter().map(|one| (one.switch, one.link, one.line)).collect();
        Ok((made(&imported.trace, imported.notes), failures))
    });
    read.map_err(|error: read::ImportError| bad_input(format!("error: {origin}: {error}")))
}

/// A workload of another tool as a trace of ours: `format_` is `goal` (text or binary), `chakra` (a file for each NPU) or `vef`.
/// `origin` names them in messages.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "what Python hands over belongs to the function")]
pub(crate) fn import_workload(
    py: Python<'_>,
    format_: &str,
    files: Vec<Vec<u8>>,
    origin: &str,
) -> PyResult<Made> {
    let first = files.first().map_or(&[][..], Vec::as_slice);
    let of_npus: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let read: Box<dyn FnOnce() -> Result<Imported, read::ImportError> + Send> = match format_ {
        "goal" if first.starts_with(&read::GOAL_MAGIC.to_le_bytes()) => Box::new(|| read::goal_binary(first)),
        "goal" => {
            let text = text(format_, first, origin)?;
            Box::new(move || read::goal(&text))
        }
        "chakra" => Box::new(move || read::chakra(&of_npus)),
        "vef" => {
            let text = text(format_, first, origin)?;
            Box::new(move || {
                Ok(Imported { trace: read::vef(&text)?, notes: vec![read::VEF_CAVEAT.to_owned()] })
            })
        }
        _ => return Err(bad_input(format!("error: no workload format is called {format_:?}"))),
    };
    let made = py.detach(|| read().map(|imported| made(&imported.trace, imported.notes)));
    made.map_err(|error| bad_input(format!("error: {origin}: {error}")))
}
