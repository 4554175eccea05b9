//! Whose part of which program a step is, so that whatever happens in a run can be named: job, step, iteration, rank.
use std::fmt;

use borsh::{BorshDeserialize, BorshSerialize};

/// A part of the program of a traffic entry: which of its steps, in which iteration.
#[derive(Clone, Copy, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Part {
    /// Iteration, from 0.
    pub iteration: u32,
    /// Step of the job, from 0; of a collective 0.
    pub step: u16,
    /// What its rank is done with when it has been carried out.
    pub ends: Finishes,
}

/// What a rank is done with when something has been carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Finishes {
    /// Nothing that is recorded.
    #[default]
    Nothing,
    /// The step of the job.
    Step,
    /// The step, and with it its program.
    Job,
}

/// The parts of a [`super::Trace`], by its lists; what these do not reach is a part of nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Of each task.
    pub tasks: Vec<Part>,
    /// Of each message.
    pub messages: Vec<Part>,
    /// Of each collective.
    pub collectives: Vec<Part>,
}

/// As one word, which is no number.
impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "iteration{}.step{}.ends{:?}", self.iteration, self.step, self.ends)
    }
}
