//! For the Python package: `backwater._core`, a handle of a scenario and thin calls into the crates below.
mod algorithms;
mod calculate;
mod capture;
mod checkpoint;
mod errors;
mod functions;
mod processes;
mod scenario;
mod stepped;
mod subnet;
mod trace;
mod watching;

use backwater::Code;
use errors::bad_input;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The JSON Schema of a scenario file.
#[pyfunction]
fn schema() -> String {
    backwater_scenario::schema()
}

/// What every profile gives to every key, as JSON: a table by the name of each profile.
#[pyfunction]
fn profile_defaults() -> String {
    backwater_scenario::profile_defaults()
}

/// What is published of devices, as JSON: by the key that chooses one, then by its name.
#[pyfunction]
fn presets() -> String {
    backwater_scenario::presets()
}

/// The codes of errors, caveats and notes, as JSON: a list of `id`, `kind`, `short`, `means`, `todo`.
#[pyfunction]
fn codes() -> String {
    Code::ALL.iter().map(|code| json!(code.explained())).collect::<Value>().to_string()
}

/// The columns of every table, as JSON: a list of `table`, `column`, `type`, `unit`, `doc`.
#[pyfunction]
fn dictionary() -> String {
    backwater_probe::dictionary_json()
}

/// The bytes of a regular file of at most `most` bytes; raises `OSError` for what is none, without opening it.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a Python function's arguments")]
fn read_input(py: Python<'_>, path: PathBuf, most: u64) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = py.detach(|| backwater_scenario::input::read(&path, most))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The fewest values that a percentile is told of.
#[pyfunction]
fn least_values(percent: u64) -> PyResult<u64> {
    if percent < 100 {
        return Ok(backwater_probe::least_values(percent));
    }
    Err(bad_input(format!("there is no percentile {percent}: allowed are 0 to 99")))
}

/// The Rust core of Backwater.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let python = module.py();
    module.add_class::<checkpoint::Checkpoint>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<stepped::SteppedRun>()?;
    module.add("ScenarioError", python.get_type::<errors::ScenarioError>())?;
    module.add("InvariantError", python.get_type::<errors::InvariantError>())?;
    module.add("UserFunctionError", python.get_type::<errors::UserFunctionError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MOST_WRITTEN", backwater_scenario::input::MOST_WRITTEN)?;
    module.add("MOST_DATA", backwater_scenario::input::MOST_DATA)?;
    module.add_function(wrap_pyfunction!(read_input, module)?)?;
    module.add_function(wrap_pyfunction!(functions::abi, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(profile_defaults, module)?)?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(codes, module)?)?;
    module.add_function(wrap_pyfunction!(dictionary, module)?)?;
    module.add_function(wrap_pyfunction!(least_values, module)?)?;
    module.add("ElsewhereError", python.get_type::<errors::ElsewhereError>())?;
    module.add_function(wrap_pyfunction!(processes::join_processes, module)?)?;
    module.add_function(wrap_pyfunction!(processes::leave_processes, module)?)?;
    module.add_function(wrap_pyfunction!(processes::abort_processes, module)?)?;
    module.add_function(wrap_pyfunction!(capture::write_capture, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms::build_facts, module)?)?;
    module.add_function(wrap_pyfunction!(trace::import_matrix, module)?)?;
    module.add_function(wrap_pyfunction!(trace::import_workload, module)?)?;
    module.add_function(wrap_pyfunction!(subnet::import_subnet, module)?)?;
    module.add_function(wrap_pyfunction!(calculate::max_ton, module)?)?;
    module.add_function(wrap_pyfunction!(calculate::max_ton_authors, module)?)?;
    module.add_function(wrap_pyfunction!(calculate::max_ton_credits, module)?)?;
    module.add_function(wrap_pyfunction!(calculate::feasibility, module)?)?;
    module.add_function(wrap_pyfunction!(calculate::headroom, module)?)
}
