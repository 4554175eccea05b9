//! Why there are no results.
use backwater_probe::SinkError;
use backwater_scenario::ScenarioError;
use serde_json::Value;
use std::fmt;

/// Why there are no results. What is displayed is the whole message.
#[derive(thiserror::Error)]
pub enum Error {
    /// The scenario is wrong, or asks for more than there is; nothing was run.
    #[error("{0}")]
    Input(String),
    /// The model broke a promise, such as losslessness; results up to then are lost.
    #[error("{0}")]
    Invariant(String),
    /// The results cannot be written.
    #[error("{0}")]
    Output(String),
    /// A function of the user's failed: what it got and gave back.
    #[error("{0}")]
    User(Value),
}

impl From<ScenarioError> for Error {
    fn from(error: ScenarioError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<SinkError> for Error {
    fn from(error: SinkError) -> Self {
        Self::Output(error.to_string())
    }
}

/// The message, too: a program whose `main` returns this error prints what a user can read.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
