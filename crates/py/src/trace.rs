//! `import_vef`: a VEF trace as one of ours.
use backwater_traffic::read;
use pyo3::prelude::*;

use crate::errors::bad_input;

/// The text of the VEF trace as a trace file of ours, what it holds in a sentence, and what is not certain about it. `origin` names
/// the text in messages.
#[pyfunction]
pub(crate) fn import_vef(py: Python<'_>, text: &str, origin: &str) -> PyResult<(String, String, String)> {
    let read = py.detach(|| {
        read::vef(text).map(|trace| {
            let (ranks, messages, collectives) = (trace.ranks, trace.messages.len(), trace.collectives.len());
            let flows = trace.flows();
            let holds = format!(
                "{ranks} ranks, {messages} messages and {collectives} collectives: {flows} flows with the default algorithms"
            );
            (trace.to_string(), holds)
        })
    });
    let (text, holds) = read.map_err(|error| bad_input(format!("error: {origin} {error}")))?;
    Ok((text, holds, read::VEF_CAVEAT.to_owned()))
}
