//! For the Python package: the functions of `backwater._core`, each a thin call into the crates below.
use pyo3::prelude::*;

/// The Rust core of Backwater.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
