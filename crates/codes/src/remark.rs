//! What a scenario or a run has to say besides its results.
use crate::{Code, Kind};
use serde::Serialize;
use std::fmt;

/// A caveat or a note, by its code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// What kind of thing it is.
    pub code: Code,
    /// What it is about: a key of the scenario, or a table of the results.
    pub place: String,
    /// The sentence for the user.
    pub message: String,
}

impl Remark {
    /// A caveat or a note.
    pub fn new(code: Code, place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, place: place.into(), message: message.into() }
    }
}

/// As a command prints it.
impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.code.kind() == Kind::Note { "note" } else { "caveat" };
        write!(f, "{kind}[{}]: {}", self.code, self.message)
    }
}
