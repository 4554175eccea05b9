//! Why a set of parameters is refused: the value, what is allowed, and a fix, in one sentence.
use core::fmt;

use backwater_units::{Bytes, Rate, Span};

/// A parameter's value as it is shown in a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A plain number (probability, gain, count).
    Number(f64),
    /// A length of time.
    Span(Span),
    /// A size.
    Bytes(Bytes),
    /// A speed.
    Rate(Rate),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Span(span) => write!(f, "{span}"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Rate(rate) => write!(f, "{rate}"),
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}
impl From<Span> for Value {
    fn from(span: Span) -> Self {
        Self::Span(span)
    }
}
impl From<Bytes> for Value {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}
impl From<Rate> for Value {
    fn from(rate: Rate) -> Self {
        Self::Rate(rate)
    }
}

/// A parameter of an algorithm lies outside the range in which the algorithm is defined.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{parameter} = {value}: must be {allowed}; {fix}")]
pub struct ConfigError {
    /// The parameter, in the words of the scenario file (`min-rate`).
    pub parameter: &'static str,
    /// What was given.
    pub value: Value,
    /// What is accepted.
    pub allowed: &'static str,
    /// What to do about it.
    pub fix: &'static str,
}

/// `Ok` if `good`, else the error that names the parameter.
pub(crate) fn require(
    good: bool,
    parameter: &'static str,
    value: impl Into<Value>,
    allowed: &'static str,
    fix: &'static str,
) -> Result<(), ConfigError> {
    if good { Ok(()) } else { Err(ConfigError { parameter, value: value.into(), allowed, fix }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_parameter_is_explained_with_its_value_its_range_and_a_fix() {
        let error = require(false, "period", Span::ZERO, "longer than 0ps", "use max-ton").unwrap_err();
        assert_eq!(error.to_string(), "period = 0ps: must be longer than 0ps; use max-ton");
    }
}
