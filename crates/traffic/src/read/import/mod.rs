//! Workloads of other tools as traces of ours.
//!
//! What they have in common: operations of ranks (send, receive, compute, take part in a collective) that wait for each other
//! ([`schedule`]). What a format says and a trace cannot is an error or a note, never silently left out.
mod chakra;
mod goal;
mod goal_binary;
mod htsim;
mod schedule;

use crate::trace::Trace;

pub use chakra::chakra;
pub use goal::goal;
pub use goal_binary::{GOAL_MAGIC, goal_binary};
pub use htsim::{HtsimFailure, HtsimRules, htsim_matrix};

/// A workload that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// What is sent after what.
    pub trace: Trace,
    /// What the user should know: what means something else here than there.
    pub notes: Vec<String>,
}

/// Why a file cannot be used, with the place in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct ImportError {
    /// Such as `line 3` or `rank 2, operation 7`.
    pub place: String,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl ImportError {
    fn at_line(line: usize, what: impl Into<String>) -> Self {
        Self { place: format!("line {line}"), what: what.into() }
    }

    fn in_the_file(what: impl Into<String>) -> Self {
        Self { place: "the file".to_owned(), what: what.into() }
    }
}

#[cfg(test)]
mod tests;
