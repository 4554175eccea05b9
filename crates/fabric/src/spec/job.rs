//! Jobs: what of them is not flows, steps and programs.
use backwater_units::{Span, Time};

/// When a job begins, whose ends are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// Its traffic entry.
    pub group: u16,
    /// When it begins; with a [`Gate`], when the gate has opened.
    pub start: Time,
    /// What it waits for.
    pub gate: Option<Gate>,
}

/// A job waits for the end of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The traffic entry of that job, which ends.
    pub after: u16,
    /// From its end to the beginning of the job: at least twice the shortest delay of a link.
    pub delay: Span,
}
