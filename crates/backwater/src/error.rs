//! Why there are no results.
use backwater_codes::Code;
use backwater_fabric::Violation;
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
    #[error("{message}")]
    Invariant {
        /// Which promise.
        code: Code,
        /// When, where and by how much; mostly what to change, too.
        message: String,
    },
    /// The results cannot be written.
    #[error("{0}")]
    Output(String),
    /// Another process of the run fails, and tells why.
    #[error("another process of this run fails, and tells why")]
    Elsewhere,
    /// A function of the user's failed: what it got and gave back.
    #[error("{0}")]
    User(Value),
}

impl From<ScenarioError> for Error {
    fn from(error: ScenarioError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<Violation> for Error {
    fn from(violation: Violation) -> Self {
        match violation {
            Violation::Sink(message) => Self::Output(message),
            Violation::Elsewhere => Self::Elsewhere,
            broken => Self::Invariant { code: broken.code(), message: broken.to_string() },
        }
    }
}

impl Error {
    /// What no scenario can bring about: a bug of Backwater.
    pub fn bug(message: impl fmt::Display) -> Self {
        Self::Invariant { code: Code::Audit, message: message.to_string() }
    }

    /// The code that `backwater explain` knows it by; bad input carries its own, one for each problem.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Input(_) | Self::Elsewhere => None,
            Self::Invariant { code, .. } => Some(*code),
            Self::Output(_) => Some(Code::Results),
            Self::User(_) => Some(Code::UserFunction),
        }
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
