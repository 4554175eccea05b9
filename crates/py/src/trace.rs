//! Workloads of other tools as traces of ours.
use backwater_traffic::read::{self, Imported};
use backwater_traffic::trace::Trace;
use pyo3::prelude::*;

use crate::errors::bad_input;

/// A trace file of ours, what it holds in a sentence, and what the user should know about it.
type Made = (String, String, Vec<String>);

fn made(trace: &Trace, notes: Vec<String>) -> Made {
    let (ranks, messages, collectives) = (trace.ranks, trace.messages.len(), trace.collectives.len());
    let flows = trace.flows();
    let holds = format!(
        "{ranks} ranks, {messages} messages and {collectives} collectives: {flows} flows with the default algorithms"
    );
    (trace.to_string(), holds, notes)
}

/// A workload of another tool as a trace of ours: `format_` is `goal` (text or binary), `htsim` (a connection matrix) or `chakra` (a
/// file for each NPU) or `vef`. `origin` names them in messages.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "what Python hands over belongs to the function")]
pub(crate) fn import_workload(
    py: Python<'_>,
    format_: &str,
    files: Vec<Vec<u8>>,
    origin: &str,
) -> PyResult<Made> {
    let text = |bytes: &[u8]| {
        let wrong =
            |error| bad_input(format!("error: {origin} is no text ({error}), as files of {format_} are"));
        std::str::from_utf8(bytes).map(str::to_owned).map_err(wrong)
    };
    let first = files.first().map_or(&[][..], Vec::as_slice);
    let of_npus: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    let read: Box<dyn FnOnce() -> Result<Imported, read::ImportError> + Send> = match format_ {
        "goal" if first.starts_with(&read::GOAL_MAGIC.to_le_bytes()) => Box::new(|| read::goal_binary(first)),
        "goal" => {
            let text = text(first)?;
            Box::new(move || read::goal(&text))
        }
        "htsim" => {
            let text = text(first)?;
            Box::new(move || read::htsim_matrix(&text))
        }
        "chakra" => Box::new(move || read::chakra(&of_npus)),
        "vef" => {
            let text = text(first)?;
            Box::new(move || {
                Ok(Imported { trace: read::vef(&text)?, notes: vec![read::VEF_CAVEAT.to_owned()] })
            })
        }
        _ => return Err(bad_input(format!("error: no workload format is called {format_:?}"))),
    };
    let made = py.detach(|| read().map(|imported| made(&imported.trace, imported.notes)));
    made.map_err(|error| bad_input(format!("error: {origin}: {error}")))
}
