//! `algorithms` and `build_facts`: what the core says of itself.
use pyo3::prelude::*;
use serde_json::{Value, json};

/// The path of each file of the control crate, and what it says at its head (see `build.rs`).
const HEADS: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/algorithms.rs"));

/// The files of the algorithms, as a JSON list of `path` (in `crates/control/src`) and `text`, their heads: reference, states,
/// table of parameters with sources, known deviations.
#[pyfunction]
pub(crate) fn algorithms() -> String {
    HEADS.iter().map(|(path, text)| json!({"path": path, "text": text})).collect::<Value>().to_string()
}

/// How the core was built, as JSON: `profile`, `opt_level`, `target`, `debug_assertions`, and whether runs can be shared by
/// processes: `mpi`.
#[pyfunction]
pub(crate) fn build_facts() -> String {
    json!({
        "profile": env!("BW_PROFILE"),
        "opt_level": env!("BW_OPT_LEVEL"),
        "target": env!("BW_TARGET"),
        "debug_assertions": cfg!(debug_assertions),
        "mpi": cfg!(feature = "mpi"),
    })
    .to_string()
}
