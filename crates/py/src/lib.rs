//! For the Python package: the functions of `backwater._core`, each a thin call into the crates below.
mod calculate;
mod errors;

use pyo3::prelude::*;

/// The columns of every table, as JSON: a list of `table`, `column`, `type`, `unit`, `doc`.
#[pyfunction]
fn dictionary() -> String {
    backwater_probe::dictionary_json()
}

/// The Rust core of Backwater.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let python = module.py();
    module.add("ScenarioError", python.get_type::<errors::ScenarioError>())?;
    module.add("InvariantError", python.get_type::<errors::InvariantError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(calculate::max_ton, module)?)?;
    module.add_function(wrap_pyfunction!(calculate::headroom, module)?)?;
    module.add_function(wrap_pyfunction!(dictionary, module)?)
}
