//! The steps of a job: ranks at hosts that compute, communicate, read and write.
use backwater_traffic::{Flow, Group};

use super::Entry;
use crate::settings::Steps;

/// The messages of all iterations; their steps go to the context.
pub(super) fn flows(entry: &mut Entry<'_, '_>, steps: &Steps, group: &Group, seed: u64) -> Option<Vec<Flow>> {
    let job = &steps.job;
    entry.count(job.messages() as f64, "iterations")?;
    let each = job.messages() as f64 / f64::from(job.iterations.max(1));
    let iterations = entry.outlined(job.iterations, each);
    let job = backwater_traffic::generate::Job { iterations, ..job.clone() };
    let (flows, steps) = job.program(group.id, seed).on(&steps.hosts, group);
    entry.context.steps = steps;
    Some(flows)
}
