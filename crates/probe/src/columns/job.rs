//! The table of jobs: one row per step that a rank is done with.
use super::common::node;
use crate::column::{Column, Take, column};
use crate::columns::{Table, TableId};
use backwater_fabric::record::JobRecord;
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

impl Table for JobRecord {
    const ID: TableId = TableId::JobSteps;
    const DOC: &'static str = "One row per rank, iteration and step of a job that was done: when the rank began it and was done with it. \
                               Traces and programs are one step.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("traffic", "name", "Name of the job.", Take::Traffic(|r| r.group)),
        column("rank", "index", "Number of the rank in the job, from 0.", Take::U32(|r| r.rank)),
        node(|r| r.node),
        column("iteration", "index", "Number of the iteration, from 0.", Take::U32(|r| r.iteration)),
        column("step", "index", "Number of the step in the job, from 0.", Take::U32(|r| u32::from(r.step))),
        column(
            "start_ps",
            "ps",
            "When the rank was done with the step before; of its first step, when the job began.",
            Take::U64(|r| r.start.as_ps()),
        ),
        column(
            "end_ps",
            "ps",
            "When it was done: it had computed, or the last bit of its messages had left and come in.",
            Take::U64(|r| r.time.as_ps()),
        ),
        column(
            "elapsed_ps",
            "ps",
            "end_ps - start_ps: what the rank took, waiting for others included.",
            Take::U64(|r| (r.time - r.start).as_ps()),
        ),
    ];
    fn time(&self) -> Option<Time> {
        Some(self.time)
    }
}

/// A message of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct JobMessageRecord {
    /// Number of its flow.
    pub flow: u32,
    /// The traffic entry of the job.
    pub group: u16,
    /// Iteration, from 0.
    pub iteration: u32,
    /// Step of the job, from 0.
    pub step: u16,
    /// The rank that sends it; storage hosts come after the ranks.
    pub rank: u32,
}

impl Table for JobMessageRecord {
    const ID: TableId = TableId::JobMessages;
    const DOC: &'static str = "One row per message of the steps of a job: which part of the job it is.";
    const COLUMNS: &'static [Column<Self>] = &[
        column("flow", "index", "Number of its flow, as in the flows table.", Take::U32(|r| r.flow)),
        column("traffic", "name", "Name of the job.", Take::Traffic(|r| r.group)),
        column("iteration", "index", "Number of the iteration, from 0.", Take::U32(|r| r.iteration)),
        column("step", "index", "Number of the step in the job, from 0.", Take::U32(|r| u32::from(r.step))),
        column(
            "rank",
            "index",
            "The rank that sends it; storage hosts have the numbers after the ranks.",
            Take::U32(|r| r.rank),
        ),
    ];
    fn time(&self) -> Option<Time> {
        None
    }
}
