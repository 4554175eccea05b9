//! A file that a run was saved in.
use crate::errors::raise;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A file that a run was saved in, read and found whole; whatever is wrong with it raises `ScenarioError`.
#[pyclass(frozen)]
pub(crate) struct Checkpoint(pub(crate) Arc<backwater::Checkpoint>);

#[pymethods]
impl Checkpoint {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
    fn new(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        let read = py.detach(|| backwater::Checkpoint::read(&file));
        Ok(Self(Arc::new(read.map_err(|error| raise(py, error))?)))
    }

    /// Whether its run wrote it to survive a kill: nobody needs it when the run is complete.
    fn passes(&self) -> bool {
        self.0.passes()
    }

    /// The text of its scenario, the folder that paths in it count from, and the overrides.
    fn source(&self) -> (&str, &str, Vec<String>) {
        let (text, base, overrides) = self.0.source();
        (text, base, overrides.to_vec())
    }
}
