//! What the ranks of jobs report.
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

/// A rank is done with a step of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct JobRecord {
    /// When.
    pub time: Time,
    /// When it was done with the one before; of the first one, when the job began.
    pub start: Time,
    /// Node index of its host.
    pub node: u32,
    /// The traffic entry of the job.
    pub group: u16,
    /// Step of the job, from 0.
    pub step: u16,
    /// Iteration, from 0.
    pub iteration: u32,
    /// Number of the rank in its job.
    pub rank: u32,
}
