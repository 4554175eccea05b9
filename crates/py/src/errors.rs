//! The exceptions of `backwater._core`.
use backwater::Error;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(_core, ScenarioError, PyValueError, "Bad input; str() is the whole message.");
pyo3::create_exception!(
    _core,
    InvariantError,
    PyRuntimeError,
    "The model broke a promise, such as losslessness."
);

pyo3::create_exception!(
    _core,
    UserFunctionError,
    PyRuntimeError,
    "A function of the user's failed; the argument is JSON that backwater.extend explains."
);

pyo3::create_exception!(
    _core,
    ElsewhereError,
    PyRuntimeError,
    "Another process of the run fails, and tells why."
);

/// A [`ScenarioError`] with this message.
pub(crate) fn bad_input(message: impl Into<String>) -> PyErr {
    ScenarioError::new_err(message.into())
}

/// The exception that Python gets, with its `code` where bad input does not carry its own.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    let code = error.code();
    let raised = match error {
        Error::Input(message) => bad_input(message),
        Error::Invariant { message, .. } => InvariantError::new_err(message),
        Error::Elsewhere => ElsewhereError::new_err(error.to_string()),
        Error::Output(message) => PyOSError::new_err(message),
        Error::User(fault) => UserFunctionError::new_err(fault.to_string()),
    };
    let noted = code.map_or(Ok(()), |code| raised.value(py).setattr("code", code.id()));
    noted.map_or_else(|unexpected| unexpected, |()| raised)
}
