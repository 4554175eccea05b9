//! For the Python package: the functions of `backwater._core`, each a thin call into the crates below.
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(_core, ScenarioError, PyValueError, "A scenario that cannot run.");
pyo3::create_exception!(_core, InvariantError, PyRuntimeError, "The model broke a promise, such as losslessness.");

/// The Rust core of Backwater.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let python = module.py();
    module.add("ScenarioError", python.get_type::<ScenarioError>())?;
    module.add("InvariantError", python.get_type::<InvariantError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
