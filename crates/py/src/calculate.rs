//! The calculators of `backwater`; answers are JSON.
use crate::errors::raise;
use backwater::{Error, calculators};
use pyo3::prelude::*;
use serde_json::Value;

fn answer(py: Python<'_>, found: Result<Value, Error>) -> PyResult<String> {
    found.map(|found| found.to_string()).map_err(|error| raise(py, error))
}

/// max(Ton) of a port. `gap` is Xoff − Xon; 2 MTU if absent.
#[pyfunction]
#[pyo3(signature = (rate, delay, mtu, epsilon, gap=None))]
pub(crate) fn max_ton(
    py: Python<'_>,
    rate: &str,
    delay: &str,
    mtu: &str,
    epsilon: f64,
    gap: Option<&str>,
) -> PyResult<String> {
    answer(py, calculators::max_ton(rate, delay, mtu, epsilon, gap))
}

/// The max(Ton) that the authors' release would be given. `gap` is Xoff − Xon.
#[pyfunction]
pub(crate) fn max_ton_authors(
    py: Python<'_>,
    rate: &str,
    delay: &str,
    gap: &str,
    epsilon: f64,
) -> PyResult<String> {
    answer(py, calculators::max_ton_authors(rate, delay, gap, epsilon))
}

/// max(Ton) and T under credits that come back every `period`.
#[pyfunction]
pub(crate) fn max_ton_credits(py: Python<'_>, period: &str) -> PyResult<String> {
    answer(py, calculators::max_ton_credits(period))
}

/// The buffer that each of `lanes` virtual lanes of an ingress port needs under credits.
#[pyfunction]
#[pyo3(signature = (rate, delay, mtu, frame, period=None, buffer=None, lanes="1"))]
#[expect(clippy::too_many_arguments, reason = "a Python function's arguments")]
pub(crate) fn feasibility(
    py: Python<'_>,
    rate: &str,
    delay: &str,
    mtu: &str,
    frame: &str,
    period: Option<&str>,
    buffer: Option<&str>,
    lanes: &str,
) -> PyResult<String> {
    answer(py, calculators::feasibility(rate, delay, mtu, frame, period, buffer, lanes))
}

/// Headroom of an ingress port.
#[pyfunction]
pub(crate) fn headroom(
    py: Python<'_>,
    rate: &str,
    delay: &str,
    mtu: &str,
    frame: &str,
    response: &str,
) -> PyResult<String> {
    answer(py, calculators::headroom(rate, delay, mtu, frame, response))
}
